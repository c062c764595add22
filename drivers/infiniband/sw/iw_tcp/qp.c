// SPDX-License-Identifier: GPL-2.0
/*
 * The queue pair. Everything that happens to one arrives here: callbacks of
 * its socket, kicks of its posters, verbs, and the connection manager; the
 * engines only report. Every error takes one way: iwt_qp_do_step() with an event
 * of proto/qpfsm.h, which changes the state and does what the table says.
 */
#include "qp_priv.h"

#include <linux/sched/mm.h>
#include <rdma/iw_cm.h>

#include "cq.h"
#include "dev.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"
#include "zc.h"

static void report(struct iwt_qp *qp, enum ib_event_type what)
{
	set_bit(what, &qp->events);
	iwt_qp_get(qp);
	if (!schedule_work(&qp->event_work))
		iwt_qp_put(qp);
}

static void do_event_work(struct work_struct *work)
{
	struct iwt_qp *qp = container_of(work, struct iwt_qp, event_work);
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
	};
	unsigned long bit;

	for_each_set_bit(bit, &qp->events, BITS_PER_LONG) {
		if (!test_and_clear_bit(bit, &qp->events))
			continue;
		ev.event = bit;
		if (qp->ibqp.event_handler)
			qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
	}
	iwt_qp_put(qp);
}

/**
 * iwt_qp_tell() - let the connection hear of something
 * @qp: queue pair; qp->lock is held
 * @ev: what
 */
void iwt_qp_tell(struct iwt_qp *qp, enum iwt_llp_event ev)
{
	if (qp->llp)
		qp->llp->event(qp->llp_ctx, ev);
}

/* Which asynchronous event an error is to the consumer. */
static enum ib_event_type event_of(u32 err)
{
	if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 1)
		return IB_EVENT_QP_ACCESS_ERR;
	if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 2)
		return IB_EVENT_QP_REQ_ERR;
	return IB_EVENT_QP_FATAL;
}

/* A Terminate goes out, unless the responder may not talk yet. */
static void send_term(struct iwt_qp *qp, u32 err)
{
	const struct iwt_rx_bad *bad = &qp->rx.bad;

	qp->rx.dead = true;
	if (qp->tx.hold) {
		iwt_qp_tell(qp, IWT_LLP_TERM_SENT);
		return;
	}
	iwt_tx_terminate(&qp->tx, err, bad->hdr, bad->hdr_len, bad->ulpdu_len);
	iwt_qp_tell(qp, IWT_LLP_TERM_PENDING);
	trace_iwt_term(qp->ibqp.qp_num, true, err);
	iwt_count(qp->dev, IWT_C_TERM_TX);
}

/**
 * iwt_qp_do_step() - something happened: the one place where the state changes
 * @qp: queue pair; qp->lock is held
 * @event: what
 * @err: error that a Terminate is to name, or IWT_OK
 *
 * Return: 0, -EINVAL when the state does not allow it (RFC 5040 6.2).
 */
int iwt_qp_do_step(struct iwt_qp *qp, enum iwt_qp_event event, u32 err)
{
	struct iwt_qp_step s = iwt_qpfsm(qp->state, event);

	lockdep_assert_held(&qp->lock);
	if (s.actions & IWT_QA_REFUSE)
		return -EINVAL;
	if (s.next != qp->state)
		trace_iwt_qp_state(qp->ibqp.qp_num, qp->state, s.next, event,
				   err);
	WRITE_ONCE(qp->state, s.next);
	if (err && !qp->term_err)
		qp->term_err = err;
	if (s.actions & IWT_QA_SEND_TERM)
		send_term(qp, err);
	if (s.actions & IWT_QA_FLUSH)
		iwt_qp_flush(qp);
	if (s.actions & IWT_QA_SEAL)
		iwt_qp_seal(qp);
	if (s.actions & IWT_QA_GRACE)
		iwt_qp_tell(qp, IWT_LLP_DRAINING);
	if (s.actions & IWT_QA_REPORT)
		report(qp, event_of(err));
	if (s.actions & IWT_QA_CLOSE) {
		iwt_qp_tell(qp, IWT_LLP_CLOSE_WANTED);
		if (qp->rx.eof)
			iwt_qp_tell(qp, IWT_LLP_PEER_CLOSED);
	}
	if (s.actions & IWT_QA_ABORT)
		iwt_qp_tell(qp, IWT_LLP_ABORT_WANTED);
	return 0;
}

