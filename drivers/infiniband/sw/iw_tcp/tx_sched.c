// SPDX-License-Identifier: GPL-2.0
/* Selecting the next message: the Terminate, a Response, or a work request. */
#include "tx_priv.h"

#include "dev.h"
#include "mr.h"
#include "mr_stag.h"
#include "mw.h"

/* Maximum number of consecutive Responses while the send queue has work. */
#define TX_RESPONSES	4

static bool begin_send(struct iwt_stream *st, u32 len)
	__must_hold(&st->lock)
{
	const struct iwt_send_wqe *h = &st->tx.wqe->h;
	bool inv = h->opcode == IWT_WR_SEND_WITH_INV;
	u8 op = inv ? IWT_OP_SEND_INV : IWT_OP_SEND;

	if (h->flags & IWT_WR_SOLICITED)
		op = inv ? IWT_OP_SEND_SE_INV : IWT_OP_SEND_SE;
	iwt_txseg_send(&st->tx.msg, op, inv ? h->ex : 0, st->tx.send_msn++, len);
	return true;
}

/* Verbs have four bytes of immediate data, the message has eight (RFC 7306 6.2). */
static bool begin_imm(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	const struct iwt_send_wqe *h = &st->tx.wqe->h;
	struct iwt_imm imm = { .data = (__force __be32)h->ex };

	iwt_txseg_imm(&st->tx.msg, h->flags & IWT_WR_SOLICITED ?
		      IWT_OP_IMM_SE : IWT_OP_IMM, st->tx.send_msn++, &imm);
	return true;
}

static bool begin_read(struct iwt_stream *st, u32 len)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	const struct iwt_send_wqe *h = &tx->wqe->h;
	struct iwt_read_out *out = iwt_readq_start(&st->readq, tx->read_msn);
	struct iwt_rdmap_read r = {
		.size = len,
		.src_stag = h->rkey,
		.src_to = h->remote_addr,
	};

	if (!out)
		return iwt_tx_fail_wqe(st, IB_WC_LOC_QP_OP_ERR);
	if (h->num_sge)
		out->sink = tx->wqe->sge[0];
	out->sq_idx = tx->idx;
	if (h->opcode == IWT_WR_READ_WITH_INV) {
		out->has_inval = true;
		out->inval = h->ex;
	}
	r.sink_stag = out->sink.lkey;
	r.sink_to = out->sink.addr;
	iwt_tx_confirm_by(st);
	iwt_txseg_read_req(&tx->msg, tx->read_msn++, &r);
	return true;
}

/*
 * Translate a work request to the operation on the wire, which always has masks. Without masks in
 * the work request, a compare-and-swap gets masks of all ones, and a fetch-and-add gets mask 0:
 * one field of 64 bits.
 */
static struct iwt_atomic atomic_of(const struct iwt_swqe *w)
{
	const struct iwt_atomic_body *b = &w->atomic;
	struct iwt_atomic a = {
		.op = IWT_AOP_CMP_SWAP,
		.stag = w->h.rkey,
		.to = w->h.remote_addr,
		.data = b->data,
		.data_mask = ~0ull,
		.compare = b->compare,
		.compare_mask = ~0ull,
	};

	switch (w->h.opcode) {
	case IWT_WR_FETCH_ADD:
		a.op = IWT_AOP_FETCH_ADD;
		a.data_mask = 0;
		break;
	case IWT_WR_MASKED_FETCH_ADD:
		a.op = IWT_AOP_FETCH_ADD;
		a.data_mask = b->data_mask;
		break;
	case IWT_WR_MASKED_CMP_SWAP:
		a.data_mask = b->data_mask;
		a.compare_mask = b->compare_mask;
		break;
	}
	return a;
}

static bool begin_atomic(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	struct iwt_read_out *out = iwt_readq_start(&st->readq, tx->read_msn);
	struct iwt_atomic a = atomic_of(tx->wqe);

	if (!out)
		return iwt_tx_fail_wqe(st, IB_WC_LOC_QP_OP_ERR);
	out->atomic = true;
	out->sink = tx->wqe->atomic.sink;
	out->sq_idx = tx->idx;
	a.id = tx->read_msn;
	iwt_tx_confirm_by(st);
	iwt_txseg_atomic_req(&tx->msg, tx->read_msn++, &a);
	return true;
}

/* Does the operation allow the number and length of the elements? Return: IB_WC_SUCCESS if so. */
static enum ib_wc_status check_shape(const struct iwt_swqe *w, u32 len)
{
	bool inl = w->h.flags & IWT_WR_INLINE;

