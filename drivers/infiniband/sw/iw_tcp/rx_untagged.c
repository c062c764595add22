// SPDX-License-Identifier: GPL-2.0
/* Inbound Sends, Immediate Data, Read and Atomic Requests, and Atomic Responses. */
#include "rx_priv.h"

#include "dev.h"
#include "mr.h"
#include "mr_stag.h"
#include "srq.h"
#include "stats_errors.h"
#include "trace.h"

static int next_recv(struct iwt_stream *st, struct iwt_rwqe *wqe)
	__must_hold(&st->lock)
{
	struct iwt_rq *rq = &st->rq;
	int got;

	if (unlikely(st->rx.rnr_ms))
		return iwt_rx_next_recv(st, wqe);
	if (likely(!rq->srq))
		return iwt_rq_next(rq, wqe);
	got = iwt_srq_next(rq->srq, wqe);
	if (got > 0)
		rq->cons++;
	return got;
}

/*
 * If a message begins with this segment, take a posted receive for the message. Return: IWT_OK;
 * IWT_ERR_LOCAL if the queue is corrupt; IWT_ERR_ABSENT if the message has to wait for a receive.
 * If no receive is posted, rx->recv_open stays false.
 */
static u32 open_recv(struct iwt_stream *st, const struct iwt_ddp *d)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	int got;

	/* a segment out of order must not consume a receive */
	if (rx->recv_open || d->msn != rx->q[IWT_QN_SEND].msn)
		return IWT_OK;
	got = next_recv(st, rx->recv);
	if (got < 0)
		return IWT_ERR_LOCAL;
	if (unlikely(rx->wait_recv))
		return IWT_ERR_ABSENT;
	rx->recv_open = got;
	if (got)
		trace_iwt_wr_start(st->ibqp, rx->recv->wr_id, IWT_TRACE_RECV,
				   rx->recv->len);
	memset(&rx->recv_pos, 0, sizeof(rx->recv_pos));
	return IWT_OK;
}

/**
 * iwt_rx_fail_recv() - complete the current receive, if any, with an error
 * @st: stream; its lock is held
 * @status: completion status
 */
void iwt_rx_fail_recv(struct iwt_stream *st, enum ib_wc_status status)
{
	struct iwt_rx *rx = &st->rx;

	lockdep_assert_held(&st->lock);
	if (!rx->recv_open)
		return;
	rx->recv_open = false;
	iwt_hold_drop(&rx->hold);
	iwt_rq_fail(&st->rq, st->ibqp, rx->recv->wr_id, status);
}

static u32 place_send(struct iwt_stream *st, struct iwt_fpdu *f,
		      struct iwt_cursor *at)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	struct iwt_place to = {
		.actor = &st->receiver,
		.hold = &rx->hold,
		.sge = rx->recv->sge,
		.n = rx->recv->num_sge,
		.need = IWT_LOCAL_WRITE,
		.pos = rx->recv_pos,
	};
	u32 left = f->payload_len, len;
	enum iwt_access_verdict v;
	const u8 *from;

	while ((from = iwt_fpdu_piece(f, at, U32_MAX, &len))) {
		v = iwt_sgl_scatter(&to, from, len, left);
		if (v == IWT_ACCESS_ABSENT)
			return IWT_ERR_ABSENT;
		if (v != IWT_ACCESS_OK) {
			iwt_rx_fail_recv(st, IB_WC_LOC_PROT_ERR);
			return IWT_ERR_LOCAL;
		}
		left -= len;
	}
	rx->recv_pos = to.pos;
	return IWT_OK;
}

