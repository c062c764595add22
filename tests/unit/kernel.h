/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small kernel for files of the driver in user space: memory that may run out, locks, RCU, and
 * another thread whose steps run between the steps of the code under test.
 */
#ifndef UNIT_KERNEL_H
#define UNIT_KERNEL_H

#include <linux/types.h>

extern u32 unit_held;	/* allocations that are not freed yet */
extern u32 unit_get;	/* allocations that will succeed; later ones fail */

void *unit_alloc(size_t size);
void unit_free(void *memory);
/* Frees the memory when no RCU reader runs. */
void unit_free_later(void *memory);

void rcu_read_lock(void);
void rcu_read_unlock(void);

/* Steps of the other thread; called at each place where they can run. NULL: no other thread */
extern void (*unit_between)(void);

/* A place where any amount of time may pass, so the other thread can run. */
void moment(void);

#endif
