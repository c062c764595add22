// SPDX-License-Identifier: GPL-2.0
/*
 * Watching send queues of processes.
 *
 * A doorbell is a system call. A process that posts one request after the other
 * without a pause pays for one each time, since the engine is done with the
 * last before the next is there. Such a process gets a worker on another
 * processor, which looks at the ring as long as something comes; meanwhile the
 * ring does not ask to be woken and nobody calls the kernel.
 *
 * Nothing is lost when the worker goes: it says so under qp->lock and then has the
 * engine run, and an engine that finds no work on a ring that is not watched asks
 * to be woken before it looks for the last time (iwt_ring_sleep()). Until then the
 * worker has looked, or the engine will. tests/unit/ring_model.py tries all orders.
 *
 * The worker takes nothing from others: with preemption off it never keeps a post
 * waiting, and it goes when the scheduler wants its processor or when nothing has
 * come for a while. Where that was not worth the trouble, the process has to post
 * longer before the next.
 */
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/workqueue.h>

#include "cq.h"
#include "device.h"
#include "qp_priv.h"

/* Nanoseconds without a post that are a pause, of the process and for the worker. */
#define WATCH_PAUSE	(200 * NSEC_PER_USEC)
/* How long it may go on in one stretch. */
#define WATCH_STRETCH	(5 * NSEC_PER_MSEC)
/* Looks between two at the clock. */
#define WATCH_LOOKS	64
/* Doorbells in a row before it begins: at first, and at most. */
#define WATCH_AFTER	16
#define WATCH_AFTER_MAX	1024
/* Requests that a stretch must have found to have been worth it. */
#define WATCH_WORTH	32

static struct workqueue_struct *watch_wq;

/* Return: false when there is nothing to watch any more. */
static bool set_watched(struct iwt_qp *qp, bool on)
{
	spin_lock_bh(&qp->lock);
	on = on && qp->sock && iwt_qp_sends(qp) && !qp->sq.sealed;
	qp->watch.on = on;
	if (on)
		iwt_ring_awake(&qp->sq.ring);
	spin_unlock_bh(&qp->lock);
	return on;
}

/*
 * Have the engine run for what is posted, until nothing comes. What it can't send
 * now it sends when its socket calls. Return: requests found.
 */
static u32 look(struct iwt_qp *qp)
{
	u32 seen = READ_ONCE(qp->sq.cons), prod, looks = 0, found = 0;
	u64 since = local_clock(), end = since + WATCH_STRETCH, now;

	while (iwt_qp_sends(qp) && !need_resched()) {
		prod = iwt_ring_prod(&qp->sq.ring);
		if (prod != seen) {
			found += prod - seen;
			seen = prod;
			iwt_qp_kick(qp);
			since = local_clock();
			if (since > end)
				break;
			continue;
		}
		cpu_relax();
		if (++looks % WATCH_LOOKS)
			continue;
		now = local_clock();
		if (now - since > WATCH_PAUSE)
			break;
	}
	return found;
}

static void do_watch(struct work_struct *work)
{
	struct iwt_qp *qp = container_of(work, struct iwt_qp, watch.work);
	struct iwt_watch *w = &qp->watch;
	u32 found = 0;

	preempt_disable();
	if (set_watched(qp, true)) {
		found = look(qp);
		set_watched(qp, false);
	}
	iwt_qp_kick(qp);
	preempt_enable();

	iwt_count(qp->dev, IWT_C_WATCH);
	WRITE_ONCE(w->row, 0);
	w->after = found >= WATCH_WORTH ? WATCH_AFTER :
					  min(w->after * 2, WATCH_AFTER_MAX);
	/* whoever wanted the processor has it first */
	if (found >= WATCH_WORTH && iwt_qp_sends(qp))
		queue_work(watch_wq, &w->work);
}

/**
 * iwt_watch_setup() - nobody watches yet
 * @w: watch, zeroed
 */
void iwt_watch_setup(struct iwt_watch *w)
{
	INIT_WORK(&w->work, do_watch);
	w->after = WATCH_AFTER;
}

/**
 * iwt_watch_end() - wait until nobody watches
 * @qp: queue pair that is in error and gets no doorbells any more
 *
 * May sleep.
 */
void iwt_watch_end(struct iwt_qp *qp)
{
	cancel_work_sync(&qp->watch.work);
}

/*
 * Does it post without waiting for anything? Who answers the peer has got something
 * since, and who waits for one completion after the other has taken the last: a
 * worker would do no good to either. Threads may ring at the same time, and
 * nothing is locked: it is only a guess.
 */
static bool streams(struct iwt_qp *qp, u64 now)
{
	struct iwt_watch *w = &qp->watch;
	u32 pos = READ_ONCE(qp->rx.pos);
	bool got = pos != READ_ONCE(w->rx_pos);

	WRITE_ONCE(w->rx_pos, pos);
	return now - READ_ONCE(w->last) < WATCH_PAUSE &&
	       (!got || iwt_cq_untaken(qp->sq.cq));
}

/**
 * iwt_qp_rang() - a process's doorbell
 * @qp: queue pair
 *
 * Process context. The engine has looked at the ring when this returns, or will
 * soon.
 */
void iwt_qp_rang(struct iwt_qp *qp)
{
	struct iwt_watch *w = &qp->watch;
	u32 row;

	row = streams(qp, local_clock()) ? READ_ONCE(w->row) + 1 : 0;
	WRITE_ONCE(w->row, row);
	iwt_qp_kick(qp);
	WRITE_ONCE(w->last, local_clock());
	/* there, preemption can't be off for so much */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || row < READ_ONCE(w->after))
		return;
	if (num_online_cpus() > 1 && iwt_qp_sends(qp))
		queue_work(watch_wq, &w->work);
}

/**
 * iwt_watch_init() - at module load; may sleep
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_watch_init(void)
{
	watch_wq = alloc_workqueue("iw_tcp_watch", WQ_UNBOUND, 0);
	return watch_wq ? 0 : -ENOMEM;
}

/**
 * iwt_watch_exit() - at module unload, when there are no queue pairs
 */
void iwt_watch_exit(void)
{
	destroy_workqueue(watch_wq);
}
