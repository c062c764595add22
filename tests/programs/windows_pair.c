// SPDX-License-Identifier: GPL-2.0
/* iwt_windows: connections of the process with itself, and requests of both ends. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "windows.h"

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

static uint8_t *memory(size_t len)
{
	uint8_t *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

void bench_open(struct bench *b)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	int i;

	events = rdma_create_event_channel();
	if (!events || rdma_getaddrinfo(b->address, b->port, &hints, &info))
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
	if (!b->pd[0] || !b->pd[1])
		die("ibv_alloc_pd");
	b->source = memory(SOURCE);
	/* what is next to the arena must not change either */
	b->arena = memory(ARENA + 2 * PAGE) + PAGE;
	b->source_mr = ibv_reg_mr(b->pd[0], b->source, SOURCE, IBV_ACCESS_LOCAL_WRITE);
	if (!b->source_mr)
		die("ibv_reg_mr");
}

/* Domain of the far end of a pair */
int pd_of(int pair)
{
	return pair == PAIRS - 1;
}

static struct ibv_cq *make_qp(struct bench *b, struct rdma_cm_id *id, int pd)
{
	struct ibv_cq *cq = ibv_create_cq(b->verbs, 2 * DEPTH, NULL, NULL, 0);
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
				      .sq_sig_all = 1, .cap = { DEPTH, DEPTH, 1, 1, 64 } };

	if (!cq || rdma_create_qp(id, b->pd[pd], &a))
		die("rdma_create_qp");
	return cq;
}

void pair_connect(struct bench *b, int i)
{
	struct rdma_conn_param param = { .responder_resources = 8, .initiator_depth = 8 };
	struct pair *p = &b->pair[i];

	if (p->up)
		return;
	p->near = new_id();
	if (rdma_resolve_addr(p->near, NULL, info->ai_src_addr, 5000))
		die("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(p->near, 5000))
		die("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	p->near_cq = make_qp(b, p->near, 0);
	if (rdma_connect(p->near, &param))
		die("rdma_connect");
	p->far = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	p->far_cq = make_qp(b, p->far, pd_of(i));
	if (rdma_accept(p->far, &param))
		die("rdma_accept");
	/* either end may be told first */
	expect(RDMA_CM_EVENT_ESTABLISHED);
	expect(RDMA_CM_EVENT_ESTABLISHED);
	p->up = true;
}

static void drop(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	if (ibv_destroy_cq(cq))
		die("ibv_destroy_cq");
}

/* Ends a connection, if there is one, and both queue pairs */
void pair_drop(struct bench *b, int i)
{
	struct pair *p = &b->pair[i];
	struct ibv_async_event ev;

	if (!p->up)
		return;
	p->up = false;
	/* an end that has failed is disconnected already */
	rdma_disconnect(p->near);
	rdma_disconnect(p->far);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	/* a queue pair is destroyed only when its events are acknowledged */
	while (!ibv_get_async_event(b->verbs, &ev))
		ibv_ack_async_event(&ev);
	drop(p->near, p->near_cq);
	drop(p->far, p->far_cq);
}

void bench_close(struct bench *b)
{
	int i;

	for (i = 0; i < PAIRS; i++)
		pair_drop(b, i);
	if (ibv_dereg_mr(b->source_mr))
		die("ibv_dereg_mr");
	for (i = 0; i < 2; i++)
		if (ibv_dealloc_pd(b->pd[i]))
			die("ibv_dealloc_pd");
	rdma_destroy_id(listener);
	rdma_freeaddrinfo(info);
	rdma_destroy_event_channel(events);
}

void reap(struct ibv_cq *cq, struct ibv_wc *wc)
{
	time_t end = time(NULL) + 60;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc)))
		if (time(NULL) > end)
			die("no completion");
	if (n < 0)
		die("ibv_poll_cq");
}

/* Returns an errno */
int far_post(struct bench *b, int i, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(b->pair[i].far->qp, wr, &bad);
}

enum ibv_wc_status far_do(struct bench *b, int i, struct ibv_send_wr *wr)
{
	struct ibv_wc wc;