	if (iwt_wr_is_read(w->h.opcode) && (w->h.num_sge > 1 || inl))
		return IB_WC_LOC_QP_OP_ERR;
	if (iwt_wr_is_atomic(w->h.opcode)) {
		if (w->h.num_sge != 1 || inl)
			return IB_WC_LOC_QP_OP_ERR;
		if (w->atomic.sink.length < IWT_ATOMIC_LEN)
			return IB_WC_LOC_LEN_ERR;
	}
	/* RFC 7306 has no Send with immediate data, only Immediate Data messages */
	if (w->h.opcode == IWT_WR_SEND_WITH_IMM && len)
		return IB_WC_LOC_QP_OP_ERR;
	return IB_WC_SUCCESS;
}

/* Is the list valid for the operation, and is the access allowed? Return: IB_WC_SUCCESS if so. */
static enum ib_wc_status check_list(struct iwt_stream *st, u32 len)
	__must_hold(&st->lock)
{
	const struct iwt_swqe *w = st->tx.wqe;
	enum ib_wc_status status = check_shape(w, len);
	u32 need = iwt_wr_is_answered(w->h.opcode) ? IWT_LOCAL_WRITE :
						     IWT_LOCAL_READ;

	if (status != IB_WC_SUCCESS || w->h.flags & IWT_WR_INLINE)
		return status;
	/* a single element is checked when its first bytes are fetched */
	if (w->h.num_sge == 1 && need == IWT_LOCAL_READ)
		return status;
	if (iwt_sgl_check(&st->actor, w->sge, w->h.num_sge, need) != IWT_ACCESS_OK)
		return IB_WC_LOC_PROT_ERR;
	return IB_WC_SUCCESS;
}

static u32 bind_window(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	const struct iwt_swqe *w = st->tx.wqe;
	const struct iwt_mw_bind bind = {
		.stag = w->h.rkey,
		.lkey = w->bind.lkey,
		.addr = w->bind.addr,
		.len = w->bind.length,
		.access = w->h.ex,
	};

	if (w->bind.reserved)
		return IWT_ERR_LOCAL;
	return iwt_mw_bind(st->dev, &bind, &st->actor.party, &st->windows);
}

static bool do_local(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	const struct iwt_send_wqe *h = &tx->wqe->h;
	bool inval = h->opcode == IWT_WR_LOCAL_INV;
	u32 err;

	if (inval)
		err = iwt_stag_invalidate(st->dev, h->ex, &st->actor.party,
					  false);
	else if (h->opcode == IWT_WR_REG_MR)
		err = iwt_mr_register(st->dev, h->rkey, st->actor.party.pd,
				      h->ex);
	else
		err = bind_window(st);
	tx->loaded = false;
	tx->locals++;
	if (err)
		return iwt_tx_fail_wqe(st, inval ? IB_WC_LOC_QP_OP_ERR :
						   IB_WC_MW_BIND_ERR);
	iwt_sq_done(&st->sq, tx->idx, IB_WC_SUCCESS);
	if (unlikely(st->sq.confirm))
		iwt_tx_want_confirm(st, true);
	return true;
}

static bool is_local(u8 opcode)
{
	return opcode == IWT_WR_LOCAL_INV || opcode == IWT_WR_REG_MR ||
	       opcode == IWT_WR_BIND_MW;
}

/*
 * Prepare the message of the loaded work request. The switch has no default, so that the compiler
 * reports a missing case. Return: false after an error.
 */
static bool begin_message(struct iwt_stream *st, u32 len)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	const struct iwt_send_wqe *h = &tx->wqe->h;

	switch ((enum iwt_wr_opcode)h->opcode) {
	case IWT_WR_WRITE:
	case IWT_WR_WRITE_WITH_IMM:
		iwt_txseg_tagged(&tx->msg, IWT_OP_WRITE, h->rkey,
				 h->remote_addr, len);
		return true;
	case IWT_WR_SEND:
	case IWT_WR_SEND_WITH_INV:
		return begin_send(st, len);
	case IWT_WR_SEND_WITH_IMM:
		return begin_imm(st);
	case IWT_WR_READ:
	case IWT_WR_READ_WITH_INV:
		return begin_read(st, len);
	case IWT_WR_FETCH_ADD:
	case IWT_WR_CMP_SWAP:
	case IWT_WR_MASKED_FETCH_ADD:
	case IWT_WR_MASKED_CMP_SWAP:
		return begin_atomic(st);
	case IWT_WR_LOCAL_INV:
	case IWT_WR_REG_MR:
	case IWT_WR_BIND_MW:
		break;	/* no messages: do_local() */
	}
	return iwt_tx_fail_wqe(st, IB_WC_LOC_QP_OP_ERR);
}

