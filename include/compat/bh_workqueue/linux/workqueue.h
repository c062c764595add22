/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_WORKQUEUE_BH_H
#define COMPAT_LINUX_WORKQUEUE_BH_H

#include_next <linux/workqueue.h>

/* The nearest thing: a thread of high priority instead of a softirq. */
#define system_bh_wq	system_highpri_wq

#endif
