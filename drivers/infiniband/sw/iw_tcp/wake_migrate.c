// SPDX-License-Identifier: GPL-2.0
/*
 * Long sends leave a processor that others want.
 *
 * A long message keeps the engines busy beyond their budget. They go on as bottom half work,
 * which soon is that of ksoftirqd, a thread like any other. If the process that waits for the
 * message polls on the same processor, each of the two gets half of it, while other processors
 * may be idle. So when the engines have used up their budget several times, and another thread
 * wanted the processor, a worker on another processor takes them over, if nothing else is to
 * run there. There they stay: what is left is queued where they ran, and if both ends are on
 * one machine, TCP's acknowledgments come where the segments were sent.
 *
 * Nothing depends on the worker: the engines go on meanwhile where they are. A migration that
 * does not last makes the next one come later.
 */
#include "wake.h"

#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/smp.h>

#include "qp.h"
#include "stats.h"
#include "tx.h"

/* Does nobody else want this processor? */
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
		/* not idle: try the next one */
		WRITE_ONCE(m->cpu, iwt_idle_cpu_next(here, READ_ONCE(m->from)));
		return;
	}
	iwt_count(qp->stream.dev, IWT_C_MIGRATE);
	iwt_qp_run_here(qp);
}

/**
 * iwt_migrate_setup() - the engines have not migrated yet
 * @m: zeroed
 */
void iwt_migrate_setup(struct iwt_migrate *m)
{
	INIT_WORK(&m->work, do_migrate);
	iwt_habit_setup(&m->habit, IWT_MIGRATE_FIRST);
	m->cpu = nr_cpu_ids;
}

/**
 * iwt_migrate_end() - wait until the engines migrate no more
 * @qp: queue pair in error
 *
 * May sleep.
 */
void iwt_migrate_end(struct iwt_qp *qp)
{
	cancel_work_sync(&qp->migrate.work);
}

/**
 * iwt_migrate_over_budget() - the engines have used up their budget, and have more to send
 * @qp: queue pair; socket lock and stream lock are held
 *
 * The caller queues the engines where they are.
 */
void iwt_migrate_over_budget(struct iwt_qp *qp)
{
	struct iwt_stream *st = &qp->stream;
	struct iwt_migrate *m = &qp->migrate;
	u64 now;

	lockdep_assert_held(&st->lock);
	/* with PREEMPT_RT bottom halves are threads in any case */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || migrate_is_alone() || !iwt_stream_sends(st))
		return;
	/* with shorter messages the process is soon back, with a doorbell */
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