/**
 * iwt_qp_setup() - initialise a queue pair; its queues are set up separately
 * @qp: queue pair, zeroed
 */
void iwt_qp_setup(struct iwt_qp *qp)
{
	kref_init(&qp->ref);
	init_completion(&qp->freed);
	spin_lock_init(&qp->lock);
	iwt_qp_flush_setup(qp);
	INIT_WORK(&qp->event_work, do_event_work);
	iwt_watch_setup(&qp->watch);
	iwt_move_setup(&qp->move);
	iwt_stay_setup(&qp->stay);
	iwt_tended_setup(qp);
	qp->state = IWT_QP_IDLE;
	qp->idle_state = IB_QPS_INIT;
}

static void take_connection(struct iwt_qp *qp, struct iwt_sock *s,
			    const struct iwt_mpa_terms *terms, bool initiator,
			    const struct iwt_qp_llp_ops *llp, void *ctx)
{
	iwt_tx_start(&qp->tx, terms, initiator);
	iwt_rx_start(&qp->rx, terms, initiator);
	qp->tx.wqe = qp->sq.wqe;
	qp->rx.recv = qp->rq.wqe;
	if (qp->sq.zc && !terms->crc && !terms->tx_markers)
		qp->tx.zerocopy = READ_ONCE(qp->dev->conf.zerocopy);
	qp->term_err = IWT_OK;
	qp->sq.sealed = false;
	qp->sq.lost = false;
	qp->rq.lost = false;
	qp->segs = iwt_sock_segs(s);
	qp->llp = llp;
	qp->llp_ctx = ctx;
	if (!qp->rights_stated)
		qp->rights = IWT_IW_CM_RIGHTS | IWT_REMOTE_ATOMIC;
	/* a poster that sees the socket sees a running queue pair */
	smp_store_release(&qp->sock, s);
}

/* Without memory for it, everything is copied. */
static void prepare_zerocopy(struct iwt_qp *qp)
{
	struct iwt_zc *zc;

	if (READ_ONCE(qp->dev->conf.zerocopy) == IWT_ZEROCOPY_OFF ||
	    READ_ONCE(qp->sq.zc))
		return;
	zc = iwt_zc_new(iwt_qp_flush_wake, qp);
	spin_lock_bh(&qp->lock);
	if (!qp->sq.zc)
		swap(qp->sq.zc, zc);
	spin_unlock_bh(&qp->lock);
	iwt_zc_close(zc);
}

