// SPDX-License-Identifier: GPL-2.0
/* iwt_queues: connections of the process with itself, and requests. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queues.h"

#define PAGE	4096

static struct rdma_event_channel *events;
static struct rdma_cm_id *listener;
static struct rdma_addrinfo *info;

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

void link_open(struct link *l)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };

	events = rdma_create_event_channel();
	if (!events || rdma_getaddrinfo(l->address, "7477", &hints, &info))
		die("rdma_getaddrinfo");
	listener = new_id();
	if (rdma_bind_addr(listener, info->ai_src_addr) || rdma_listen(listener, 8))
		die("rdma_listen");
	l->verbs = listener->verbs;
	if (!l->verbs)
		die("no link has this address");
	if (fcntl(l->verbs->async_fd, F_SETFL, O_NONBLOCK))
		die("fcntl");
	l->pd = ibv_alloc_pd(l->verbs);
	if (!l->pd)
		die("ibv_alloc_pd");
}

void link_close(struct link *l)
{
	if (ibv_dealloc_pd(l->pd))
		die("ibv_dealloc_pd");
	rdma_destroy_id(listener);
	rdma_freeaddrinfo(info);
	rdma_destroy_event_channel(events);
}

struct ibv_qp_init_attr_ex qp_attr(struct link *l, struct ibv_cq *cq, uint32_t depth)
{
	return (struct ibv_qp_init_attr_ex) {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { depth, depth, 1, 1, 0 }, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = l->pd,
	};
}

void conn_make(struct link *l, struct conn *c, struct ibv_qp_init_attr_ex *near_attr,
	       struct ibv_qp_init_attr_ex *far_attr)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };

	c->near = new_id();
	if (rdma_resolve_addr(c->near, NULL, info->ai_src_addr, 5000))
		die("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(c->near, 5000))
		die("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (rdma_create_qp_ex(c->near, near_attr))
		die("rdma_create_qp_ex");
	if (rdma_connect(c->near, &param))
		die("rdma_connect");
	c->far = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	if (rdma_create_qp_ex(c->far, far_attr))
		die("rdma_create_qp_ex");
	if (rdma_accept(c->far, &param))
		die("rdma_accept");
	/* either end may be told first */
	expect(RDMA_CM_EVENT_ESTABLISHED);
	expect(RDMA_CM_EVENT_ESTABLISHED);
}

void conn_drop(struct link *l, struct conn *c)
{
	/* an end that has failed is disconnected already */
	rdma_disconnect(c->near);
	rdma_disconnect(c->far);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(c->near);
	rdma_destroy_qp(c->far);
	rdma_destroy_id(c->near);
	rdma_destroy_id(c->far);
}

struct ibv_cq *cq_make(struct link *l, int cqe, struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq = ibv_create_cq(l->verbs, cqe, NULL, channel, 0);

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

/* Takes @n completions, which have to come. */
void reap(struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	uint64_t end = now_s() + PATIENCE;
	int got, i;

	for (i = 0; i < n; i += got) {
		got = ibv_poll_cq(cq, n - i, wc + i);
		if (got < 0)
			die("ibv_poll_cq");
		if (now_s() > end) {
			errno = ETIMEDOUT;
			die("a completion");
		}
	}
}

int post_send(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, unsigned int flags,
	      struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = op, .sg_list = sge, .num_sge = !!sge,
				  .send_flags = flags }, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

int post_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = !!sge }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* Pages that the kernel counts as pinned by this process */
size_t pinned_pages(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	size_t kb = 0;

	if (!f)
		die("/proc/self/status");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %zu", &kb) == 1)
			break;
	fclose(f);
	return kb * 1024 / PAGE;
}
