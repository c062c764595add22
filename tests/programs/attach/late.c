// SPDX-License-Identifier: GPL-2.0
/*
 * System calls that began before the attach continue after the attach, with the operations that
 * the socket had before. The module iwt_held imitates these late calls. In other tests, a
 * thread makes the descriptor refer to another socket during the attach.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"

#define SWAPS	200

/* Makes an attached pair. System calls on the socket of @e[0] have begun before the attach. */
static void make(struct end *e[2])
{
	int fds[2];

	iwt_tcp_pair(iwt_ip, fds);
	if (!iwt_ctl("begin", fds[0]))
		iwt_die("iwt_held");
	iwt_attach_pair(e, fds);
}

static void unmake(struct end *e[2])
{
	iwt_ctl("end", -1);
	iwt_close_pair(e);
}

static bool in_error(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init) &&
	       attr.qp_state == IBV_QPS_ERR;
}

/* A late call that ends the TCP connection also ends the queue pair. */
static void ends(const char *call)
{
	struct end *e[2];
	char what[80];

	make(e);
	iwt_ctl(call, -1);
	snprintf(what, sizeof(what), "%s: the queue pair fails", call);
	iwt_ok(iwt_failed(e[0]) && in_error(e[0]), what);
	snprintf(what, sizeof(what), "%s: the descriptor reports POLLHUP", call);
	iwt_ok(iwt_hung_up(e[0]->fd), what);
	snprintf(what, sizeof(what), "%s: the queue pair of the peer fails", call);
	iwt_ok(iwt_failed(e[1]), what);
	unmake(e);
}

/*
 * A late connect() with AF_UNSPEC disconnects the socket, and another late connect() connects the
 * socket to the peer's address again. The driver must not use the new connection.
 */
static void again(void)
{
	struct end *e[2];

	make(e);
	iwt_ctl("connect", -1);
	iwt_ctl("reconnect", -1);
	iwt_ok(iwt_failed(e[0]) && iwt_hung_up(e[0]->fd), "reconnect: the queue pair fails");
	iwt_ok(iwt_failed(e[1]), "reconnect: the queue pair of the peer fails");
	unmake(e);
}

/* Tests a late call that TCP itself refuses, or that has no effect on the connection. */
static void harmless(const char *call)
{
	struct end *e[2];
	char what[80];

	make(e);
	iwt_ctl(call, -1);
	snprintf(what, sizeof(what), "%s: messages still pass", call);
	iwt_ok(iwt_send(e[0], "well") && iwt_receive(e[1], "well") &&
	       iwt_send(e[1], "well") && iwt_receive(e[0], "well"), what);
	unmake(e);
}

/* A thread that makes the descriptor @slot refer to each of two sockets in turn, by dup2(). */
struct swapper {
	pthread_t thread;
	int slot;
	int fds[2];
	volatile bool stop;
};

static void *swap(void *arg)
{
	struct swapper *s = arg;
	int i;

	for (i = 0; !s->stop; i++)
		if (dup2(s->fds[i & 1], s->slot) < 0)
			iwt_die("dup2");
	return NULL;
}

/*
 * Connects two sockets that cannot be attached: the peer @fds[1] has ended its stream if @shut is
 * true, otherwise the sockets use another net device.
 */
static void bad_pair(int fds[2], bool shut)
{
	iwt_tcp_pair(shut ? iwt_ip : "127.0.0.1", fds);
	if (!shut)
		return;
	shutdown(fds[1], SHUT_WR);
	if (!iwt_peer_ended(fds[0]))
		iwt_die("recv");
}

/*
 * The driver must attach the same socket that it has checked. If the descriptor referred to a good
 * socket during the check and refers to a bad socket later, the driver must not attach the bad
 * socket, and must not keep a reference to it. Return: false if the driver made one of these two
 * mistakes. @wrong counts the attempts in which the driver checked the bad socket and refused it.
 */
static bool swapped(bool shut, int *wrong)
{
	static const char frame[] = "MPA ID Req Frame\x40\x01\x00\x00";
	struct iwtdv_request req = { .frame_len = 20 };
	struct iwtdv_conn_param param = {};
	struct iwtdv_conn conn;
	struct end *e = iwt_open();
	struct swapper s = {};
	int good[2], bad[2], err;
	bool own;

	memcpy(req.frame, frame, 20);
	iwt_tcp_pair(iwt_ip, good);
	bad_pair(bad, shut);
	s.fds[0] = good[0];
	s.fds[1] = bad[0];
	s.slot = dup(bad[0]);
	if (pthread_create(&s.thread, NULL, swap, &s))
		iwt_die("pthread_create");
	do
		err = iwtdv_accept(e->qp, s.slot, &req, &param, &conn);
	while (err == (shut ? ENOTCONN : EADDRNOTAVAIL) && ++*wrong);
	s.stop = true;
	pthread_join(s.thread, NULL);
	own = !err && iwt_say(bad[0], "text") && iwt_hear(bad[1], "text");
	if (err)
		printf("# iwtdv_accept: %s\n", strerror(err));
	iwt_close(e);
	close(s.slot);
	close(good[0]);
	close(good[1]);
	close(bad[0]);
	/* the bad socket is released when its last descriptor is closed */
	own = iwt_peer_ended(bad[1]) && own;
	close(bad[1]);
	return own;
}

static void swapping(bool shut, const char *what)
{
	int i, wrong = 0;

	for (i = 0; i < SWAPS && swapped(shut, &wrong); i++)
		;
	printf("# the bad socket was checked %d times\n", wrong);
	iwt_ok(i == SWAPS, what);
}

/*
 * A shutdown() that began before the attach ends the sending direction of this end, while the
 * peer sends nothing more. After the shutdown TCP refuses all sends, so the next send must end
 * the connection.
 */
static void half(void)
{
	struct end *e = iwt_open();
	struct ibv_mr *mr = iwt_peer_memory(e);
	struct peer p = {};
	int fds[2];

	iwt_peer_compose(&p, mr, 0, 0);
	iwt_room_pair(fds, p.len);
	if (!iwt_ctl("begin", fds[0]))
		iwt_die("iwt_held");
	iwt_is(iwt_peer_begin(e, &p, fds), 0, "half: the socket is attached");
	pthread_join(p.thread, NULL);
	iwt_ok(iwt_receive(e, IWT_LAST), "half: a message arrives before the shutdown");
	iwt_ok(iwt_ctl("half", -1), "half: the shutdown ends the sending direction");
	iwt_send(e, "too late");
	iwt_ok(iwt_failed(e) && in_error(e), "half: the next send ends the connection");
	iwt_ctl("end", -1);
	close(fds[1]);
	iwt_peer_forget(e, mr, &p);
}

void iwt_late(void)
{
	swapping(false, "a swapped socket of another net device is neither attached nor kept");
	swapping(true, "a swapped socket whose stream has ended is neither attached nor kept");
	ends("connect");
	ends("shutdown");
	again();
	half();
	harmless("listen");
	harmless("recv");
	/* a late send() adds bytes between two FPDUs: the peer ends the connection */
	ends("send");
}
