// SPDX-License-Identifier: GPL-2.0
/*
 * The engines: callbacks of the socket run the receive and the transmit engine of a queue pair.
 *
 * One function runs both engines: engines(). All callbacks of the socket call engines(). TCP
 * calls ->data_ready, ->write_space and ->state_change; sock_run.c calls ->run for doorbells and
 * for other callers that want to run the engines. This file passes the results of the engines,
 * and the end of the stream, as events to iwt_qp_do_step().
 */
#include "qp_priv.h"

#include "rx.h"
#include "tx.h"
#include "tx_zc.h"
#include "wake_reply.h"
#include "wake_rt.h"

/**
 * iwt_qp_loss() - select the event that reports the end of the connection to the queue pair
 * @qp: queue pair; the lock of its stream is held
 *
 * Any context. On a direct connection, the first request that has not finished will complete with
 * a status that shows the end of the connection.
 *
 * Return: the event.
 */
enum iwt_qp_event iwt_qp_loss(struct iwt_qp *qp)
{
	lockdep_assert_held(&qp->stream.lock);
	if (!qp->rc || !iwt_stream_sends(&qp->stream))
		return IWT_QE_LOST;
	if (iwt_sq_idle(&qp->stream.sq))
		return IWT_QE_PEER_GONE;
	iwt_sq_blame(&qp->stream.sq, IB_WC_RETRY_EXC_ERR);
	return IWT_QE_LOST;
}

static void lose(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	iwt_qp_do_step(qp, iwt_qp_loss(qp), IWT_OK);
	iwt_qp_notify_cm(qp, IWT_LLP_LOST);
}

/* Does the stream have work to finish before the connection may end? */
static bool lingers(const struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	return qp->state == IWT_QP_HALF || qp->state == IWT_QP_DRAIN ||
	       qp->stream.tx.term == IWT_TX_TERM_PENDING ||
	       qp->stream.tx.term == IWT_TX_TERM_FRAMED;
}

/*
 * The peer's FIN has arrived. A FIN within an FPDU is not an orderly end. If the FIN follows a
 * whole FPDU, this end still sends the data that it has to send (RFC 5041 6.2.1).
 */
static void take_fin(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;
	struct iwt_sock_cursor at;

	st->rx.eof = true;
	if (iwt_sock_peek(st->sock, &at)) {
		lose(qp);
		return;
	}
	/* the peer of a direct connection confirms and answers nothing any more */
	if (qp->rc) {
		iwt_qp_do_step(qp, iwt_qp_loss(qp), IWT_OK);
		iwt_qp_notify_cm(qp, IWT_LLP_PEER_CLOSED);
		return;
	}
	iwt_qp_do_step(qp, iwt_tx_busy(st) ? IWT_QE_PEER_BUSY : IWT_QE_PEER_CLOSED,
		       IWT_OK);
	if (!lingers(qp))
		iwt_qp_notify_cm(qp, IWT_LLP_PEER_CLOSED);
}

/*
 * A message of the peer of a direct connection waits for a receive, and the peer's FIN has
 * arrived behind this message. If the peer has not answered a request of this end, the request
 * fails now: the consumer may post the receive only after the completion of this request.
 */
static void look_unanswered(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;

	if (likely(!st->rx.wait_recv) || st->rx.eof || !iwt_sock_at_eof(st->sock) ||
	    !iwt_rx_unanswered(st))
		return;
	st->rx.eof = true;
	lose(qp);
}

/*
 * In the states HALF and DRAIN, the stream ends when the remaining work is done. The stream also
 * ends if the peer has sent FIN, and the work waits for something that can't arrive any more: for
 * a Response, or for the first FPDU of the initiator, before which the responder must not send.
 */
static void look_drained(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;

	if (qp->state != IWT_QP_HALF && qp->state != IWT_QP_DRAIN)
		return;
	if (!iwt_tx_busy(st))
		iwt_qp_do_step(qp, IWT_QE_DRAINED, IWT_OK);
	else if (st->rx.eof && (st->readq.out_n || st->tx.wait_first_fpdu))
		lose(qp);
}

/*
 * The peer's Terminate has arrived: which event is this for the queue pair? If the peer's queue
 * pair is destroyed during startup, the peer sends a Terminate with an error of startup (RFC 6581
 * 9.3). For a direct connection this is the same as the end of the connection.
 */
