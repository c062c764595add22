// SPDX-License-Identifier: GPL-2.0
/* Attach a connection to a queue pair, and detach the connection; the end of the queue pair. */
#include "qp_priv.h"

#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "cq.h"
#include "dev.h"
#include "mw.h"
#include "proto/direct.h"
#include "rx.h"
#include "srq.h"
#include "trace.h"
#include "tx.h"
#include "tx_zc.h"

static void take_connection(struct iwt_qp *qp, struct iwt_sock *s,
			    const struct iwt_mpa_terms *terms, bool initiator,
			    const struct iwt_qp_llp_ops *llp, void *ctx,
			    struct iwt_ahead *ahead)
	__must_hold(&qp->stream.lock)
{
	struct iwt_stream *st = &qp->stream;

	iwt_tx_start(&st->tx, terms, initiator);
	iwt_rx_start(&st->rx, terms, initiator);
	iwt_rx_place_begin(st, ahead);
	iwt_stream_begin(st);
	st->tx.wqe = st->sq.wqe;
	st->rx.recv = st->rq.wqe;
	/* the flush at the end of an earlier connection made posters ring the doorbell */
	if (st->rq.entries)
		iwt_ring_awake(&st->rq.ring);
	if (st->sq.zc && !terms->crc && !terms->tx_markers)
		st->tx.zerocopy = READ_ONCE(st->dev->conf.zerocopy);
	qp->term_err = IWT_OK;
	qp->rc = terms->rc;
	iwt_sq_begin(&st->sq, terms->rc);
	st->tx.confirm_due = IWT_FIRST_BEHIND(st->sq.cons);
	st->tx.confirm_asked = st->sq.cons;
	st->rq.lost = false;
	qp->segs = iwt_sock_segs(s);
	qp->llp = llp;
	qp->llp_ctx = ctx;
	if (!qp->rights_stated)
		st->rights = IWT_IW_CM_RIGHTS | IWT_REMOTE_ATOMIC;
	/* a poster that sees the socket also sees all members of the stream that are set above */
	smp_store_release(&st->sock, s);
}

/* Callback from tx_zc.c: TCP has released the oldest batch. Any context, any lock may be held. */
static void on_released(void *ctx)
{
	iwt_qp_flush_later(ctx);
}

/*
 * If the link's setting "zerocopy" is not off, allocate the object for zero copy. If the
 * allocation fails, all payload is copied.
 */
static void prepare_zerocopy(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;
	struct iwt_zc *zc;

	if (READ_ONCE(st->dev->conf.zerocopy) == IWT_ZEROCOPY_OFF ||
	    READ_ONCE(st->sq.zc))
		return;
	zc = iwt_zc_new(on_released, qp);
	spin_lock_bh(&st->lock);
	if (!st->sq.zc)
		swap(st->sq.zc, zc);
	spin_unlock_bh(&st->lock);
	iwt_zc_close(zc);
}

/*
 * Allocate @readq. The memory is charged to the control group of the process that created the
 * queue pair, even if another thread, such as a worker, runs this function.
 */
