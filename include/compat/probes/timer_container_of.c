// SPDX-License-Identifier: GPL-2.0
#include <linux/timer.h>

#ifndef timer_container_of
#error missing
#endif
