// SPDX-License-Identifier: GPL-2.0
/*
 * Engines that spin for a reply, with a bound.
 *
 * A process that polls for a message and replies to it makes a system call for each reply,
 * though the engine, on another processor, delivered the message only a moment before. Where
 * such a process replies at once, the engine looks at the send queue's ring for some
 * microseconds more before it puts the ring to sleep, and the process need not ring the
 * doorbell from before the message is delivered.
 *
 * No post is lost: the ring is awake only while this engine runs, and before the engine ends it
 * puts the ring to sleep and looks once more (iwt_ring_sleep()).
 *
 * The time of a spin is bounded, and the engine spins only on a processor where the process is
 * not. A reply earns credit and a spin in vain costs some. Without credit the doorbells have to
 * show again that spinning pays, more of them each time. Where many queue pairs receive in
 * turn, a spin would delay messages that have arrived: so there is none. Nor is there any where
 * the link's setting "polling" is off.
 */
#include "wake_reply.h"

#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "dev.h"
#include "stream.h"

/* Looks at the ring between two at the clock. */
#define SPIN_LOOKS	16

/* The stream that last received on this processor; only compared. */
static DEFINE_PER_CPU(const struct iwt_stream *, last_stream);

/**
 * iwt_reply_spin_setup() - the engine does not spin yet
 * @s: zeroed
 */
void iwt_reply_spin_setup(struct iwt_reply_spin *s)
{
	iwt_habit_setup(&s->habit, IWT_SPIN_FIRST);
	s->poster = nr_cpu_ids;
}

/**
 * iwt_reply_spin_rang() - a process's doorbell has been served
 * @st: stream
 * @replies: the post followed on something that was received, and nothing else is
 *	under way
 *
 * Process context.
 */
void iwt_reply_spin_rang(struct iwt_stream *st, bool replies)
{
	struct iwt_reply_spin *s = &st->spin;

	WRITE_ONCE(s->poster, raw_smp_processor_id());
	if (!iwt_habit_seen(&s->habit, replies))
		return;
	spin_lock_bh(&st->lock);
	s->credit = IWT_SPIN_CREDIT;
	spin_unlock_bh(&st->lock);
	iwt_habit_restart(&s->habit);
}

/* Was the last stream that received on this processor the same one? */
static bool reply_is_alone(const struct iwt_stream *st)
{
	if (__this_cpu_read(last_stream) == st)
		return true;
	__this_cpu_write(last_stream, st);
	return false;
}

/**
 * iwt_reply_spin_begin() - the engines begin a run
 * @st: stream; the socket lock and its own are held
 * @receive: something may have arrived that the process replies to at once
 */
void iwt_reply_spin_begin(struct iwt_stream *st, bool receive)
{
	struct iwt_reply_spin *s = &st->spin;

	lockdep_assert_held(&st->lock);
	s->on = receive && s->credit && iwt_dev_may_poll(st->dev) &&
		!st->pollers && iwt_stream_open(st) &&
		raw_smp_processor_id() != READ_ONCE(s->poster) && reply_is_alone(st);
	if (!s->on)
		return;
	s->rx_pos = st->rx.pos;
	s->cons = st->sq.cons;
	/* a process that replies before the spin need not ring either */
	iwt_ring_awake(&st->sq.ring);
}

static bool spin(struct iwt_stream *st)
{
	u64 end = ktime_get_ns() + IWT_SPIN_NS;
	u32 i;

	do {
		for (i = 0; i < SPIN_LOOKS; i++) {
			if (iwt_ring_prod(&st->sq.ring) != st->sq.cons)
				return true;
			cpu_relax();
		}
	} while (!need_resched() && ktime_get_ns() < end);
	return false;
}

static void note_miss(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_reply_spin *s = &st->spin;

	iwt_stream_count(st, IWT_C_REPLY_SPIN_MISS);
	s->credit -= min(s->credit, IWT_SPIN_MISS);
	if (!s->credit)
		iwt_habit_failed(&s->habit, IWT_SPIN_MAX);
}

static void note_hit(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_reply_spin *s = &st->spin;

	iwt_stream_count(st, IWT_C_REPLY_SPIN_HIT);
	if (++s->credit <= IWT_SPIN_CREDIT)
		return;
	s->credit = IWT_SPIN_CREDIT;
	iwt_habit_paid(&s->habit, IWT_SPIN_FIRST);
}

/**
 * iwt_reply_spin() - nothing is left to send: wait a little for the reply, if that pays
 * @st: stream; the socket lock and its own are held
 *
 * Spins once for what one run has received.
 *
 * Return: true if something was posted.
 */
bool iwt_reply_spin(struct iwt_stream *st)
{
	struct iwt_reply_spin *s = &st->spin;
	bool on, sent;

	lockdep_assert_held(&st->lock);
	on = s->on && st->rx.pos != s->rx_pos;
	sent = st->sq.cons != s->cons;
	s->on = false;
	if (!on)
		return false;
	if (sent || spin(st)) {
		note_hit(st);
		return !sent;
	}
	note_miss(st);
	return false;
}
