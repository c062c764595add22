/* SPDX-License-Identifier: GPL-2.0 */
/* For kernels without the compiler's check of which data a lock guards. */
#ifndef COMPAT_LINUX_LOCKDEP_H
#define COMPAT_LINUX_LOCKDEP_H

#include_next <linux/lockdep.h>

#define __guarded_by(...)
#define __no_context_analysis
#define __context_unsafe(comment)
/* there is no check to switch off */
#define context_unsafe(...) ({ __VA_ARGS__; })

#endif
