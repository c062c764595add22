// SPDX-License-Identifier: GPL-2.0
/*
 * System calls that had begun when the socket was attached, and go on afterwards: with the
 * operations that the socket had before. The module iwt_held keeps them waiting.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"

/* An attached pair; calls on the first one's descriptor have begun before. */
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

/* What ends the connection ends it for the program, too. */
static void ends(const char *call)
{
	struct end *e[2];
	char what[80];

	make(e);
	iwt_ctl(call, -1);
	snprintf(what, sizeof(what), "%s: the queue pair fails", call);
	iwt_ok(iwt_failed(e[0]) && in_error(e[0]), what);
	snprintf(what, sizeof(what), "%s: and hangs up", call);
	iwt_ok(iwt_hung_up(e[0]->fd), what);
	snprintf(what, sizeof(what), "%s: the peer sees it", call);
	iwt_ok(iwt_failed(e[1]), what);
	unmake(e);
}

/* Twice: what TCP has forgotten the device does not go on with. */
static void again(void)
{
	struct end *e[2];

	make(e);
	iwt_ctl("connect", -1);
	iwt_ctl("reconnect", -1);
	iwt_ok(iwt_failed(e[0]) && iwt_hung_up(e[0]->fd), "reconnect: the queue pair fails");
	iwt_ok(iwt_failed(e[1]), "reconnect: the peer sees it");
	unmake(e);
}

/* What is refused by TCP itself, or spoils nothing. */
static void harmless(const char *call)
{
	struct end *e[2];
	char what[80];

	make(e);
	iwt_ctl(call, -1);
	snprintf(what, sizeof(what), "%s: nothing happens", call);
	iwt_ok(iwt_send(e[0], "well") && iwt_receive(e[1], "well") &&
	       iwt_send(e[1], "well") && iwt_receive(e[0], "well"), what);
	unmake(e);
}

void iwt_late(void)
{
	ends("connect");
	ends("shutdown");
	again();
	harmless("listen");
	harmless("recv");
	/* octets in between: the peer ends it, and nothing of ours waits */
	ends("send");
}
