/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel functions for files of the driver that run in user space: memory that may run out,
 * locks, RCU, and another thread whose steps run between the steps of the code under test.
 */
#ifndef UNIT_KERNEL_H
#define UNIT_KERNEL_H

#include <linux/types.h>

extern u32 unit_held;	/* number of allocations that are not freed yet */
extern u32 unit_get;	/* number of allocations that will succeed; later allocations fail */

void *unit_alloc(size_t size);
void unit_free(void *memory);
/* Frees the memory when no RCU reader runs. */
void unit_free_later(void *memory);

void rcu_read_lock(void);
void rcu_read_unlock(void);

/* Executes the steps of the other thread: moment() calls it. NULL: there is no other thread */
extern void (*unit_between)(void);

/*
 * Called where any amount of time may pass: the other thread runs here, unless a lock is held or
 * the other thread runs already. spin_unlock_bh(), the rcu_read_unlock() of the last reader, and
 * cond_resched() also call this.
 */
void moment(void);

#endif
