// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verify: posts the operations of a plan, and checks each completion and each byte on both
 * sides.
 */
#include <errno.h>
#include <string.h>
#include "verify.h"

static const enum ibv_wc_opcode wc_opcode_of[IWT_KINDS] = {
	[IWT_SEND] = IBV_WC_SEND, [IWT_SEND_INV] = IBV_WC_SEND,
	[IWT_WRITE] = IBV_WC_RDMA_WRITE, [IWT_READ] = IBV_WC_RDMA_READ,
	[IWT_WRITE_IMM] = IBV_WC_RDMA_WRITE, [IWT_SEND_IMM] = IBV_WC_SEND,
	[IWT_FETCH_ADD] = IBV_WC_FETCH_ADD, [IWT_CMP_SWAP] = IBV_WC_COMP_SWAP,
};

static int check_send_wc(struct iwt_ctx *cx, const struct iwt_op *op, const struct ibv_wc *wc)
{
	if (wc->wr_id != op->msg)
		return iwt_fail(cx, "completion of %llu (%s) where %u was due",
				(unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status), op->msg);
	if (wc->status != IBV_WC_SUCCESS)
		return iwt_fail(cx, "message %u (op %u, %u octets): %s", op->msg, op->kind, op->len,
				ibv_wc_status_str(wc->status));
	if (wc->opcode != wc_opcode_of[op->kind])
		return iwt_fail(cx, "message %u (op %u): completion opcode %u", op->msg, op->kind,
				wc->opcode);
	if (iwt_is_fetch(op->kind) && wc->byte_len != op->len && !cx->o.local_siw)
		return iwt_fail(cx, "message %u: byte_len %u of a read of %u", op->msg, wc->byte_len,
				op->len);
	if (wc->qp_num != cx->c.qp->qp_num)
		return iwt_fail(cx, "message %u: wrong qp_num", op->msg);
	return 0;
}

/*
 * @op: the operation that consumes a receive. @first: first operation of the plan. Return: the
 * Write that the completion of this receive reports, or NULL. If immediate data follow an
 * ordinary Write, this completion is the same as after a Write with immediate data.
 */
static const struct iwt_op *write_of(const struct iwt_op *op, const struct iwt_op *first)
{
	if (op->kind == IWT_WRITE_IMM)
		return op;
	return op->kind == IWT_SEND_IMM && op > first && op[-1].kind == IWT_WRITE ? op - 1 : NULL;
}

static int check_recv_wc(struct iwt_ctx *cx, const struct iwt_op *op, const struct iwt_op *write,
			 const struct ibv_wc *wc, uint32_t rkey)
{
	unsigned int flags = op->kind == IWT_SEND_INV ? IBV_WC_WITH_INV :
			     iwt_has_imm(op->kind) ? IBV_WC_WITH_IMM : 0;
	enum ibv_wc_opcode opcode = write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	uint32_t len = write ? write->len : op->len;

	if (wc->wr_id != op->msg)
		return iwt_fail(cx, "received into %llu (%s) where %u was due",
				(unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status), op->msg);
	if (wc->status != IBV_WC_SUCCESS)
		return iwt_fail(cx, "receive of message %u (%u octets): %s", op->msg, op->len,
				ibv_wc_status_str(wc->status));
	if (wc->opcode != opcode || wc->byte_len != len)
		return iwt_fail(cx, "message %u (%u octets): receive opcode %u, byte_len %u", op->msg,
				len, wc->opcode, wc->byte_len);
	if (wc->wc_flags != flags)
		return iwt_fail(cx, "message %u: wc_flags %#x instead of %#x", op->msg, wc->wc_flags,
				flags);
	if (iwt_has_imm(op->kind) && wc->imm_data != iwt_imm_of(op))
		return iwt_fail(cx, "message %u: immediate data %#x instead of %#x", op->msg,
				wc->imm_data, iwt_imm_of(op));
	if (op->kind == IWT_SEND_INV && wc->invalidated_rkey != rkey)
		return iwt_fail(cx, "message %u: invalidated %#x instead of %#x", op->msg,
				wc->invalidated_rkey, rkey);
	if (wc->qp_num != cx->c.qp->qp_num)
		return iwt_fail(cx, "message %u: wrong qp_num", op->msg);
	return 0;
}

static int nothing_left(struct iwt_ctx *cx, struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(cq, 1, &wc);

	/* polling fails if the device has been removed */
	if (n < 0)
		return iwt_fail(cx, "ibv_poll_cq: %s", strerror(errno));
	return n ? iwt_fail(cx, "one completion too many: %llu (%s)", (unsigned long long)wc.wr_id,
			    ibv_wc_status_str(wc.status)) : 0;
}

/*
 * --corrupt: changes one byte in the requester's buffer of the first operation whose buffer is
 * not empty. The requester calls this function twice: before it posts the batch (@before is
 * true), and after the batch has completed (@before is false). Only one of the two calls changes
 * the byte: the first call if the operation sends the data of the buffer, and the second call if
 * the operation (a Read or an atomic operation) stores data in the buffer.
 */
