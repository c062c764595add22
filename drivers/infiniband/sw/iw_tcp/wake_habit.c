// SPDX-License-Identifier: GPL-2.0
/* Habits: streaks of events, and the threshold that they have to reach. */
#include "wake_habit.h"

#include <linux/compiler.h>
#include <linux/minmax.h>

/**
 * iwt_habit_setup() - nothing has happened yet
 * @h: zeroed
 * @first: threshold
 */
void iwt_habit_setup(struct iwt_habit *h, u32 first)
{
	h->threshold = first;
}

/**
 * iwt_habit_soon() - is the time from the last event to this one shorter than a pause?
 * @h: habit
 * @begin: when this event began, in nanoseconds
 * @end: when it was over; what it took itself is no pause
 * @pause_ns: length of a pause
 *
 * Any context. This event is the last one from now on.
 */
bool iwt_habit_soon(struct iwt_habit *h, u64 begin, u64 end, u64 pause_ns)
{
	bool soon = begin - READ_ONCE(h->last_ns) < pause_ns;

	WRITE_ONCE(h->last_ns, end);
	return soon;
}

/**
 * iwt_habit_seen() - something has happened
 * @h: habit
 * @again: it lengthens the streak; else it ends the streak
 *
 * Any context.
 *
 * Return: true if it is a habit: the streak is as long as the threshold.
 */
bool iwt_habit_seen(struct iwt_habit *h, bool again)
{
	u32 streak = again ? READ_ONCE(h->streak) + 1 : 0;

	WRITE_ONCE(h->streak, streak);
	return streak >= READ_ONCE(h->threshold);
}

/**
 * iwt_habit_restart() - what has happened no longer counts
 * @h: habit
 *
 * Any context.
 */
void iwt_habit_restart(struct iwt_habit *h)
{
	WRITE_ONCE(h->streak, 0);
}

/**
 * iwt_habit_paid() - what was done because of the habit has paid
 * @h: habit
 * @first: threshold from now on
 *
 * Any context.
 */
void iwt_habit_paid(struct iwt_habit *h, u32 first)
{
	WRITE_ONCE(h->threshold, first);
}

/**
 * iwt_habit_failed() - what was done because of the habit was in vain
 * @h: habit
 * @max: the threshold is doubled up to this
 *
 * Any context.
 */
void iwt_habit_failed(struct iwt_habit *h, u32 max)
{
	WRITE_ONCE(h->threshold, min(READ_ONCE(h->threshold) * 2, max));
}
