// SPDX-License-Identifier: GPL-2.0
/* Changes of the state and of the rights of a queue pair, on request of its consumer. */
#include "qp_priv.h"
#include "mw.h"
#include "tx.h"
#include "tx_zc.h"

/*
 * Set the remote rights that a modification requests. @was_idle: there was no connection.
 *
 * As long as a queue pair has no iw_cm_id, rdma_cm initialises the queue pair without rights, and
 * iw_cm grants the rights to read and write when the connection is made. So "no rights" is a
 * request of the consumer only during a connection, not before.
 *
 * Before a connection, the request "read and write" also grants atomic operations: iw_cm requests
 * these two rights and does not know atomic operations. An atomic operation also needs the right
 * of the region.
 */
static void put_rights(struct iwt_qp *qp, u32 rights, bool was_idle)
	__must_hold(&qp->stream.lock)
{
	if (was_idle && (rights & IWT_IW_CM_RIGHTS) == IWT_IW_CM_RIGHTS)
		rights |= IWT_REMOTE_ATOMIC;
	qp->stream.rights = rights;
	qp->rights_stated = rights || !was_idle;
}

static int modify_idle(struct iwt_qp *qp, enum ib_qp_state to)
	__must_hold(&qp->stream.lock)
{
	if (qp->state != IWT_QP_IDLE)
		return -EINVAL;
	qp->idle_state = to;
	return 0;
}

/*
 * A queue pair that connects directly changes to RTR before it connects. Its connection has the
 * rights that the consumer sets, even if the consumer sets no rights: the default rights of
 * take_connection() do not apply.
 */
static int modify_rtr(struct iwt_qp *qp, bool direct)
	__must_hold(&qp->stream.lock)
{
	int err = direct && qp->idle_state != IB_QPS_INIT ? -EINVAL :
							    modify_idle(qp, IB_QPS_RTR);

	if (!err && direct)
		qp->rights_stated = true;
	return err;
}

/*
 * A queue pair that connects directly changes to RTS before or after it has connected. For other
 * queue pairs, only the connection manager changes the state to RTS.
 */
static int modify_rts(struct iwt_qp *qp, bool direct)
	__must_hold(&qp->stream.lock)
{
	if (direct && (qp->state == IWT_QP_IDLE || qp->state == IWT_QP_RTS ||
		       qp->state == IWT_QP_GONE)) {
		qp->idle_state = IB_QPS_RTS;
		return 0;
	}
	return qp->state == IWT_QP_RTS ? 0 : -EINVAL;
}

/*
 * After a reset no request is posted: iwt_qp_modify() has flushed the requests of a connection
 * that has ended, and other requests are removed without completions.
 */
static int modify_reset(struct iwt_qp *qp)
	__must_hold(&qp->stream.lock)
{
	bool over = qp->state == IWT_QP_ERROR || qp->state == IWT_QP_GONE;
	int err;

	if (qp->stream.sock || iwt_zc_in_flight(qp->stream.sq.zc))
		return -EBUSY;
	/*
	 * on -EAGAIN, iwt_qp_modify() unbinds the windows of the stream and repeats the
	 * modification; after the end of the connection no other window is bound
	 */
	if (over && iwt_mw_any(qp->stream.dev, &qp->stream.windows))
		return -EAGAIN;
	err = iwt_qp_do_step(qp, IWT_QE_TO_IDLE, IWT_OK);
	if (err)
		return err;
	iwt_sq_drop(&qp->stream.sq);
	iwt_rq_drop(&qp->stream.rq);
	qp->idle_state = IB_QPS_INIT;
	qp->stream.rights = 0;
	qp->rights_stated = false;
	qp->tell_drained = false;
	return 0;
}

/*
 * The consumer requests the state SQD (send queue drained): finish the posted requests. With
 * iWARP the connection is closed afterwards.
 */
