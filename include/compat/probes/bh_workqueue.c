// SPDX-License-Identifier: GPL-2.0
#include <linux/workqueue.h>

static inline bool probe(struct work_struct *work)
{
	return queue_work(system_bh_wq, work);
}
