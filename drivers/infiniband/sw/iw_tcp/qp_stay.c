// SPDX-License-Identifier: GPL-2.0
/*
 * Engines that stay for an answer.
 *
 * A process that polls for what the peer sends and answers it pays for a system call
 * with each answer, though the engine has given it the message a moment before, on
 * another processor. Where its answers come at once, the engine looks at the ring a
 * little longer before it puts it to sleep, and the ring does not ask to be woken from
 * before the message is delivered.
 *
 * It is an engine like any other: nothing is posted without a doorbell but while it
 * runs, and before it ends it asks to be woken and looks for the last time
 * (iwt_ring_sleep()). How long it looks is bounded, on a processor where the process
 * is not; each time in vain takes some away from what it may, and without that the
 * doorbells have to show again that it is worth it, more of them each time. With
 * messages of many queue pairs in turn it would keep those waiting that have arrived:
 * then it does not stay.
 */
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "dev.h"
#include "qp_priv.h"
#include "stats.h"

/* Nanoseconds that it stays at most. */
#define STAY_FOR	(2 * NSEC_PER_USEC)
/* Looks between two at the clock. */
#define STAY_LOOKS	16
/* Answers by doorbell before it begins: at first, and at most. */
#define STAY_AFTER	16
#define STAY_AFTER_MAX	1024
/* What it may do then: an answer is worth one, one that does not come four. */
#define STAY_CREDIT	32
#define STAY_MISSED	4

/* Whose answer was last awaited on this processor; only compared. */
static DEFINE_PER_CPU(const struct iwt_qp *, stay_last);

/**
 * iwt_stay_setup() - no answers are awaited yet
 * @s: zeroed
 */
void iwt_stay_setup(struct iwt_stay *s)
{
	s->after = STAY_AFTER;
	s->poster = nr_cpu_ids;
}

/**
 * iwt_stay_rang() - a process's doorbell was answered
 * @qp: queue pair
 * @answers: what was posted follows on something that arrived, and nothing else is
 *	under way
 *
 * Process context.
 */
void iwt_stay_rang(struct iwt_qp *qp, bool answers)
{
	struct iwt_stay *s = &qp->stay;

	WRITE_ONCE(s->poster, raw_smp_processor_id());
	/* there, preemption can't be off for so much */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !answers) {
		WRITE_ONCE(s->row, 0);
		return;
	}
	WRITE_ONCE(s->row, READ_ONCE(s->row) + 1);
	if (READ_ONCE(s->row) < READ_ONCE(s->after))
		return;
	spin_lock_bh(&qp->lock);
	s->credit = STAY_CREDIT;
	spin_unlock_bh(&qp->lock);
	WRITE_ONCE(s->row, 0);
}

/* Is it the only one here whose answers are awaited? */
static bool is_alone(const struct iwt_qp *qp)
{
	if (__this_cpu_read(stay_last) == qp)
		return true;
	__this_cpu_write(stay_last, qp);
	return false;
}

/**
 * iwt_stay_before() - the engines begin a run
 * @qp: queue pair; socket lock and qp->lock are held
 * @receive: something may have arrived that is answered at once
 */
void iwt_stay_before(struct iwt_qp *qp, bool receive)
{
	struct iwt_stay *s = &qp->stay;

	s->on = receive && s->credit && !qp->watch.on && !qp->tend.by && !qp->sq.sealed &&
		raw_smp_processor_id() != READ_ONCE(s->poster) &&
		iwt_qp_sends(qp) && is_alone(qp);
	if (!s->on)
		return;
	s->rx_pos = qp->rx.pos;
	s->cons = qp->sq.cons;
	/* who answers before we look need not ring either */
	iwt_ring_awake(&qp->sq.ring);
}

static bool look(struct iwt_qp *qp)
{
	u64 end = ktime_get_ns() + STAY_FOR;
	u32 i;

	do {
		for (i = 0; i < STAY_LOOKS; i++) {
			if (iwt_ring_prod(&qp->sq.ring) != qp->sq.cons)
				return true;
			cpu_relax();
		}
	} while (!need_resched() && ktime_get_ns() < end);
	return false;
}

static void note_miss(struct iwt_stay *s)
{
	s->credit -= min(s->credit, STAY_MISSED);
	if (!s->credit)
		WRITE_ONCE(s->after, min(s->after * 2, STAY_AFTER_MAX));
}

static void note_answer(struct iwt_qp *qp)
{
	struct iwt_stay *s = &qp->stay;

	iwt_count(qp->dev, IWT_C_STAY);
	if (++s->credit <= STAY_CREDIT)
		return;
	s->credit = STAY_CREDIT;
	WRITE_ONCE(s->after, STAY_AFTER);
}

/**
 * iwt_stay() - nothing is left to send: wait for the answer, if that is worth it
 * @qp: queue pair; socket lock and qp->lock are held
 *
 * Looks at the ring for some microseconds, once for what was received. Return: true
 * if something was posted.
 */
bool iwt_stay(struct iwt_qp *qp)
{
	struct iwt_stay *s = &qp->stay;
	bool on = s->on && qp->rx.pos != s->rx_pos;
	bool sent = qp->sq.cons != s->cons;

	s->on = false;
	if (!on)
		return false;
	if (sent || look(qp)) {
		note_answer(qp);
		return !sent;
	}
	note_miss(s);
	return false;
}
