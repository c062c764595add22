// SPDX-License-Identifier: GPL-2.0
/* Inbound Terminates: which request of this end does the peer refuse? */
#include "rx_priv.h"

#include "proto/term.h"
#include "stats_errors.h"
#include "trace.h"

/*
 * Find the unanswered request that the peer's Terminate refers to. A Terminate that does not
 * quote the header of a request can only refer to the oldest request.
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

/* Return: completion status of the request that a Terminate of the peer refers to. */
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

static void blame_request(struct iwt_stream *st, const struct iwt_term *t)
	__must_hold(&st->lock)
{
	struct iwt_read_out *out = terminated(st, t);

	if (!out || out->rtr)
		return;
	iwt_sq_done(&st->sq, out->sq_idx, blame_status(t, out->atomic));
	/* the peer has placed all messages before the one that it refuses */
	if (t->has_ddp)
		iwt_sq_confirm(&st->sq, out->sq_idx);
}

/* Find the started Send or Immediate Data whose message has @msn. Return: false if none has. */
static bool find_send(struct iwt_stream *st, u32 msn, u32 *idx)
	__must_hold(&st->lock)
{
	struct iwt_sq *sq = &st->sq;
	u32 i;

	for (i = sq->retire; i != sq->cons; i++) {
		const struct iwt_sq_entry *e = iwt_sq_entry(sq, i);

		if ((e->opcode == IWT_WR_SEND || e->opcode == IWT_WR_SEND_WITH_INV ||
		     e->opcode == IWT_WR_SEND_WITH_IMM || e->opcode == IWT_WR_WRITE_WITH_IMM) &&
		    e->msn == msn) {
			*idx = i;
			return true;
		}
	}
	return false;
}

/*
 * Find the started Write to the STag @stag that contains the tagged offset @to. The header is
 * read from the ring again: a process that has changed it only gets a wrong status. Return: false
 * if there is no such Write.
 */
static bool find_write(struct iwt_stream *st, u32 stag, u64 to, u32 *idx)
	__must_hold(&st->lock)
{
	struct iwt_sq *sq = &st->sq;
	struct iwt_send_wqe h;
	u32 i;

	for (i = sq->retire; i != sq->cons; i++) {
		const struct iwt_sq_entry *e = iwt_sq_entry(sq, i);

		if (e->opcode != IWT_WR_WRITE && e->opcode != IWT_WR_WRITE_WITH_IMM)
			continue;
		iwt_ring_read(&h, iwt_ring_at(&sq->ring, i), sizeof(h));
		if (h.rkey == stag && to - h.remote_addr < max_t(u32, e->len, 1)) {
			*idx = i;
			return true;
		}
	}
	return false;
}

/* Return: completion status of the Send or Write that a Terminate of the peer refers to. */
static enum ib_wc_status refusal_status(u32 err)
{
	if (err == IWT_ERR_UNT_NOBUF)
		return IB_WC_RNR_RETRY_EXC_ERR;
	if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 1)
		return IB_WC_REM_ACCESS_ERR;
	if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 2)
		return IB_WC_REM_INV_REQ_ERR;
	return IB_WC_REM_OP_ERR;
}

/* Direct connections: let the Send or Write that the Terminate quotes complete with an error. */
static void refuse_message(struct iwt_stream *st, const struct iwt_term *t)
	__must_hold(&st->lock)
{
	bool found = false;
	u32 idx;

	if (!st->sq.confirm || !t->has_ddp)
		return;
	if (t->ddp.tagged)
		found = t->ddp.opcode == IWT_OP_WRITE &&
			find_write(st, t->ddp.stag, t->ddp.to, &idx);
	else if (t->ddp.qn == IWT_QN_SEND)
		found = find_send(st, t->ddp.msn, &idx);
	if (found)
		iwt_sq_refuse(&st->sq, idx, refusal_status(t->err));
}

/**
 * iwt_rx_term() - deliver the peer's Terminate
 * @st: stream; its lock is held
 * @f: the FPDU
 */
void iwt_rx_term(struct iwt_stream *st, const struct iwt_fpdu *f)
{
	struct iwt_term t;

	lockdep_assert_held(&st->lock);
	iwt_term_parse(f->hdr + IWT_DDP_UNTAGGED_LEN,
		       f->hdr_len - IWT_DDP_UNTAGGED_LEN, &t);
	blame_request(st, &t);
	refuse_message(st, &t);
	st->rx.term_err = t.err;
	st->rx.discard = true;
	trace_iwt_term(st->ibqp, false, t.err);
	iwt_stream_count(st, IWT_C_TERM_RX);
	iwt_cause_term(st->dev, false, t.err);
}
