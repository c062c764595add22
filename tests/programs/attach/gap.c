// SPDX-License-Identifier: GPL-2.0
/*
 * The connection ends in the middle of an attach: when the kernel has the socket already, but
 * events of the socket do not reach the queue pair yet; and while the device takes the first
 * of the octets that arrived before.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"

#define RESETS	300	/* connections that are reset about the time that it takes to attach */
#define SIDES	20	/* at least so many come too early, and so many too late */
#define STEP	64	/* turns of a loop */
#define ENDS	5

enum { BAD = -1, LOST = -2 };

static void turn(int times)
{
	volatile int i;

	for (i = 0; i < times; i++)
		;
}

/* Has the kernel taken the socket? *late: entirely, so that getsockopt() fails. */
static bool is_taken(int fd, bool *late)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	*late = getsockopt(fd, IPPROTO_TCP, TCP_ULP, name, &len);
	return !*late && !strcmp(name, "iw_tcp");
}

static void end_soon(struct peer *p)
{
	while (!p->going)
		;
	turn(p->turns);
	iwt_peer_end(p->fd, p->how);
}

static void end_when_taken(struct peer *p)
{
	bool late;

	while (!is_taken(p->reader_fd, &late) && !late)
		;
	iwt_peer_end(p->fd, p->how);
}

/*
 * All octets before the end must arrive. Return: the attach's errno; BAD if they do not; LOST if
 * a reset took with it what the buffer had no room for.
 */
static int attach_and_end(struct peer *p, size_t payload, size_t octets)
{
	struct end *e = iwt_open();
	struct ibv_mr *mr = iwt_peer_memory(e);
	bool good = true, lost = false;
	int fds[2], err;

	iwt_peer_compose(p, mr, payload, octets);
	iwt_room_pair(fds, p->len);
	err = iwt_peer_begin(e, p, fds);
	if (p->partial && p->how == RST)
		lost = true;
	else if (!err)
		good = iwt_receive(e, IWT_LAST) && iwt_failed(e);
	pthread_join(p->thread, NULL);
	if (p->how == FIN) {
		good = good && (err || iwt_peer_ended(fds[1]));
		close(fds[1]);
	}
	iwt_peer_forget(e, mr, p);
	return lost ? LOST : good ? err : BAD;
}

/*
 * Whenever the reset comes: there is no connection, or its end is noticed. The interesting
 * moment is in between: so after a reset that was too early the next one comes later, and
 * after any other the next one comes earlier.
 */
static void resets(void)
{
	int i, err = 0, turns = 0, early = 0, late = 0;

	for (i = 0; i < RESETS && err >= 0; i++) {
		struct peer p = {
			.then = end_soon,
			.how = RST,
			.still = 20,
			.turns = turns > 0 ? turns : 0,
			.delay = turns < 0 ? -turns : 0,
		};

		err = attach_and_end(&p, 0, 0);
		early += err > 0;
		late += !err;
		turns += err ? STEP : -STEP;
	}
	printf("# reset before %d and behind %d\n", early, late);
	iwt_ok(err >= 0, "reset while it is attached: noticed");
	if (early < SIDES || late < SIDES)
		iwt_skip("reset while it is attached: at the right time", "too slow here");
}

/* The engine takes a part of the waiting octets at a time. */
static void ends(size_t payload, size_t octets, int how, const char *what)
{
	int i, err = 0;

	for (i = 0; i < ENDS && err >= 0; i++) {
		struct peer p = { .then = end_when_taken, .how = how };

		err = attach_and_end(&p, payload, octets);
	}
	if (err == LOST)
		iwt_skip(what, IWT_NO_ROOM);
	else
		iwt_ok(err >= 0, what);
}

void iwt_gap(void)
{
	resets();
	ends(IWT_PIECE, 4 << 20, FIN, "FIN while megabytes are taken");
	ends(0, IWT_TINY * 20, FIN, "FIN while small FPDUs are taken");
	ends(IWT_PIECE, 4 << 20, RST, "RST while megabytes are taken");
	ends(0, IWT_TINY * 20, RST, "RST while small FPDUs are taken");
}
