/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_WORKQUEUE_BH_H
#define COMPAT_LINUX_WORKQUEUE_BH_H

#include_next <linux/workqueue.h>

/*
 * This kernel lacks system_bh_wq, as it has no BH workqueues: run the work in a thread instead of
 * a softirq. The thread has normal priority, like the processes whose requests the work executes.
 */
#define system_bh_wq	system_percpu_wq

#endif