static u32 rx_send(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_cursor *at)
	__must_hold(&st->lock)
{
	const struct iwt_rdmap_rule *rule = iwt_rdmap_rule(f->ddp.opcode);
	struct iwt_rx *rx = &st->rx;
	struct iwt_cqe cqe = {
		.wr_id = rx->recv->wr_id,
		.byte_len = f->ddp.mo + f->payload_len,
		.opcode = IWT_WC_RECV,
	};
	u32 err;

	err = place_send(st, f, at);
	if (err || !f->ddp.last)
		return err;
	iwt_hold_drop(&rx->hold);
	if (rule->invalidates) {
		err = iwt_stag_invalidate(st->dev, f->ddp.stag,
					  &st->actor.party, true);
		if (err)
			return err;
		cqe.flags |= IWT_WC_WITH_INVALIDATE;
		cqe.ex = f->ddp.stag;
	}
	if (rule->solicited)
		cqe.flags |= IWT_WC_SOLICITED;
	rx->recv_open = false;
	iwt_stream_count(st, IWT_C_RX_SEND);
	iwt_rq_complete(&st->rq, st->ibqp, &cqe);
	return IWT_OK;
}

/*
 * Immediate Data directly after a Write is the end of a Write with immediate data: the completion
 * contains the length of the Write. Other Immediate Data is a Send without payload. Verbs have
 * only four bytes of immediate data: this function ignores the other four bytes of the message.
 */
static u32 rx_imm(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	const struct iwt_imm *imm = (const void *)(f->hdr +
						   IWT_DDP_UNTAGGED_LEN);
	struct iwt_rx *rx = &st->rx;
	struct iwt_cqe cqe = {
		.wr_id = rx->recv->wr_id,
		.ex = (__force u32)imm->data,
		.opcode = IWT_WC_RECV,
		.flags = IWT_WC_WITH_IMM,
	};

	if (!st->takes_imm)
		return IWT_ERR_OP_OPCODE;
	if (rx->after_write) {
		cqe.opcode = IWT_WC_RECV_RDMA_WITH_IMM;
		cqe.byte_len = rx->write_len;
	}
	if (iwt_rdmap_rule(f->ddp.opcode)->solicited)
		cqe.flags |= IWT_WC_SOLICITED;
	rx->recv_open = false;
	iwt_stream_count(st, IWT_C_RX_SEND);
	iwt_rq_complete(&st->rq, st->ibqp, &cqe);
	return IWT_OK;
}

/*
 * May the peer read this memory? The transmit engine checks the access again when it reads the
 * bytes for the Response. Return: IWT_OK or the error for the Terminate.
 */
static u32 check_read(struct iwt_stream *st, const struct iwt_rdmap_read *r)
	__must_hold(&st->lock)
{
	enum iwt_access_verdict v;
	struct iwt_mr *mr;

	if (!r->size)
		return IWT_OK;
	mr = iwt_hold_mr(&st->rx.hold, st->dev, r->src_stag);
	if (!mr)
		return iwt_access_read_err(IWT_ACCESS_STAG);
	v = iwt_access_check(&mr->region, &st->actor.party, r->src_to, r->size,
			     IWT_REMOTE_READ);
	if (v == IWT_ACCESS_OK && !(st->rights & IWT_REMOTE_READ))
		v = IWT_ACCESS_RIGHTS;
	return v == IWT_ACCESS_OK ? IWT_OK : iwt_access_read_err(v);
}

static u32 accept_request(struct iwt_stream *st, const struct iwt_read_in *r)
	__must_hold(&st->lock)
{
	if (!iwt_readq_accept(&st->readq, r))
		return IWT_ERR_UNT_NOBUF;
	iwt_stream_count(st, IWT_C_RX_READ);
	return IWT_OK;
}

static u32 rx_read_req(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	struct iwt_read_in r = {};
	u32 err;

	if (!f->ddp.last)
		return IWT_ERR_OP_UNSPEC;
	iwt_rdmap_parse_read(f->hdr + IWT_DDP_UNTAGGED_LEN, &r.read);
	err = check_read(st, &r.read);
	if (err)
		return err;
	return accept_request(st, &r);
}

/*
 * May the peer execute this operation? The transmit engine checks the access again when it
 * executes the operation. Return: IWT_OK or the error for the Terminate.
 */
