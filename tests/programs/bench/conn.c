// SPDX-License-Identifier: GPL-2.0
/* Part of iwt_bench: allocates memory, and makes connections one after another. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* Private data of requests and replies: the sender's memory. All fields are big endian. */
struct hello {
	uint64_t addr;
	uint32_t rkey;
	uint32_t zero;
};

static void memory(struct bench *b)
{
	size_t len;

	b->slots = b->o.qps < BENCH_SLOTS ? b->o.qps : BENCH_SLOTS;
	b->slot = (b->o.size + 4095ull) & ~4095ull;
	len = BENCH_CTL + 2 * b->slots * b->slot;
	if (posix_memalign((void **)&b->buf, 4096, len))
		bench_die("memory");
	memset(b->buf, 0, len);
	b->mr = ibv_reg_mr(b->pd, b->buf, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | (b->o.odp ? IBV_ACCESS_ON_DEMAND : 0) |
			   (b->o.gap ? IBV_ACCESS_RELAXED_ORDERING : 0) |
			   (b->o.op == BENCH_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0));
	if (!b->mr)
		bench_die("ibv_reg_mr");
}

static void shared_receives(struct bench *b, uint32_t most)
{
	uint64_t wr = (uint64_t)b->o.qps * (b->rx_depth + BENCH_SPARE);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = wr < most ? wr : most, .max_sge = 1 } };

	b->srq = ibv_create_srq(b->pd, &attr);
	if (!b->srq)
		bench_die("ibv_create_srq");
}

/*
 * With many queue pairs, a queue can get the mmap offset 0x90000, which not every provider can
 * map. This function creates an idle queue pair whose queues occupy the offsets around 0x90000.
 */
static void filler(struct bench *b)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = b->cq,
		.recv_cq = b->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8000, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (b->o.qps > BENCH_SLOTS)
		ibv_create_qp(b->pd, &attr);
}

/* bench_resources - allocates the objects that all queue pairs share, at its first call */
void bench_resources(struct bench *b, struct ibv_context *verbs)
{
	struct ibv_device_attr attr;
	uint64_t cqe;

	if (b->pd)
		return;
	b->every = b->o.depth / 4 < 32 ? b->o.depth / 4 : 32;
	b->rx_depth = b->o.qps > 8 ? 1024 / b->o.qps : 512;
	if (b->rx_depth < 16 || (b->o.op != BENCH_SEND && !b->o.gap))
		b->rx_depth = 16;
	cqe = (uint64_t)b->o.qps * (b->o.depth / b->every + b->rx_depth + 2 * BENCH_SPARE);
	if (b->o.mode == BENCH_CONN)
		cqe = 1024;
	if (ibv_query_device(verbs, &attr))
		bench_die("ibv_query_device");
	if (cqe > (uint64_t)attr.max_cqe)
		cqe = attr.max_cqe;
	b->reads_in = attr.max_qp_rd_atom < 16 ? attr.max_qp_rd_atom : 16;
	b->reads_out = attr.max_qp_init_rd_atom < 16 ? attr.max_qp_init_rd_atom : 16;
	b->pd = ibv_alloc_pd(verbs);
	b->cc = ibv_create_comp_channel(verbs);
	b->cq = b->cc ? ibv_create_cq(verbs, cqe, NULL, b->cc, 0) : NULL;
	if (!b->pd || !b->cq)
		bench_die("ibv_create_cq");
	if (b->o.srq)
		shared_receives(b, attr.max_srq_wr);
	filler(b);
	if (b->o.mode != BENCH_CONN)
		memory(b);
}

void bench_qp(struct bench *b, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = b->cq,
		.recv_cq = b->cq,
		.srq = b->srq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = b->o.depth + BENCH_SPARE,
			.max_recv_wr = b->rx_depth + BENCH_SPARE,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	if (b->o.mode == BENCH_LAT && b->o.size <= BENCH_INLINE)
		attr.cap.max_inline_data = BENCH_INLINE;
	if (rdma_create_qp(id, b->pd, &attr))
		bench_die("rdma_create_qp");
}

/* bench_param - fills in the parameters of a connect or an accept; @p refers to @hello */
void bench_param(struct bench *b, struct rdma_conn_param *p, void *hello)
{
	struct hello *h = hello;

	memset(p, 0, sizeof(*p));
	p->responder_resources = b->reads_in;
	p->initiator_depth = b->reads_out;
	p->retry_count = 7;
	p->rnr_retry_count = 7;
	if (!b->mr)
		return;
	h->addr = htobe64((uintptr_t)b->buf);
	h->rkey = htonl(b->mr->rkey);
	h->zero = 0;
	p->private_data = h;
	p->private_data_len = sizeof(*h);
}

