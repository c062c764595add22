// SPDX-License-Identifier: GPL-2.0
#include "rx.h"

#include "device.h"
#include "mr.h"
#include "qp.h"
#include "sock.h"
#include "trace.h"

/**
 * iwt_rx_start() - make the engine ready for a connection
 * @rx: engine
 * @terms: what was negotiated
 */
void iwt_rx_start(struct iwt_rx *rx, const struct iwt_mpa_terms *terms)
{
	u32 i;

	memset(rx, 0, sizeof(*rx));
	rx->rules.crc = terms->crc;
	rx->rules.markers = terms->rx_markers;
	for (i = 0; i < IWT_QN_COUNT; i++)
		rx->q[i].msn = 1;
}

static struct iwt_actor local_actor(const struct iwt_qp *qp)
{
	return (struct iwt_actor) {
		.dev = qp->dev,
		.pd = qp->ibqp.pd,
		.kernel = !qp->user,
	};
}

/* A region stays held while FPDUs go to it one after the other. */
static void drop_mr(struct iwt_rx *rx)
{
	if (rx->mr)
		iwt_mr_put(rx->mr);
	rx->mr = NULL;
}

static struct iwt_mr *hold_mr(struct iwt_qp *qp, u32 stag)
{
	struct iwt_rx *rx = &qp->rx;

	if (rx->mr && rx->mr->stag == stag)
		return rx->mr;
	drop_mr(rx);
	rx->hint = 0;
	rx->mr = iwt_mr_get(qp->dev, stag);
	return rx->mr;
}

/* Place the payload into the held region, which was checked. */
static u32 place_tagged(struct iwt_qp *qp, struct iwt_fpdu *f,
			struct iwt_cursor *at)
{
	struct iwt_rx *rx = &qp->rx;
	u64 to = f->ddp.to;
	const u8 *from;
	u32 len, n;

	while ((from = iwt_fpdu_piece(f, at, &rx->rules, U32_MAX, &len))) {
		while (len) {
			u8 *mem = iwt_mr_piece(rx->mr, to, len, &n, &rx->hint);

			if (!mem)
				return IWT_ERR_TAG_BOUNDS;
			iwt_copy_out(mem, from, n);
			from += n;
			to += n;
			len -= n;
		}
	}
	return IWT_OK;
}

/* RDMA Write, or a tagged segment that has no business here. */
static u32 rx_write(struct iwt_qp *qp, struct iwt_fpdu *f,
		    struct iwt_cursor *at)
{
	enum iwt_access_verdict v = IWT_ACCESS_OK;
	struct iwt_mr *mr;
	u32 err;

	if (f->payload_len) {
		mr = hold_mr(qp, f->ddp.stag);
		v = mr ? iwt_access_check(&mr->region, qp->ibqp.pd, f->ddp.to,
					  f->payload_len, IWT_REMOTE_WRITE) :
			 IWT_ACCESS_STAG;
	}
	if (v != IWT_ACCESS_OK && v != IWT_ACCESS_RIGHTS)
		return iwt_access_tagged_err(v);
	err = iwt_rdmap_check(&f->ddp, f->ulpdu_len);
	if (err)
		return err;
	if (f->ddp.opcode != IWT_OP_WRITE)
		return IWT_ERR_OP_OPCODE;	/* a Response nobody asked for */
	if (!f->payload_len)
		return IWT_OK;
	if (v != IWT_ACCESS_OK || !(qp->rights & IWT_REMOTE_WRITE))
		return iwt_access_tagged_err(IWT_ACCESS_RIGHTS);
	return place_tagged(qp, f, at);
}

/* Into the sink of our own Read; a failure is a local one. */
static u32 place_response(struct iwt_qp *qp, struct iwt_read_out *out,
			  struct iwt_fpdu *f, struct iwt_cursor *at)
{
	struct iwt_actor who = local_actor(qp);
	struct iwt_sgl_pos pos = { .off = out->got, .hint = qp->rx.hint };
	const u8 *from;
	u32 len;