static u32 check_atomic(struct iwt_stream *st, const struct iwt_atomic *a)
	__must_hold(&st->lock)
{
	u32 err = iwt_atomic_check(a);

	if (!err)
		err = iwt_mem_atomic(&st->actor, a, NULL, NULL);
	if (!err && !(st->rights & IWT_REMOTE_ATOMIC))
		err = iwt_access_read_err(IWT_ACCESS_RIGHTS);
	return err;
}

static u32 rx_atomic_req(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	struct iwt_read_in r = { .atomic = true };
	u32 err;

	iwt_atomic_parse(f->hdr + IWT_DDP_UNTAGGED_LEN, &r.op);
	err = check_atomic(st, &r.op);
	if (err)
		return err;
	return accept_request(st, &r);
}

/* Atomic Responses and Read Responses arrive in the order of their requests. */
static u32 rx_atomic_resp(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	struct iwt_read_out *out = iwt_readq_oldest(&st->readq);
	enum iwt_access_verdict v;
	struct iwt_place to;
	u64 value;
	u32 id;

	if (!out || !out->atomic)
		return IWT_ERR_OP_OPCODE;
	iwt_atomic_parse_resp(f->hdr + IWT_DDP_UNTAGGED_LEN, &id, &value);
	if (id != out->msn)
		return IWT_ERR_OP_UNSPEC;
	to = iwt_rx_sink(st, out);
	v = iwt_sgl_scatter(&to, (const u8 *)&value, sizeof(value), sizeof(value));
	if (v == IWT_ACCESS_ABSENT)
		return IWT_ERR_ABSENT;
	if (v != IWT_ACCESS_OK) {
		iwt_sq_done(&st->sq, out->sq_idx, IB_WC_LOC_PROT_ERR);
		return IWT_ERR_LOCAL;
	}
	return iwt_rx_finish_read(st, out);
}

/*
 * Does the peer have as many requests outstanding as IRD allows? The request that is being
 * answered counts, too.
 */
static bool ird_reached(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	return st->readq.in_n + (st->tx.what == IWT_TX_RESPONSE) >=
	       st->readq.in_max;
}

/*
 * Execute the checks of DDP for an untagged segment (RFC 5041 7.1). Return: IWT_OK or the error
 * for the Terminate.
 */
static u32 check_untagged(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	const struct iwt_ddp *d = &f->ddp;
	u32 qn = min_t(u32, d->qn, IWT_QN_COUNT - 1);
	bool have = true;
	u32 err, room;

	if (d->qn == IWT_QN_SEND) {
		err = open_recv(st, d);
		if (err)
			return err;
		have = st->rx.recv_open;
	} else if (d->qn == IWT_QN_READ_REQ) {
		have = !ird_reached(st);
	}
	room = iwt_rdmap_room(d, iwt_rx_recv_room(&st->rx));
	return iwt_ddp_check_untagged(d, f->ulpdu_len - IWT_DDP_UNTAGGED_LEN,
				      &st->rx.q[qn], have, room);
}

/* The switch has no default, so that the compiler reports a missing case. */
static u32 deliver(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_cursor *at)
	__must_hold(&st->lock)
{
	switch ((enum iwt_rdmap_op)f->ddp.opcode) {
	case IWT_OP_IMM:
	case IWT_OP_IMM_SE:
		return rx_imm(st, f);
	case IWT_OP_READ_REQ:
		return rx_read_req(st, f);
	case IWT_OP_ATOMIC_REQ:
		return rx_atomic_req(st, f);
	case IWT_OP_ATOMIC_RESP:
		return rx_atomic_resp(st, f);
	case IWT_OP_TERM:
		iwt_rx_term(st, f);
		return IWT_OK;
	case IWT_OP_SEND:
	case IWT_OP_SEND_INV:
	case IWT_OP_SEND_SE:
	case IWT_OP_SEND_SE_INV:
		return rx_send(st, f, at);
	case IWT_OP_WRITE:
	case IWT_OP_READ_RESP:
		break;	/* tagged: iwt_rdmap_check() has rejected the segment */
	}
	return IWT_ERR_OP_OPCODE;
}

