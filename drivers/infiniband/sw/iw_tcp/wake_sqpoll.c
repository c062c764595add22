// SPDX-License-Identifier: GPL-2.0
/*
 * A worker polls one send queue, on another processor than the process that posts.
 *
 * As long as the process posts, the worker runs the engines for each post; meanwhile the process
 * need not ring the doorbell. The worker disables preemption, so that no other thread can delay a
 * post while the worker polls. The worker takes no processor time from other threads: it ends as
 * soon as another thread is runnable on its processor, or when the process has not posted for
 * IWT_PAUSE_NS. If the worker has found no post, the next worker begins only after a larger
 * number of doorbells in a row, and on another processor. If the link's setting "polling" is off,
 * no worker begins, and a running worker ends after about IWT_SQPOLL_STRETCH_NS at the latest.
 * With PREEMPT_RT no worker begins.
 *
 * No post is lost when the worker ends: it decrements iwt_stream.pollers under the lock of the
 * stream and runs the engines once more (see wake_doorbell.c). tests/unit/ring_model.py tries all
 * orders of these steps.
 */
#include "wake.h"

#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/smp.h>

#include "dev.h"
#include "qp.h"
#include "stats.h"

/* Reads of the ring between two reads of the clock. */
#define SQPOLL_LOOKS	64

/*
 * Begin (@on is true) or end the polling of a send queue. Return: true if the worker polls from
 * now on; false if @on is false, if there is no connection, or if the engines start no more
 * requests.
 */
static bool set_polled(struct iwt_qp *qp, bool on)
{
	struct iwt_stream *st = &qp->stream;
	struct iwt_sqpoll *p = &qp->sqpoll;

	spin_lock_bh(&st->lock);
	on = on && st->sock && iwt_stream_open(st);
	if (on != p->on)
		st->pollers += on ? 1 : -1;
	p->on = on;
	if (on)
		iwt_ring_awake(&st->sq.ring);
	spin_unlock_bh(&st->lock);
	return on;
}

/*
 * Run the engines for each post, until the process pauses, IWT_SQPOLL_STRETCH_NS are over,
 * another thread is runnable, or the queue pair sends no more requests. If TCP can't accept all
 * data now, the engines continue later, in a callback of the socket. Return: number of requests
 * that the worker has found.
 */
static u32 poll(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;
	u32 seen = READ_ONCE(st->sq.cons), prod, looks = 0, found = 0;
	u64 since = ktime_get_ns(), end = since + IWT_SQPOLL_STRETCH_NS, now;

	while (iwt_stream_sends(st) && single_task_running() && !need_resched()) {
		prod = iwt_ring_prod(&st->sq.ring);
		if (prod != seen) {
			found += prod - seen;
			seen = prod;
			iwt_qp_run(qp);
			since = ktime_get_ns();
			if (since > end)
				break;
			continue;
		}
		cpu_relax();
		if (++looks % SQPOLL_LOOKS)
			continue;
		now = ktime_get_ns();
		if (now - since > IWT_PAUSE_NS)
			break;
	}
	return found;
}

static void do_poll(struct work_struct *work)
{
	struct iwt_qp *qp = container_of(work, struct iwt_qp, sqpoll.work);
	struct iwt_sqpoll *p = &qp->sqpoll;
	u32 found = 0;

	preempt_disable();
	/* the process may have moved to this processor */
	if (raw_smp_processor_id() != READ_ONCE(p->poster) &&
	    set_polled(qp, true)) {
		found = poll(qp);
		set_polled(qp, false);
	}
	iwt_qp_run(qp);
	preempt_enable();

	iwt_count(qp->stream.dev, IWT_C_SQPOLL);
	iwt_habit_restart(&p->habit);
	if (!found) {
		iwt_habit_failed(&p->habit, IWT_SQPOLL_MAX);
		/* this processor may be busy: next time try the next processor */
		WRITE_ONCE(p->cpu, iwt_idle_cpu_next(raw_smp_processor_id(),
						     READ_ONCE(p->poster)));
		return;
	}
	iwt_habit_paid(&p->habit, IWT_SQPOLL_FIRST);
	if (iwt_stream_sends(&qp->stream) && iwt_dev_may_poll(qp->stream.dev))
		iwt_idle_cpu_again(&p->work);
}

/* Initialise the worker that polls a send queue. @p: state of the worker, zeroed. */
void iwt_sqpoll_setup(struct iwt_sqpoll *p)
{
	INIT_WORK(&p->work, do_poll);
	iwt_habit_setup(&p->habit, IWT_SQPOLL_FIRST);
	p->cpu = nr_cpu_ids;
}

/**
 * iwt_sqpoll_rang() - a process's doorbell has been served
 * @qp: queue pair
 * @busy: the process posts without waiting for the peer, or waits by polling
 * @now: time when the doorbell was served, in nanoseconds
 *
 * If enough doorbells with @busy have followed each other in quick succession (wake_habit.h),
 * this function queues a worker on another processor. Process context.
 */
void iwt_sqpoll_rang(struct iwt_qp *qp, bool busy, u64 now)
{
	struct iwt_sqpoll *p = &qp->sqpoll;
	/* include the time that the engines ran: if that is long, a worker gains little */
	bool soon = iwt_habit_soon(&p->habit, now, now, IWT_PAUSE_NS);

	if (!iwt_habit_seen(&p->habit, busy && soon) || !iwt_dev_may_poll(qp->stream.dev) ||
	    !iwt_stream_sends(&qp->stream))
		return;
	WRITE_ONCE(p->poster, raw_smp_processor_id());
	WRITE_ONCE(p->cpu, iwt_idle_cpu_begin(READ_ONCE(p->cpu), &p->work));
}

/**
 * iwt_sqpoll_end() - wait until no worker polls
 * @qp: queue pair in error; no process can ring its doorbell any more
 *
 * May sleep.
 */
void iwt_sqpoll_end(struct iwt_qp *qp)
{
	cancel_work_sync(&qp->sqpoll.work);
}
