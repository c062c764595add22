// SPDX-License-Identifier: GPL-2.0
#include <linux/spinlock.h>

#ifndef __guarded_by
#error missing
#endif