	while ((from = iwt_fpdu_piece(f, at, &qp->rx.rules, U32_MAX, &len))) {
		if (iwt_sgl_scatter(&who, &out->sink, 1, &pos, from, len) !=
		    IWT_ACCESS_OK) {
			iwt_sq_done(&qp->sq, out->sq_idx, IB_WC_LOC_PROT_ERR);
			return IWT_ERR_LOCAL;
		}
		out->got += len;
	}
	qp->rx.hint = pos.hint;
	return IWT_OK;
}

static u32 finish_read(struct iwt_qp *qp, struct iwt_read_out *out)
{
	u32 err = IWT_OK;

	if (out->has_inval)
		err = iwt_mr_invalidate(qp->dev, out->inval, qp->ibqp.pd,
					false);
	if (!out->rtr)
		iwt_sq_done(&qp->sq, out->sq_idx,
			    err ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS);
	iwt_readq_finish(&qp->readq);
	iwt_tx_retire(qp);
	qp->rx.hint = 0;
	return err ? IWT_ERR_LOCAL : IWT_OK;
}

/* RDMA Read Response: exactly what the oldest Read asked for, in order. */
static u32 rx_response(struct iwt_qp *qp, struct iwt_fpdu *f,
		       struct iwt_cursor *at)
{
	struct iwt_read_out *out = iwt_readq_oldest(&qp->readq);
	const struct iwt_ddp *d = &f->ddp;
	u32 left, err;

	drop_mr(&qp->rx);
	if (d->stag != out->sink.lkey)
		return IWT_ERR_TAG_STAG;
	left = out->sink.length - out->got;
	if (d->to != out->sink.addr + out->got || f->payload_len > left)
		return IWT_ERR_TAG_BOUNDS;
	err = iwt_rdmap_check(d, f->ulpdu_len);
	if (err)
		return err;
	if (d->last && f->payload_len != left)
		return IWT_ERR_TAG_BOUNDS;
	err = place_response(qp, out, f, at);
	if (err || !d->last)
		return err;
	return finish_read(qp, out);
}

static u32 rx_tagged(struct iwt_qp *qp, struct iwt_fpdu *f,
		     struct iwt_cursor *at)
{
	if (f->ddp.opcode == IWT_OP_READ_RESP && qp->readq.out_n)
		return rx_response(qp, f, at);
	return rx_write(qp, f, at);
}

/* Take a buffer for the Send that begins here. */
static u32 open_recv(struct iwt_qp *qp, const struct iwt_ddp *d)
{
	struct iwt_rx *rx = &qp->rx;
	int got;

	/* a segment out of order must not cost a buffer */
	if (rx->recv_open || d->msn != rx->q[IWT_QN_SEND].msn)
		return IWT_OK;
	got = iwt_rq_next(&qp->rq, &rx->recv);
	if (got < 0)
		return IWT_ERR_LOCAL;
	rx->recv_open = got;
	memset(&rx->recv_pos, 0, sizeof(rx->recv_pos));
	return IWT_OK;
}

/* The buffer under way fails, with a status that says why. */
static void fail_recv(struct iwt_qp *qp, enum ib_wc_status status)
{
	struct iwt_rx *rx = &qp->rx;

	if (!rx->recv_open)
		return;
	rx->recv_open = false;
	iwt_rq_complete(&qp->rq, &qp->ibqp, rx->recv.wr_id, 0, status, 0, 0);
}

static u32 place_send(struct iwt_qp *qp, struct iwt_fpdu *f,
		      struct iwt_cursor *at)
{
	struct iwt_rx *rx = &qp->rx;
	struct iwt_actor who = local_actor(qp);
	const u8 *from;
	u32 len;

	while ((from = iwt_fpdu_piece(f, at, &rx->rules, U32_MAX, &len))) {
		if (iwt_sgl_scatter(&who, rx->recv.sge, rx->recv.num_sge,
				    &rx->recv_pos, from, len) == IWT_ACCESS_OK)
			continue;
		fail_recv(qp, IB_WC_LOC_PROT_ERR);
		return IWT_ERR_LOCAL;
	}
	return IWT_OK;
}

