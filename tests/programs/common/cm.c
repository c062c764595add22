// SPDX-License-Identifier: GPL-2.0
/* Connections of a process to itself by rdma_cm, and requests on these connections. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cm.h"
#include "patience.h"
#include "results.h"

#define DEPTH	64
#define INLINE	64

static struct rdma_event_channel *events;
static struct rdma_cm_id *listener;
static struct rdma_addrinfo *info;

/* Waits for the next event, which must be @want. Return: the rdma_cm_id of the event. */
static struct rdma_cm_id *expect(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(events, &e))
		die("rdma_get_cm_event");
	if (e->event != want) {
		printf("# %s instead of %s\n", rdma_event_str(e->event), rdma_event_str(want));
		die("rdma_cm");
	}
	id = e->id;
	rdma_ack_cm_event(e);
	return id;
}

static struct rdma_cm_id *new_id(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(events, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	return id;
}

struct ibv_context *cm_open(const char *address, const char *port)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };

	events = rdma_create_event_channel();
	if (!events || rdma_getaddrinfo(address, port, &hints, &info))
		die("rdma_getaddrinfo");
	listener = new_id();
	if (rdma_bind_addr(listener, info->ai_src_addr) || rdma_listen(listener, 8))
		die("rdma_listen");
	if (!listener->verbs)
		die("no link has this address");
	if (fcntl(listener->verbs->async_fd, F_SETFL, O_NONBLOCK))
		die("fcntl");
	return listener->verbs;
}

void cm_inherit(void)
{
	if (fcntl(events->fd, F_SETFD, 0))
		die("fcntl");
}

void cm_close(void)
{
	rdma_destroy_id(listener);
	rdma_freeaddrinfo(info);
	rdma_destroy_event_channel(events);
}

void conn_make(struct conn *c, struct ibv_qp_init_attr_ex *near, struct ibv_qp_init_attr_ex *far)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };

	*c = (struct conn) { .near = new_id(), .up = true };
	if (rdma_resolve_addr(c->near, NULL, info->ai_src_addr, PATIENCE * 1000))
		die("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(c->near, PATIENCE * 1000))
		die("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (rdma_create_qp_ex(c->near, near))
		die("rdma_create_qp_ex");
	if (rdma_connect(c->near, &param))
		die("rdma_connect");
	c->far = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	if (rdma_create_qp_ex(c->far, far))
		die("rdma_create_qp_ex");
	if (rdma_accept(c->far, &param))
		die("rdma_accept");
	/* the two ends may receive their events in any order */
	expect(RDMA_CM_EVENT_ESTABLISHED);
	expect(RDMA_CM_EVENT_ESTABLISHED);
}

/*
 * Creates a completion queue. Return: attributes of a queue pair that uses the completion queue.
 */
static struct ibv_qp_init_attr_ex own_attr(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr_ex attr = qp_attr(pd, cq_make(pd->context, 2 * DEPTH, NULL), DEPTH);

	attr.sq_sig_all = 1;
	attr.cap.max_inline_data = INLINE;
	return attr;
}

void conn_open(struct conn *c, struct ibv_pd *near, struct ibv_pd *far)
{
	struct ibv_qp_init_attr_ex near_attr, far_attr;

	if (c->up)
		return;
	near_attr = own_attr(near);
	far_attr = own_attr(far);
	conn_make(c, &near_attr, &far_attr);
	c->near_cq = near_attr.send_cq;
	c->far_cq = far_attr.send_cq;
}

static void drop_end(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	if (cq)
		cq_drop(cq);
}

void conn_drop(struct conn *c)
{
	struct ibv_async_event ev;

	if (!c->up)
		return;
	c->up = false;
	/* rdma_disconnect() may fail, because an end that has failed is disconnected already */
	rdma_disconnect(c->near);
	rdma_disconnect(c->far);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	/* ibv_destroy_qp() waits until all events of the queue pair are acknowledged */
	while (!ibv_get_async_event(listener->verbs, &ev))
		ibv_ack_async_event(&ev);
	drop_end(c->near, c->near_cq);
	drop_end(c->far, c->far_cq);
}

struct ibv_qp_init_attr_ex qp_attr(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth)
{
	return (struct ibv_qp_init_attr_ex) {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { depth, depth, 1, 1, 0 }, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
	};
}

struct ibv_cq *cq_make(struct ibv_context *verbs, int cqe, struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq = ibv_create_cq(verbs, cqe, NULL, channel, 0);

	if (!cq)
		die("ibv_create_cq");
	return cq;
}

void cq_drop(struct ibv_cq *cq)
{
	errno = ibv_destroy_cq(cq);
	if (errno)
		die("ibv_destroy_cq");
}

void post_request(struct ibv_qp *qp, enum ibv_wr_opcode op, struct ibv_sge *sge, uint64_t addr,
		  uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = op, .sg_list = sge, .num_sge = !!sge }, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (op == IBV_WR_SEND_WITH_INV) {
		wr.invalidate_rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	errno = ibv_post_send(qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

void reap(struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	struct patience p = {};
	int got, i;

	for (i = 0; i < n; i += got) {
		got = ibv_poll_cq(cq, n - i, wc + i);
		if (got < 0)
			die("ibv_poll_cq");
		if (!patient(&p, PATIENCE, i + got)) {
			errno = ETIMEDOUT;
			die("a completion");
		}
	}
}