static void remember(struct bench *b, struct bench_conn *c, struct rdma_cm_id *id,
		     const struct rdma_conn_param *p)
{
	const struct hello *h = p->private_data;

	if (!h || p->private_data_len < sizeof(*h)) {
		errno = EPROTO;
		bench_die("no private data");
	}
	c->raddr = be64toh(h->addr);
	c->rkey = ntohl(h->rkey);
	c->id = id;
	c->qp = id->qp;
	c->index = c - b->conn;
	c->credit = b->rx_depth;
}

static void receives(struct bench *b, struct bench_conn *c)
{
	unsigned int n;

	for (n = 0; n < b->rx_depth + BENCH_SPARE / 2; n++)
		bench_recv(b, c);
}

void bench_listen(struct bench *b)
{
	if (rdma_create_id(b->ec, &b->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(b->listener, b->addr->ai_addr) || rdma_listen(b->listener, 1024))
		bench_die("rdma_listen");
	printf("listening\n");
	fflush(stdout);
}

static void accept_one(struct bench *b, struct rdma_cm_event *ev)
{
	struct bench_conn *c = &b->conn[b->accepted++];
	struct rdma_conn_param p;
	struct hello h;

	bench_resources(b, ev->id->verbs);
	bench_qp(b, ev->id);
	remember(b, c, ev->id, &ev->param.conn);
	receives(b, c);
	bench_param(b, &p, &h);
	if (rdma_accept(ev->id, &p))
		bench_die("rdma_accept");
}

/* bench_serve - accepts all connections; the client makes one connection at a time */
void bench_serve(struct bench *b)
{
	struct rdma_cm_event *ev;

	while (b->established < b->o.qps) {
		if (rdma_get_cm_event(b->ec, &ev))
			bench_die("rdma_get_cm_event");
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			accept_one(b, ev);
		} else if (ev->event == RDMA_CM_EVENT_ESTABLISHED) {
			b->established++;
		} else {
			errno = EPROTO;
			bench_die(rdma_event_str(ev->event));
		}
		rdma_ack_cm_event(ev);
	}
}

static void expect(struct bench *b, enum rdma_cm_event_type want, struct bench_conn *c)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(b->ec, &ev))
		bench_die("rdma_get_cm_event");
	if (ev->event != want) {
		errno = EPROTO;
		bench_die(rdma_event_str(ev->event));
	}
	if (c)
		remember(b, c, ev->id, &ev->param.conn);
	rdma_ack_cm_event(ev);
}

/* bench_resolve - creates an rdma_cm_id, and begins to resolve the server's address */
struct rdma_cm_id *bench_resolve(struct bench *b)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(b->ec, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, b->addr->ai_addr, 5000))
		bench_die("rdma_resolve_addr");
	return id;
}

/*
 * Makes one connection. Returns false if the source port that the kernel chose was in use; the
 * caller then tries again.
 */
static bool connect_one(struct bench *b, struct bench_conn *c)
{
	struct rdma_cm_id *id = bench_resolve(b);
	struct rdma_conn_param p;
	struct hello h;

	expect(b, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	if (rdma_resolve_route(id, 5000))
		bench_die("rdma_resolve_route");
	expect(b, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	bench_resources(b, id->verbs);
	bench_qp(b, id);
	c->qp = id->qp;
	c->index = c - b->conn;
	receives(b, c);
	bench_param(b, &p, &h);
	if (rdma_connect(id, &p)) {
		if (errno != EADDRINUSE)
			bench_die("rdma_connect");
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
		return false;
	}
	expect(b, RDMA_CM_EVENT_ESTABLISHED, c);
	return true;
}

/* bench_connect - connects until @upto queue pairs are connected */
void bench_connect(struct bench *b, unsigned int upto)
{
	unsigned int tries = 100 + upto;

	while (b->established < upto) {
		if (connect_one(b, &b->conn[b->established]))
			b->established++;
		else if (!tries--)
			bench_die("rdma_connect");
	}
}

/* bench_leave - the client disconnects all connections; the server waits for the first event */
void bench_leave(struct bench *b)
{
	struct rdma_cm_event *ev;

	if (!b->o.server) {
		for (unsigned int i = 0; i < b->o.qps; i++)
			rdma_disconnect(b->conn[i].id);
		return;
	}
	if (!rdma_get_cm_event(b->ec, &ev))
		rdma_ack_cm_event(ev);
}