/*
 * Begin the message of the loaded work request, or execute the work request if it has no message.
 * Return: false after an error.
 */
static bool begin_wqe(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	u32 len = iwt_sq_entry(&st->sq, tx->idx)->len;
	enum ib_wc_status status;

	if (is_local(tx->wqe->h.opcode))
		return do_local(st);
	/* RDMAC peers do not support the operations of RFC 7306 (RFC 7306 4.1) */
	if (tx->rdmac && iwt_wr_is_rfc7306(tx->wqe->h.opcode))
		return iwt_tx_fail_wqe(st, IB_WC_LOC_QP_OP_ERR);
	status = check_list(st, len);
	if (status != IB_WC_SUCCESS)
		return iwt_tx_fail_wqe(st, status);

	memset(&tx->pos, 0, sizeof(tx->pos));
	if (!begin_message(st, len))
		return false;
	tx->loaded = false;
	tx->what = IWT_TX_WQE;
	return true;
}

/*
 * May the loaded work request begin now? A request with a fence waits until all earlier Reads and
 * atomic operations have finished. A local invalidation waits in the same way, because it might
 * invalidate the sink of such an operation. After ORD was reached, Reads and atomic operations
 * wait until iwt_readq_out_ready() returns true.
 */
static bool wqe_ready(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	const struct iwt_send_wqe *h = &st->tx.wqe->h;
	const struct iwt_readq *q = &st->readq;

	if ((h->flags & IWT_WR_FENCE || h->opcode == IWT_WR_LOCAL_INV) &&
	    iwt_readq_waiting(q))
		return false;
	if (iwt_wr_is_answered(h->opcode))
		return iwt_readq_out_ready(q);
	return true;
}

static void trace_start(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	const struct iwt_sq_entry *e = iwt_sq_entry(&st->sq, st->tx.idx);

	trace_iwt_wr_start(st->ibqp, e->wr_id, e->opcode, e->len);
}

/*
 * As wqe_ready(), but also trace and count. @fresh: the work request has just been read from the
 * ring.
 */
static bool may_begin(struct iwt_stream *st, bool fresh)
	__must_hold(&st->lock)
{
	if (fresh)
		trace_start(st);
	if (wqe_ready(st))
		return true;
	if (fresh)
		iwt_stream_count(st, IWT_C_TX_WAIT_ORD);
	return false;
}

/*
 * Start requests of the send queue until the message of one of these requests has begun, or the
 * batch has executed IWT_TX_LOCALS requests without a message. Return: false if no message has
 * begun.
 */
static bool pick_wqe(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;

	while (tx->what == IWT_TX_NOTHING && !tx->err && tx->locals < IWT_TX_LOCALS) {
		bool fresh = !tx->loaded;
		int got = 1;

		if (fresh)
			got = iwt_sq_next(&st->sq, tx->wqe, &tx->idx);
		if (got < 0)
			return iwt_tx_fail(st, IWT_ERR_LOCAL);
		if (!got)
			return false;
		tx->loaded = true;
		if (!may_begin(st, fresh))
			return false;
		if (!begin_wqe(st))
			return false;
	}
	return tx->what != IWT_TX_NOTHING;
}

/*
 * The memory of an atomic operation of the peer is absent: undo the start of the operation, which
 * stays first in its queue until the memory is present. Return: false.
 */
static bool put_back(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;

	iwt_readq_put_back(&st->readq);
	tx->resp_msn--;
	tx->responses--;
	tx->what = IWT_TX_NOTHING;
	return false;
}

/*
 * Execute an atomic operation of the peer, and begin its Response. The operation is executed only
 * now, when the Response can be framed: all earlier requests are already answered (RFC 7306 5.4
 * rule 8), and the operation is executed only once. Return: false after an error, or when memory
 * is absent.
 */
static bool begin_atomic_resp(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	const struct iwt_atomic *a = &st->tx.resp.op;
	u64 old;
	u32 err;

	err = iwt_mem_atomic(&st->actor, a, &old, &st->tx.src_hold.fault);
	if (err == IWT_ERR_ABSENT)
		return put_back(st);
	if (err)
		return iwt_tx_fail(st, err);
	iwt_fault_settle(&st->tx.src_hold.fault);
	iwt_txseg_atomic_resp(&st->tx.msg, st->tx.atomic_msn++, a->id, old);
	return true;
}

