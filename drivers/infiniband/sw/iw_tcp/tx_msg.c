// SPDX-License-Identifier: GPL-2.0
/* Which message goes next, and where its octets come from. */
#include "tx_priv.h"

#include "device.h"
#include "mr.h"
#include "qp.h"

/* STag of ready-to-receive messages; some peers refuse zero. */
#define IWT_RTR_STAG		1

static bool fail(struct iwt_qp *qp, u32 err)
{
	qp->tx.err = err;
	return false;
}

/* A work request can't be done: it gets its status, the stream ends. */
static bool fail_wqe(struct iwt_qp *qp, enum ib_wc_status status)
{
	iwt_sq_done(&qp->sq, qp->tx.idx, status);
	qp->tx.loaded = false;
	qp->tx.what = IWT_TX_NOTHING;
	return fail(qp, IWT_ERR_LOCAL);
}

static bool begin_send(struct iwt_qp *qp, u32 len)
{
	const struct iwt_send_wqe *h = &qp->tx.wqe.h;
	bool inv = h->opcode == IWT_WR_SEND_WITH_INV;
	u8 op = inv ? IWT_OP_SEND_INV : IWT_OP_SEND;

	if (h->flags & IWT_WR_SOLICITED)
		op = inv ? IWT_OP_SEND_SE_INV : IWT_OP_SEND_SE;
	iwt_txseg_send(&qp->tx.msg, op, inv ? h->ex : 0, qp->tx.send_msn++, len);
	return true;
}

static bool begin_read(struct iwt_qp *qp, u32 len)
{
	struct iwt_tx *tx = &qp->tx;
	const struct iwt_send_wqe *h = &tx->wqe.h;
	struct iwt_read_out *out = iwt_readq_start(&qp->readq);
	struct iwt_rdmap_read r = {
		.size = len,
		.src_stag = h->rkey,
		.src_to = h->remote_addr,
	};

	if (!out)
		return fail_wqe(qp, IB_WC_LOC_QP_OP_ERR);
	if (h->num_sge)
		out->sink = tx->wqe.sge[0];
	out->sq_idx = tx->idx;
	if (h->opcode == IWT_WR_READ_WITH_INV) {
		out->has_inval = true;
		out->inval = h->ex;
	}
	r.sink_stag = out->sink.lkey;
	r.sink_to = out->sink.addr;
	iwt_txseg_read_req(&tx->msg, tx->read_msn++, &r);
	return true;
}

/* Is the list allowed, and does the operation allow such a list? */
static enum ib_wc_status check_list(struct iwt_qp *qp, u32 len)
{
	const struct iwt_swqe *w = &qp->tx.wqe;
	bool read = w->h.opcode == IWT_WR_READ ||
		    w->h.opcode == IWT_WR_READ_WITH_INV;
	struct iwt_actor who = iwt_qp_actor(qp);

	if (len > IWT_MAX_MSG)
		return IB_WC_LOC_LEN_ERR;
	if (read && (w->h.num_sge > 1 || w->h.flags & IWT_WR_INLINE))
		return IB_WC_LOC_QP_OP_ERR;
	if (w->h.flags & IWT_WR_INLINE)
		return IB_WC_SUCCESS;
	if (iwt_sgl_check(&who, w->sge, w->h.num_sge,
			  read ? IWT_LOCAL_WRITE : 0) != IWT_ACCESS_OK)
		return IB_WC_LOC_PROT_ERR;
	return IB_WC_SUCCESS;
}

static bool do_local(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;
	const struct iwt_send_wqe *h = &tx->wqe.h;
	u32 err;

	if (h->opcode == IWT_WR_REG_MR)
		err = iwt_mr_register(qp->dev, h->rkey, qp->ibqp.pd, h->ex);
	else
		err = iwt_mr_invalidate(qp->dev, h->ex, qp->ibqp.pd, false);
	tx->loaded = false;
	if (err)
		return fail_wqe(qp, h->opcode == IWT_WR_REG_MR ?
				IB_WC_MW_BIND_ERR : IB_WC_LOC_QP_OP_ERR);
	iwt_sq_done(&qp->sq, tx->idx, IB_WC_SUCCESS);
	return true;
}

static bool is_local(u8 opcode)
{
	return opcode == IWT_WR_LOCAL_INV || opcode == IWT_WR_REG_MR;
}

/* Turn the loaded work request into the current message. */
static bool begin_wqe(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;
	const struct iwt_send_wqe *h = &tx->wqe.h;
	u32 len = iwt_sq_entry(&qp->sq, tx->idx)->len;
	enum ib_wc_status status;
	bool ok = true;

	if (is_local(h->opcode))
		return do_local(qp);
	status = check_list(qp, len);
	if (status != IB_WC_SUCCESS)
		return fail_wqe(qp, status);

	memset(&tx->pos, 0, sizeof(tx->pos));
	if (h->opcode == IWT_WR_WRITE)
		iwt_txseg_tagged(&tx->msg, IWT_OP_WRITE, h->rkey,
				 h->remote_addr, len);
	else if (h->opcode == IWT_WR_SEND || h->opcode == IWT_WR_SEND_WITH_INV)
		ok = begin_send(qp, len);
	else
		ok = begin_read(qp, len);
	if (ok) {
		tx->loaded = false;
		tx->what = IWT_TX_WQE;
	}
	return ok;
}

