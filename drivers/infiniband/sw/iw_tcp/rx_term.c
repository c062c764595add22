// SPDX-License-Identifier: GPL-2.0
/* An inbound Terminate, and the request of this end that the Terminate refers to. */
#include "rx_priv.h"

#include "proto/term.h"
#include "stats_errors.h"
#include "trace.h"

/*
 * Find the unanswered Read or atomic operation that the peer's Terminate refers to, or NULL. If
 * the Terminate quotes no DDP header, it refers to the oldest unanswered operation.
 */
static struct iwt_read_out *terminated(struct iwt_stream *st,
				       const struct iwt_term *t)
	__must_hold(&st->lock)
{
	if (!t->has_ddp)
		return iwt_readq_oldest(&st->readq);
	if (t->ddp.tagged || t->ddp.qn != IWT_QN_READ_REQ)
		return NULL;
	return iwt_readq_find(&st->readq, t->ddp.msn);
}

/* Return: completion status of the Read or atomic operation that a Terminate refers to. */
static enum ib_wc_status blame_status(const struct iwt_term *t, bool atomic)
{
	switch (IWT_ERR_LAYER(t->err) << 4 | IWT_ERR_ETYPE(t->err)) {
	case 0x01:
		return IB_WC_REM_ACCESS_ERR;
	case 0x02:
		return IB_WC_REM_OP_ERR;
	case 0x12:
		if (t->has_ddp)
			return IB_WC_REM_INV_REQ_ERR;
		break;
	case 0x20:
		/* some peers send "unexpected opcode" (0206) as 2006: layer and type exchanged */
		if (t->err == IWT_ERR_MPA_IRD && atomic)
			return IB_WC_REM_OP_ERR;
		break;
	}
	return IB_WC_WR_FLUSH_ERR;
}

/* Fail the Read or the atomic operation that the peer refuses. Return: true if there is one. */
static bool blame_request(struct iwt_stream *st, const struct iwt_term *t)
	__must_hold(&st->lock)
{
	struct iwt_read_out *out = terminated(st, t);

	if (!out || out->rtr)
		return false;
	/* the peer has placed all messages before a Request that it refuses */
	if (st->sq.confirm && t->has_ddp)
		iwt_sq_confirm(&st->sq, out->sq_idx);
	iwt_sq_done(&st->sq, out->sq_idx, blame_status(t, out->atomic));
	return true;
}

/*
 * The peer of a direct connection has refused a Send, Immediate Data or a Write with the error
 * @err. Return: the completion status that InfiniBand has for the same error.
 */
static enum ib_wc_status refusal_status(u32 err)
{
	if (err == IWT_ERR_UNT_NOBUF)
		return IB_WC_RNR_RETRY_EXC_ERR;
	if (err == IWT_ERR_UNT_LONG)
		return IB_WC_REM_INV_REQ_ERR;
	if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 1)
		return IB_WC_REM_ACCESS_ERR;
	return IB_WC_WR_FLUSH_ERR;
}

/*
 * Find the work request of the Send, Immediate Data or Write with the quoted header @d. Return:
 * false if @d is the header of another message, or if the request has already completed.
 */
static bool find_refused(struct iwt_stream *st, const struct iwt_ddp *d, u32 *idx)
	__must_hold(&st->lock)
{
	const struct iwt_tx *tx = &st->tx;
	/* is tx->idx a request of which no Send or Immediate Data has begun? */
	bool early = tx->loaded || (tx->what == IWT_TX_WQE && tx->msg.ddp.tagged);

	if (d->tagged)
		return d->opcode == IWT_OP_WRITE &&
		       iwt_sq_find_write(&st->sq, d->stag, d->to, idx);
	return d->qn == IWT_QN_SEND &&
	       iwt_sq_find_send(&st->sq, early ? tx->idx : st->sq.cons,
				tx->send_msn - d->msn, idx);
}

/*
 * On a direct connection: fail the message that the peer has refused. Return: true if there is
 * such a message.
 */
static bool refuse_message(struct iwt_stream *st, const struct iwt_term *t)
	__must_hold(&st->lock)
{
	enum ib_wc_status status = refusal_status(t->err);
	u32 idx;

	if (!st->sq.confirm || !t->has_ddp || status == IB_WC_WR_FLUSH_ERR ||
	    !find_refused(st, &t->ddp, &idx))
		return false;
	/* the peer has placed all messages before the message that it refuses */
	iwt_sq_confirm(&st->sq, idx);
	iwt_sq_done(&st->sq, idx, status);
	return true;
}

/*
 * On a direct connection: the Terminate refuses no request that waits. So the first unfinished
 * request will complete with a status that shows that the peer has ended the connection.
 */
static void blame_first(struct iwt_stream *st, const struct iwt_term *t)
	__must_hold(&st->lock)
{
	if (st->sq.confirm)
		iwt_sq_blame(&st->sq, IWT_ERR_LAYER(t->err) == 2 ? IB_WC_RETRY_EXC_ERR :
							   IB_WC_REM_OP_ERR);
}

/**
 * iwt_rx_term() - receive a Terminate (RFC 5040 4.8)
 * @st: stream; its lock is held
 * @f: the FPDU
 *
 * Sets st->rx.term_err, and the completion status of the request that the Terminate refers to.
 * The engine discards all later bytes of the stream.
 */
void iwt_rx_term(struct iwt_stream *st, const struct iwt_fpdu *f)
{
	struct iwt_term t;

	lockdep_assert_held(&st->lock);
	iwt_term_parse(f->hdr + IWT_DDP_UNTAGGED_LEN,
		       f->hdr_len - IWT_DDP_UNTAGGED_LEN, &t);
	if (!blame_request(st, &t) && !refuse_message(st, &t))
		blame_first(st, &t);
	st->rx.term_err = t.err;
	st->rx.discard = true;
	trace_iwt_term(st->ibqp, false, t.err);
	iwt_stream_count(st, IWT_C_TERM_RX);
	iwt_cause_term(st->dev, false, t.err);
}