static bool pick_response(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;

	if (!st->readq.in_n || !iwt_readq_answer(&st->readq, &tx->resp))
		return false;
	tx->resp_msn++;
	memset(&tx->pos, 0, sizeof(tx->pos));
	tx->responses++;
	tx->what = IWT_TX_RESPONSE;
	if (tx->resp.atomic)
		return begin_atomic_resp(st);
	iwt_txseg_tagged(&tx->msg, IWT_OP_READ_RESP, tx->resp.read.sink_stag,
			 tx->resp.read.sink_to, tx->resp.read.size);
	return true;
}

static bool pick_rtr(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;

	switch (tx->rtr) {
	case IWT_RTR_WRITE:
		iwt_txseg_tagged(&tx->msg, IWT_OP_WRITE, IWT_OWN_STAG, 0, 0);
		break;
	case IWT_RTR_READ:
		if (!iwt_tx_own_read(st))
			return iwt_tx_fail(st, IWT_ERR_MPA_RTR);
		break;
	default:
		iwt_txseg_send(&tx->msg, IWT_OP_SEND, 0, tx->send_msn++, 0);
		break;
	}
	tx->rtr = IWT_RTR_NONE;
	tx->what = IWT_TX_RTR;
	return true;
}

static bool pick_term(struct iwt_tx *tx)
{
	if (tx->term != IWT_TX_TERM_PENDING)
		return false;
	iwt_txseg_term(&tx->msg, tx->term_ulpdu, tx->term_len);
	tx->what = IWT_TX_TERM;
	return true;
}

/**
 * iwt_tx_pick() - select the next message, unless a message is already being framed
 * @st: stream; its lock is held
 *
 * DDP messages are never interleaved: the current message stays until it is finished.
 *
 * Return: false when no message can be sent, or tx->err is set.
 */
bool iwt_tx_pick(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;

	lockdep_assert_held(&st->lock);
	if (tx->what != IWT_TX_NOTHING)
		return true;
	if (tx->term != IWT_TX_TERM_NONE)
		return pick_term(tx);
	if (tx->wait_first_fpdu || !iwt_stream_sends(st))
		return false;
	if (tx->rtr != IWT_RTR_NONE)
		return pick_rtr(st);
	if (tx->responses < TX_RESPONSES && pick_response(st))
		return true;
	if (tx->err)
		return false;
	tx->responses = 0;
	if (unlikely(st->sq.confirm) && iwt_tx_confirm_urgent(st) && iwt_tx_pick_confirm(st))
		return true;
	if (pick_wqe(st))
		return true;
	if (tx->err || pick_response(st))
		return !tx->err;
	return unlikely(st->sq.confirm) && !tx->err && iwt_tx_pick_confirm(st);
}

/* Must an Immediate Data message follow the current message, a Write? (RFC 7306 6) */
static bool imm_follows(const struct iwt_tx *tx)
{
	return tx->what == IWT_TX_WQE && tx->msg.ddp.tagged &&
	       tx->wqe->h.opcode == IWT_WR_WRITE_WITH_IMM;
}

/* Count a framed message of a work request. */
static void count_message(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	switch (st->tx.msg.ddp.opcode) {
	case IWT_OP_WRITE:
		iwt_stream_count(st, IWT_C_TX_WRITE);
		break;
	case IWT_OP_READ_REQ:
	case IWT_OP_ATOMIC_REQ:
		iwt_stream_count(st, IWT_C_TX_READ);
		break;
	default:
		iwt_stream_count(st, IWT_C_TX_SEND);
	}
}

/**
 * iwt_tx_finish() - finish the current message after its last FPDU is framed
 * @st: stream; its lock is held
 *
 * The Immediate Data of a Write with immediate data becomes the current message.
 */
void iwt_tx_finish(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;

	lockdep_assert_held(&st->lock);
	iwt_tx_let_go(tx);
	if (tx->what == IWT_TX_WQE)
		count_message(st);
	if (imm_follows(tx)) {
		begin_imm(st);
		return;
	}
	if (tx->what == IWT_TX_WQE && !iwt_wr_is_answered(tx->wqe->h.opcode)) {
		if (likely(!st->sq.confirm))
			iwt_sq_done(&st->sq, tx->idx, IB_WC_SUCCESS);
		else
			iwt_tx_want_confirm(st, false);
		if (!tx->ended)
			tx->unsent = tx->idx;
		tx->ended = true;
	}
	if (tx->what == IWT_TX_TERM)
		tx->term = IWT_TX_TERM_FRAMED;
	tx->what = IWT_TX_NOTHING;
}
