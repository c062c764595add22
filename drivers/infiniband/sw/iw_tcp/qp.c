// SPDX-License-Identifier: GPL-2.0
/*
 * The state of the queue pair, and the actions that follow from a change of state.
 *
 * Socket callbacks, posters, verbs and the connection manager cause events (enum iwt_qp_event).
 * Every event, and so every error, passes through one function, iwt_qp_do_step(). This function
 * changes the state, and performs the actions that the table in proto/qpfsm.c lists.
 */
#include "qp_priv.h"

#include <rdma/iw_cm.h>

#include "dev.h"
#include "rx.h"
#include "stats_errors.h"
#include "trace.h"
#include "tx.h"

static void free_qp(struct kref *ref)
{
	complete(&container_of(ref, struct iwt_qp, ref)->freed);
}

/* Drop a reference. Any context. */
void iwt_qp_put(struct iwt_qp *qp)
{
	kref_put(&qp->ref, free_qp);
}

/**
 * iwt_qp_find() - find a queue pair by its number
 * @dev: device
 * @qpn: number
 *
 * Process context.
 *
 * Return: the queue pair with a reference, or NULL.
 */
struct iwt_qp *iwt_qp_find(struct iwt_dev *dev, u32 qpn)
{
	struct iwt_qp *qp;

	xa_lock(&dev->qps);
	qp = xa_load(&dev->qps, qpn);
	if (qp && !kref_get_unless_zero(&qp->ref))
		qp = NULL;
	xa_unlock(&dev->qps);
	return qp;
}

static void qp_tell(struct iwt_async *async, enum ib_event_type what)
{
	struct iwt_qp *qp = container_of(async, struct iwt_qp, async);
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = what,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

/**
 * iwt_qp_notify_cm() - report an event to the connection manager
 * @qp: queue pair; the lock of its stream is held
 * @ev: event; nothing happens if no connection is attached
 *
 * Never sleeps.
 */
void iwt_qp_notify_cm(struct iwt_qp *qp, enum iwt_llp_event ev)
{
	lockdep_assert_held(&qp->stream.lock);
	if (qp->llp)
		qp->llp->event(qp->llp_ctx, ev);
}

/*
 * Return: the asynchronous event that reports the error @err (IWT_ERR_*) to the consumer. Layers
 * 0 and 1 are RDMAP and DDP (RFC 5040 4.8).
 */
static enum ib_event_type event_of(u32 err)
{
	if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 1)
		return IB_EVENT_QP_ACCESS_ERR;
	if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 2)
		return IB_EVENT_QP_REQ_ERR;
	return IB_EVENT_QP_FATAL;
}

/*
 * Queue a Terminate for transmission. A responder must not send before a valid FPDU of the
 * initiator has arrived: until then, request the FIN without a Terminate.
 */
static void send_term(struct iwt_qp *qp, u32 err)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;
	const struct iwt_rx_bad *bad = &st->rx.bad;

	st->rx.discard = true;
	if (st->tx.wait_first_fpdu) {
		iwt_qp_notify_cm(qp, IWT_LLP_TERM_SENT);
		return;
	}
	iwt_tx_terminate(&st->tx, err, bad->hdr, bad->hdr_len, bad->ulpdu_len);
	iwt_qp_notify_cm(qp, IWT_LLP_TERM_PENDING);
	trace_iwt_term(&qp->ibqp, true, err);
	iwt_stream_count(st, IWT_C_TERM_TX);
	iwt_cause_term(st->dev, true, err);
}

/**
 * iwt_qp_flush_step() - complete up to IWT_FLUSH_STEP requests of each queue
 * @qp: queue pair that sends nothing any more; the lock of its stream is held
 *
 * A flush may have to complete thousands of requests, with bottom halves off. So a flush consists
 * of steps, each of which completes the oldest requests. No state is kept between two steps: the
 * indices of the rings show which requests are left. This function sets the flag
 * IWT_RING_NEED_WAKEUP before it reads the rings: either this step sees a later post, or the
 * poster rings the doorbell, which runs the next step.
 *
 * Never sleeps.
 *
 * Return: true when some requests are not completed yet: the caller has to start the next step;
 * false when all requests are completed, or when the queue pair is being destroyed.
 */
bool iwt_qp_flush_step(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;
	bool more;

	lockdep_assert_held(&st->lock);
	WRITE_ONCE(st->sq.ring.ctl->flags, IWT_RING_NEED_WAKEUP);
	smp_mb(); /* pairs with the barrier between the poster's accesses to prod and flags */
	more = iwt_sq_flush(&st->sq, st->ibqp, IWT_FLUSH_STEP);
	/* in CLOSING the stream still receives: keep the posted receives */
	if (qp->state != IWT_QP_CLOSING && iwt_rx_flush(st, IWT_FLUSH_STEP))
		more = true;
	if (more)
		iwt_stream_count(st, IWT_C_FLUSH_BUDGET);
	return more && !qp->ending;
}

/**
 * iwt_qp_flush_later() - queue a work item that runs the next step of a flush
 * @qp: queue pair; if the queue pair still sends, the work item runs the engines instead
 *
 * Any context, any lock may be held.
 */
