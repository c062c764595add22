// SPDX-License-Identifier: GPL-2.0
/*
 * How much of the engines' work real time threads do, with PREEMPT_RT.
 *
 * Some of the kernel's threads are real time tasks there, and run whatever bottom halves have to
 * do: those of timers, of RCU, of interrupts. What ends by itself they may do at once, and short
 * messages are quick that way. But the traffic of two ends on one machine does not end: one
 * segment leads to the next. A real time thread that once has it would keep it, and no ordinary
 * task of that processor would get the lock of bottom halves. So these threads may run engines
 * for an eighth of the time; beyond that a worker does, an ordinary thread. A program that is a
 * real time task has chosen to be one, and its system calls are its own.
 */
#include "wake_rt.h"

#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/time64.h>

/* Of so many nanoseconds, so many are for real time threads. */
#define WINDOW_NS	(10 * NSEC_PER_MSEC)
#define SHARE_NS	(WINDOW_NS / 8)

/*
 * One for each processor, used with bottom halves off. Where these interrupt each other on a
 * processor, some of the time is not counted.
 */
struct window {
	u64 begun;	/* local_clock() */
	u64 used;	/* nanoseconds */
};

static DEFINE_PER_CPU(struct window, windows);

static bool is_realtime_thread(const struct task_struct *t)
{
	return t->flags & PF_KTHREAD &&
	       (t->policy == SCHED_FIFO || t->policy == SCHED_RR);
}

/**
 * iwt_realtime_may() - may this thread run an engine?
 * @since: zero; set when the time counts, for iwt_realtime_did()
 *
 * Bottom halves are off.
 *
 * Return: false for a real time thread of the kernel that has used up its share.
 */
bool iwt_realtime_may(u64 *since)
{
	struct window *w;

	if (!is_realtime_thread(current))
		return true;
	w = this_cpu_ptr(&windows);
	*since = local_clock();
	if (*since - w->begun >= WINDOW_NS) {
		w->begun = *since;
		w->used = 0;
	}
	return w->used < SHARE_NS;
}

/**
 * iwt_realtime_did() - a real time thread has run an engine
 * @since: from iwt_realtime_may()
 *
 * Bottom halves are off.
 */
void iwt_realtime_did(u64 since)
{
	this_cpu_ptr(&windows)->used += local_clock() - since;
}
