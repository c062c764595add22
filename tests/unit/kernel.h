/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a file of the driver needs of a kernel: memory, of which there may be none; locks; RCU; and
 * another thread, which comes between.
 */
#ifndef UNIT_KERNEL_H
#define UNIT_KERNEL_H

#include <linux/types.h>

extern u32 unit_held;	/* pieces of memory */
extern u32 unit_get;	/* allocations that get memory */

void *unit_alloc(size_t size);
void unit_free(void *memory);
/* When nobody reads under RCU */
void unit_free_later(void *memory);

void rcu_read_lock(void);
void rcu_read_unlock(void);

/* What the other thread does in each moment in which it can come between; NULL: nothing */
extern void (*unit_between)(void);

/* Any amount of time may pass here. */
void moment(void);

#endif