static int alloc_readq(struct iwt_qp *qp, struct iwt_readq *readq,
		       const struct iwt_mpa_terms *terms)
{
	struct mem_cgroup *was = set_active_memcg(qp->owner.memcg);
	int err;

	err = iwt_readq_alloc(readq, terms->ord, terms->ird,
			      qp->user ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	set_active_memcg(was);
	if (terms->rc)
		readq->reserve = min_t(u16, terms->ord, IWT_DIRECT_READS);
	return err;
}

/*
 * Allocate the data structure with which the stream places data behind a gap (rx_place.c), if the
 * link's setting "ahead" is on, if the peer sends markers and CRC, and if the peer is no RDMAC
 * peer. If the allocation fails, all data are placed in order.
 */
static struct iwt_ahead *alloc_ahead(const struct iwt_qp *qp, const struct iwt_mpa_terms *terms)
{
	struct iwt_ahead *ahead;
	struct mem_cgroup *was;

	if (!READ_ONCE(qp->stream.dev->conf.ahead) || !terms->rx_markers || !terms->crc ||
	    terms->rdmac)
		return NULL;
	was = set_active_memcg(qp->owner.memcg);
	ahead = iwt_rx_place_new(qp->user ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	set_active_memcg(was);
	return ahead;
}

static void trace_connection(const struct iwt_qp *qp, const struct iwt_sock *s,
			     const struct iwt_mpa_terms *terms, bool initiator)
{
	struct sockaddr_storage local, remote;

	if (!trace_iwt_connect_enabled())
		return;
	iwt_sock_names_now(s, &local, &remote);
	trace_iwt_connect(&qp->ibqp, initiator, terms, &local, &remote);
}

/*
 * From now on the callbacks of the socket run the engines. @ahead: the stream also places data
 * that arrive behind a gap. May sleep.
 */
static void start_engines(struct iwt_qp *qp, struct iwt_sock *s, bool ahead)
{
	const struct iwt_conf *conf = &qp->stream.dev->conf;

	iwt_sock_set_timeouts(s, READ_ONCE(conf->keepidle), READ_ONCE(conf->user_timeout));
	iwt_sock_set_ops(s, &iwt_engine_ops, qp);
	if (ahead)
		iwt_sock_watch_ahead(s);
	rcu_read_lock();
	iwt_sock_run(s);
	rcu_read_unlock();
}

/**
 * iwt_qp_attach() - attach a connection after its startup: begin RDMA mode (RFC 5040 6.1)
 * @qp: idle queue pair
 * @s: socket of the connection; the caller must not release the socket before iwt_qp_detach()
 * @terms: negotiated parameters
 * @initiator: this end sent the MPA Request
 * @llp: callbacks to the connection manager
 * @ctx: argument of the callbacks
 *
 * Bytes that have arrived already are processed before this function returns, or soon after.
 * The responder sends nothing before the initiator's first FPDU (RFC 5044 7.1.2). May sleep.
 *
 * Return: 0, -EINVAL when the queue pair is not idle, -ENOMEM.
 */
int iwt_qp_attach(struct iwt_qp *qp, struct iwt_sock *s,
		  const struct iwt_mpa_terms *terms, bool initiator,
		  const struct iwt_qp_llp_ops *llp, void *ctx)
{
	struct iwt_stream *st = &qp->stream;
	struct iwt_readq readq = {};
	struct iwt_ahead *ahead;
	int err;

	err = alloc_readq(qp, &readq, terms);
	if (err)
		return err;
	prepare_zerocopy(qp);
	ahead = alloc_ahead(qp, terms);

	spin_lock_bh(&st->lock);
	if (st->sock)
		err = -EINVAL;
	else
		err = iwt_qp_do_step(qp, IWT_QE_ATTACH, IWT_OK);
	if (!err) {
		swap(st->readq, readq);
		take_connection(qp, s, terms, initiator, llp, ctx, ahead);
		iwt_qp_get(qp);
		atomic_inc(&st->dev->n_conns);
	}
	spin_unlock_bh(&st->lock);
	iwt_readq_free(&readq);
	if (err) {
		kfree(ahead);
		return err;
	}

	trace_connection(qp, s, terms, initiator);
	start_engines(qp, s, ahead);
	return 0;
}

/**
 * iwt_qp_detach() - detach a connection that has ended, before its socket is released
 * @qp: queue pair with a connection
 *
 * No callback of the queue pair runs afterwards. Outstanding requests are flushed. A request with
 * memory that TCP still refers to is flushed later, when TCP has released the memory. May sleep.
 *
 * Return: true when the connection must be reset, not closed gracefully: the stream ends inside
 * an FPDU, or TCP still refers to memory of work requests.
 */
bool iwt_qp_detach(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;
	struct iwt_ahead *ahead = NULL;
	bool cut;

	iwt_sock_set_ops(st->sock, NULL, NULL);
	spin_lock_bh(&st->lock);
	/* the connection manager may notice the end of the connection before the engines do */
	if (qp->rc)
		iwt_qp_do_step(qp, iwt_qp_loss(qp), IWT_OK);
	iwt_qp_do_step(qp, IWT_QE_DETACH, IWT_OK);
	iwt_rx_end_wait(st);
	cut = iwt_tx_stop(&st->tx) || iwt_zc_in_flight(st->sq.zc);
	trace_iwt_disconnect(st->ibqp, st->tx.octets, st->rx.octets, cut);
	WRITE_ONCE(st->sock, NULL);
	qp->llp = NULL;
	swap(st->rx.place, ahead);
	spin_unlock_bh(&st->lock);
	kfree(ahead);
	iwt_rx_wait_quiesce(&st->recv_wait);
	atomic_dec(&st->dev->n_conns);
	iwt_qp_flush_all(qp);
	iwt_qp_put(qp);
	return cut;
}

/**
 * iwt_qp_zc_in_flight() - does TCP refer to memory of work requests?
 * @qp: queue pair
 *
 * Process context or softirq.
 *
 * Return: true if TCP still refers to such memory.
 */
bool iwt_qp_zc_in_flight(struct iwt_qp *qp)
{
	bool any;

	spin_lock_bh(&qp->stream.lock);
	any = iwt_zc_in_flight(qp->stream.sq.zc);
	spin_unlock_bh(&qp->stream.lock);
	return any;
}

/**
 * iwt_qp_end() - end the stream of a queue pair that is being destroyed
 * @qp: queue pair that iwt_qp_find() can't find any more
 *
 * This function requests that the connection manager ends the connection now, by RST if
 * iwt_qp_detach() says so. Then this function unbinds the memory windows, flushes the posted
 * requests, and prevents further steps of a flush. May sleep.
 */
void iwt_qp_end(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;

	spin_lock_bh(&st->lock);
	qp->destroyed = true;
	iwt_qp_do_step(qp, IWT_QE_TO_ERROR, IWT_OK);
	iwt_qp_notify_cm(qp, IWT_LLP_ABORT_WANTED);
	spin_unlock_bh(&st->lock);
	iwt_mw_end(st->dev, &st->actor.party, &st->windows);
	iwt_qp_flush_all(qp);
	spin_lock_bh(&st->lock);
	/* another thread of the process may still post, but nobody waits for those requests */
	qp->ending = true;
	spin_unlock_bh(&st->lock);
	iwt_zc_mute(st->sq.zc);
}

/*
 * Complete also the requests whose memory TCP has not released yet: the connection was released,
 * so TCP sends no more data from this memory. If the device is being removed, a process that
 * polls still waits for these completions. May sleep.
 */
static void flush_held(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;
	struct iwt_zc *zc = NULL;
	bool more;

	cancel_work_sync(&qp->flush_work);
	do {
		spin_lock_bh(&st->lock);
		if (st->sq.zc)
			swap(st->sq.zc, zc);
		more = iwt_sq_retire(&st->sq, st->ibqp, st->sq.cons, IWT_FLUSH_STEP);
		spin_unlock_bh(&st->lock);
	} while (more);
	iwt_zc_close(zc);
}

/**
 * iwt_qp_drain() - wait until nobody uses the queue pair
 * @qp: queue pair after iwt_qp_end() and iwt_doorbell_end(); the caller then frees the queues and
 *	their rings
 *
 * The connection is released before this function returns, so TCP sends no more data from the
 * consumer's memory. May sleep.
 */
void iwt_qp_drain(struct iwt_qp *qp)
	__context_unsafe(/* no other processor can access the queue pair any more */)
{
	struct iwt_stream *st = &qp->stream;

	iwt_qp_put(qp);
	wait_for_completion(&qp->freed);
	iwt_async_quiesce(&qp->async);
	flush_held(qp);
	iwt_readq_free(&st->readq);
	iwt_cq_clean(st->sq.cq, &qp->ibqp);
	iwt_cq_clean(st->rq.cq, &qp->ibqp);
}

#ifdef CONFIG_INFINIBAND_IW_TCP_SRQ
static void end_stream(struct iwt_qp *qp)
{
	spin_lock_bh(&qp->stream.lock);
	if (qp->stream.sock)
		qp->stream.rq.lost = true;
	spin_unlock_bh(&qp->stream.lock);
	iwt_qp_run_bh(qp);
}

/**
 * iwt_qp_srq_failed() - end the streams that use a shared receive queue that has failed
 * @srq: shared receive queue
 *
 * The streams end soon after this call, with a local catastrophic error (RFC 5040 4.8). A stream
 * that begins later ends when its first Send arrives. May sleep.
 */
void iwt_qp_srq_failed(struct iwt_srq *srq)
{
	struct iwt_dev *dev = to_iwt_dev(srq->ibsrq.device);
	unsigned long num;
	struct iwt_qp *qp;

	/*
	 * xa_for_each() takes no reference, so another thread may free qp here: use only the
	 * number, and look up the queue pair again
	 */
	xa_for_each(&dev->qps, num, qp) {
		qp = iwt_qp_find(dev, num);
		if (!qp)
			continue;
		if (qp->stream.rq.srq == srq)
			end_stream(qp);
		iwt_qp_put(qp);
		cond_resched();
	}
}
#endif
