// SPDX-License-Identifier: GPL-2.0
/*
 * While a queue pair sends a long message, move its engines away from a processor that other
 * threads need.
 *
 * A long message keeps the engines busy beyond their budget. They continue as bottom half work,
 * which ksoftirqd, an ordinary thread, soon executes. If the process that waits for the message
 * polls on the same processor, ksoftirqd and the process each get half of the processor, while
 * other processors may be idle. So this file counts how often the engines have used up their
 * budget while another thread was runnable on the processor. When this has happened several
 * times, a worker on another processor runs the engines, if no other thread is runnable there.
 * The engines stay on that processor: the remaining work is queued where the engines last ran,
 * and if both ends are on one machine, TCP's acknowledgments arrive on the processor that sent
 * the segments.
 *
 * Correctness does not depend on the worker: until it runs, the engines continue on their old
 * processor. If a migration follows too soon after the last migration, the engines have to use up
 * their budget more often before the next migration. With PREEMPT_RT the engines do not migrate.
 */
#include "wake.h"

#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/smp.h>

#include "qp.h"
#include "stats.h"
#include "tx.h"

/* Is no other thread runnable on this processor? */
static bool migrate_is_alone(void)
{
	return single_task_running() || is_idle_task(current);
}

static void do_migrate(struct work_struct *work)
{
	struct iwt_qp *qp = container_of(work, struct iwt_qp, migrate.work);
	struct iwt_migrate *m = &qp->migrate;
	u32 here = raw_smp_processor_id();

	if (here == READ_ONCE(m->from) || !single_task_running()) {
		/* this processor is not idle: next time try the next processor */
		WRITE_ONCE(m->cpu, iwt_idle_cpu_next(here, READ_ONCE(m->from)));
		return;
	}
	iwt_count(qp->stream.dev, IWT_C_MIGRATE);
	iwt_qp_run_here(qp);
}

/* Initialise the migration of a queue pair's engines. @m: migration, zeroed. */
void iwt_migrate_setup(struct iwt_migrate *m)
{
	INIT_WORK(&m->work, do_migrate);
	iwt_habit_setup(&m->habit, IWT_MIGRATE_FIRST);
	m->cpu = nr_cpu_ids;
}

/* Wait until no migration is queued or running. @qp: queue pair in error. May sleep. */
void iwt_migrate_end(struct iwt_qp *qp)
{
	cancel_work_sync(&qp->migrate.work);
}

/**
 * iwt_migrate_over_budget() - the engines have used up their budget, and have more data to send
 * @qp: queue pair; socket lock and stream lock are held
 *
 * Whether or not this function queues a migration, the caller queues the next run of the engines
 * on the current processor.
 */
void iwt_migrate_over_budget(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;
	struct iwt_migrate *m = &qp->migrate;
	u64 now;

	lockdep_assert_held(&st->lock);
	/* with PREEMPT_RT bottom halves always run in threads */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || migrate_is_alone() || !iwt_stream_sends(st))
		return;
	/* if less is left, the next doorbell soon runs the engines on the poster's processor */
	if (st->tx.msg.left <= IWT_TX_BATCH || !iwt_habit_seen(&m->habit, true))
		return;
	now = ktime_get_ns();
	if (iwt_habit_soon(&m->habit, now, now, IWT_MIGRATE_LASTS_NS))
		iwt_habit_failed(&m->habit, IWT_MIGRATE_MAX);
	else
		iwt_habit_paid(&m->habit, IWT_MIGRATE_FIRST);
	iwt_habit_restart(&m->habit);
	WRITE_ONCE(m->from, raw_smp_processor_id());
	WRITE_ONCE(m->cpu, iwt_idle_cpu_begin(READ_ONCE(m->cpu), &m->work));
}