void iwt_qp_flush_later(struct iwt_qp *qp)
{
	iwt_qp_get(qp);
	if (!queue_work(system_bh_wq, &qp->flush_work))
		iwt_qp_put(qp);
}

/*
 * The stream has ended: begin to complete all requests, in order. Data that still arrives is
 * neither placed nor delivered: a consumer that has seen its queues drained may reuse its memory
 * while the connection is being closed.
 */
static void flush(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;

	st->rx.discard = true;
	st->rx.stalled = false;
	iwt_rx_end_wait(st);
	iwt_fault_cancel(&st->rx.hold.fault);
	iwt_readq_clear(&st->readq);
	iwt_tx_drop_work(&st->tx);
	iwt_sq_fail(&st->sq, iwt_stream_unsent(st));
	if (iwt_qp_flush_step(qp))
		iwt_qp_flush_later(qp);
}

/*
 * Do not start requests that are posted from now on. In the state CLOSING, also flush requests
 * that were posted too late.
 */
static void seal_qp(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	iwt_sq_seal(&qp->stream.sq);
	if (qp->state == IWT_QP_CLOSING && iwt_qp_flush_step(qp))
		iwt_qp_flush_later(qp);
}

/*
 * The peer of a direct connection has left. Set the flag that makes posters ring the doorbell;
 * the doorbell fails the requests that they post from now on. The work item of
 * iwt_qp_flush_later() fails the requests that were posted before.
 */
static void watch_posts(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	WRITE_ONCE(qp->stream.sq.ring.ctl->flags, IWT_RING_NEED_WAKEUP);
	smp_mb(); /* pairs with the barrier between the poster's accesses to prod and flags */
	iwt_qp_flush_later(qp);
}

/* No other function writes the state. */
static void set_state(struct iwt_qp *qp, enum iwt_qp_state state)
	__must_hold(&qp->stream.lock)
{
	WRITE_ONCE(qp->state, state);
	WRITE_ONCE(qp->stream.sends, state == IWT_QP_RTS || state == IWT_QP_HALF ||
		   state == IWT_QP_DRAIN);
}

/* Does a queue pair in this state take no receive any more, and are all its receives flushed? */
static bool is_over(enum iwt_qp_state state)
{
	return state == IWT_QP_ERROR || state == IWT_QP_TERMINATE;
}

/*
 * The consumer can't know which receives a queue pair has taken from a shared receive queue. When
 * the queue pair has entered the state ERROR or TERMINATE, all these receives are completed:
 * report this to the consumer. If the consumer is destroying the queue pair, no report is needed.
 *
 * A process can cause this event again and again without a connection, by changes between the
 * states. So a queue pair without a connection reports nothing while the process has not read an
 * earlier event of the queue pair (async_event.c).
 */
static void look_last_recv(struct iwt_qp *qp, enum iwt_qp_state was)
	__must_hold(&qp->stream.lock)
{
	if (!qp->stream.rq.srq || qp->destroyed || is_over(was) || !is_over(qp->state))
		return;
	if (was != IWT_QP_IDLE || !iwt_async_unread(&qp->async))
		iwt_async_raise(&qp->async, IB_EVENT_QP_LAST_WQE_REACHED);
}

/*
 * Report that the send queue is empty, as the consumer has requested. While the connection
 * closes, a process can repeat the request at no cost. Then this function reports nothing while
 * the process has not read an earlier event of the queue pair (async_event.c).
 */
static void tell_drained(struct iwt_qp *qp, enum iwt_qp_state was)
	__must_hold(&qp->stream.lock)
{
	qp->tell_drained = false;
	if (was != IWT_QP_CLOSING || !iwt_async_unread(&qp->async))
		iwt_async_raise(&qp->async, IB_EVENT_SQ_DRAINED);
}

/**
 * iwt_qp_do_step() - handle an event: perform the step that the table prescribes
 * @qp: queue pair; the lock of its stream is held
 * @event: event
 * @err: error code for the Terminate, or IWT_OK
 *
 * The order of the actions matters:
 *
 * 1. The state is changed first, because the flush and the engines read the state.
 * 2. The Terminate is queued before the flush: when the completions of the flush wake the
 *    consumer, the Terminate is already the next message to be sent.
 * 3. The flush begins before events are reported to the consumer. IB_EVENT_QP_LAST_WQE_REACHED
 *    promises that the queue pair has completed all receives that it has taken from the shared
 *    receive queue. IB_EVENT_SQ_DRAINED promises that all requests of the send queue are done.
 * 4. The last action requests that the connection manager closes or resets the connection. The
 *    connection manager only queues work. If there are several requests, ep_take_bits() in
 *    cm_work.c defines in which order they are handled.
 *
 * Any context in which the lock of the stream may be held: never sleeps.
 *
 * Return: 0, or -EINVAL when the state does not allow the event (proto/qpfsm.c).
 */
