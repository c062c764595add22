/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Habits: what happened often in a row will go on. They say *when* the engines change the way in
 * which they hear of posts; the file of each way says what is done then.
 *
 * A habit is a streak of events and a threshold: the streak that begins the way. A way that does
 * not pay doubles the threshold, up to a bound; one that pays sets it back.
 *
 * The functions are arithmetic. They take no lock: where the caller holds none either, several
 * processors may lose events of each other, and the habit is a guess.
 */
#ifndef IWT_WAKE_HABIT_H
#define IWT_WAKE_HABIT_H

#include <linux/time64.h>
#include <linux/types.h>

/*
 * The table: all thresholds and times. FIRST is the threshold at first, MAX the highest one.
 */

/* A process that has done nothing for so long has paused: this ends streaks, and a worker. */
#define IWT_PAUSE_NS		(200 * NSEC_PER_USEC)

/*
 * wake_sqpoll.c, a worker polls. Events: doorbells of a queue pair, less than IWT_PAUSE_NS from
 * the end of one to the end of the next.
 */
#define IWT_SQPOLL_FIRST	16
#define IWT_SQPOLL_MAX		1024
/* How long the worker may go on in one stretch. Without a post it goes after IWT_PAUSE_NS. */
#define IWT_SQPOLL_STRETCH_NS	(5 * NSEC_PER_MSEC)

/*
 * wake_cqpoll.c, a process flushes its posts. Events: doorbells of a completion queue, less than
 * IWT_PAUSE_NS from the end of one to the next. A worker comes first. The threshold never
 * changes; what doubles is the time for which the process is left to its doorbells.
 */
#define IWT_CQPOLL_FIRST	32
#define IWT_CQPOLL_WAIT_NS	NSEC_PER_MSEC
#define IWT_CQPOLL_WAIT_MAX_NS	NSEC_PER_SEC
/* How long the process need not call before the timer takes its place. */
#define IWT_CQPOLL_PATIENCE_NS	(500 * NSEC_PER_USEC)
/* How often in a row the timer does so before it is over. */
#define IWT_CQPOLL_MISSED	4
/* Calls in a row for one request at most, after which doorbells are cheaper. */
#define IWT_CQPOLL_POOR		32

/* wake_reply.c, the engine spins. Events: replies by doorbell, however far apart. */
#define IWT_SPIN_FIRST		16
#define IWT_SPIN_MAX		1024
/* How long one spin takes at most. */
#define IWT_SPIN_NS		(2 * NSEC_PER_USEC)
/* Credit when it begins, which is also the most; cost of a failed spin. A reply earns 1. */
#define IWT_SPIN_CREDIT		32
#define IWT_SPIN_MISS		4

/* wake_migrate.c. Events: budgets used up on a processor that others want, however far apart. */
#define IWT_MIGRATE_FIRST	4
#define IWT_MIGRATE_MAX		32
/* How long a migration should last. */
#define IWT_MIGRATE_LASTS_NS	(20 * NSEC_PER_MSEC)

/**
 * struct iwt_habit - how often in a row something has happened
 * @streak: events in a row
 * @threshold: length of a streak that is a habit
 * @last_ns: end of the last event, or whatever iwt_habit_soon() is called for, in nanoseconds
 */
struct iwt_habit {
	u32 streak;
	u32 threshold;
	u64 last_ns;
};

void iwt_habit_setup(struct iwt_habit *h, u32 first);
bool iwt_habit_soon(struct iwt_habit *h, u64 begin, u64 end, u64 pause_ns);
bool iwt_habit_seen(struct iwt_habit *h, bool again);
void iwt_habit_restart(struct iwt_habit *h);
void iwt_habit_paid(struct iwt_habit *h, u32 first);
void iwt_habit_failed(struct iwt_habit *h, u32 max);

#endif
