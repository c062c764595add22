// SPDX-License-Identifier: GPL-2.0
/*
 * Kicks, and the flush that they lead to where nothing is sent any more.
 *
 * A flush completes what both rings hold, thousands of requests. Bottom halves are off
 * meanwhile, so it goes in steps: each takes some of the oldest requests, and what is left is
 * queued, or goes on here where the caller may be preempted. Between two steps nothing has to
 * be remembered, as the rings say what is left. What is posted meanwhile is behind that, and
 * its doorbell does the next step of the same flush.
 */
#include <linux/sched.h>

#include "dev.h"
#include "qp_priv.h"
#include "stats.h"
#include "zc.h"

/* Requests of each queue that one step completes. */
#define FLUSH_STEP	256

/*
 * The rings ask to be woken from before they are read, so a later post is seen either here
 * or at its doorbell. Return: true when something is left.
 */
static bool flush_step(struct iwt_qp *qp)
{
	bool more;

	WRITE_ONCE(qp->sq.ring.ctl->flags, IWT_RING_NEED_WAKEUP);
	smp_mb(); /* pairs with the poster: prod, barrier, flags */
	more = iwt_sq_flush(&qp->sq, &qp->ibqp, FLUSH_STEP);
	/* the queues are only closed: what arrives is taken */
	if (qp->state != IWT_QP_CLOSING && iwt_rx_flush(qp, FLUSH_STEP))
		more = true;
	if (more)
		iwt_count(qp->dev, IWT_C_FLUSH_MORE);
	return more && !qp->ending;
}

static void flush_later(struct iwt_qp *qp)
{
	iwt_qp_get(qp);
	if (!queue_work(system_bh_wq, &qp->flush_work))
		iwt_qp_put(qp);
}

/**
 * iwt_qp_flush() - begin to complete everything in order: the stream is over
 * @qp: queue pair that sends nothing any more; qp->lock is held
 *
 * Any context. What is left after one step follows by itself. Nothing that still arrives is
 * placed or delivered, since a consumer that has seen its queues drained may reuse all of its
 * memory while the connection is being closed.
 */
void iwt_qp_flush(struct iwt_qp *qp)
{
	qp->rx.dead = true;
	iwt_readq_clear(&qp->readq);
	iwt_tx_drop_work(&qp->tx);
	iwt_sq_fail(&qp->sq, iwt_tx_unsent(qp));
	if (flush_step(qp))
		flush_later(qp);
}

/**
 * iwt_qp_seal() - start nothing that is posted from now on
 * @qp: queue pair; qp->lock is held
 *
 * Any context. Once it is in CLOSING, what was posted too late fails.
 */
void iwt_qp_seal(struct iwt_qp *qp)
{
	iwt_sq_seal(&qp->sq);
	if (qp->state == IWT_QP_CLOSING && flush_step(qp))
		flush_later(qp);
}

/* Posted to a queue pair that is past sending. Return: true when something is left. */
static bool flush_posted(struct iwt_qp *qp)
{
	bool more = false;

	spin_lock_bh(&qp->lock);
	if (qp->state == IWT_QP_ERROR || qp->state == IWT_QP_TERMINATE ||
	    qp->state == IWT_QP_CLOSING)
		more = flush_step(qp);
	iwt_qp_look_lost(qp);
	spin_unlock_bh(&qp->lock);
	return more;
}

/**
 * iwt_qp_flush_all() - complete what was posted before, if the queue pair is past sending
 * @qp: queue pair
 *
 * Process context, no locks held. A process may post on and on: then it comes to an end
 * nevertheless, and what is left follows by itself.
 */
void iwt_qp_flush_all(struct iwt_qp *qp)
{
	u32 steps = max(qp->sq.ring.mask + 1, qp->rq.entries) / FLUSH_STEP + 1;
	bool more;

	do {
		more = flush_posted(qp);
		cond_resched();
	} while (more && --steps);
	if (more)
		flush_later(qp);
}