static void corrupt(struct iwt_ctx *cx, const struct iwt_plan *p, bool before)
{
	uint32_t i, j;

	for (i = 0; i < p->n; i++) {
		for (j = 0; j < p->op[i].loc.n; j++) {
			if (!p->op[i].loc.piece[j].len)
				continue;
			if (before != iwt_is_fetch(p->op[i].kind))
				cx->arena[p->op[i].loc.piece[j].off] ^= 0x10;
			return;
		}
	}
}

/*
 * Finds the operation that has completed. With siw as the local device, the test accepts
 * completions in any order, but each only once. Return: the operation, or NULL if @wc is not one
 * of the due completions
 */
static const struct iwt_op *out_of_order(const struct iwt_plan *p, const struct ibv_wc *wc, bool *seen)
{
	uint64_t i = wc->wr_id - p->op[0].msg;

	if (i >= p->n || seen[i] || !(p->op[i].flags & IWT_F_SIGNALED))
		return NULL;
	seen[i] = true;
	return &p->op[i];
}

static int requester(struct iwt_ctx *cx, const struct iwt_case *k, const struct iwt_plan *p)
{
	bool seen[IWT_MAX_OPS] = { false };
	struct iwt_sync theirs;
	struct ibv_wc wc;
	uint32_t i;

	iwt_fill(cx->arena, p, true);
	if (cx->o.corrupt)
		corrupt(cx, p, true);
	if (iwt_sync(cx, NULL, &theirs) || iwt_post_send(cx, p, &theirs, k->tame))
		return -1;
	for (i = 0; i < p->n; i++) {
		const struct iwt_op *op = &p->op[i];

		if (!(op->flags & IWT_F_SIGNALED) && !cx->c.sig_all)
			continue;
		if (iwt_poll(cx, cx->c.scq, &wc))
			return -1;
		if (cx->o.local_siw)
			op = out_of_order(p, &wc, seen);
		if (!op || check_send_wc(cx, op, &wc))
			return iwt_fail(cx, "completion of %llu, not outstanding",
					(unsigned long long)wc.wr_id);
	}
	if (cx->o.corrupt)
		corrupt(cx, p, false);
	if (nothing_left(cx, cx->c.scq))
		return -1;
	return iwt_check(cx->arena, p, true, cx->err);
}

static struct ibv_mr *throwaway_mr(struct iwt_ctx *cx)
{
	struct ibv_mr *mr = ibv_reg_mr(cx->pd, cx->arena, 4096,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	if (!mr)
		iwt_fail(cx, "ibv_reg_mr: %s", strerror(errno));
	return mr;
}

/*
 * Posts the receive for @op. A Write with immediate data consumes a receive, but places nothing
 * in its buffer: this may be an unrelated buffer, or there may be no buffer.
 */
static int post_recv_for(struct iwt_ctx *cx, const struct iwt_op *op)
{
	struct iwt_buf b = { .n = 1, .piece = { { op->rem.piece[0].off - 40, 30 } } };

	if (op->kind != IWT_WRITE_IMM)
		return iwt_post_recv(cx, op->msg, &op->rem);
	return iwt_post_recv(cx, op->msg, op->msg % 2 ? &b : NULL);
}

static int responder_steps(struct iwt_ctx *cx, const struct iwt_plan *p, struct ibv_mr **mr)
{
	struct iwt_sync mine = { .addr = (uintptr_t)cx->arena };
	struct ibv_wc wc;
	uint32_t i;

	iwt_fill(cx->arena, p, false);
	for (i = 0; i < p->n; i++) {
		const struct iwt_op *op = &p->op[i];

		mine.rkey[i] = cx->mr->rkey;
		if (op->kind == IWT_SEND_INV) {
			mr[i] = throwaway_mr(cx);
			if (!mr[i])
				return -1;
			mine.rkey[i] = mr[i]->rkey;
		}
		if (iwt_takes_recv(op->kind) && post_recv_for(cx, op))
			return -1;
	}
	if (iwt_sync(cx, &mine, NULL))
		return -1;
	for (i = 0; i < p->n; i++) {
		if (!iwt_takes_recv(p->op[i].kind))
			continue;
		if (iwt_poll(cx, cx->c.rcq, &wc) ||
		    check_recv_wc(cx, &p->op[i], write_of(&p->op[i], p->op), &wc, mine.rkey[i]))
			return -1;
	}
	if (nothing_left(cx, cx->c.rcq))
		return -1;
	return iwt_check(cx->arena, p, false, cx->err);
}

int iwt_batch_run(struct iwt_ctx *cx, const struct iwt_case *k, bool is_requester)
{
	struct ibv_mr *mr[IWT_MAX_OPS] = { 0 };
	static struct iwt_plan p;
	int i, rc;

	iwt_plan_make(&p, k, cx->max_sge, cx->sge_rd, NULL);
	if (p.loc_used > cx->arena_len || p.rem_used > cx->arena_len)
		return iwt_fail(cx, "the plan does not fit into the arena");
	if (is_requester)
		return requester(cx, k, &p);
	rc = responder_steps(cx, &p, mr);
	for (i = 0; i < IWT_MAX_OPS; i++)
		if (mr[i] && ibv_dereg_mr(mr[i]))
			rc = iwt_fail(cx, "ibv_dereg_mr: %s", strerror(errno));
	return rc;
}
