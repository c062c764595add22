/* SPDX-License-Identifier: GPL-2.0 */
/* This kernel lacks hrtimer_setup(). */
#ifndef COMPAT_LINUX_HRTIMER_H
#define COMPAT_LINUX_HRTIMER_H

#include_next <linux/hrtimer.h>

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = fn;
}

#endif
