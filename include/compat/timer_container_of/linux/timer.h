/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_TIMER_H
#define COMPAT_LINUX_TIMER_H

#include_next <linux/timer.h>

#define timer_container_of(var, callback_timer, timer_fieldname)	\
	container_of(callback_timer, typeof(*(var)), timer_fieldname)

#endif