static u32 rx_send(struct iwt_qp *qp, struct iwt_fpdu *f, struct iwt_cursor *at)
{
	const struct iwt_rdmap_rule *rule = iwt_rdmap_rule(f->ddp.opcode);
	struct iwt_rx *rx = &qp->rx;
	u32 err, ex = 0;
	u8 flags = 0;

	err = place_send(qp, f, at);
	if (err || !f->ddp.last)
		return err;
	if (rule->invalidates) {
		err = iwt_mr_invalidate(qp->dev, f->ddp.stag, qp->ibqp.pd, true);
		if (err)
			return err;
		flags |= IWT_WC_WITH_INVALIDATE;
		ex = f->ddp.stag;
	}
	if (rule->solicited)
		flags |= IWT_WC_SOLICITED;
	rx->recv_open = false;
	iwt_rq_complete(&qp->rq, &qp->ibqp, rx->recv.wr_id,
			f->ddp.mo + f->payload_len, IB_WC_SUCCESS, flags, ex);
	return IWT_OK;
}

/* May the peer read that? It is asked again when the octets are fetched. */
static u32 check_read(struct iwt_qp *qp, const struct iwt_rdmap_read *r)
{
	enum iwt_access_verdict v;
	struct iwt_mr *mr;

	if (!r->size)
		return IWT_OK;
	mr = iwt_mr_get(qp->dev, r->src_stag);
	if (!mr)
		return iwt_access_read_err(IWT_ACCESS_STAG);
	v = iwt_access_check(&mr->region, qp->ibqp.pd, r->src_to, r->size,
			     IWT_REMOTE_READ);
	iwt_mr_put(mr);
	if (v == IWT_ACCESS_OK && !(qp->rights & IWT_REMOTE_READ))
		v = IWT_ACCESS_RIGHTS;
	return v == IWT_ACCESS_OK ? IWT_OK : iwt_access_read_err(v);
}

static u32 rx_read_req(struct iwt_qp *qp, const struct iwt_fpdu *f)
{
	struct iwt_rdmap_read r;
	u32 err;

	if (!f->ddp.last)
		return IWT_ERR_OP_UNSPEC;
	iwt_rdmap_parse_read(f->hdr + IWT_DDP_UNTAGGED_LEN, &r);
	err = check_read(qp, &r);
	if (err)
		return err;
	return iwt_readq_accept(&qp->readq, &r) ? IWT_OK : IWT_ERR_UNT_NOBUF;
}

static void rx_term(struct iwt_qp *qp, const struct iwt_fpdu *f)
{
	struct iwt_rx *rx = &qp->rx;

	iwt_term_parse(f->hdr + IWT_DDP_UNTAGGED_LEN,
		       f->hdr_len - IWT_DDP_UNTAGGED_LEN, &rx->term);
	rx->dead = true;
	trace_iwt_term(qp->ibqp.qp_num, false, rx->term.err);
	iwt_count(qp->dev, IWT_C_TERM_RX);
}

/* DDP's checks of an untagged segment (RFC 5041 7.1). */
static u32 check_untagged(struct iwt_qp *qp, const struct iwt_fpdu *f)
{
	const struct iwt_ddp *d = &f->ddp;
	u32 buf_len = IWT_MAX_ULPDU_HDR - IWT_DDP_UNTAGGED_LEN;
	u32 qn = min_t(u32, d->qn, IWT_QN_COUNT - 1);
	bool have = true;
	u32 err;

	if (d->qn == IWT_QN_SEND) {
		err = open_recv(qp, d);
		if (err)
			return err;
		have = qp->rx.recv_open;
		buf_len = min_t(u64, qp->rx.recv.len, U32_MAX);
	} else if (d->qn == IWT_QN_READ_REQ) {
		have = !iwt_readq_in_full(&qp->readq);
		buf_len = sizeof(struct iwt_read_req);
	}
	return iwt_ddp_check_untagged(d, f->ulpdu_len - IWT_DDP_UNTAGGED_LEN,
				      &qp->rx.q[qn], have, buf_len);
}

static u32 rx_untagged(struct iwt_qp *qp, struct iwt_fpdu *f,
		       struct iwt_cursor *at)
{
	const struct iwt_ddp *d = &f->ddp;
	u32 err;

