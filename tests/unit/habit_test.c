// SPDX-License-Identifier: GPL-2.0
/*
 * Checks habits (wake_habit.c): streaks of events, their threshold, and how the threshold changes
 * after success or failure.
 */
#include <linux/minmax.h>

#include "unit.h"
#include "wake_habit.h"

#define PAUSE	1000

/*
 * Records events until the streak is as long as the threshold. Return: number of events, or 5000
 */
static u32 until_habit(struct iwt_habit *h)
{
	u32 n;

	for (n = 1; n < 5000; n++) {
		if (iwt_habit_seen(h, true))
			return n;
	}
	return n;
}

static void test_streak(void)
{
	struct iwt_habit h = {};
	u32 i;

	tap_begin("habit: a streak is a habit when it is as long as the threshold");
	iwt_habit_setup(&h, 4);
	CHECK(h.threshold == 4 && !h.streak && !h.last_ns);
	for (i = 1; i < 4; i++)
		CHECK(!iwt_habit_seen(&h, true));
	CHECK(iwt_habit_seen(&h, true));
	CHECK(iwt_habit_seen(&h, true));
	CHECK(!iwt_habit_seen(&h, false));
	CHECK(until_habit(&h) == 4);
	iwt_habit_restart(&h);
	CHECK(until_habit(&h) == 4);
	/* every fourth event ends the streak before the streak is a habit */
	iwt_habit_restart(&h);
	for (i = 0; i < 40; i++)
		CHECK(!iwt_habit_seen(&h, i % 4));
	tap_end();
}

static void test_soon(void)
{
	struct iwt_habit h = {};

	tap_begin("habit: a pause is measured from the end of the last event");
	iwt_habit_setup(&h, 4);
	CHECK(!iwt_habit_soon(&h, PAUSE, PAUSE, PAUSE));
	CHECK(iwt_habit_soon(&h, 2 * PAUSE - 1, 5 * PAUSE, PAUSE));
	/* the duration of the last event is not part of the pause */
	CHECK(iwt_habit_soon(&h, 5 * PAUSE, 5 * PAUSE, PAUSE));
	CHECK(!iwt_habit_soon(&h, 6 * PAUSE, 7 * PAUSE, PAUSE));
	/* the end of an event after a pause is recorded, too */
	CHECK(iwt_habit_soon(&h, 8 * PAUSE - 1, 8 * PAUSE, PAUSE));
	CHECK(!iwt_habit_soon(&h, 9 * PAUSE, 9 * PAUSE, PAUSE));
	CHECK(h.last_ns == 9 * PAUSE && !h.streak && h.threshold == 4);
	/* the pause that the driver uses, and times of more than 32 bits */
	CHECK(!iwt_habit_soon(&h, 1ull << 40, 1ull << 40, IWT_PAUSE_NS));
	CHECK(iwt_habit_soon(&h, (1ull << 40) + IWT_PAUSE_NS - 1, 1ull << 40, IWT_PAUSE_NS));
	CHECK(!iwt_habit_soon(&h, (1ull << 40) + IWT_PAUSE_NS, 1ull << 40, IWT_PAUSE_NS));
	CHECK(!iwt_habit_soon(&h, (1ull << 41) + 1, 1ull << 41, IWT_PAUSE_NS));
	tap_end();
}

static void test_worth(void)
{
	struct iwt_habit h = {};
	u32 i;

	tap_begin("habit: a failure doubles the threshold, a success resets it");
	iwt_habit_setup(&h, 16);
	for (i = 0; i < 10; i++) {
		u32 want = min(16u << i, 1000u);

		CHECK(until_habit(&h) == want);
		/* with the higher threshold the streak is not a habit any more */
		iwt_habit_failed(&h, 1000);
		CHECK(iwt_habit_seen(&h, true) == (want == 1000));
		iwt_habit_restart(&h);
	}
	CHECK(h.threshold == 1000);
	CHECK(!iwt_habit_seen(&h, true));
	iwt_habit_paid(&h, 16);
	CHECK(h.streak == 1 && h.threshold == 16);
	CHECK(until_habit(&h) == 15);
	/* a second success does not lower the threshold below its first value */
	iwt_habit_paid(&h, 16);
	iwt_habit_failed(&h, 1000);
	CHECK(h.threshold == 32 && h.streak == 16);
	tap_end();
}

/*
 * A mechanism (the worker, the spin, the migration) that fails every time is used less and less:
 * each failure doubles its threshold. The table has the number of failures up to the maximum.
 */
static void test_table(void)
{
	static const struct {
		u32 first, max, steps;
	} ways[] = {
		{ IWT_SQPOLL_FIRST, IWT_SQPOLL_MAX, 6 },
		{ IWT_SPIN_FIRST, IWT_SPIN_MAX, 6 },
		{ IWT_MIGRATE_FIRST, IWT_MIGRATE_MAX, 3 },
	};
	u32 i, k;

	tap_begin("habit: after a few failures each mechanism has its maximum threshold");
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct iwt_habit h = {};

		iwt_habit_setup(&h, ways[i].first);
		for (k = 0; h.threshold < ways[i].max && k < 20; k++)
			iwt_habit_failed(&h, ways[i].max);
		CHECK(k == ways[i].steps);
		CHECK(until_habit(&h) == ways[i].max);
	}
	/* a worker begins before flushing begins; a failed spin costs more than a reply earns */
	CHECK(IWT_CQPOLL_FIRST > IWT_SQPOLL_FIRST);
	CHECK(IWT_SPIN_MISS > 1 && IWT_SPIN_CREDIT > IWT_SPIN_MISS);
	tap_end();
}

void test_habit(void)
{
	test_streak();
	test_soon();
	test_worth();
	test_table();
}
