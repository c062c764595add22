/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Habits: an event that has occurred often in a row is expected to occur again. Habits determine
 * *when* the engines change the way in which they learn of posts; the file of each way implements
 * the way itself (wake.h lists the files).
 *
 * A habit consists of a streak, which is the number of events in a row, and of a threshold. When
 * the streak reaches the threshold, the way begins. If the way then saves no time, the threshold
 * is doubled, up to a limit; if the way saves time, the threshold is reset.
 *
 * The functions are pure arithmetic and take no lock. If the caller holds no lock either, calls
 * on different processors may overwrite each other's results, and the streak is inexact.
 */
#ifndef IWT_WAKE_HABIT_H
#define IWT_WAKE_HABIT_H

#include <linux/time64.h>
#include <linux/types.h>

/*
 * The thresholds and times of all habits. FIRST is the initial threshold, MAX the highest
 * threshold.
 */

/*
 * A process makes a pause if it does not post for this time. A pause ends the streaks of
 * wake_sqpoll.c and wake_cqpoll.c, and ends a worker that polls.
 */
#define IWT_PAUSE_NS		(200 * NSEC_PER_USEC)

/*
 * The habit of wake_sqpoll.c: a worker polls the send queue. The events are doorbells of a queue
 * pair, with less than IWT_PAUSE_NS from the end of one doorbell to the end of the next.
 */
#define IWT_SQPOLL_FIRST	16
#define IWT_SQPOLL_MAX		1024
/*
 * Maximum time for which a worker polls before another thread may use the processor. If the
 * process does not post, the worker ends after IWT_PAUSE_NS.
 */
#define IWT_SQPOLL_STRETCH_NS	(5 * NSEC_PER_MSEC)

/*
 * The habit of wake_cqpoll.c: a process flushes its posts. The events are doorbells of all queue
 * pairs that use the completion queue for sends, with less than IWT_PAUSE_NS from the end of
 * one doorbell to the beginning of the next. The threshold is higher than IWT_SQPOLL_FIRST, so
 * that a worker of wake_sqpoll.c begins to poll before the process begins to flush. The threshold
 * never changes. Instead, each time that the flushes have saved no time, the process has to use
 * doorbells for twice as long as the last time: WAIT is the initial time, WAIT_MAX the longest
 * time.
 */
#define IWT_CQPOLL_FIRST	32
#define IWT_CQPOLL_WAIT_NS	NSEC_PER_MSEC
#define IWT_CQPOLL_WAIT_MAX_NS	NSEC_PER_SEC
/* If the process has not flushed for this time, a timer runs the engines. */
#define IWT_CQPOLL_PATIENCE_NS	(500 * NSEC_PER_USEC)
/*
 * The process uses doorbells again if the timer ran the engines more than this number of times in
 * a row.
 */
#define IWT_CQPOLL_MISSED	4
/*
 * The process also uses doorbells again if more than this number of flushes in a row have found
 * at most one request each.
 */
#define IWT_CQPOLL_POOR		32

/*
 * The habit of wake_reply.c: the engine spins. The events are replies that a process posts by a
 * doorbell, with any time between them.
 */
#define IWT_SPIN_FIRST		16
#define IWT_SPIN_MAX		1024
/* Maximum time of one spin. */
#define IWT_SPIN_NS		(2 * NSEC_PER_USEC)
/*
 * Credit: the engine spins as long as it has credit. IWT_SPIN_CREDIT is the initial credit and
 * the maximum. A spin that finds a reply adds 1 to the credit; a spin that finds no reply
 * subtracts IWT_SPIN_MISS.
 */
#define IWT_SPIN_CREDIT		32
#define IWT_SPIN_MISS		4

/*
 * The habit of wake_migrate.c: the engines move to another processor. The event is that the
 * engines have used up their budget on a processor that other threads need, with any time
 * between the events.
 */
#define IWT_MIGRATE_FIRST	4
#define IWT_MIGRATE_MAX		32
/* A migration has saved time if the next migration begins at least this time later. */
#define IWT_MIGRATE_LASTS_NS	(20 * NSEC_PER_MSEC)

/**
 * struct iwt_habit - how often in a row an event has occurred
 * @streak: number of events in a row
 * @threshold: value of @streak from which on the events are a habit
 * @last_ns: end of the last event that iwt_habit_soon() has recorded, in nanoseconds
 */
struct iwt_habit {
	u32 streak;
	u32 threshold;
	u64 last_ns;
};

void iwt_habit_setup(struct iwt_habit *h, u32 first);
/* Is the time since the last event shorter than @pause_ns? */
bool iwt_habit_soon(struct iwt_habit *h, u64 begin, u64 end, u64 pause_ns);
/* Return: true if the streak has reached the threshold. */
bool iwt_habit_seen(struct iwt_habit *h, bool again);
void iwt_habit_restart(struct iwt_habit *h);
void iwt_habit_paid(struct iwt_habit *h, u32 first);
void iwt_habit_failed(struct iwt_habit *h, u32 max);

#endif