/* Return: false when there is nothing to be sent, or no way to. */
static __always_inline bool run_engine(struct iwt_qp *qp,
				       void (*engine)(struct iwt_sock *s))
{
	struct iwt_sock *s;
	bool sends;

	rcu_read_lock();
	s = READ_ONCE(qp->sock);
	sends = s && iwt_qp_sends(qp);
	if (sends)
		engine(s);
	rcu_read_unlock();
	return sends;
}

/**
 * iwt_qp_run() - something was posted, or the doorbell rang
 * @qp: queue pair
 *
 * Any context. Sends or flushes at once where the context allows, else soon.
 */
void iwt_qp_run(struct iwt_qp *qp)
{
	if (run_engine(qp, iwt_sock_run))
		return;
	if (in_hardirq() || irqs_disabled() || flush_posted(qp))
		flush_later(qp);
}

/**
 * iwt_qp_run_bh() - the same, but all of it from bottom half work
 * @qp: queue pair
 *
 * Any context.
 */
void iwt_qp_run_bh(struct iwt_qp *qp)
{
	if (!run_engine(qp, iwt_sock_run_bh))
		flush_later(qp);
}

/**
 * iwt_qp_run_here() - the engines run here, and not where they were to go on
 * @qp: queue pair
 *
 * Process context, no locks held.
 */
void iwt_qp_run_here(struct iwt_qp *qp)
{
	if (!run_engine(qp, iwt_sock_run_here))
		iwt_qp_flush_all(qp);
}

/**
 * iwt_qp_run_sync() - the same as iwt_qp_run(), for a process's doorbell
 * @qp: queue pair
 *
 * Process context, no locks held. Sends or flushes at once.
 */
void iwt_qp_run_sync(struct iwt_qp *qp)
{
	if (!run_engine(qp, iwt_sock_run_sync))
		iwt_qp_flush_all(qp);
}

static void do_flush_work(struct work_struct *work)
{
	struct iwt_qp *qp = container_of(work, struct iwt_qp, flush_work);

	iwt_qp_run(qp);
	iwt_qp_put(qp);
}

/**
 * iwt_qp_flush_setup() - nothing is to be flushed yet
 * @qp: queue pair, zeroed
 */
void iwt_qp_flush_setup(struct iwt_qp *qp)
{
	INIT_WORK(&qp->flush_work, do_flush_work);
}

/**
 * iwt_qp_flush_end() - complete the rest, and have no step follow
 * @qp: queue pair in error, of which nothing is posted any more
 *
 * May sleep.
 */
void iwt_qp_flush_end(struct iwt_qp *qp)
{
	iwt_qp_flush_all(qp);
	spin_lock_bh(&qp->lock);
	/* a process may still post by another thread, which nobody waits for */
	qp->ending = true;
	spin_unlock_bh(&qp->lock);
}

/**
 * iwt_qp_flush_held() - complete what was held back because TCP had its memory
 * @qp: queue pair that nobody uses any more, and whose connection is gone
 *
 * A process that polls waits for it, when it is the device that goes. May sleep.
 */
void iwt_qp_flush_held(struct iwt_qp *qp)
{
	struct iwt_zc *zc = NULL;
	bool more;

	cancel_work_sync(&qp->flush_work);
	do {
		spin_lock_bh(&qp->lock);
		if (qp->sq.zc)
			swap(qp->sq.zc, zc);
		more = iwt_sq_retire(&qp->sq, &qp->ibqp, FLUSH_STEP);
		spin_unlock_bh(&qp->lock);
	} while (more);
	iwt_zc_close(zc);
}

/**
 * iwt_qp_flush_wake() - TCP has let go of something
 * @ctx: queue pair
 *
 * Any context, any lock may be held.
 */
void iwt_qp_flush_wake(void *ctx)
{
	flush_later(ctx);
}
