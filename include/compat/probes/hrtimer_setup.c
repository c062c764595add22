// SPDX-License-Identifier: GPL-2.0
#include <linux/hrtimer.h>

static inline void probe(struct hrtimer *timer,
			 enum hrtimer_restart (*fn)(struct hrtimer *))
{
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
