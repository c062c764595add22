// SPDX-License-Identifier: GPL-2.0
/*
 * Engines that spin for a reply, for a bounded time.
 *
 * A process may poll for messages and reply to each message. Each reply would need a system call,
 * although the engine, on another processor, has delivered the message only a moment before. If
 * such a process has usually replied at once, the engine polls the send queue's ring for up to
 * IWT_SPIN_NS before the engine sets IWT_RING_NEED_WAKEUP. The flag is clear already when the
 * engine delivers the message, so the process need not ring the doorbell.
 *
 * No post is lost: the flag is clear only while this engine runs, and before the engine ends it
 * sets the flag and reads the ring once more (iwt_ring_sleep()).
 *
 * The engine spins only on a processor other than that of the process. A spin that finds a reply
 * increases the stream's credit, and a spin that finds no reply reduces the credit. When the
 * credit is 0, the engine does not spin until the process has posted a number of replies in a
 * row, each by a doorbell. This number is doubled each time that the credit has become 0, up to a
 * limit (wake_habit.h). If several queue pairs with credit receive in turn on a processor, a spin
 * would delay messages that have arrived: so the engine does not spin. The engine does not spin
 * either if the link's setting "polling" is off, or with PREEMPT_RT.
 */
#include "wake_reply.h"

#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "dev.h"
#include "stream.h"

/* Reads of the ring between two reads of the clock. */
#define SPIN_LOOKS	16

/*
 * The stream with credit that last received on this processor, if it fulfilled all other
 * conditions of a spin. The pointer is only compared.
 */
static DEFINE_PER_CPU(const struct iwt_stream *, last_stream);

/* Initialise the state of the spin. @s: state, zeroed. */
void iwt_reply_spin_setup(struct iwt_reply_spin *s)
{
	iwt_habit_setup(&s->habit, IWT_SPIN_FIRST);
	s->poster = nr_cpu_ids;
}

/**
 * iwt_reply_spin_rang() - a process's doorbell has been served
 * @st: stream
 * @replies: the post seems to reply to a message: the stream has received data since the last
 *	doorbell, no other request was in progress, and the process had taken all completions
 *
 * If enough replies have followed each other, this function sets the credit, so that the engine
 * spins for the next reply. Process context.
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

/*
 * Is @st the last_stream? If not, @st becomes the last_stream. The caller calls this function
 * only for a stream that fulfils all other conditions of a spin.
 */
static bool reply_is_alone(const struct iwt_stream *st)
{
	if (__this_cpu_read(last_stream) == st)
		return true;
	__this_cpu_write(last_stream, st);
	return false;
}

/**
 * iwt_reply_spin_begin() - decide whether this run of the engines may spin for a reply
 * @st: stream; the socket lock and the lock of the stream are held
 * @receive: the receive engine runs: a message may have arrived to which the process replies at
 *	once
 *
 * The engines call this function when they begin a run.
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
	/* a process that replies before the spin begins need not ring the doorbell either */
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
 * iwt_reply_spin() - spin for the reply of the process, if this run may spin
 * @st: stream; the socket lock and the lock of the stream are held
 *
 * The engines call this function when they have no more data to send. Spins at most once in each
 * run, and only if the run has received data. If the run has already started a request, this
 * request counts as the reply, and no spin is needed.
 *
 * Return: true if the spin has found a posted request, which the engines have to send now.
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
