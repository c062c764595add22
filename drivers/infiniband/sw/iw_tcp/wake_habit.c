// SPDX-License-Identifier: GPL-2.0
/* Habits: the number of events in a row (the streak), and the threshold for this number. */
#include "wake_habit.h"

#include <linux/compiler.h>
#include <linux/minmax.h>

/* Initialise a habit, without events. @h: habit, zeroed. @first: threshold. */
void iwt_habit_setup(struct iwt_habit *h, u32 first)
{
	h->threshold = first;
}

/**
 * iwt_habit_soon() - is the time from the last event to this event shorter than a pause?
 * @h: habit
 * @begin: time when this event began, in nanoseconds
 * @end: time when this event ended, in nanoseconds; the time from @begin to @end is not a pause
 * @pause_ns: length of a pause, in nanoseconds
 *
 * Records this event as the last event. Any context.
 *
 * Return: true if the time from the end of the last event to @begin is shorter than @pause_ns.
 */
bool iwt_habit_soon(struct iwt_habit *h, u64 begin, u64 end, u64 pause_ns)
{
	bool soon = begin - READ_ONCE(h->last_ns) < pause_ns;

	WRITE_ONCE(h->last_ns, end);
	return soon;
}

/**
 * iwt_habit_seen() - record an event
 * @h: habit
 * @again: true: the event makes the streak longer; false: the event ends the streak
 *
 * Any context.
 *
 * Return: true if the streak has reached the threshold, and so is a habit.
 */
bool iwt_habit_seen(struct iwt_habit *h, bool again)
{
	u32 streak = again ? READ_ONCE(h->streak) + 1 : 0;

	WRITE_ONCE(h->streak, streak);
	return streak >= READ_ONCE(h->threshold);
}

/* Begin a new streak: forget the events that were recorded before. Any context. */
void iwt_habit_restart(struct iwt_habit *h)
{
	WRITE_ONCE(h->streak, 0);
}

/**
 * iwt_habit_paid() - the action that the habit caused has saved time: reset the threshold
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
 * iwt_habit_failed() - the action that the habit caused has saved no time: double the threshold
 * @h: habit
 * @max: highest threshold
 *
 * Any context.
 */
void iwt_habit_failed(struct iwt_habit *h, u32 max)
{
	WRITE_ONCE(h->threshold, min(READ_ONCE(h->threshold) * 2, max));
}