static enum iwt_qp_event term_event(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	u32 err = qp->stream.rx.term_err;

	if (!qp->rc || err < IWT_ERR_MPA_LOCAL || err > IWT_ERR_MPA_RTR)
		return IWT_QE_TERM_RECEIVED;
	return iwt_qp_loss(qp);
}

static void run_rx(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;

	switch (iwt_rx_run(st)) {
	case IWT_RX_OK:
		break;
	case IWT_RX_ERROR:
		iwt_qp_do_step(qp, IWT_QE_LOCAL_ERROR, st->rx.err);
		break;
	case IWT_RX_TERMINATED:
		iwt_qp_do_step(qp, term_event(qp), st->rx.term_err);
		iwt_qp_notify_cm(qp, IWT_LLP_TERM_RECEIVED);
		break;
	}
	if (st->rx.budget_used)
		iwt_sock_run_bh(st->sock);
	else if (!st->rx.stalled && !st->rx.eof && iwt_sock_at_eof(st->sock) &&
		 !iwt_sock_blind(st->sock))
		take_fin(qp);
}

/* Set @left to a Read Request for the part of the current Response that is not framed yet. */
static void rest_of_read(const struct iwt_tx *tx, struct iwt_rdmap_read *left)
{
	*left = tx->resp.read;
	left->size = tx->msg.left;
	left->sink_to += tx->resp.read.size - left->size;
	left->src_to += tx->resp.read.size - left->size;
}

/*
 * If a Response cannot be built, its Request was in error. Build the header that the Terminate
 * quotes (RFC 5040 4.8): the header of the Request. For a Read Request, the header describes only
 * the part that is not answered yet.
 */
static void show_request(struct iwt_stream *st)
{
	const struct iwt_tx *tx = &st->tx;
	struct iwt_rx_bad *bad = &st->rx.bad;
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
		struct iwt_rdmap_read left;

		rest_of_read(tx, &left);
		iwt_rdmap_build_read(&left, bad->hdr + bad->hdr_len);
		bad->hdr_len += sizeof(struct iwt_read_req);
	}
	bad->ulpdu_len = bad->hdr_len;
}

/* Return: true to run the transmit engine once more. */
static bool run_tx(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;

	switch (iwt_tx_run(st)) {
	case IWT_TX_IDLE:
		return qp->again;
	case IWT_TX_MORE:
		iwt_migrate_over_budget(qp);
		iwt_sock_run_bh(st->sock);
		return false;
	case IWT_TX_STARVED:
		iwt_stream_count(st, IWT_C_TX_NO_MEM);
		iwt_sock_retry(st->sock);
		return false;
	case IWT_TX_TERM_OUT:
		iwt_qp_notify_cm(qp, IWT_LLP_TERM_SENT);
		if (st->rx.eof)
			iwt_qp_notify_cm(qp, IWT_LLP_PEER_CLOSED);
		return false;
	case IWT_TX_FAILED:
		show_request(st);
		iwt_qp_do_step(qp, IWT_QE_LOCAL_ERROR, st->tx.err);
		return qp->state == IWT_QP_TERMINATE;
	case IWT_TX_LOST:
		/*
		 * first receive the bytes that arrived before the end; after that, another run
		 * ends the stream
		 */
		if (!iwt_stream_unread(st))
			lose(qp);
		return false;
	}
	return false;
}

/* Add the segments that TCP has sent and received since the last call to the counters. */
static void count_segments(struct iwt_qp *qp, const struct iwt_sock *s)
	__must_hold(&qp->stream.lock)
{
	struct iwt_sock_segs now = iwt_sock_segs(s);

	iwt_stream_count_add(&qp->stream, IWT_C_TX_SEGS, now.out - qp->segs.out);
	iwt_stream_count_add(&qp->stream, IWT_C_RX_SEGS, now.in - qp->segs.in);
	qp->segs = now;
}

/*
 * Run the transmit engine, if it may have work. Return: true; false in the backlog, where the
 * driver may not send: the owner of the socket will run the engines.
 */