/*
 * May the loaded work request begin? A fence waits for the Reads before it.
 * So does an invalidation, which might otherwise take away their sink.
 */
static bool wqe_ready(const struct iwt_qp *qp)
{
	const struct iwt_send_wqe *h = &qp->tx.wqe.h;
	const struct iwt_readq *q = &qp->readq;

	if ((h->flags & IWT_WR_FENCE || h->opcode == IWT_WR_LOCAL_INV) &&
	    q->out_n)
		return false;
	if (h->opcode == IWT_WR_READ || h->opcode == IWT_WR_READ_WITH_INV)
		return !iwt_readq_out_full(q) || !q->out_max;
	return true;
}

/* Take work off the send queue until a message is current. */
static bool pick_wqe(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;

	while (tx->what == IWT_TX_NOTHING && !tx->err) {
		int got = 1;

		if (!tx->loaded)
			got = iwt_sq_next(&qp->sq, &tx->wqe, &tx->idx);
		if (got < 0)
			return fail(qp, IWT_ERR_LOCAL);
		if (!got)
			return false;
		tx->loaded = true;
		if (!wqe_ready(qp))
			return false;
		if (!begin_wqe(qp))
			return false;
	}
	return tx->what != IWT_TX_NOTHING;
}

static bool pick_response(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;

	if (!iwt_readq_answer(&qp->readq, &tx->resp))
		return false;
	tx->resp_msn++;
	memset(&tx->pos, 0, sizeof(tx->pos));
	tx->row++;
	iwt_txseg_tagged(&tx->msg, IWT_OP_READ_RESP, tx->resp.sink_stag,
			 tx->resp.sink_to, tx->resp.size);
	tx->what = IWT_TX_RESPONSE;
	return true;
}

static bool pick_rtr(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;
	struct iwt_rdmap_read r = {
		.sink_stag = IWT_RTR_STAG,
		.src_stag = IWT_RTR_STAG,
	};
	struct iwt_read_out *out;

	switch (tx->rtr) {
	case IWT_RTR_WRITE:
		iwt_txseg_tagged(&tx->msg, IWT_OP_WRITE, IWT_RTR_STAG, 0, 0);
		break;
	case IWT_RTR_READ:
		out = iwt_readq_start(&qp->readq);
		if (!out)
			return fail(qp, IWT_ERR_MPA_RTR);
		out->rtr = true;
		out->sink.lkey = IWT_RTR_STAG;
		iwt_txseg_read_req(&tx->msg, tx->read_msn++, &r);
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
 * iwt_tx_pick() - see to it that a message is current
 * @qp: queue pair; qp->lock is held
 *
 * DDP messages are never interleaved: the current one stays until it is
 * finished. Return: false when there is none, or tx->err is set.
 */
bool iwt_tx_pick(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;

	if (tx->what != IWT_TX_NOTHING)
		return true;
	if (tx->term != IWT_TX_TERM_NONE)
		return pick_term(tx);
	if (tx->hold || qp->state != IWT_QP_RTS)
		return false;
	if (tx->rtr != IWT_RTR_NONE)
		return pick_rtr(qp);
	if (tx->row < IWT_TX_RESPONSES && pick_response(qp))
		return true;
	tx->row = 0;
	if (pick_wqe(qp))
		return true;
	return !tx->err && pick_response(qp);
}

/**
 * iwt_tx_fetch() - the next payload octets of the current message
 * @qp: queue pair; qp->lock is held
 * @to: where to
 * @len: how many; tx->msg has been moved on by them
 *
 * Return: false when access is denied; then tx->err is set.
 */
bool iwt_tx_fetch(struct iwt_qp *qp, u8 *to, u32 len)
{
	struct iwt_tx *tx = &qp->tx;
	struct iwt_actor who = iwt_qp_actor(qp);
	enum iwt_access_verdict v;

	if (!len)
		return true;
	if (tx->what == IWT_TX_RESPONSE) {
		v = iwt_mem_gather(&who, tx->resp.src_stag,
				   tx->resp.src_to + tx->pos.off,
				   IWT_REMOTE_READ, &tx->pos.hint, to, len);
		tx->pos.off += len;
		return v == IWT_ACCESS_OK || fail(qp, iwt_access_read_err(v));
	}
	if (tx->wqe.h.flags & IWT_WR_INLINE) {
		memcpy(to, tx->wqe.data + tx->pos.off, len);
		tx->pos.off += len;
		return true;
	}
	v = iwt_sgl_gather(&who, tx->wqe.sge, tx->wqe.h.num_sge, &tx->pos, to,
			   len);
	return v == IWT_ACCESS_OK || fail_wqe(qp, IB_WC_LOC_PROT_ERR);
}

/**
 * iwt_tx_finish() - the last FPDU of the current message is framed
 * @qp: queue pair; qp->lock is held
 */
void iwt_tx_finish(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;

	if (tx->what == IWT_TX_WQE && tx->wqe.h.opcode != IWT_WR_READ &&
	    tx->wqe.h.opcode != IWT_WR_READ_WITH_INV)
		iwt_sq_done(&qp->sq, tx->idx, IB_WC_SUCCESS);
	if (tx->what == IWT_TX_TERM)
		tx->term = IWT_TX_TERM_FRAMED;
	tx->what = IWT_TX_NOTHING;
}
