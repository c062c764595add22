/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_WORKQUEUE_BH_H
#define COMPAT_LINUX_WORKQUEUE_BH_H

#include_next <linux/workqueue.h>

/*
 * This kernel has no bottom half workqueues, and so lacks system_bh_wq: work items run in threads
 * instead of softirqs. These threads have normal priority, like most processes, and each work
 * item adds a context switch.
 */
#define system_bh_wq	system_percpu_wq

#endif