/* Read queues are the process's, whoever runs when the connection is there. */
static int alloc_readq(struct iwt_qp *qp, struct iwt_readq *readq,
		       const struct iwt_mpa_terms *terms)
{
	struct mem_cgroup *was = set_active_memcg(qp->memcg);
	int err;

	err = iwt_readq_alloc(readq, terms->ord, terms->ird,
			      qp->user ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	set_active_memcg(was);
	return err;
}

/**
 * iwt_qp_attach() - startup is done: the stream is in RDMA mode (RFC 5044 7.1)
 * @qp: idle queue pair
 * @s: its socket; stays the caller's, until iwt_qp_detach()
 * @terms: what was negotiated
 * @initiator: we sent the MPA Request
 * @llp: hears what happens to the connection
 * @ctx: its argument
 *
 * Octets that have arrived already are looked at before this returns or soon
 * after. The responder sends nothing before the initiator's first FPDU. May
 * sleep. Return: 0, -EINVAL when the queue pair is not idle, -ENOMEM.
 */
int iwt_qp_attach(struct iwt_qp *qp, struct iwt_sock *s,
		  const struct iwt_mpa_terms *terms, bool initiator,
		  const struct iwt_qp_llp_ops *llp, void *ctx)
{
	struct iwt_readq readq = {};
	int err;

	err = alloc_readq(qp, &readq, terms);
	if (err)
		return err;
	prepare_zerocopy(qp);

	spin_lock_bh(&qp->lock);
	if (qp->sock)
		err = -EINVAL;
	else
		err = iwt_qp_do_step(qp, IWT_QE_ATTACH, IWT_OK);
	if (!err) {
		swap(qp->readq, readq);
		take_connection(qp, s, terms, initiator, llp, ctx);
		iwt_qp_get(qp);
	}
	spin_unlock_bh(&qp->lock);
	iwt_readq_free(&readq);
	if (err)
		return err;

	iwt_sock_set_patience(s, READ_ONCE(qp->dev->conf.keepalive),
			      READ_ONCE(qp->dev->conf.patience));
	iwt_sock_set_ops(s, &iwt_qp_sock_ops, qp);
	rcu_read_lock();
	iwt_sock_run(s);
	rcu_read_unlock();
	return 0;
}

/**
 * iwt_qp_detach() - the connection is over; the socket is about to be released
 * @qp: queue pair with a connection
 *
 * No callback of the queue pair runs afterwards, and what was outstanding is
 * flushed, but for what TCP has by reference: that is, when it has let go. May
 * sleep. Return: true when the connection must be reset, not closed in order:
 * because the stream ends inside an FPDU, or because TCP has to let go.
 */
bool iwt_qp_detach(struct iwt_qp *qp)
{
	bool cut;

	iwt_sock_set_ops(qp->sock, NULL, NULL);
	spin_lock_bh(&qp->lock);
	iwt_qp_do_step(qp, IWT_QE_DETACH, IWT_OK);
	cut = iwt_tx_stop(&qp->tx) || iwt_zc_any_out(qp->sq.zc);
	WRITE_ONCE(qp->sock, NULL);
	qp->llp = NULL;
	spin_unlock_bh(&qp->lock);
	iwt_qp_flush_all(qp);
	iwt_qp_put(qp);
	return cut;
}

/**
 * iwt_qp_zc_in_flight() - has TCP memory of work requests by reference?
 * @qp: queue pair
 */
bool iwt_qp_zc_in_flight(struct iwt_qp *qp)
{
	bool lends;

	spin_lock_bh(&qp->lock);
	lends = iwt_zc_any_out(qp->sq.zc);
	spin_unlock_bh(&qp->lock);
	return lends;
}

static void free_qp(struct kref *ref)
{
	complete(&container_of(ref, struct iwt_qp, ref)->freed);
}

/**
 * iwt_qp_get() - take a reference
 * @qp: queue pair
 */
void iwt_qp_get(struct iwt_qp *qp)
{
	kref_get(&qp->ref);
}

/**
 * iwt_qp_put() - drop a reference
 * @qp: queue pair
 */
void iwt_qp_put(struct iwt_qp *qp)
{
	kref_put(&qp->ref, free_qp);
}

/**
 * iwt_qp_find() - look a queue pair up
 * @dev: device
 * @qpn: number
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

/**
 * iwt_qp_destroy() - end a queue pair and wait until nobody uses it
 * @qp: queue pair that can't be found any more; its memory and queues stay the
 *	caller's
 *
 * The connection was released before this returns, so that TCP sends nothing of
 * the consumer's memory any more. May sleep.
 */
void iwt_qp_destroy(struct iwt_qp *qp)
{
	spin_lock_bh(&qp->lock);
	iwt_qp_do_step(qp, IWT_QE_TO_ERROR, IWT_OK);
	iwt_qp_tell(qp, IWT_LLP_ABORT_WANTED);
	spin_unlock_bh(&qp->lock);
	iwt_qp_flush_end(qp);
	iwt_zc_mute(qp->sq.zc);
	iwt_watch_end(qp);
	iwt_move_end(qp);
	iwt_tended_end(qp);
	iwt_qp_put(qp);
	wait_for_completion(&qp->freed);
	/*
	 * The last reference may have been a work item's own. None is pending;
	 * to cancel is to wait, without the flush's rules on memory reclaim.
	 */
	cancel_work_sync(&qp->event_work);
	iwt_qp_flush_held(qp);
	iwt_readq_free(&qp->readq);
	iwt_cq_clean(qp->sq.cq, &qp->ibqp);
	iwt_cq_clean(qp->rq.cq, &qp->ibqp);
}