	pair_connect(b, i);
	errno = far_post(b, i, wr);
	if (errno)
		die("ibv_post_send");
	reap(b->pair[i].far_cq, &wc);
	if (!wc.status && wr->opcode == IBV_WR_BIND_MW && wc.opcode != IBV_WC_BIND_MW)
		die("a bind completes as something else");
	return wc.status;
}

/* Room for a Send without octets */
void far_receive(struct bench *b, int i)
{
	struct ibv_recv_wr wr = {}, *bad;

	errno = ibv_post_recv(b->pair[i].far->qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

void near_post(struct bench *b, int i, const struct request *r)
{
	struct ibv_sge sge = { (uintptr_t)b->source, r->len, b->source_mr->lkey };
	struct ibv_send_wr wr = { .opcode = r->op, .sg_list = &sge, .num_sge = !!r->len }, *bad;

	if (r->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = r->addr;
		wr.wr.atomic.rkey = r->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (r->op == IBV_WR_SEND_WITH_INV) {
		wr.invalidate_rkey = r->rkey;
	} else {
		wr.wr.rdma.remote_addr = r->addr;
		wr.wr.rdma.rkey = r->rkey;
	}
	errno = ibv_post_send(b->pair[i].near->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

/*
 * Does one request and waits for its effect: a Read without octets behind it is complete when
 * the peer has placed a Write, or taken a Send.
 */
enum ibv_wc_status near_do(struct bench *b, int i, const struct request *r)
{
	static const struct request behind = { .op = IBV_WR_RDMA_READ };
	struct ibv_wc wc[2];

	pair_connect(b, i);
	near_post(b, i, r);
	near_post(b, i, &behind);
	reap(b->pair[i].near_cq, &wc[0]);
	reap(b->pair[i].near_cq, &wc[1]);
	return wc[0].status ? wc[0].status : wc[1].status;
}

/*
 * The asynchronous event of a far end that has failed. The near end has one, too; -1 if another
 * connection has any.
 */
int far_event(struct bench *b, int i)
{
	struct pollfd p = { .fd = b->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	while (poll(&p, 1, 20000) == 1 && !ibv_get_async_event(b->verbs, &ev)) {
		ibv_ack_async_event(&ev);
		if (ev.element.qp == b->pair[i].far->qp)
			return ev.event_type;
		if (ev.element.qp != b->pair[i].near->qp)
			return -1;
	}
	return -1;
}

struct ibv_mr *region(struct bench *b, int pd, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(b->pd[pd], b->arena, ARENA, access);

	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

struct ibv_mw *window(struct bench *b, int pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(b->pd[pd], type);

	if (!mw)
		die("ibv_alloc_mw");
	return mw;
}

/* Binds a window of type 2 with its next key */
struct ibv_send_wr bind_wr(struct ibv_mw *mw, struct ibv_mr *mr, void *at, uint64_t len, int access)
{
	return (struct ibv_send_wr) {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = { mr, (uintptr_t)at, len, access },
		},
	};
}

/* Binds a window of either type, and waits for it; then @mw->rkey is its key. */
enum ibv_wc_status bind_do(struct bench *b, int i, struct ibv_mw *mw, struct ibv_mr *mr, void *at,
			   uint64_t len, int access)
{
	struct ibv_mw_bind bind = { .bind_info = { mr, (uintptr_t)at, len, access } };
	struct ibv_send_wr wr = bind_wr(mw, mr, at, len, access);
	enum ibv_wc_status status;
	struct ibv_wc wc;

	if (mw->type == IBV_MW_TYPE_2) {
		status = far_do(b, i, &wr);
		if (!status)
			mw->rkey = wr.bind_mw.rkey;
		return status;
	}
	pair_connect(b, i);
	/* libibverbs refuses a region of another domain, the kernel has to refuse it, too */
	errno = b->verbs->ops.bind_mw(b->pair[i].far->qp, mw, &bind);
	if (errno)
		die("bind_mw");
	reap(b->pair[i].far_cq, &wc);
	if (wc.opcode != IBV_WC_BIND_MW && !wc.status)
		die("a bind completes as something else");
	return wc.status;
}