static bool send(struct iwt_qp *qp, struct iwt_sock *s)
	__must_hold(&qp->stream.lock)
{
	bool more;

	if (!iwt_tx_wanted(&qp->stream))
		return true;
	if (iwt_sock_in_backlog(s)) {
		iwt_sock_run(s);
		return false;
	}
	do {
		qp->again = false;
		more = run_tx(qp);
		more |= iwt_qp_check_overrun(qp);
	} while (more);
	return true;
}

/* Run the engines once, with the lock of the stream held. */
static void qp_run_locked(struct iwt_qp *qp, struct iwt_sock *s, bool receive)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;

	qp->running = true;
	/*
	 * an ACK may have made TCP release memory of zero copy requests: complete these requests
	 * before the data that came with the ACK is delivered
	 */
	if (st->sq.retire != st->sq.cons)
		iwt_stream_retire(st);
	iwt_reply_spin_begin(st, receive);
	if (receive)
		run_rx(qp);
	iwt_qp_check_overrun(qp);
	if (send(qp, s)) {
		look_drained(qp);
		look_unanswered(qp);
	}
	qp->running = false;
	count_segments(qp, s);
	/*
	 * The connection may have ended before the callbacks were installed, or while the
	 * transmit engine ran. Data that arrived before the end is received first.
	 */
	if ((iwt_sock_state(s) == IWT_SOCK_CLOSED && !iwt_stream_unread(st)) ||
	    iwt_sock_blind(s))
		lose(qp);
}

/*
 * Run the engines; the socket lock is held. @receive: also run the receive engine. While the
 * transmit engine sends, TCP may call back: the nested call only sets qp->again. With PREEMPT_RT
 * this function may leave the run to a work item (wake_rt.c).
 */
static void engines(struct iwt_qp *qp, struct iwt_sock *s, bool receive)
{
	u64 since;

	if (qp->running) {
		qp->again = true;
		return;
	}
	if (!iwt_realtime_enter(&since)) {
		iwt_sock_run_bh(s);
		return;
	}
	spin_lock_bh(&qp->stream.lock);
	if (qp->stream.sock == s)
		qp_run_locked(qp, s, receive);
	spin_unlock_bh(&qp->stream.lock);
	iwt_realtime_leave(since);
}

/*
 * The TCP state has changed, or data has arrived (qp_data_ready()). Do not receive here if the
 * last run of the receive engine has used up its budget: then iwt_sock_run_bh() has queued a work
 * item, which receives in one run all data that arrive before it runs. Otherwise receive, because
 * a change of the TCP state is handled only after all bytes that have arrived.
 */
static void qp_state_change(struct iwt_sock *s, void *ctx)
{
	struct iwt_qp *qp = ctx;

	/* budget_used is written with the socket lock held, and the caller holds that lock */
	engines(qp, s, !context_unsafe(qp->stream.rx.budget_used));
}

static void qp_data_ready(struct iwt_sock *s, void *ctx)
{
	struct iwt_qp *qp = ctx;

	if (iwt_sock_gather(s))
		iwt_count(qp->stream.dev, IWT_C_GATHER);
	else
		qp_state_change(s, ctx);
}

static void qp_write_space(struct iwt_sock *s, void *ctx)
{
	engines(ctx, s, false);
}

static void on_run(struct iwt_sock *s, void *ctx)
{
	engines(ctx, s, true);
}

/*
 * Data have arrived behind a gap. If the engines are running, this is a nested call: the data can
 * wait. Place nothing in other states than RTS: after the end of the stream the peer may not
 * write to the memory any more, and during a graceful close the data can wait, too.
 */
static void qp_ahead(struct iwt_sock *s, void *ctx)
{
	struct iwt_qp *qp = ctx;
	u64 since;

	if (qp->running || !iwt_realtime_enter(&since))
		return;
	spin_lock_bh(&qp->stream.lock);
	if (qp->stream.sock == s && qp->state == IWT_QP_RTS)
		iwt_rx_place_ahead(&qp->stream);
	spin_unlock_bh(&qp->stream.lock);
	iwt_realtime_leave(since);
}

const struct iwt_sock_ops iwt_engine_ops = {
	.data_ready = qp_data_ready,
	.write_space = qp_write_space,
	.state_change = qp_state_change,
	.run = on_run,
	.ahead = qp_ahead,
};
