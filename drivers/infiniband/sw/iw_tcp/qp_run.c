// SPDX-License-Identifier: GPL-2.0
/*
 * Run the engines of a queue pair, or flush if the queue pair sends nothing any more.
 *
 * Doorbells, pollers and posts of kernel consumers call these functions. While the queue pair
 * sends, these functions run the engines. Afterwards these functions complete posted requests
 * with an error: in the context of the caller, if that is allowed there, else in a work item.
 */
#include "qp_priv.h"

#include <linux/sched.h>

/*
 * Run one step of a flush, if the queue pair sends nothing any more. Return: true when some
 * requests are not completed yet: the caller has to start the next step.
 */
static bool flush_posted(struct iwt_qp *qp)
{
	bool more = false;

	spin_lock_bh(&qp->stream.lock);
	if (qp->state == IWT_QP_GONE && !iwt_sq_idle(&qp->stream.sq))
		iwt_qp_fail_posted(qp);
	if (qp->state == IWT_QP_ERROR || qp->state == IWT_QP_TERMINATE ||
	    qp->state == IWT_QP_CLOSING)
		more = iwt_qp_flush_step(qp);
	iwt_qp_check_overrun(qp);
	spin_unlock_bh(&qp->stream.lock);
	return more;
}

/**
 * iwt_qp_flush_all() - complete all posted requests, if the queue pair sends nothing any more
 * @qp: queue pair
 *
 * Process context, may sleep; no locks held. A process may post more requests during the flush.
 * So the number of steps is limited, and a work item completes the requests that are left.
 */
void iwt_qp_flush_all(struct iwt_qp *qp)
{
	const struct iwt_stream *st = &qp->stream;
	u32 steps = max(st->sq.ring.mask + 1, st->rq.entries) / IWT_FLUSH_STEP + 1;
	bool more;

	do {
		more = flush_posted(qp);
		cond_resched();
	} while (more && --steps);
	if (more)
		iwt_qp_flush_later(qp);
}

/*
 * Call @engine for the socket. Return: true; false, without a call, when the queue pair has no
 * socket, or when the stream sends nothing any more.
 */
static __always_inline bool run_engine(struct iwt_qp *qp,
				       void (*engine)(struct iwt_sock *s))
{
	struct iwt_sock *s;
	bool sends;

	rcu_read_lock();
	s = READ_ONCE(qp->stream.sock);
	sends = s && iwt_stream_sends(&qp->stream);
	if (sends)
		engine(s);
	rcu_read_unlock();
	return sends;
}

/**
 * iwt_qp_run() - a request was posted: run the engines, or flush
 * @qp: queue pair
 *
 * Any context. If the context allows it to run the engines or to flush, the function does so at
 * once; otherwise the function queues work.
 */
void iwt_qp_run(struct iwt_qp *qp)
{
	if (run_engine(qp, iwt_sock_run))
		return;
	if (in_hardirq() || irqs_disabled() || flush_posted(qp))
		iwt_qp_flush_later(qp);
}

/* Queue a work item that runs the engines or flushes. Any context. */
void iwt_qp_run_bh(struct iwt_qp *qp)
{
	if (!run_engine(qp, iwt_sock_run_bh))
		iwt_qp_flush_later(qp);
}

/* As iwt_qp_run_sync(), but later runs stay on this processor. Process context, no locks held. */
void iwt_qp_run_here(struct iwt_qp *qp)
{
	if (!run_engine(qp, iwt_sock_run_here))
		iwt_qp_flush_all(qp);
}

/* Run the engines, or flush, in the calling thread. Process context, no locks held. */
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

/* Initialise the flush work. @qp: queue pair, zeroed. Any context. */
void iwt_qp_run_setup(struct iwt_qp *qp)
{
	INIT_WORK(&qp->flush_work, do_flush_work);
}
