// SPDX-License-Identifier: GPL-2.0
/*
 * Engines that move to a processor where they are in nobody's way.
 *
 * A long message keeps an engine busy beyond its budget, and it goes on as bottom half
 * work: soon that of ksoftirqd, a thread like any other. If the process that waits for
 * the message polls on the same processor, each of them has half of it, while others may
 * be idle. So where the engine has used up its budget some times, and was not
 * alone, a worker on another processor takes it over, if that has nothing else to do.
 * There the engine stays: what is left is queued where it ran, and where both ends are on
 * one machine, TCP's acknowledgments come where it sent.
 *
 * Nothing depends on the worker: the engine goes on meanwhile where it is. A move that
 * does not last makes the next one later.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/smp.h>

#include "dev.h"
#include "qp_priv.h"
#include "stats.h"

/* Budgets used up where others wait: before the first move, and at most. */
#define MOVE_AFTER	4
#define MOVE_AFTER_MAX	32
/* Nanoseconds that a move should last. */
#define MOVE_LASTS	(20 * NSEC_PER_MSEC)

/* Is this processor ours, or would it be idle? */
static bool is_alone(void)
{
	return single_task_running() || is_idle_task(current);
}

static void do_move(struct work_struct *work)
{
	struct iwt_qp *qp = container_of(work, struct iwt_qp, move.work);
	struct iwt_move *m = &qp->move;
	u32 here = raw_smp_processor_id();

	if (here == READ_ONCE(m->from) || !single_task_running()) {
		/* somebody else is busy here */
		WRITE_ONCE(m->cpu, iwt_watch_next_cpu(here, READ_ONCE(m->from)));
		return;
	}
	iwt_count(qp->dev, IWT_C_MOVE);
	iwt_qp_run_here(qp);
}

/**
 * iwt_move_setup() - an engine that is where it is
 * @m: zeroed
 */
void iwt_move_setup(struct iwt_move *m)
{
	INIT_WORK(&m->work, do_move);
	m->after = MOVE_AFTER;
	m->cpu = nr_cpu_ids;
}

/**
 * iwt_move_end() - wait until it does not move any more
 * @qp: queue pair that is in error
 *
 * May sleep.
 */
void iwt_move_end(struct iwt_qp *qp)
{
	cancel_work_sync(&qp->move.work);
}

/**
 * iwt_qp_crowded() - the engine has used up its budget, and there is more to send
 * @qp: queue pair; socket lock and qp->lock are held
 *
 * The caller sees to it that the engine goes on.
 */
void iwt_qp_crowded(struct iwt_qp *qp)
{
	struct iwt_move *m = &qp->move;
	u64 now;

	/* there, bottom halves are threads in any case */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || is_alone() || !iwt_qp_sends(qp))
		return;
	/* with shorter messages the process is soon back, with a doorbell */
	if (qp->tx.msg.left <= IWT_TX_BATCH || ++m->row < m->after)
		return;
	now = ktime_get_ns();
	m->after = now - m->last > MOVE_LASTS ? MOVE_AFTER :
		   min(m->after * 2, MOVE_AFTER_MAX);
	m->last = now;
	m->row = 0;
	WRITE_ONCE(m->from, raw_smp_processor_id());
	WRITE_ONCE(m->cpu, iwt_watch_on(READ_ONCE(m->cpu), &m->work));
}
