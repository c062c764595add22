// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verify: posts by ibv_post_send() or by ibv_wr_*(), and waits for completions by polling or
 * by events.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "patience.h"
#include "verify.h"

double iwt_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static uint32_t to_sges(struct iwt_ctx *cx, const struct iwt_buf *b, struct ibv_sge *sge)
{
	uint32_t i;

	for (i = 0; i < b->n; i++) {
		sge[i].addr = (uintptr_t)cx->arena + b->piece[i].off;
		sge[i].length = b->piece[i].len;
		sge[i].lkey = cx->mr->lkey;
	}
	return b->n;
}

/*
 * The provider must copy inline data before the posting call returns, and must not use the keys
 * of the elements. So the test copies inline data into this structure, posts elements that
 * describe the copy and have a wrong key, and overwrites the copy right after the call.
 */
struct bounce {
	uint8_t data[4096];
	uint32_t used;
};

static void bounce(struct bounce *bb, struct ibv_sge *sge, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		memcpy(bb->data + bb->used, (void *)(uintptr_t)sge[i].addr, sge[i].length);
		sge[i].addr = (uintptr_t)bb->data + bb->used;
		sge[i].lkey = 0xdead;
		bb->used += sge[i].length;
	}
}

static const enum ibv_wr_opcode opcode_of[IWT_KINDS] = {
	[IWT_SEND] = IBV_WR_SEND, [IWT_SEND_INV] = IBV_WR_SEND_WITH_INV,
	[IWT_WRITE] = IBV_WR_RDMA_WRITE, [IWT_READ] = IBV_WR_RDMA_READ,
	[IWT_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM, [IWT_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	[IWT_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD, [IWT_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
};

static unsigned int wr_flags(const struct iwt_op *op)
{
	return (op->flags & IWT_F_SIGNALED ? IBV_SEND_SIGNALED : 0) |
	       (op->flags & IWT_F_SOLICITED ? IBV_SEND_SOLICITED : 0) |
	       (op->flags & IWT_F_FENCE ? IBV_SEND_FENCE : 0) |
	       (op->flags & IWT_F_INLINE ? IBV_SEND_INLINE : 0);
}

static void set_remote(struct ibv_send_wr *wr, const struct iwt_op *op, uint64_t addr,
		       uint32_t rkey)
{
	if (op->kind == IWT_SEND_INV)
		wr->invalidate_rkey = rkey;
	if (iwt_has_imm(op->kind))
		wr->imm_data = iwt_imm_of(op);
	if (!iwt_is_atomic(op->kind)) {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
		return;
	}
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.compare_add = op->kind == IWT_FETCH_ADD ? iwt_operand_of(op) :
								iwt_compare_of(op);
	wr->wr.atomic.swap = iwt_operand_of(op);
}

static int post_classic(struct iwt_ctx *cx, const struct iwt_plan *p, const struct iwt_sync *to,
			bool tame)
{
	static struct ibv_send_wr wr[IWT_MAX_OPS];
	static struct ibv_sge sge[IWT_MAX_OPS][IWT_MAX_PIECES];
	static struct bounce bb[IWT_MAX_OPS];
	struct ibv_send_wr *bad;
	uint32_t i, first = 0;

	memset(wr, 0, sizeof(wr));
	for (i = 0; i < p->n; i++) {
		const struct iwt_op *op = &p->op[i];

		wr[i].wr_id = op->msg;
		wr[i].opcode = opcode_of[op->kind];
		wr[i].send_flags = wr_flags(op);
		wr[i].sg_list = sge[i];
		wr[i].num_sge = to_sges(cx, &op->loc, sge[i]);
		bb[i].used = 0;
		if (op->flags & IWT_F_INLINE)
			bounce(&bb[i], sge[i], wr[i].num_sge);
		if (!op->len && (tame || op->msg % 2))
			wr[i].num_sge = 0;
		set_remote(&wr[i], op, to->addr + op->rem.piece[0].off, to->rkey[i]);
		/* post the requests in lists of different lengths */
		if (i + 1 < p->n && op->msg % 5)
			wr[i].next = &wr[i + 1];
	}
	for (i = 0; i < p->n; i++) {
		if (wr[i].next)
			continue;
		errno = ibv_post_send(cx->c.qp, &wr[first], &bad);
		if (errno)
			return iwt_fail(cx, "ibv_post_send: %s", strerror(errno));
		first = i + 1;
	}
	memset(bb, 0xee, sizeof(bb));
	return 0;
}

static void wr_op(struct iwt_ctx *cx, const struct iwt_op *op, const struct iwt_sync *to, uint32_t i)
{
	struct ibv_qp_ex *q = cx->c.qpx;
	uint64_t raddr = to->addr + op->rem.piece[0].off;

	q->wr_id = op->msg;
	q->wr_flags = wr_flags(op);
	switch (op->kind) {
	case IWT_SEND:
		ibv_wr_send(q);
		break;
	case IWT_SEND_INV:
		ibv_wr_send_inv(q, to->rkey[i]);
		break;
	case IWT_WRITE:
		ibv_wr_rdma_write(q, to->rkey[i], raddr);
		break;
	case IWT_READ:
		ibv_wr_rdma_read(q, to->rkey[i], raddr);
		break;
	case IWT_WRITE_IMM:
		ibv_wr_rdma_write_imm(q, to->rkey[i], raddr, iwt_imm_of(op));
		break;
	case IWT_SEND_IMM:
		ibv_wr_send_imm(q, iwt_imm_of(op));
		break;
	case IWT_FETCH_ADD:
		ibv_wr_atomic_fetch_add(q, to->rkey[i], raddr, iwt_operand_of(op));
		break;
	case IWT_CMP_SWAP:
		ibv_wr_atomic_cmp_swp(q, to->rkey[i], raddr, iwt_compare_of(op),
				      iwt_operand_of(op));
		break;
	}
}

static void wr_data(struct iwt_ctx *cx, const struct iwt_op *op, struct bounce *bb)
{
	struct ibv_qp_ex *q = cx->c.qpx;
	struct ibv_data_buf buf[IWT_MAX_PIECES];
	struct ibv_sge sge[IWT_MAX_PIECES];
	uint32_t n = to_sges(cx, &op->loc, sge), i;

	if (!(op->flags & IWT_F_INLINE)) {
		if (n == 1)
			ibv_wr_set_sge(q, sge[0].lkey, sge[0].addr, sge[0].length);
		else
			ibv_wr_set_sge_list(q, n, sge);
		return;
	}
	bb->used = 0;
	bounce(bb, sge, n);
	for (i = 0; i < n; i++) {
		buf[i].addr = (void *)(uintptr_t)sge[i].addr;
		buf[i].length = sge[i].length;
	}
	if (n == 1)
		ibv_wr_set_inline_data(q, buf[0].addr, buf[0].length);
	else
		ibv_wr_set_inline_data_list(q, n, buf);
	memset(bb->data, 0xee, bb->used);
}

static int post_wr(struct iwt_ctx *cx, const struct iwt_plan *p, const struct iwt_sync *to)
{
	struct bounce bb;
	uint32_t i, first = 1;

	for (i = 0; i < p->n; i++) {
		if (first)
			ibv_wr_start(cx->c.qpx);
		wr_op(cx, &p->op[i], to, i);
		wr_data(cx, &p->op[i], &bb);
		first = i + 1 == p->n || p->op[i].msg % 5 == 0;
		if (!first)
			continue;
		errno = ibv_wr_complete(cx->c.qpx);
		if (errno)
			return iwt_fail(cx, "ibv_wr_complete: %s", strerror(errno));
	}
	return 0;
}

int iwt_post_send(struct iwt_ctx *cx, const struct iwt_plan *p, const struct iwt_sync *to,
		  bool tame)
{
	return cx->c.use_wr ? post_wr(cx, p, to) : post_classic(cx, p, to, tame);
}

int iwt_post_one(struct iwt_ctx *cx, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	errno = ibv_post_send(cx->c.qp, wr, &bad);
	return errno ? iwt_fail(cx, "ibv_post_send: %s", strerror(errno)) : 0;
}

int iwt_post_recv(struct iwt_ctx *cx, uint64_t wr_id, const struct iwt_buf *b)
{
	struct ibv_sge sge[IWT_MAX_PIECES];
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge }, *bad;

	wr.num_sge = b ? to_sges(cx, b, sge) : 0;
	errno = ibv_post_recv(cx->c.qp, &wr, &bad);
	return errno ? iwt_fail(cx, "ibv_post_recv: %s", strerror(errno)) : 0;
}

static int poll_busy(struct iwt_ctx *cx, struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct patience p = {};
	uint32_t spins = 0;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc))) {
		if (++spins % 64)
			continue;
		sched_yield();
		if (spins % 16384)
			continue;
		if (iwt_peer_gave_up(cx))
			return iwt_fail(cx, "no completion, and the peer gave up");
		if (!patient(&p, cx->o.timeout, 0))
			return iwt_fail(cx, "timeout: no completion");
	}
	return n < 0 ? iwt_fail(cx, "ibv_poll_cq: %s", strerror(errno)) : 0;
}

