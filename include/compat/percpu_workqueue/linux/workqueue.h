/* SPDX-License-Identifier: GPL-2.0 */
/* This kernel lacks system_percpu_wq, system_dfl_wq and WQ_PERCPU. */
#ifndef COMPAT_LINUX_WORKQUEUE_PERCPU_H
#define COMPAT_LINUX_WORKQUEUE_PERCPU_H

#include_next <linux/workqueue.h>

#define system_percpu_wq	system_wq
#define system_dfl_wq		system_unbound_wq
/* In this kernel a workqueue without WQ_UNBOUND is per CPU. */
#define WQ_PERCPU		0

#endif
