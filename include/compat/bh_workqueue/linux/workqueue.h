/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_WORKQUEUE_BH_H
#define COMPAT_LINUX_WORKQUEUE_BH_H

#include_next <linux/workqueue.h>

/*
 * The nearest thing: a thread instead of a softirq. It does work that processes have posted:
 * its priority is theirs.
 */
#define system_bh_wq	system_percpu_wq

#endif
