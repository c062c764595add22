// SPDX-License-Identifier: GPL-2.0
/* Select the processor for a worker; the workqueue of these workers. */
#include "wake.h"

#include <linux/cpumask.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/topology.h>

static struct workqueue_struct *idle_wq;

/**
 * iwt_idle_cpu_next() - find the next processor to try
 * @cpu: start the search after this processor
 * @near: processor on whose node the result must be; it is itself excluded
 *
 * Processors that the administrator has isolated are excluded. Any context.
 *
 * Return: the processor, nr_cpu_ids if there is none.
 */
u32 iwt_idle_cpu_next(u32 cpu, u32 near)
{
	u32 i;

	for_each_cpu_wrap(i, housekeeping_cpumask(HK_TYPE_DOMAIN), cpu + 1) {
		if (i != near && cpu_online(i) &&
		    cpu_to_node(i) == cpu_to_node(near))
			return i;
	}
	return nr_cpu_ids;
}

/**
 * iwt_idle_cpu_begin() - queue a worker on another processor than this one
 * @cpu: preferred processor; if it is this one or nr_cpu_ids, another one is selected
 * @work: worker; it has to check itself whether the processor is idle
 *
 * Any context.
 *
 * Return: the processor, nr_cpu_ids if there is no other.
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
 * A thread that waits for the processor runs first.
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

/* Destroy the workqueue at module unload, when no queue pair exists */
void iwt_idle_cpu_exit(void)
{
	destroy_workqueue(idle_wq);
}
