/* SPDX-License-Identifier: GPL-2.0 */
/* Mutexes, for tests in which one thread plays all threads: a mutex is a lock of spinlock.h. */
#ifndef IWT_SHIM_MUTEX_H
#define IWT_SHIM_MUTEX_H

#include <linux/spinlock.h>

struct mutex {
	spinlock_t lock;
};

#define DEFINE_MUTEX(name)	struct mutex name
#define mutex_lock(m)		spin_lock_bh(&(m)->lock)
#define mutex_unlock(m)		spin_unlock_bh(&(m)->lock)

#endif
