// SPDX-License-Identifier: GPL-2.0
#include <linux/workqueue.h>

static inline unsigned int probe(struct work_struct *work)
{
	queue_work(system_dfl_wq, work);
	queue_work(system_percpu_wq, work);
	return WQ_PERCPU;
}
