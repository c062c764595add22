// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: connections of the process with itself, and requests. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "memory.h"

#define DEPTH	64

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

/* The source of requests, and the first connection */
void bench_open(struct bench *b)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	int i;

	events = rdma_create_event_channel();
	if (!events || rdma_getaddrinfo(b->address, "7476", &hints, &info))
		die("rdma_getaddrinfo");
	listener = new_id();
	if (rdma_bind_addr(listener, info->ai_src_addr) || rdma_listen(listener, 8))
		die("rdma_listen");
	b->verbs = listener->verbs;
	if (!b->verbs)
		die("no link has this address");
	if (fcntl(b->verbs->async_fd, F_SETFL, O_NONBLOCK))
		die("fcntl");
	for (i = 0; i < 2; i++)
		b->pd[i] = ibv_alloc_pd(b->verbs);
	b->source = mmap(NULL, SOURCE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!b->pd[0] || !b->pd[1] || b->source == MAP_FAILED)
		die("resources");
	b->source_mr = ibv_reg_mr(b->pd[0], b->source, SOURCE, IBV_ACCESS_LOCAL_WRITE |
				  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!b->source_mr)
		die("ibv_reg_mr");
}

static struct ibv_cq *make_qp(struct bench *b, struct rdma_cm_id *id)
{
	struct ibv_cq *cq = ibv_create_cq(b->verbs, 2 * DEPTH, NULL, NULL, 0);
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
				      .sq_sig_all = 1, .cap = { DEPTH, DEPTH, 1, 1, 0 } };

	if (!cq || rdma_create_qp(id, b->pd[0], &a))
		die("rdma_create_qp");
	return cq;
}

void bench_connect(struct bench *b)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct pair *p = &b->pair;

	if (b->connected)
		return;
	p->near = new_id();
	if (rdma_resolve_addr(p->near, NULL, info->ai_src_addr, 5000))
		die("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(p->near, 5000))
		die("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	p->cq = make_qp(b, p->near);
	if (rdma_connect(p->near, &param))
		die("rdma_connect");
	p->far = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	p->far_cq = make_qp(b, p->far);
	if (rdma_accept(p->far, &param))
		die("rdma_accept");
	/* either end may be told first */
	expect(RDMA_CM_EVENT_ESTABLISHED);
	expect(RDMA_CM_EVENT_ESTABLISHED);
	b->connected = true;
}

static void drop(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	if (ibv_destroy_cq(cq))
		die("ibv_destroy_cq");
}

void bench_disconnect(struct bench *b)
{
	struct ibv_async_event ev;

	if (!b->connected)
		return;
	b->connected = false;
	/* an end that has failed is disconnected already */
	rdma_disconnect(b->pair.near);
	rdma_disconnect(b->pair.far);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	/* a queue pair is destroyed only when its events are acknowledged */
	while (!ibv_get_async_event(b->verbs, &ev))
		ibv_ack_async_event(&ev);
	drop(b->pair.near, b->pair.cq);
	drop(b->pair.far, b->pair.far_cq);
}

void bench_close(struct bench *b)
{
	int i;

	bench_disconnect(b);
	ibv_dereg_mr(b->source_mr);
	for (i = 0; i < 2; i++)
		if (ibv_dealloc_pd(b->pd[i]))
			die("ibv_dealloc_pd");
	rdma_destroy_id(listener);
	rdma_freeaddrinfo(info);
	rdma_destroy_event_channel(events);
}

/* @len octets from, or to, the beginning of the source */
void bench_post(struct bench *b, enum ibv_wr_opcode op, uint32_t len, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)b->source, len, b->source_mr->lkey };
	struct ibv_send_wr wr = { .opcode = op, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	errno = ibv_post_send(b->pair.near->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

enum ibv_wc_status bench_reap_from(struct ibv_cq *cq)
{
	time_t end = time(NULL) + 60;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		if (time(NULL) > end)
			die("no completion");
	if (n < 0)
		die("ibv_poll_cq");
	return wc.status;
}

enum ibv_wc_status bench_reap(struct bench *b)
{
	return bench_reap_from(b->pair.cq);
}

/*
 * Does one request and waits for its effect: a Read without octets behind a Write is complete
 * when the peer has placed the Write. If the request is refused, the connection ends.
 */
enum ibv_wc_status bench_do(struct bench *b, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
			    uint32_t rkey)
{
	enum ibv_wc_status status, behind;

	bench_connect(b);
	bench_post(b, op, len, addr, rkey);
	bench_post(b, IBV_WR_RDMA_READ, 0, 0, 0);
	status = bench_reap(b);
	behind = bench_reap(b);
	if (!status)
		status = behind;
	if (status)
		bench_disconnect(b);
	return status;
}

/* Sends the first @len octets of a region, which the peer receives if it can be sent. */
enum ibv_wc_status bench_do_with(struct bench *b, const struct ibv_mr *mr, uint32_t len)
{
	struct ibv_sge from = { 0, len, mr->lkey };
	struct ibv_sge to = { (uintptr_t)b->source, len, b->source_mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1 }, *bad;
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	enum ibv_wc_status status;

	bench_connect(b);
	errno = ibv_post_recv(b->pair.far->qp, &recv, &bad_recv) ?: ibv_post_send(b->pair.near->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
	status = bench_reap(b);
	bench_reap_from(b->pair.far_cq);
	if (status)
		bench_disconnect(b);
	return status;
}