	drop_mr(&qp->rx);
	err = check_untagged(qp, f);
	if (err == IWT_ERR_UNT_LONG)
		fail_recv(qp, IB_WC_LOC_LEN_ERR);
	if (err)
		return err;
	err = iwt_rdmap_check(d, f->ulpdu_len);
	if (err)
		return err;
	iwt_ddp_advance(&qp->rx.q[d->qn],
			f->ulpdu_len - IWT_DDP_UNTAGGED_LEN, d->last);
	switch (d->opcode) {
	case IWT_OP_READ_REQ:
		return rx_read_req(qp, f);
	case IWT_OP_TERM:
		rx_term(qp, f);
		return IWT_OK;
	default:
		return rx_send(qp, f, at);
	}
}

static u32 deliver(struct iwt_qp *qp, struct iwt_fpdu *f,
		   struct iwt_sock_cursor at)
{
	if (f->payload_len && !iwt_fpdu_payload(f, &at.c, &qp->rx.rules))
		return IWT_ERR_DDP_LOCAL;
	return f->ddp.tagged ? rx_tagged(qp, f, &at.c) :
			       rx_untagged(qp, f, &at.c);
}

static void note_error(struct iwt_qp *qp, const struct iwt_fpdu *f, u32 err)
{
	struct iwt_rx *rx = &qp->rx;

	rx->err = err;
	rx->bad = *f;
	rx->dead = true;
	trace_iwt_rx_error(qp->ibqp.qp_num, err, f->ulpdu_len, f->ddp.opcode);
	if (err == IWT_ERR_MPA_CRC)
		iwt_count(qp->dev, IWT_C_RX_CRC_ERR);
	else if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 1)
		iwt_count(qp->dev, IWT_C_RX_ACCESS_ERR);
	else
		iwt_count(qp->dev, IWT_C_RX_PROTO_ERR);
}

/* All whole FPDUs that have arrived. Return: octets dealt with. */
static u32 take_fpdus(struct iwt_qp *qp, struct iwt_sock_cursor *at, u32 avail)
{
	struct iwt_rx *rx = &qp->rx;
	u32 used = 0, fpdus = 0, err = IWT_OK;
	enum iwt_fpdu_status st;
	struct iwt_fpdu f = {};

	while (used < avail && !rx->dead) {
		st = iwt_fpdu_read(&at->c, sizeof(*at), avail - used, rx->pos,
				   &rx->rules, &f, &err);
		if (st == IWT_FPDU_MORE)
			break;
		if (st == IWT_FPDU_OK)
			err = deliver(qp, &f, *at);
		if (err) {
			note_error(qp, &f, err);
			break;
		}
		/* the initiator has shown itself: we may talk (RFC 5044 7.1.2) */
		qp->tx.hold = false;
		iwt_cursor_skip(&at->c, f.size);
		rx->pos += f.size;
		used += f.size;
		fpdus++;
	}
	drop_mr(rx);
	iwt_count_add(qp->dev, IWT_C_RX_FPDU, fpdus);
	iwt_count_add(qp->dev, IWT_C_RX_BYTES, used);
	return used;
}

/**
 * iwt_rx_run() - deal with everything that has arrived
 * @qp: queue pair; socket lock and qp->lock are held
 *
 * Softirq or backlog, never sleeps. After an error or a Terminate the rest of
 * the stream is thrown away as it comes, so that the peer can read our
 * Terminate and close in order (RFC 5044 8).
 */
enum iwt_rx_result iwt_rx_run(struct iwt_qp *qp)
{
	struct iwt_rx *rx = &qp->rx;
	struct iwt_sock_cursor at;
	bool was_dead = rx->dead;
	u32 avail, used;

	lockdep_assert_held(&qp->lock);
	avail = iwt_sock_peek(qp->sock, &at);
	if (!avail)
		return IWT_RX_OK;
	used = rx->dead ? avail : take_fpdus(qp, &at, avail);
	iwt_sock_consume(qp->sock, rx->dead ? avail : used);
	if (was_dead || !rx->dead)
		return IWT_RX_OK;
	return rx->err ? IWT_RX_ERROR : IWT_RX_TERMINATED;
}

/**
 * iwt_rx_flush() - complete the Send under way and every posted buffer
 * @qp: queue pair; qp->lock is held
 */
void iwt_rx_flush(struct iwt_qp *qp)
{
	fail_recv(qp, IB_WC_WR_FLUSH_ERR);
	iwt_rq_flush(&qp->rq, &qp->ibqp);
}
