// SPDX-License-Identifier: GPL-2.0
/*
 * Watching send queues of processes.
 *
 * A doorbell is a system call. A process that posts one request after the other
 * without a pause pays for one each time, since the engine is done with the
 * last before the next is there. Such a process gets a worker on another
 * processor, which looks at the ring as long as something comes; meanwhile the
 * ring does not ask to be woken and nobody calls the kernel. So does one that waits for
 * something after each request, if it polls: its call would be part of what it waits for.
 *
 * Nothing is lost when the worker goes: it says so under qp->lock and then has the
 * engine run, and an engine that finds no work on a ring that is not watched asks
 * to be woken before it looks for the last time (iwt_ring_sleep()). Until then the
 * worker has looked, or the engine will. tests/unit/ring_model.py tries all orders.
 *
 * The worker takes nothing from others: with preemption off it never keeps a post
 * waiting, and it goes when anything else is to run on its processor or when
 * nothing has come for a while. Where that was not worth the trouble, the process has to post
 * longer before the next, on another processor.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/sched/stat.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "cq.h"
#include "device.h"
#include "qp_priv.h"

/*
 * Nanoseconds without a post that are a pause, for the worker and of the process,
 * for which the work of its doorbell counts.
 */
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

/**
 * iwt_watch_next_cpu() - the next processor for a worker
 * @cpu: after this one
 * @poster: processor that the worker is near to, but not on
 *
 * None that the administrator keeps free. Return: nr_cpu_ids if there is none.
 */
u32 iwt_watch_next_cpu(u32 cpu, u32 poster)
{
	u32 i;

	for_each_cpu_wrap(i, housekeeping_cpumask(HK_TYPE_DOMAIN), cpu + 1) {
		if (i != poster && cpu_online(i) &&
		    cpu_to_node(i) == cpu_to_node(poster))
			return i;
	}
	return nr_cpu_ids;
}

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
	u64 since = ktime_get_ns(), end = since + WATCH_STRETCH, now;

	while (iwt_qp_sends(qp) && single_task_running() && !need_resched()) {
		prod = iwt_ring_prod(&qp->sq.ring);
		if (prod != seen) {
			found += prod - seen;
			seen = prod;
			iwt_qp_kick(qp);
			since = ktime_get_ns();
			if (since > end)
				break;
			continue;
		}
		cpu_relax();
		if (++looks % WATCH_LOOKS)
			continue;
		now = ktime_get_ns();
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
	/* it may have come to where we are */
	if (raw_smp_processor_id() != READ_ONCE(w->poster) &&
	    set_watched(qp, true)) {
		found = look(qp);
		set_watched(qp, false);
	}
	iwt_qp_kick(qp);
	preempt_enable();

	iwt_count(qp->dev, IWT_C_WATCH);
	WRITE_ONCE(w->row, 0);
	if (!found) {
		w->after = min(w->after * 2, WATCH_AFTER_MAX);
		/* somebody else may be busy here */
		WRITE_ONCE(w->cpu, iwt_watch_next_cpu(raw_smp_processor_id(),
						      READ_ONCE(w->poster)));
		return;
	}
	w->after = WATCH_AFTER;
	/* whoever wanted the processor has it first */
	if (iwt_qp_sends(qp))
		queue_work_on(raw_smp_processor_id(), watch_wq, &w->work);
}

/**
 * iwt_watch_setup() - nobody watches yet
 * @w: watch, zeroed
 */
void iwt_watch_setup(struct iwt_watch *w)
{
	INIT_WORK(&w->work, do_watch);
	w->after = WATCH_AFTER;
	w->cpu = nr_cpu_ids;
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
 * since, and who waits for one completion after the other has taken the last and
 * has nothing else under way: to have it tended would do no good to either. Threads
 * may ring at the same time, and nothing is locked: it is only a guess.
 */
static bool streams(struct iwt_qp *qp, bool ahead)
{
	/* iwt_rx_start() clears it meanwhile, if there are connections one after the other */
	u32 pos = data_race(READ_ONCE(qp->rx.pos));
	bool got = pos != READ_ONCE(qp->watch.rx_pos);

	WRITE_ONCE(qp->watch.rx_pos, pos);
	return !got || ahead;
}

/* Has it posted without having waited for what it posted before? */
static bool is_ahead(struct iwt_qp *qp)
{
	const struct iwt_sq *sq = &qp->sq;

	return iwt_ring_prod(&sq->ring) - READ_ONCE(sq->retire) > 1 ||
	       iwt_cq_untaken(sq->cq);
}

/*
 * Does it look for completions without a pause? Whatever it waits for then comes sooner
 * if nobody is called, while for who sleeps in between the worker would only be warm.
 */
static bool polls(const struct iwt_qp *qp)
{
	return !iwt_cq_armed(to_iwt_cq(qp->ibqp.send_cq)) &&
	       !iwt_cq_armed(to_iwt_cq(qp->ibqp.recv_cq));
}

/**
 * iwt_watch_on() - have a worker begin on another processor than this one
 * @cpu: which, if it is not this one; nr_cpu_ids: any
 * @work: worker
 *
 * Return: which, nr_cpu_ids if there is no other.
 */
u32 iwt_watch_on(u32 cpu, struct work_struct *work)
{
	u32 here = raw_smp_processor_id();

	if (cpu == here || cpu >= nr_cpu_ids)
		cpu = iwt_watch_next_cpu(here, here);
	if (cpu < nr_cpu_ids)
		queue_work_on(cpu, watch_wq, work);
	return cpu;
}

/* Have a worker begin, on a processor where it is not in the poster's way. */
static void begin(struct iwt_watch *w)
{
	WRITE_ONCE(w->poster, raw_smp_processor_id());
	WRITE_ONCE(w->cpu, iwt_watch_on(READ_ONCE(w->cpu), &w->work));
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
	u64 before = ktime_get_ns(), now;
	struct iwt_watch *w = &qp->watch;
	bool ahead = is_ahead(qp), on;
	u32 row = 0;

	iwt_qp_call(qp);
	on = streams(qp, ahead);
	iwt_stay_rang(qp, !on);
	now = ktime_get_ns();
	if ((on || polls(qp)) && now - READ_ONCE(w->last) < WATCH_PAUSE)
		row = READ_ONCE(w->row) + 1;
	WRITE_ONCE(w->row, row);
	WRITE_ONCE(w->last, now);
	iwt_tended_rang(qp, on, before, now);
	/* there, preemption can't be off for so much */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || row < READ_ONCE(w->after))
		return;
	if (iwt_qp_sends(qp))
		begin(w);
}

/**
 * iwt_watch_init() - at module load; may sleep
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_watch_init(void)
{
	watch_wq = alloc_workqueue("iw_tcp_watch", WQ_PERCPU | WQ_CPU_INTENSIVE, 0);
	return watch_wq ? 0 : -ENOMEM;
}

/**
 * iwt_watch_exit() - at module unload, when there are no queue pairs
 */
void iwt_watch_exit(void)
{
	destroy_workqueue(watch_wq);
}
