// SPDX-License-Identifier: GPL-2.0
/*
 * Select an idle processor for a worker of wake_sqpoll.c or wake_migrate.c; the workqueue of
 * these workers.
 */
#include "wake.h"

#include <linux/cpumask.h>
#include <linux/rcupdate.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/topology.h>

static struct workqueue_struct *idle_wq;

/**
 * iwt_idle_cpu_next() - find the next processor to try
 * @cpu: start the search after this processor
 * @near: the result is on the NUMA node of the processor @near, but is another processor
 *
 * Processors that the administrator has isolated are excluded. Any context.
 *
 * Return: the processor, or nr_cpu_ids if there is no such processor.
 */
u32 iwt_idle_cpu_next(u32 cpu, u32 near)
{
	u32 i, found = nr_cpu_ids;

	/* a change of the isolated processors may replace and free the mask */
	rcu_read_lock();
	for_each_cpu_wrap(i, housekeeping_cpumask(HK_TYPE_DOMAIN), cpu + 1) {
		if (i != near && cpu_online(i) &&
		    cpu_to_node(i) == cpu_to_node(near)) {
			found = i;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/**
 * iwt_idle_cpu_begin() - queue a worker on another processor than the current processor
 * @cpu: preferred processor; if @cpu is the current processor or nr_cpu_ids, the function selects
 *	another processor
 * @work: worker, which has to check whether its processor is idle
 *
 * Any context.
 *
 * Return: the processor, or nr_cpu_ids if there is no other processor: then nothing is queued.
 */
u32 iwt_idle_cpu_begin(u32 cpu, struct work_struct *work)
{
	u32 here = raw_smp_processor_id();

	if (cpu == here || cpu >= nr_cpu_ids)
		cpu = iwt_idle_cpu_next(here, here);
	if (cpu < nr_cpu_ids)
		queue_work_on(cpu, idle_wq, work);
	return cpu;
}

/**
 * iwt_idle_cpu_again() - queue a worker once more on the current processor
 * @work: the running worker
 *
 * A thread that already waits for this processor can run before the worker runs again. Process
 * context.
 */
void iwt_idle_cpu_again(struct work_struct *work)
{
	queue_work_on(raw_smp_processor_id(), idle_wq, work);
}

/* Allocate the workqueue at module load; may sleep. Return: 0 or -ENOMEM. */
int iwt_idle_cpu_init(void)
{
	idle_wq = alloc_workqueue("iw_tcp_idle", WQ_PERCPU | WQ_CPU_INTENSIVE, 0);
	return idle_wq ? 0 : -ENOMEM;
}

/* Destroy the workqueue at module unload, when no queue pair exists any more; may sleep. */
void iwt_idle_cpu_exit(void)
{
	destroy_workqueue(idle_wq);
}
