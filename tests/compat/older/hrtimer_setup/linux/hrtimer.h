/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_HRTIMER_H
#define OLDER_LINUX_HRTIMER_H
#define hrtimer_setup newer_hrtimer_setup
#include_next <linux/hrtimer.h>
#undef hrtimer_setup
void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode);
#endif
