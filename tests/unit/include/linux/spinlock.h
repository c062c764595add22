/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks, for tests in which one thread plays all threads in turn. The test may switch to the
 * other thread when the last lock is released, or in a call of moment() (kernel.h).
 */
#ifndef IWT_SHIM_SPINLOCK_H
#define IWT_SHIM_SPINLOCK_H

#include <linux/types.h>

typedef struct {
	bool held;
} spinlock_t;

void spin_lock_bh(spinlock_t *lock);
void spin_unlock_bh(spinlock_t *lock);

#endif
