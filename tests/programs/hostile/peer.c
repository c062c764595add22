// SPDX-License-Identifier: GPL-2.0
/*
 * The tame peer of a hostile process. The peer makes correct requests and answers every message.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static struct conn *served[512];

static void serve_request(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4 };
	struct conn *c = calloc(1, sizeof(*c));
	struct grant g;
	int i;

	for (i = 0; i < 512 && served[i]; i++)
		;
	if (i == 512)
		iwt_fail("too many connections");
	served[i] = c;
	c->id = id;
	id->context = c;
	iwt_make_objects(c, false);
	for (i = 0; i < WRS * 2; i++)
		iwt_post_recv(c, 1);
	g = (struct grant) { (uintptr_t)c->buf, c->mr->rkey, BUF };
	param.private_data = &g;
	param.private_data_len = sizeof(g);
	rdma_accept(id, &param);
}

static void serve_end(struct conn *c)
{
	int i;

	for (i = 0; i < 512; i++)
		if (served[i] == c)
			served[i] = NULL;
	rdma_destroy_qp(c->id);
	ibv_dereg_mr(c->mr);
	ibv_destroy_cq(c->cq);
	ibv_destroy_comp_channel(c->events);
	ibv_dealloc_pd(c->pd);
	rdma_destroy_id(c->id);
	free(c->buf);
	free(c);
}

static void serve_completions(struct conn *c)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(c->cq, 1, &wc) == 1) {
		if (wc.status || !(wc.opcode & IBV_WC_RECV))
			continue;
		iwt_post_recv(c, 1);
		iwt_post(c, 2, IBV_WR_SEND, 0, 32);
	}
}

static void serve_event(struct rdma_cm_event *ev)
{
	struct conn *c = ev->id->context;
	struct rdma_cm_id *id = ev->id;
	int event = ev->event;

	rdma_ack_cm_event(ev);
	if (event == RDMA_CM_EVENT_CONNECT_REQUEST)
		serve_request(id);
	else if (event != RDMA_CM_EVENT_ESTABLISHED &&
		 event != RDMA_CM_EVENT_TIMEWAIT_EXIT && c)
		serve_end(c);
}

int iwt_serve(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE,
				       .ai_port_space = RDMA_PS_TCP }, *ai;
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	int i;

	if (!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) ||
	    rdma_getaddrinfo(iwt_address, PORT, &hints, &ai) ||
	    rdma_bind_addr(id, ai->ai_src_addr) || rdma_listen(id, 64))
		iwt_fail("cannot listen: %s", strerror(errno));
	while (1) {
		struct pollfd p = { .fd = ch->fd, .events = POLLIN };

		if (poll(&p, 1, 2) == 1 && !rdma_get_cm_event(ch, &ev))
			serve_event(ev);
		for (i = 0; i < 512; i++)
			if (served[i])
				serve_completions(served[i]);
	}
}