int iwt_qp_do_step(struct iwt_qp *qp, enum iwt_qp_event event, u32 err)
{
	struct iwt_qp_step s = iwt_qpfsm(qp->state, event);
	enum iwt_qp_state was = qp->state;

	lockdep_assert_held(&qp->stream.lock);
	if (s.actions & IWT_QA_REFUSE)
		return -EINVAL;
	if (s.next != qp->state)
		trace_iwt_qp_state(&qp->ibqp, qp->state, s.next, event, err);
	if (event == IWT_QE_LOST && iwt_stream_sends(&qp->stream))
		iwt_stream_count(&qp->stream, IWT_C_CONN_LOST);
	set_state(qp, s.next);
	if (err && !qp->term_err)
		qp->term_err = err;
	if (s.actions & IWT_QA_SEND_TERM)
		send_term(qp, err);
	if (s.actions & IWT_QA_FLUSH)
		flush(qp);
	look_last_recv(qp, was);
	if (s.actions & IWT_QA_WATCH)
		watch_posts(qp);
	if (s.actions & IWT_QA_SEAL)
		seal_qp(qp);
	if (s.actions & IWT_QA_GRACE)
		iwt_qp_notify_cm(qp, IWT_LLP_DRAINING);
	if (s.actions & IWT_QA_REPORT)
		iwt_async_raise(&qp->async, event_of(err));
	if (s.actions & IWT_QA_DRAINED && qp->tell_drained)
		tell_drained(qp, was);
	if (s.actions & IWT_QA_CLOSE) {
		iwt_qp_notify_cm(qp, IWT_LLP_CLOSE_WANTED);
		if (qp->stream.rx.eof)
			iwt_qp_notify_cm(qp, IWT_LLP_PEER_CLOSED);
	}
	if (s.actions & IWT_QA_ABORT)
		iwt_qp_notify_cm(qp, IWT_LLP_ABORT_WANTED);
	return 0;
}

/**
 * iwt_qp_fail_posted() - fail the posted requests, because the peer can't be reached
 * @qp: queue pair that connects directly, and has no connection yet, or no peer any more; the
 *	lock of its stream is held
 *
 * The first request completes with %IB_WC_RETRY_EXC_ERR, as with InfiniBand, and the other
 * requests are flushed. Never sleeps.
 */
void iwt_qp_fail_posted(struct iwt_qp *qp)
{
	lockdep_assert_held(&qp->stream.lock);
	iwt_sq_blame(&qp->stream.sq, IB_WC_RETRY_EXC_ERR);
	iwt_qp_do_step(qp, IWT_QE_LOCAL_ERROR, IWT_OK);
}

/**
 * iwt_qp_check_overrun() - end the stream if a completion was lost or the SRQ has failed
 * @qp: queue pair; the lock of its stream is held
 *
 * If a completion queue was full, the consumer can't know any more which requests are completed.
 * If the shared receive queue has failed, the stream can't receive. In both cases the stream ends
 * with the error that RFC 5040 4.8 calls local and catastrophic. Queue pairs that use other
 * completion queues continue (RFC 5040 8.1.1). Never sleeps.
 *
 * Return: true when a Terminate is to be sent for this error.
 */
bool iwt_qp_check_overrun(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;

	lockdep_assert_held(&qp->stream.lock);
	if (likely(!st->sq.lost && !st->rq.lost))
		return false;
	st->sq.lost = false;
	st->rq.lost = false;
	/* a flush may lose completions, too, but then the stream has already ended */
	if (qp->state == IWT_QP_TERMINATE || qp->state == IWT_QP_ERROR)
		return false;
	st->rx.bad.hdr_len = 0;
	iwt_qp_do_step(qp, IWT_QE_LOCAL_ERROR, IWT_ERR_LOCAL);
	return qp->state == IWT_QP_TERMINATE;
}

/**
 * iwt_qp_setup() - initialise a queue pair, except its send and receive queues
 * @qp: queue pair, zeroed except for the fields that the caller and RDMA core have set
 *
 * Process context, never sleeps.
 */
void iwt_qp_setup(struct iwt_qp *qp)
	__context_unsafe(/* no other processor can access the queue pair yet */)
{
	struct iwt_stream *st = &qp->stream;

	kref_init(&qp->ref);
	init_completion(&qp->freed);
	spin_lock_init(&st->lock);
	st->dev = to_iwt_dev(qp->ibqp.device);
	st->ibqp = &qp->ibqp;
	st->stats = st->dev->stats;
	st->actor = (struct iwt_actor) {
		.dev = st->dev,
		.party.pd = qp->ibqp.pd,
		.kernel = !qp->user,
	};
	INIT_LIST_HEAD(&st->windows);
	iwt_rx_wait_setup(&st->recv_wait);
	st->receiver = st->actor;
	if (qp->ibqp.srq)
		st->receiver.party.pd = qp->ibqp.srq->pd;
	iwt_async_setup(&qp->async, qp_tell);
	iwt_async_of_process(&qp->async, qp->ibqp.uobject);
	set_state(qp, IWT_QP_IDLE);
	qp->idle_state = IB_QPS_INIT;
	mutex_init(&qp->modifying);
}
