// SPDX-License-Identifier: GPL-2.0
/* The engines of a queue pair, as its socket calls them, and the end of streams. */
#include "dev.h"
#include "qp_priv.h"
#include "stats.h"
#include "trace.h"
#include "zc.h"

static void lose(struct iwt_qp *qp)
{
	iwt_qp_do_step(qp, IWT_QE_LOST, IWT_OK);
	iwt_qp_tell(qp, IWT_LLP_LOST);
}

/* Is there something that the connection must not end before? */
static bool lingers(const struct iwt_qp *qp)
{
	return qp->state == IWT_QP_HALF || qp->state == IWT_QP_DRAIN ||
	       qp->tx.term == IWT_TX_TERM_PENDING ||
	       qp->tx.term == IWT_TX_TERM_FRAMED;
}

/*
 * The peer's direction has ended. Within an FPDU that is no end in order
 * (RFC 5041 6.2.1); else what we have to send still goes to it.
 */
static void hear_fin(struct iwt_qp *qp)
{
	struct iwt_sock_cursor at;

	qp->rx.eof = true;
	if (iwt_sock_peek(qp->sock, &at)) {
		lose(qp);
		return;
	}
	iwt_qp_do_step(qp, iwt_tx_busy(qp) ? IWT_QE_PEER_BUSY :
					     IWT_QE_PEER_CLOSED, IWT_OK);
	if (!lingers(qp))
		iwt_qp_tell(qp, IWT_LLP_PEER_CLOSED);
}

/* Work goes on before the end: is it done, or can it not be done any more? */
static void look_drained(struct iwt_qp *qp)
{
	u32 progress = qp->tx.stream + qp->rx.pos + iwt_zc_back(qp->sq.zc);

	if (qp->state != IWT_QP_HALF && qp->state != IWT_QP_DRAIN)
		return;
	if (qp->rx.eof && qp->readq.out_n)
		lose(qp);
	else if (!iwt_tx_busy(qp))
		iwt_qp_do_step(qp, IWT_QE_DRAINED, IWT_OK);
	else if (progress != qp->progress)
		iwt_qp_tell(qp, IWT_LLP_DRAINING);
	qp->progress = progress;
}

static void run_rx(struct iwt_qp *qp)
{
	switch (iwt_rx_run(qp)) {
	case IWT_RX_OK:
		break;
	case IWT_RX_ERROR:
		iwt_qp_do_step(qp, IWT_QE_LOCAL_ERROR, qp->rx.err);
		break;
	case IWT_RX_TERMINATED:
		iwt_qp_do_step(qp, IWT_QE_TERM_RECEIVED, qp->rx.term_err);
		iwt_qp_tell(qp, IWT_LLP_TERM_RECEIVED);
		break;
	}
	if (qp->rx.more)
		iwt_sock_run_bh(qp->sock);
	else if (!qp->rx.eof && iwt_sock_at_eof(qp->sock) &&
		 !iwt_sock_blind(qp->sock))
		hear_fin(qp);
}

/*
 * A response that could not be made is an error in the request: rebuild the
 * header that the Terminate has to show (RFC 5040 4.8).
 */
static void show_request(struct iwt_qp *qp)
{
	const struct iwt_tx *tx = &qp->tx;
	struct iwt_rx_bad *bad = &qp->rx.bad;
	struct iwt_ddp d = {
		.last = true,
		.dv = tx->rdmac ? IWT_DDP_VERSION_RDMAC : IWT_DDP_VERSION,
		.rv = tx->rdmac ? IWT_DDP_VERSION_RDMAC : IWT_DDP_VERSION,
		.opcode = tx->resp.atomic ? IWT_OP_ATOMIC_REQ : IWT_OP_READ_REQ,
		.qn = IWT_QN_READ_REQ,
		.msn = tx->resp_msn,
	};

	if (tx->what != IWT_TX_RESPONSE) {
		bad->hdr_len = 0;
		return;
	}
	bad->hdr_len = iwt_ddp_build(&d, bad->hdr);
	if (tx->resp.atomic) {
		iwt_atomic_build(&tx->resp.op, bad->hdr + bad->hdr_len);
		bad->hdr_len += sizeof(struct iwt_atomic_req);
	} else {
		struct iwt_rdmap_read left = tx->resp.read;

		/* of a Read that is under way, what is still to do */
		left.size = tx->msg.left;
		left.sink_to += tx->resp.read.size - left.size;
		left.src_to += tx->resp.read.size - left.size;
		iwt_rdmap_build_read(&left, bad->hdr + bad->hdr_len);
		bad->hdr_len += sizeof(struct iwt_read_req);
	}
	bad->ulpdu_len = bad->hdr_len;
}

