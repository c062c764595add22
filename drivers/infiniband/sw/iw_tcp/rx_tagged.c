// SPDX-License-Identifier: GPL-2.0
/* Inbound Writes and Read Responses. */
#include "rx_priv.h"

#include "dev.h"
#include "mr.h"
#include "mr_copy.h"
#include "mr_stag.h"

/* If f->follows, only the TO differs from that of the previous segment. RDMAP ignores the TO. */
static u32 check_rdmap(const struct iwt_fpdu *f)
{
	return f->follows ? IWT_OK : iwt_rdmap_check(&f->ddp, f->ulpdu_len);
}

static u32 miss(struct iwt_rx *rx, u64 to, u32 len)
{
	return iwt_access_tagged_err(iwt_mr_miss(rx->hold.mr, &rx->hold.fault,
						 to, len, true));
}

/*
 * Place the payload into the held region. The caller has checked the access. Return: IWT_OK, the
 * error for the Terminate, or %IWT_ERR_ABSENT.
 */
static u32 place_tagged(struct iwt_stream *st, struct iwt_fpdu *f,
			struct iwt_cursor *at)
{
	struct iwt_rx *rx = &st->rx;
	u64 to = f->ddp.to, end = to + f->payload_len;
	const u8 *from;
	u32 len, n;

	while ((from = iwt_fpdu_piece(f, at, U32_MAX, &len))) {
		while (len) {
			u8 *mem = iwt_mr_piece(rx->hold.mr, to, len, &n,
					       &rx->hold.hint, true);

			/*
			 * Request all pages of the rest of the FPDU, not only the next page: each
			 * time that the FPDU waits for pages, it is placed again from its start.
			 */
			if (!mem)
				return miss(rx, to, end - to);
			/* a program may poll the last bytes, so store them last */
			if (to + n != end)
				iwt_copy(mem, from, n);
			else
				iwt_copy_out(mem, from, n);
			from += n;
			to += n;
			len -= n;
		}
	}
	return IWT_OK;
}

/**
 * iwt_rx_note_write() - record the length of a Write, in case Immediate Data follows the Write
 * @st: stream; its lock is held
 * @f: FPDU of the Write, perhaps the last one
 * @len: number of placed bytes
 *
 * A Write that is the initiator's ready-to-receive message is not counted. This Write is the
 * first FPDU, and is empty (RFC 6581 9.2).
 */
void iwt_rx_note_write(struct iwt_stream *st, const struct iwt_fpdu *f, u32 len)
{
	struct iwt_rx *rx = &st->rx;

	lockdep_assert_held(&st->lock);
	if (rx->rtr_write && f->ddp.last && !f->payload_len)
		return;
	if (f->ddp.last)
		iwt_stream_count(st, IWT_C_RX_WRITE);
	if (rx->after_write)
		rx->write_len = 0;
	rx->write_len += len;
	rx->after_write = f->ddp.last;
}

/* Receive an RDMA Write, or an unexpected tagged segment. */
static u32 rx_write(struct iwt_stream *st, struct iwt_fpdu *f,
		    struct iwt_cursor *at)
	__must_hold(&st->lock)
{
	enum iwt_access_verdict v = IWT_ACCESS_OK;
	struct iwt_mr *mr;
	u32 err;

	if (f->payload_len) {
		mr = iwt_hold_mr(&st->rx.hold, st->dev, f->ddp.stag);
		v = mr ? iwt_access_check(&mr->region, &st->actor.party,
					  f->ddp.to, f->payload_len,
					  IWT_REMOTE_WRITE) :
			 IWT_ACCESS_STAG;
	}
	if (v != IWT_ACCESS_OK && v != IWT_ACCESS_RIGHTS)
		return iwt_access_tagged_err(v);
	err = check_rdmap(f);
	if (err)
		return err;
	if (f->ddp.opcode != IWT_OP_WRITE)
		return IWT_ERR_OP_OPCODE;	/* a Response without a request */
	if (f->payload_len &&
	    (v != IWT_ACCESS_OK || !(st->rights & IWT_REMOTE_WRITE)))
		return iwt_access_tagged_err(IWT_ACCESS_RIGHTS);
	err = place_tagged(st, f, at);
	if (!err)
		iwt_rx_note_write(st, f, f->payload_len);
	return err;
}