static int modify_drain(struct iwt_qp *qp, const struct iwt_qp_change *c)
	__must_hold(&qp->stream.lock)
{
	bool was = qp->tell_drained;
	int err;

	if (c->mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		qp->tell_drained = c->tell_drained;
	err = iwt_qp_do_step(qp, iwt_tx_busy(&qp->stream) ? IWT_QE_CLOSE_BUSY :
							    IWT_QE_CLOSE, IWT_OK);
	if (err)
		qp->tell_drained = was;
	return err;
}

static int modify_state(struct iwt_qp *qp, const struct iwt_qp_change *c)
	__must_hold(&qp->stream.lock)
{
	switch (c->to) {
	case IB_QPS_RESET:
		return modify_reset(qp);
	case IB_QPS_INIT:
		return modify_idle(qp, c->to);
	case IB_QPS_RTR:
		return modify_rtr(qp, c->direct);
	case IB_QPS_RTS:
		return modify_rts(qp, c->direct);
	case IB_QPS_SQD:
		return modify_drain(qp, c);
	case IB_QPS_ERR:
		return iwt_qp_do_step(qp, IWT_QE_TO_ERROR, IWT_OK);
	default:
		return -EOPNOTSUPP;
	}
}

static int modify_locked(struct iwt_qp *qp, const struct iwt_qp_change *c)
	__must_hold(&qp->stream.lock)
{
	bool was_idle = qp->state == IWT_QP_IDLE;
	int err = 0;

	lockdep_assert_held(&qp->stream.lock);
	if (c->mask & IB_QP_CUR_STATE && c->from != iwt_qp_verbs_state(qp))
		return -EINVAL;
	if (c->mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
	    !(c->mask & IB_QP_STATE && c->to == IB_QPS_SQD))
		return -EINVAL;
	if (c->mask & IB_QP_STATE)
		err = modify_state(qp, c);
	if (err || !(c->mask & IB_QP_ACCESS_FLAGS))
		return err;
	/* a reset clears all rights, also those requested in the same call */
	if (!(c->mask & IB_QP_STATE && c->to == IB_QPS_RESET))
		put_rights(qp, c->rights, was_idle);
	return 0;
}

/**
 * iwt_qp_modify() - change the state or the rights on request of a consumer
 * @qp: queue pair
 * @c: requested change; SQD requests a graceful close, ERR requests an abortive close
 *
 * If this function returns an error, neither state nor rights have changed. A reset unbinds the
 * memory windows of the stream. If the state is ERROR afterwards, all requests that were posted
 * before the call are flushed. Only a request with memory that TCP still refers to is flushed
 * later. May sleep.
 *
 * Return: 0; -EINVAL for a transition that is not allowed, for a wrong @c->from, or if
 * IB_QP_EN_SQD_ASYNC_NOTIFY is set without SQD; -EBUSY for a reset while the connection exists or
 * TCP still refers to memory of work requests; -EOPNOTSUPP for a state that iWARP does not have.
 */
int iwt_qp_modify(struct iwt_qp *qp, const struct iwt_qp_change *c)
{
	struct iwt_stream *st = &qp->stream;
	int err;

	/* flush first: an idle queue pair must have no requests of its former connection */
	iwt_qp_flush_all(qp);
	do {
		spin_lock_bh(&st->lock);
		err = modify_locked(qp, c);
		spin_unlock_bh(&st->lock);
		if (err == -EAGAIN)
			iwt_mw_end(st->dev, &st->actor.party, &st->windows);
	} while (err == -EAGAIN);
	iwt_qp_flush_all(qp);
	return err;
}

/**
 * iwt_qp_unreachable() - fail the posted requests of a queue pair that can't be connected
 * @qp: queue pair; nothing changes if its state is not IDLE any more
 *
 * Process context, may sleep; no locks of the data path held.
 */
void iwt_qp_unreachable(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;

	spin_lock_bh(&st->lock);
	if (qp->state == IWT_QP_IDLE)
		iwt_qp_fail_posted(qp);
	spin_unlock_bh(&st->lock);
	iwt_qp_flush_all(qp);
}

/**
 * iwt_qp_verbs_state() - convert the state to the state of verbs
 * @qp: queue pair; the lock of its stream is held
 *
 * Never sleeps.
 *
 * Return: the state.
 */
enum ib_qp_state iwt_qp_verbs_state(struct iwt_qp *qp)
{
	lockdep_assert_held(&qp->stream.lock);
	switch (qp->state) {
	case IWT_QP_RTS:
	case IWT_QP_HALF:
	case IWT_QP_GONE:
		return qp->direct ? qp->idle_state : IB_QPS_RTS;
	case IWT_QP_DRAIN:
	case IWT_QP_CLOSING:
		return IB_QPS_SQD;
	case IWT_QP_TERMINATE:
		return IB_QPS_SQE;
	case IWT_QP_ERROR:
		return IB_QPS_ERR;
	default:
		return qp->idle_state;
	}
}