/*
 * Waits up to @ms for an event of the completion channel, and reads it. Return: 1 if there was an
 * event, 0 if there was none, -1 after an error
 */
int iwt_channel_ready(struct iwt_ctx *cx, int ms)
{
	struct pollfd pfd = { .fd = cx->c.chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *arg;
	int n = poll(&pfd, 1, ms);

	if (n <= 0)
		return n < 0 && errno != EINTR ? iwt_fail(cx, "poll: %s", strerror(errno)) : 0;
	if (ibv_get_cq_event(cx->c.chan, &cq, &arg))
		return iwt_fail(cx, "ibv_get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(cq, 1);
	if (arg != &cx->c || (cq != cx->c.scq && cq != cx->c.rcq))
		return iwt_fail(cx, "an event of a queue that is not ours");
	return 1;
}

int iwt_poll_events(struct iwt_ctx *cx, struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct patience p = {};
	int n;

	for (;;) {
		n = ibv_poll_cq(cq, 1, wc);
		if (!n) {
			if (ibv_req_notify_cq(cq, 0))
				return iwt_fail(cx, "ibv_req_notify_cq: %s", strerror(errno));
			/* poll again: completions before the call may raise no event */
			n = ibv_poll_cq(cq, 1, wc);
		}
		if (n)
			return n < 0 ? iwt_fail(cx, "ibv_poll_cq: %s", strerror(errno)) : 0;
		while (!(n = iwt_channel_ready(cx, 200))) {
			if (iwt_peer_gave_up(cx))
				return iwt_fail(cx, "no completion event, and the peer gave up");
			if (!patient(&p, cx->o.timeout, 0))
				return iwt_fail(cx, "timeout: no completion event (%d in the queue)",
						ibv_poll_cq(cq, 1, wc));
		}
		if (n < 0)
			return -1;
	}
}

int iwt_poll(struct iwt_ctx *cx, struct ibv_cq *cq, struct ibv_wc *wc)
{
	memset(wc, 0xff, sizeof(*wc));
	return cx->c.use_events ? iwt_poll_events(cx, cq, wc) : poll_busy(cx, cq, wc);
}
