/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Locks of one thread, which is all threads in turn: where no lock is held any more, or kernel.h's
 * moment() says so, another one may come between.
 */
#ifndef IWT_SHIM_SPINLOCK_H
#define IWT_SHIM_SPINLOCK_H

#include <linux/types.h>

typedef struct {
	bool held;
} spinlock_t;

typedef spinlock_t rwlock_t;

void spin_lock_bh(spinlock_t *lock);
void spin_unlock_bh(spinlock_t *lock);

#define write_lock_bh			spin_lock_bh
#define write_unlock_bh			spin_unlock_bh
#define lockdep_assert_held_write(l)	((void)(l)->held)

#endif
