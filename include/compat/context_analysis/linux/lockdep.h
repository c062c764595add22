/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For kernels without context analysis, by which a compiler checks that code accesses data only
 * while it holds the lock of the data. These kernels lack __guarded_by(), __no_context_analysis,
 * __context_unsafe() and context_unsafe(). The attributes are empty.
 */
#ifndef COMPAT_LINUX_LOCKDEP_H
#define COMPAT_LINUX_LOCKDEP_H

#include_next <linux/lockdep.h>

#define __guarded_by(...)
#define __no_context_analysis
#define __context_unsafe(comment)
/* in newer kernels: evaluate an expression without the check */
#define context_unsafe(...) ({ __VA_ARGS__; })

#endif
