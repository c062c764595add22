// SPDX-License-Identifier: GPL-2.0
/*
 * Limit the time for which real time threads of the kernel run the engines, with PREEMPT_RT.
 *
 * With PREEMPT_RT some threads of the kernel (those of timers, of RCU, of interrupts) are real
 * time tasks and execute pending bottom halves. Short work may run in these threads at once,
 * which makes short messages fast. But the traffic of two ends on one machine does not end: each
 * segment triggers the next. A real time thread that begins to process this traffic would never
 * finish, and no ordinary task of that processor would get the lock of bottom halves. So these
 * threads may run engines for an eighth of the time; beyond this share a worker, an ordinary
 * thread, runs the engines. User programs that are real time tasks are not limited: they have
 * chosen their policy, and run the engines in their own system calls.
 */
#include "wake_rt.h"

#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/time64.h>

/* Real time threads may run the engines for SHARE_NS of every WINDOW_NS. */
#define WINDOW_NS	(10 * NSEC_PER_MSEC)
#define SHARE_NS	(WINDOW_NS / 8)

/*
 * The present window of a processor, used with bottom halves off. With PREEMPT_RT, threads that
 * have disabled bottom halves may nevertheless preempt each other. If this happens between
 * reading and writing @used, some of the time is not counted.
 */
struct window {
	u64 begun;	/* local_clock() at the beginning of the window */
	u64 used;	/* nanoseconds for which real time threads ran the engines */
};

static DEFINE_PER_CPU(struct window, windows);

static bool is_realtime_thread(const struct task_struct *t)
{
	return t->flags & PF_KTHREAD &&
	       (t->policy == SCHED_FIFO || t->policy == SCHED_RR);
}

/**
 * iwt_realtime_may() - may this thread run an engine?
 * @since: points to zero; set to the current time, for iwt_realtime_did(), if the time of this
 *	thread is limited
 *
 * The caller has disabled bottom halves.
 *
 * Return: false if this is a real time thread of the kernel, and the real time threads of this
 * processor have used up their share; else true.
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
 * iwt_realtime_did() - account the time for which a real time thread has run an engine
 * @since: time from iwt_realtime_may()
 *
 * The caller has disabled bottom halves.
 */
void iwt_realtime_did(u64 since)
{
	this_cpu_ptr(&windows)->used += local_clock() - since;
}
