// SPDX-License-Identifier: GPL-2.0
/*
 * The connection ends during an attach, at one of two moments. At the first moment the driver has
 * already taken over the socket, but events of the socket do not reach the queue pair yet. At the
 * second moment the driver processes the first of the bytes that arrived before the attach.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"

#define RESETS	300	/* connections that are reset near the moment of the attach */
#define SIDES	20	/* least number of resets before the attach, and after the attach */
#define STEP	64	/* iterations of a delay loop */
#define ENDS	5

enum { BAD = -1, LOST = -2 };

static void turn(int times)
{
	volatile int i;

	for (i = 0; i < times; i++)
		;
}

/*
 * Return: true if the driver has taken over the socket, and the attach is not complete yet. After
 * the attach getsockopt() fails; then this function sets @late.
 */
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
 * Attaches a socket whose peer ends the connection meanwhile. If the attach succeeds, the message
 * before the end must arrive. Return: the attach's errno or 0; BAD if the message or the end is
 * missing; LOST if some bytes did not fit into the receive buffer, so that a reset discarded
 * them.
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
 * The moment of the reset varies. At each moment, either the attach must fail or the queue pair
 * must notice the reset. The interesting moment is the boundary between these two cases.
 * Therefore, if the attach failed, the next reset comes later; if the attach succeeded, the next
 * reset comes earlier.
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
	printf("# resets before the attach: %d, after the attach: %d\n", early, late);
	iwt_ok(err >= 0, "reset during an attach: each reset is noticed");
	if (early < SIDES || late < SIDES)
		iwt_skip("reset during an attach: enough resets on both sides of the attach",
			 "this machine is too slow");
}

/* Ends the connection while the receive engine processes the waiting bytes, in several runs. */
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
	ends(IWT_PIECE, 4 << 20, FIN, "FIN while the engine processes megabytes");
	ends(0, IWT_TINY * 20, FIN, "FIN while the engine processes small FPDUs");
	ends(IWT_PIECE, 4 << 20, RST, "RST while the engine processes megabytes");
	ends(0, IWT_TINY * 20, RST, "RST while the engine processes small FPDUs");
}
