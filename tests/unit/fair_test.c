// SPDX-License-Identifier: GPL-2.0
/*
 * Checks fair_lock.h with several threads: readers exclude writers, and a writer that waits is
 * passed by each reader at most once, by readers that had already looked at the lock.
 */
#include <pthread.h>
#include <sched.h>

#include "fair_lock.h"
#include "unit.h"

#define READERS	4
#define WRITERS	2
#define WRITES	2000u	/* of each writer */

static struct iwt_fair_lock lock;
static atomic_bool waits, end;	/* a writer waits; the readers end */
static atomic_uint passed;	/* readers that got the lock since the writer has waited */
static atomic_uint most;
static atomic_int inside, wrong;

void spin_lock(spinlock_t *l)
{
	unsigned int mine = atomic_fetch_add(&l->next, 1);

	while (atomic_load(&l->now) != mine)
		sched_yield();
}

void spin_unlock(spinlock_t *l)
{
	atomic_fetch_add(&l->now, 1);
}

void read_lock(rwlock_t *l)
{
	int users;

	do {
		users = atomic_load(&l->users);
		if (users < 0)
			sched_yield();
	} while (users < 0 || !atomic_compare_exchange_weak(&l->users, &users, users + 1));
	if (atomic_load(&waits) && atomic_fetch_add(&passed, 1) >= 100 * READERS)
		atomic_store(&end, true);
}

void read_unlock(rwlock_t *l)
{
	atomic_fetch_sub(&l->users, 1);
}

void write_lock(rwlock_t *l)
{
	int users = 0;

	atomic_store(&passed, 0);
	atomic_store(&waits, true);
	while (!atomic_compare_exchange_weak(&l->users, &users, -1)) {
		users = 0;
		sched_yield();
	}
	atomic_store(&waits, false);
	if (atomic_load(&passed) > atomic_load(&most))
		atomic_store(&most, atomic_load(&passed));
}

void write_unlock(rwlock_t *l)
{
	atomic_store(&l->users, 0);
}

static void *reads(void *arg)
{
	(void)arg;
	while (!atomic_load(&end)) {
		iwt_fair_read_lock_bh(&lock);
		atomic_fetch_add(&inside, 1);
		sched_yield();
		wrong += atomic_load(&inside) < 1;
		atomic_fetch_sub(&inside, 1);
		iwt_fair_read_unlock_bh(&lock);
	}
	return NULL;
}

static void *writes(void *arg)
{
	u32 i;

	(void)arg;
	for (i = 0; i < WRITES && !atomic_load(&end); i++) {
		iwt_fair_write_lock_bh(&lock);
		wrong += atomic_exchange(&inside, -100) != 0;
		sched_yield();
		wrong += atomic_exchange(&inside, 0) != -100;
		iwt_fair_write_unlock_bh(&lock);
	}
	return NULL;
}

void test_fair(void)
{
	pthread_t reader[READERS], writer[WRITERS];
	int i;

	tap_begin("fair lock: readers wait while a thread writes");
	iwt_fair_lock_init(&lock);
	for (i = 0; i < READERS; i++)
		CHECK(!pthread_create(&reader[i], NULL, reads, NULL));
	for (i = 0; i < WRITERS; i++)
		CHECK(!pthread_create(&writer[i], NULL, writes, NULL));
	for (i = 0; i < WRITERS; i++)
		pthread_join(writer[i], NULL);
	atomic_store(&end, true);
	for (i = 0; i < READERS; i++)
		pthread_join(reader[i], NULL);
	CHECK(!wrong);
	tap_end();
	tap_begin("fair lock: no reader passes a waiting writer twice");
	CHECK(most <= READERS);
	tap_end();
}