/*
 * Immediate Data belongs to a Write only if no other message of the peer, except Responses, is
 * between the Write and the Immediate Data.
 */
static void forget_write(struct iwt_rx *rx, u32 qn)
{
	if (qn != IWT_QN_SEND && qn != IWT_QN_READ_REQ)
		return;
	rx->after_write = false;
	rx->write_len = 0;
}

/*
 * Is this segment a ready-to-receive message? The ready-to-receive message may be a Send without
 * payload, which the peer's driver sends, not the peer's ULP. So the consumer of this end has
 * posted no receive for this Send, and gets no completion (RFC 6581 4.4.2).
 */
static bool is_rtr(const struct iwt_rx *rx, const struct iwt_fpdu *f)
{
	return rx->rtr_send && f->ddp.opcode == IWT_OP_SEND && f->ddp.last &&
	       f->ddp.qn == IWT_QN_SEND &&
	       f->ulpdu_len == IWT_DDP_UNTAGGED_LEN;
}

static u32 rx_rtr(struct iwt_rx *rx, const struct iwt_fpdu *f)
{
	struct iwt_ddp_rxq *q = &rx->q[IWT_QN_SEND];
	u32 err = iwt_ddp_check_untagged(&f->ddp, 0, q, true, 0);

	if (!err)
		err = iwt_rdmap_check(&f->ddp, f->ulpdu_len);
	if (!err)
		iwt_ddp_advance(q, 0, true);
	return err;
}

/*
 * Does the segment continue a Send, and does its payload fit in the receive? The receive, the MSN
 * and the opcode are the same as for the previous segment, and MO is the end of the previous
 * segment. So only the length must be checked.
 */
static bool is_more(const struct iwt_rx *rx, const struct iwt_fpdu *f)
{
	return f->follows && f->payload_len <= iwt_rx_recv_room(rx) - f->ddp.mo;
}

/**
 * iwt_rx_untagged() - place and deliver an untagged segment
 * @st: stream; its lock is held
 * @f: the FPDU
 * @at: position of its first payload byte; moved unless the payload is contiguous
 *
 * Return: IWT_OK; the error for the Terminate; or %IWT_ERR_ABSENT: then the caller must pass the
 * same FPDU again later. If st->rx.wait_recv is set, the FPDU waits for a receive, or for the
 * time limit of this wait; otherwise the FPDU waits until the destination pages are present.
 */
u32 iwt_rx_untagged(struct iwt_stream *st, struct iwt_fpdu *f,
		    struct iwt_cursor *at)
{
	const struct iwt_ddp *d = &f->ddp;
	u32 err;

	lockdep_assert_held(&st->lock);
	if (is_more(&st->rx, f)) {
		err = place_send(st, f, at);
		if (!err)
			iwt_ddp_advance(&st->rx.q[IWT_QN_SEND], f->payload_len,
					false);
		return err;
	}
	/* a new message may access another region, and the engine may hold only one region */
	if (!d->mo)
		iwt_hold_drop(&st->rx.hold);
	if (is_rtr(&st->rx, f))
		return rx_rtr(&st->rx, f);
	err = check_untagged(st, f);
	if (err == IWT_ERR_UNT_LONG && d->qn == IWT_QN_SEND)
		iwt_rx_fail_recv(st, IB_WC_LOC_LEN_ERR);
	if (err)
		return err;
	err = iwt_rdmap_check(d, f->ulpdu_len);
	if (err)
		return err;
	err = deliver(st, f, at);
	if (err == IWT_ERR_ABSENT)
		return err;
	iwt_ddp_advance(&st->rx.q[d->qn],
			f->ulpdu_len - IWT_DDP_UNTAGGED_LEN, d->last);
	forget_write(&st->rx, d->qn);
	return err;
}