/* Return: true to run the engine once more. */
static bool run_tx(struct iwt_qp *qp)
{
	switch (iwt_tx_run(qp)) {
	case IWT_TX_IDLE:
		return qp->again;
	case IWT_TX_MORE:
		iwt_qp_crowded(qp);
		iwt_sock_run_bh(qp->sock);
		return false;
	case IWT_TX_STARVED:
		iwt_sock_retry(qp->sock);
		return false;
	case IWT_TX_TERM_OUT:
		iwt_qp_tell(qp, IWT_LLP_TERM_SENT);
		if (qp->rx.eof)
			iwt_qp_tell(qp, IWT_LLP_PEER_CLOSED);
		return false;
	case IWT_TX_FAILED:
		show_request(qp);
		iwt_qp_do_step(qp, IWT_QE_LOCAL_ERROR, qp->tx.err);
		return qp->state == IWT_QP_TERMINATE;
	case IWT_TX_LOST:
		/* what came before the end is taken first; the run that takes the last loses it */
		if (!qp->rx.more)
			lose(qp);
		return false;
	}
	return false;
}

/* What TCP has put into segments, and taken from some, since the last look. */
static void count_segments(struct iwt_qp *qp, const struct iwt_sock *s)
{
	struct iwt_sock_segs now = iwt_sock_segs(s);

	iwt_count_add(qp->dev, IWT_C_TX_SEGS, now.out - qp->segs.out);
	iwt_count_add(qp->dev, IWT_C_RX_SEGS, now.in - qp->segs.in);
	qp->segs = now;
}

/**
 * iwt_qp_look_lost() - has a completion queue had no room for a completion?
 * @qp: queue pair; qp->lock is held
 *
 * The consumer can't know any more what was completed: the stream ends with the
 * error that RFC 5040 4.8 calls local and catastrophic. Queue pairs that use other
 * completion queues go on (RFC 5040 8.1.1).
 * Return: true when a Terminate is to go out for it.
 */
bool iwt_qp_look_lost(struct iwt_qp *qp)
{
	if (likely(!qp->sq.lost && !qp->rq.lost))
		return false;
	qp->sq.lost = false;
	qp->rq.lost = false;
	/* what is flushed may be lost, too */
	if (qp->state == IWT_QP_TERMINATE || qp->state == IWT_QP_ERROR)
		return false;
	qp->rx.bad.hdr_len = 0;
	iwt_qp_do_step(qp, IWT_QE_LOCAL_ERROR, IWT_ERR_LOCAL);
	return qp->state == IWT_QP_TERMINATE;
}

/*
 * Run the engines; the socket lock is held. TCP calls back while we send: the
 * nested call only leaves a note.
 */
static void engines(struct iwt_qp *qp, struct iwt_sock *s, bool receive)
{
	bool more;

	if (qp->running) {
		qp->again = true;
		return;
	}
	spin_lock_bh(&qp->lock);
	if (qp->sock != s)
		goto out;
	qp->running = true;
	/* what was acknowledged is done before what came with it is looked at */
	if (qp->sq.retire != qp->sq.cons)
		iwt_tx_retire(qp);
	iwt_stay_before(qp, receive);
	if (receive)
		run_rx(qp);
	iwt_qp_look_lost(qp);
	if (!iwt_tx_wanted(qp)) {
		look_drained(qp);
	} else if (iwt_sock_in_backlog(s)) {
		iwt_sock_run(s);
	} else {
		do {
			qp->again = false;
			more = run_tx(qp);
			more |= iwt_qp_look_lost(qp);
		} while (more);
		look_drained(qp);
	}
	qp->running = false;
	count_segments(qp, s);
	/*
	 * It may have ended before the callbacks were there, or while we sent; what came
	 * before that is taken first.
	 */
	if ((iwt_sock_state(s) == IWT_SOCK_CLOSED && !qp->rx.more) ||
	    iwt_sock_blind(s))
		lose(qp);
out:
	spin_unlock_bh(&qp->lock);
}

/*
 * What the last run left is not for the next segment's bottom half, of which many come
 * together: a kick comes for it.
 */
static void on_data_ready(struct iwt_sock *s, void *ctx)
{
	struct iwt_qp *qp = ctx;

	engines(qp, s, !qp->rx.more);
}

static void on_write_space(struct iwt_sock *s, void *ctx)
{
	engines(ctx, s, false);
}

static void on_run(struct iwt_sock *s, void *ctx)
{
	engines(ctx, s, true);
}

const struct iwt_sock_ops iwt_qp_sock_ops = {
	.data_ready = on_data_ready,
	.write_space = on_write_space,
	.state_change = on_data_ready,
	.run = on_run,
};
