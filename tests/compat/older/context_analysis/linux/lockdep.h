/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_LOCKDEP_H
#define OLDER_LINUX_LOCKDEP_H
#include_next <linux/lockdep.h>
#undef __guarded_by
#undef __no_context_analysis
#undef __context_unsafe
#undef context_unsafe
#endif
