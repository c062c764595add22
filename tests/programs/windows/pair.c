// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_windows: connections of the process with itself, and functions that post at the near end or
 * at the far end.
 */
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>

#include "patience.h"
#include "windows.h"

static uint8_t *memory(size_t len)
{
	uint8_t *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

void bench_open(struct bench *b)
{
	int i;

	b->verbs = cm_open(b->address, b->port);
	for (i = 0; i < 2; i++)
		b->pd[i] = ibv_alloc_pd(b->verbs);
	if (!b->pd[0] || !b->pd[1])
		die("ibv_alloc_pd");
	b->source = memory(SOURCE);
	/* two more pages: the pages before and after the arena must not change, either */
	b->arena = memory(ARENA + 2 * PAGE) + PAGE;
	b->source_mr = ibv_reg_mr(b->pd[0], b->source, SOURCE, IBV_ACCESS_LOCAL_WRITE);
	if (!b->source_mr)
		die("ibv_reg_mr");
}

/* Return: index in bench.pd of the protection domain of the far end of @pair */
int pd_of(int pair)
{
	return pair == PAIRS - 1;
}

void pair_connect(struct bench *b, int i)
{
	conn_open(&b->pair[i], b->pd[0], b->pd[pd_of(i)]);
}

/* Ends connection @i and destroys both queue pairs, unless this has been done. */
void pair_drop(struct bench *b, int i)
{
	conn_drop(&b->pair[i]);
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
	cm_close();
}

/* Return: 0 or an error number */
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
	reap(b->pair[i].far_cq, &wc, 1);
	if (!wc.status && wr->opcode == IBV_WR_BIND_MW && wc.opcode != IBV_WC_BIND_MW)
		die("a bind completes as something else");
	return wc.status;
}

/* Posts a receive for an empty Send. */
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

	post_request(b->pair[i].near->qp, r->op, r->len ? &sge : NULL, r->addr, r->rkey);
}

/*
 * Posts one request and waits for its effect. For this purpose the function posts an empty Read
 * after the request. When the Read is complete, the peer has placed the data of a Write, or has
 * received a Send. Return: the status of the request, or of the Read if the request has succeeded
 */
enum ibv_wc_status near_do(struct bench *b, int i, const struct request *r)
{
	static const struct request behind = { .op = IBV_WR_RDMA_READ };
	struct ibv_wc wc[2];

	pair_connect(b, i);
	near_post(b, i, r);
	near_post(b, i, &behind);
	reap(b->pair[i].near_cq, wc, 2);
	return wc[0].status ? wc[0].status : wc[1].status;
}

/*
 * Waits for the asynchronous event of a far end that has failed, and ignores the event of the
 * near end. Return: type of the event; -1 after a time-out, or if another connection has an event
 */
int far_event(struct bench *b, int i)
{
	struct pollfd p = { .fd = b->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	while (patient_poll(&p, 1, PATIENCE * 1000) == 1 && !ibv_get_async_event(b->verbs, &ev)) {
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

/* Return: a request that binds a window of type 2 with its next key */
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

/*
 * Binds a window of either type, and waits for the completion. If the bind succeeds, the new key
 * is in @mw->rkey afterwards. Return: status of the completion
 */
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
	/* call the provider, because ibv_bind_mw() would refuse a region of another domain */
	errno = b->verbs->ops.bind_mw(b->pair[i].far->qp, mw, &bind);
	if (errno)
		die("bind_mw");
	reap(b->pair[i].far_cq, &wc, 1);
	if (wc.opcode != IBV_WC_BIND_MW && !wc.status)
		die("a bind completes as something else");
	return wc.status;
}
