// SPDX-License-Identifier: GPL-2.0
/*
 * Ends in the middle of an attach: when the kernel has the socket, and its queue pair does
 * not hear of it yet; and while the first of what came before is taken.
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
#define SIDES	20	/* of which so many at least were too early, and too late, to be refused */
#define STEP	64	/* turns of a loop */
#define ENDS	5

static void turn(int times)
{
	volatile int i;

	for (i = 0; i < times; i++)
		;
}

/* Is the socket the kernel's? It can't be asked any more when it is wholly so. */
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

/* All that came before the end counts. Return: the attach's errno, or -1 if it does not. */
static int attach_and_end(struct peer *p, size_t payload, size_t octets)
{
	struct end *e = iwt_open();
	struct ibv_mr *mr = iwt_peer_memory(e);
	bool good = true;
	int fds[2], err;

	iwt_peer_compose(p, mr, payload, octets);
	iwt_room_pair(fds, p->len);
	err = iwt_peer_begin(e, p, fds);
	if (!err)
		good = iwt_receive(e, IWT_LAST) && iwt_failed(e);
	pthread_join(p->thread, NULL);
	if (p->how == FIN) {
		good = good && (err || iwt_peer_ended(fds[1]));
		close(fds[1]);
	}
	iwt_peer_forget(e, mr, p);
	return good ? err : -1;
}

/*
 * Whenever it comes: no connection, or one whose end is noticed. What decides is in between;
 * so it comes later after each that was too early, and earlier after the others.
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

/* Of what waits the engine takes some at a time. */
static void ends(size_t payload, size_t octets, int how, const char *what)
{
	int i, err = 0;

	for (i = 0; i < ENDS && err >= 0; i++) {
		struct peer p = { .then = end_when_taken, .how = how };

		err = attach_and_end(&p, payload, octets);
	}
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
