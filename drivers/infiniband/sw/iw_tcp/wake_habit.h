/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Habits: an event that has occurred often in a row is expected to occur again. Habits determine
 * *when* the engines change the way in which they learn of posts; the file of each way implements
 * the way itself.
 *
 * A habit is a streak of events and a threshold. When the streak reaches the threshold, the way
 * begins. If the way does not pay, the threshold is doubled, up to a limit; if it pays, the
 * threshold is reset.
 *
 * The functions are pure arithmetic and take no lock. If the caller holds no lock either, events
 * on different processors may overwrite each other, and the streak is inexact.
 */
#ifndef IWT_WAKE_HABIT_H
#define IWT_WAKE_HABIT_H

#include <linux/time64.h>
#include <linux/types.h>

/*
 * The table: all thresholds and times. FIRST is the initial threshold, MAX the highest one.
 */

/* A process that has not posted for this time has paused: a pause ends streaks, and a worker. */
#define IWT_PAUSE_NS		(200 * NSEC_PER_USEC)

/*
 * The habit of wake_sqpoll.c: a worker polls the send queue. The events are doorbells of a queue
 * pair, with less than IWT_PAUSE_NS from the end of one doorbell to the end of the next.
 */
#define IWT_SQPOLL_FIRST	16
#define IWT_SQPOLL_MAX		1024
/*
 * Maximum time of the worker in one stretch. Without a post the worker ends after IWT_PAUSE_NS.
 */
#define IWT_SQPOLL_STRETCH_NS	(5 * NSEC_PER_MSEC)

/*
 * The habit of wake_cqpoll.c: a process flushes its posts. The events are doorbells of a
 * completion queue, with less than IWT_PAUSE_NS from the end of one doorbell to the beginning of
 * the next. The threshold is higher than IWT_SQPOLL_FIRST, so that a worker begins first. The
 * threshold never changes; instead the time doubles for which the process has to use doorbells.
 */
#define IWT_CQPOLL_FIRST	32
#define IWT_CQPOLL_WAIT_NS	NSEC_PER_MSEC
#define IWT_CQPOLL_WAIT_MAX_NS	NSEC_PER_SEC
/* Maximum time between two calls of the process, before the timer runs in its place. */
#define IWT_CQPOLL_PATIENCE_NS	(500 * NSEC_PER_USEC)
/* The way ends when the timer has run in place of the process more often than this in a row. */
#define IWT_CQPOLL_MISSED	4
/* The way ends when more calls in a row than this have served at most one request each. */
#define IWT_CQPOLL_POOR		32

/*
 * The habit of wake_reply.c: the engine spins. The events are replies posted by doorbell, at any
 * distance in time.
 */
#define IWT_SPIN_FIRST		16
#define IWT_SPIN_MAX		1024
/* Maximum time of one spin. */
#define IWT_SPIN_NS		(2 * NSEC_PER_USEC)
/* Initial and maximum credit; cost of a failed spin. A successful spin earns 1. */
#define IWT_SPIN_CREDIT		32
#define IWT_SPIN_MISS		4

/*
 * The habit of wake_migrate.c: the engines move to another processor. The events are budgets used
 * up on a processor that other threads need, at any distance in time.
 */
#define IWT_MIGRATE_FIRST	4
#define IWT_MIGRATE_MAX		32
/* A migration has paid if the next one follows after at least this time. */
#define IWT_MIGRATE_LASTS_NS	(20 * NSEC_PER_MSEC)

/**
 * struct iwt_habit - how often in a row an event has occurred
 * @streak: events in a row
 * @threshold: length of a streak that is a habit
 * @last_ns: end of the last event that iwt_habit_soon() has recorded, in nanoseconds
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