/*
 * Place the payload into the sink of a Read of this end. Return: IWT_OK; %IWT_ERR_LOCAL if the
 * sink can't be written; or %IWT_ERR_ABSENT.
 */
static u32 place_response(struct iwt_stream *st, struct iwt_read_out *out,
			  struct iwt_fpdu *f, struct iwt_cursor *at)
	__must_hold(&st->lock)
{
	struct iwt_place to = iwt_rx_sink(st, out);
	u32 left = f->payload_len, len;
	enum iwt_access_verdict v;
	const u8 *from;

	while ((from = iwt_fpdu_piece(f, at, U32_MAX, &len))) {
		v = iwt_sgl_scatter(&to, from, len, left);
		if (v == IWT_ACCESS_ABSENT)
			return IWT_ERR_ABSENT;
		if (v != IWT_ACCESS_OK) {
			iwt_sq_done(&st->sq, out->sq_idx, IB_WC_LOC_PROT_ERR);
			return IWT_ERR_LOCAL;
		}
		left -= len;
	}
	out->got += f->payload_len;
	return IWT_OK;
}

/**
 * iwt_rx_finish_read() - complete a Read or atomic operation after its Response
 * @st: stream; its lock is held
 * @out: the oldest outstanding operation of this end; not valid afterwards
 *
 * Return: IWT_OK, or IWT_ERR_LOCAL if the Read must invalidate an STag that can't be invalidated.
 */
u32 iwt_rx_finish_read(struct iwt_stream *st, struct iwt_read_out *out)
{
	u32 err = IWT_OK;

	lockdep_assert_held(&st->lock);
	iwt_hold_drop(&st->rx.hold);
	if (out->has_inval)
		err = iwt_stag_invalidate(st->dev, out->inval, &st->actor.party,
					  false);
	/* the peer has placed all messages before the request that it has answered */
	if (unlikely(st->sq.confirm) && (out->confirm || !out->rtr))
		iwt_sq_confirm(&st->sq, out->sq_idx);
	if (!out->rtr)
		iwt_sq_done(&st->sq, out->sq_idx,
			    err ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS);
	iwt_readq_finish(&st->readq);
	if (unlikely(st->rx.ahead_n))
		st->rx.ahead_n--;
	iwt_stream_retire(st);
	return err ? IWT_ERR_LOCAL : IWT_OK;
}

/*
 * Receive a Read Response: exactly the bytes that the oldest Read requested, in order. The STag
 * and the offset of a Response without bytes are not valid and must not be checked (RFC 5041
 * 5.2), except those of a confirmation, which only this driver sends.
 */
static u32 rx_response(struct iwt_stream *st, struct iwt_read_out *out,
		       struct iwt_fpdu *f, struct iwt_cursor *at)
	__must_hold(&st->lock)
{
	const struct iwt_ddp *d = &f->ddp;
	bool valid = out->sink.length || f->payload_len || out->confirm;
	u32 left, err;

	if (valid && d->stag != out->sink.lkey)
		return IWT_ERR_TAG_STAG;
	left = out->sink.length - out->got;
	if ((valid && d->to != out->sink.addr + out->got) || f->payload_len > left)
		return IWT_ERR_TAG_BOUNDS;
	err = check_rdmap(f);
	if (err)
		return err;
	if (d->last && f->payload_len != left)
		return IWT_ERR_TAG_BOUNDS;
	err = place_response(st, out, f, at);
	if (err || !d->last)
		return err;
	return iwt_rx_finish_read(st, out);
}

/**
 * iwt_rx_tagged() - place a Write or a Read Response
 * @st: stream; its lock is held
 * @f: the FPDU
 * @at: position of its first payload byte; moved unless the payload is contiguous
 *
 * Return: IWT_OK; the error for the Terminate (RFC 5041 7.1, 5040 7.2); or %IWT_ERR_ABSENT: then
 * the caller must pass the same FPDU again after the destination pages have been faulted in.
 */
u32 iwt_rx_tagged(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_cursor *at)
{
	struct iwt_read_out *out = iwt_readq_oldest(&st->readq);

	lockdep_assert_held(&st->lock);
	if (unlikely(st->rx.answered) && f->ddp.opcode == IWT_OP_READ_RESP)
		return iwt_rx_answered(st, f);
	if (f->ddp.opcode == IWT_OP_READ_RESP && out && !out->atomic)
		return rx_response(st, out, f, at);
	return rx_write(st, f, at);
}
