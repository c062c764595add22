/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A lock for many readers or one writer, in which a writer does not wait for readers that came
 * later. An rwlock_t does not have this property if its readers have bottom halves off, as all
 * readers in this driver: such a reader passes writers that wait (queued_read_lock_slowpath()).
 * Then readers on several processors, each of which copies most of the time, could keep a writer
 * waiting without limit, and the writer spins.
 *
 * A writer holds @turn, and @wanted is true, while it waits and while it writes. A reader that
 * finds @wanted true takes @turn first, so readers and writers have their turns in the order in
 * which they came.
 */
#ifndef IWT_FAIR_LOCK_H
#define IWT_FAIR_LOCK_H

#include <linux/bottom_half.h>
#include <linux/spinlock.h>

struct iwt_fair_lock {
	spinlock_t turn;
	bool wanted;
	rwlock_t lock;
};

/* A macro, so that lockdep distinguishes the locks of different places. */
#define iwt_fair_lock_init(l) do {		\
	struct iwt_fair_lock *__l = (l);	\
						\
	spin_lock_init(&__l->turn);		\
	__l->wanted = false;			\
	rwlock_init(&__l->lock);		\
} while (0)

#define iwt_fair_assert_write(l)	lockdep_assert_held_write(&(l)->lock)

/*
 * The engines acquire the lock for reading in one function and release it in another. sparse and
 * clang can't follow the lock, so the functions for readers hide it from the checkers; lockdep
 * checks it at run time.
 */

/* Acquire the lock for reading, and disable bottom halves. Any context but hard interrupts. */
static inline void iwt_fair_read_lock_bh(struct iwt_fair_lock *l)
	__no_context_analysis
{
	local_bh_disable();
	if (unlikely(READ_ONCE(l->wanted))) {
		spin_lock(&l->turn);
		read_lock(&l->lock);
		spin_unlock(&l->turn);
	} else {
		read_lock(&l->lock);
	}
	__release(&l->lock);
}

static inline void iwt_fair_read_unlock_bh(struct iwt_fair_lock *l)
	__no_context_analysis
{
	__acquire(&l->lock);
	read_unlock_bh(&l->lock);
}

/*
 * Acquire the lock for writing, and disable bottom halves. Any context but hard interrupts; the
 * caller must not hold the lock for reading.
 */
static inline void iwt_fair_write_lock_bh(struct iwt_fair_lock *l)
	__acquires(&l->lock)
	__no_context_analysis
{
	spin_lock_bh(&l->turn);
	WRITE_ONCE(l->wanted, true);
	write_lock(&l->lock);
	__release(&l->turn);
}

static inline void iwt_fair_write_unlock_bh(struct iwt_fair_lock *l)
	__releases(&l->lock)
	__no_context_analysis
{
	__acquire(&l->turn);
	write_unlock(&l->lock);
	WRITE_ONCE(l->wanted, false);
	spin_unlock_bh(&l->turn);
}

#endif
