// SPDX-License-Identifier: GPL-2.0
/* The kernel functions for files of the driver that run in user space (see kernel.h). */
#include <stdlib.h>

#include <linux/spinlock.h>

#include "kernel.h"
#include "tap.h"

u32 unit_held, unit_get;
void (*unit_between)(void);

static u32 locks, readers;
static bool other;	/* the steps of the other thread run now */
static void *later[8];
static u32 n_later;

void *unit_alloc(size_t size)
{
	if (!unit_get)
		return NULL;
	unit_get--;
	unit_held++;
	return calloc(1, size);
}

void unit_free(void *memory)
{
	unit_held -= !!memory;
	free(memory);
}

void unit_free_later(void *memory)
{
	if (!readers) {
		unit_free(memory);
	} else {
		CHECK(n_later < ARRAY_SIZE(later));
		later[n_later++] = memory;
	}
}

void rcu_read_lock(void)
{
	readers++;
}

void rcu_read_unlock(void)
{
	if (--readers)
		return;
	while (n_later)
		unit_free(later[--n_later]);
	moment();
}

void moment(void)
{
	if (!unit_between || locks || other)
		return;
	other = true;
	unit_between();
	other = false;
}

void spin_lock_bh(spinlock_t *lock)
{
	CHECK(!lock->held);
	lock->held = true;
	locks++;
}

void spin_unlock_bh(spinlock_t *lock)
{
	CHECK(lock->held);
	lock->held = false;
	locks--;
	moment();
}
