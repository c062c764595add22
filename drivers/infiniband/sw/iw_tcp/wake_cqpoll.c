// SPDX-License-Identifier: GPL-2.0
/*
 * Posts that a process flushes when it polls a completion queue.
 *
 * A doorbell is a system call. A process that posts one request after the other, and for which no
 * worker polls (wake_sqpoll.c), will poll for completions sooner or later. As long as the process
 * polls, the rings of its send queues do not set IWT_RING_NEED_WAKEUP, and the flag
 * IWT_RING_DEFERRED of its completion queue requests the following instead: for each queue pair
 * that the process posts to, it sets a bit; when it finds the completion queue empty, or has
 * posted often, it calls IWT_METHOD_CQ_POLL, which runs the engines of all queue pairs whose bit
 * is set. One call serves many requests, and the number of calls does not grow with the number of
 * queue pairs.
 *
 * No post is lost when the process does not call. A timer runs the engines in place of the
 * process. If that happens several times in a row, the timer stops the deferring of posts: the
 * engines of all queue pairs run once more, and set the flag IWT_RING_NEED_WAKEUP before they
 * read the ring for the last time (see wake_doorbell.c). tests/unit/ring_model.py tries all
 * orders. If a process did not call although it had posted, it has to use doorbells for some
 * time, each time twice as long as before, up to a limit.
 *
 * A queue pair has up to two completion queues; it is enough that the process polls one of them.
 * The ring of the queue pair sets IWT_RING_NEED_WAKEUP again when neither is polled.
 */
#include "wake.h"

#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "cq.h"
#include "dev.h"
#include "qp.h"
#include "stats.h"

static struct iwt_cq *cq_of(const struct iwt_qp *qp, int i)
{
	return to_iwt_cq(i ? qp->ibqp.recv_cq : qp->ibqp.send_cq);
}

/* Record that the process polls. */
static void note_seen(struct iwt_cqpoll *p)
	__must_hold(&p->lock)
{
	p->seen_ns = ktime_get_ns();
	p->missed = 0;
	p->late = false;
}

/*
 * Read and clear the bits of a word. The barrier of xchg() pairs with the barrier of the process
 * between index and bit: for each bit that is set here, the engine sees the requests that were
 * posted before the process set the bit.
 */
static unsigned long cqpoll_take_bits(struct iwt_cqpoll *p, u32 word)
{
	u32 *at = &p->posted[word];

	return READ_ONCE(*at) ? xchg(at, 0) : 0;
}

/* Clear all bits, and call @look for each bit that was set; the process may set any bit. */
static void take_posted(struct iwt_cqpoll *p,
			void (*look)(struct iwt_cqpoll *p, u32 bit))
{
	/* p->top never decreases */
	u32 top = context_unsafe(READ_ONCE(p->top));
	u32 words = DIV_ROUND_UP(top, 32);
	u32 word, i;

	for (word = 0; word < words; word++) {
		unsigned long bits = cqpoll_take_bits(p, word);

		for_each_set_bit(i, &bits, 32)
			look(p, word * 32 + i);
	}
}

/*
 * Find the queue pair of a bit, if the process need not ring its doorbell; p->lock is held. If
 * the process has to ring, the bit may be ignored and no post is lost: the engine of the queue
 * pair has set IWT_RING_NEED_WAKEUP, or will read the ring.
 */
static struct iwt_qp *cqpoll_find(struct iwt_cqpoll *p, u32 bit)
{
	const struct iwt_cqpoll_member *m = xa_load(&p->members, bit);

	lockdep_assert_held(&p->lock);
	return m && m->on ? m->qp : NULL;
}

static void cqpoll_run_now(struct iwt_cqpoll *p, u32 bit)
{
	struct iwt_qp *qp;

	spin_lock_bh(&p->lock);
	qp = cqpoll_find(p, bit);
	if (qp) {
		const struct iwt_sq *sq = &qp->stream.sq;

		iwt_qp_get(qp);
		p->found += iwt_ring_prod(&sq->ring) - READ_ONCE(sq->cons);
	}
	spin_unlock_bh(&p->lock);
	if (!qp)
		return;
	iwt_qp_run_sync(qp);
	iwt_qp_put(qp);
	cond_resched();
}

/* Record whether the call served more requests than a doorbell would have served. */
static void note_worth(struct iwt_cqpoll *p)
	__must_hold(&p->lock)
{
	p->poor = p->found > 1 ? 0 : p->poor + 1;
	p->found = 0;
}

/**
 * iwt_cqpoll_flush() - a process flushes its posts (IWT_METHOD_CQ_POLL)
 * @cq: its completion queue
 *
 * Runs the engines of the queue pairs that the process has posted to. Process context, may sleep.
 */
void iwt_cqpoll_flush(struct iwt_cq *cq)
{
	struct iwt_cqpoll *p = &cq->poll;

	iwt_count(to_iwt_dev(cq->ibcq.device), IWT_C_CQ_FLUSH);
	spin_lock_bh(&p->lock);
	p->flushes++;
	spin_unlock_bh(&p->lock);
	take_posted(p, cqpoll_run_now);
	spin_lock_bh(&p->lock);
	p->flushes--;
	note_seen(p);
	note_worth(p);
	spin_unlock_bh(&p->lock);
}

/* A completion queue stops deferring the posts of a queue pair; iwt_cqpoll.lock is held. */
static void cqpoll_leave(struct iwt_cqpoll_member *m)
{
	struct iwt_stream *st = &m->qp->stream;

	m->on = false;
	spin_lock_bh(&st->lock);
	st->pollers--;
	spin_unlock_bh(&st->lock);
	/* the engine sets IWT_RING_NEED_WAKEUP and reads the ring once more */
	iwt_qp_run_bh(m->qp);
}

/* Stop deferring the posts of all members: they use doorbells again; p->lock is held. */
static void end_all(struct iwt_cq *cq)
{
	struct iwt_cqpoll *p = &cq->poll;
	struct iwt_cqpoll_member *m;
	unsigned long bit;

	lockdep_assert_held(&p->lock);
	xa_for_each(&p->members, bit, m)
		if (m->on)
			cqpoll_leave(m);
	WRITE_ONCE(p->on, false);
	iwt_cq_set_flag(cq, IWT_RING_DEFERRED, false);
	iwt_habit_restart(&p->habit);
	if (!p->late && p->poor <= IWT_CQPOLL_POOR) {
		p->wait_ns = IWT_CQPOLL_WAIT_NS;
		return;
	}
	p->quiet_ns = ktime_get_ns() + p->wait_ns;
	p->wait_ns = min_t(u64, p->wait_ns * 2, IWT_CQPOLL_WAIT_MAX_NS);
}

static void run_later(struct iwt_cqpoll *p, u32 bit)
{
	struct iwt_qp *qp;

	lockdep_assert_held(&p->lock);
	qp = cqpoll_find(p, bit);
	if (!qp)
		return;
	p->late = true;
	iwt_qp_run_bh(qp);
}

/* The process has not called in time: run the engines in its place. */
static void take_place(struct iwt_cqpoll *p)
	__must_hold(&p->lock)
{
	take_posted(p, run_later);
	p->missed++;
	p->seen_ns = ktime_get_ns();
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct iwt_cq *cq = container_of(timer, struct iwt_cq, poll.timer);
	struct iwt_cqpoll *p = &cq->poll;
	bool on;

	spin_lock_bh(&p->lock);
	if (p->flushes)
		note_seen(p);
	else if (ktime_get_ns() - p->seen_ns >= IWT_CQPOLL_PATIENCE_NS)
		take_place(p);
	if (p->missed > IWT_CQPOLL_MISSED || p->poor > IWT_CQPOLL_POOR)
		end_all(cq);
	hrtimer_set_expires(timer, ns_to_ktime(p->seen_ns + IWT_CQPOLL_PATIENCE_NS));
	on = p->on;
	spin_unlock_bh(&p->lock);
	return on ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* From now on a process that polls @cq need not ring the doorbell of @m; p->lock is held. */
static void cqpoll_enter(struct iwt_cq *cq, struct iwt_cqpoll_member *m)
	__must_hold(&cq->poll.lock)
{
	struct iwt_stream *st = &m->qp->stream;
	struct iwt_cqpoll *p = &cq->poll;

	m->on = true;
	if (!p->on)
		hrtimer_start(&p->timer, ns_to_ktime(IWT_CQPOLL_PATIENCE_NS),
			      HRTIMER_MODE_REL_SOFT);
	WRITE_ONCE(p->on, true);
	/* set the flag before the ring clears IWT_RING_NEED_WAKEUP */
	iwt_cq_set_flag(cq, IWT_RING_DEFERRED, true);
	spin_lock_bh(&st->lock);
	st->pollers++;
	if (iwt_stream_open(st))
		iwt_ring_awake(&st->sq.ring);
	spin_unlock_bh(&st->lock);
}

static void cqpoll_begin(struct iwt_cq *cq, struct iwt_cqpoll_member *m)
{
	struct iwt_cqpoll *p = &cq->poll;

	if (m->bit == IWT_NO_BIT)
		return;
	spin_lock_bh(&p->lock);
	if (!m->on && ktime_get_ns() >= p->quiet_ns) {
		note_seen(p);
		p->poor = 0;
		cqpoll_enter(cq, m);
	}
	spin_unlock_bh(&p->lock);
}

/**
 * iwt_cqpoll_member_rang() - a process's doorbell has been served
 * @qp: queue pair
 * @streams: the process does not wait for an event between its posts
 * @before: when the process rang the doorbell, in nanoseconds
 * @now: when the doorbell was served
 *
 * Process context.
 */
void iwt_cqpoll_member_rang(struct iwt_qp *qp, bool streams, u64 before, u64 now)
{
	struct iwt_cqpoll *p = &cq_of(qp, 0)->poll;
	/* the time that the engines ran since @before is not a pause of the process */
	bool soon = iwt_habit_soon(&p->habit, before, now, IWT_PAUSE_NS);
	bool habit = iwt_habit_seen(&p->habit, streams && soon);

	/* read without the lock: cqpoll_begin() checks again, with the lock */
	if (!streams || (!habit && !context_unsafe(READ_ONCE(p->on))) ||
	    !iwt_stream_sends(&qp->stream))
		return;
	cqpoll_begin(cq_of(qp, 0), &qp->cqpoll[0]);
	cqpoll_begin(cq_of(qp, 1), &qp->cqpoll[1]);
}

/**
 * iwt_cqpoll_member_setup() - initialise the members of a queue pair, without bits
 * @qp: queue pair, zeroed
 */
void iwt_cqpoll_member_setup(struct iwt_qp *qp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(qp->cqpoll); i++) {
		qp->cqpoll[i].qp = qp;
		qp->cqpoll[i].bit = IWT_NO_BIT;
	}
}

static void join(struct iwt_cqpoll *p, struct iwt_cqpoll_member *m)
{
	u32 bit;

	/* without a bit the process rings the doorbell for each post */
	if (!p->bits || xa_alloc_bh(&p->members, &bit, m, XA_LIMIT(0, p->bits - 1),
				    GFP_KERNEL))
		return;
	spin_lock_bh(&p->lock);
	m->bit = bit;
	WRITE_ONCE(p->top, max(p->top, bit + 1));
	spin_unlock_bh(&p->lock);
}

/**
 * iwt_cqpoll_member_join() - allocate bits at the completion queues, if they have free bits
 * @qp: queue pair whose doorbell nobody rings yet
 *
 * May sleep.
 */
void iwt_cqpoll_member_join(struct iwt_qp *qp)
{
	join(&cq_of(qp, 0)->poll, &qp->cqpoll[0]);
	if (cq_of(qp, 1) != cq_of(qp, 0))
		join(&cq_of(qp, 1)->poll, &qp->cqpoll[1]);
}

/**
 * iwt_cqpoll_member_end() - leave the completion queues
 * @qp: queue pair whose doorbell nobody rings any more
 *
 * Process context.
 */
void iwt_cqpoll_member_end(struct iwt_qp *qp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(qp->cqpoll); i++) {
		struct iwt_cqpoll *p = &cq_of(qp, i)->poll;
		struct iwt_cqpoll_member *m = &qp->cqpoll[i];

		if (m->bit == IWT_NO_BIT)
			continue;
		spin_lock_bh(&p->lock);
		if (m->on)
			cqpoll_leave(m);
		/* cqpoll_run_now() holds the lock from cqpoll_find() until it has a reference */
		xa_erase(&p->members, m->bit);
		spin_unlock_bh(&p->lock);
	}
}

/**
 * iwt_cqpoll_setup() - initialise a completion queue, without members
 * @cq: completion queue, zeroed
 */
void iwt_cqpoll_setup(struct iwt_cq *cq)
	__context_unsafe(/* no other processor can access the queue yet */)
{
	struct iwt_cqpoll *p = &cq->poll;

	spin_lock_init(&p->lock);
	xa_init_flags(&p->members, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	iwt_habit_setup(&p->habit, IWT_CQPOLL_FIRST);
	p->wait_ns = IWT_CQPOLL_WAIT_NS;
	hrtimer_setup(&p->timer, on_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

/**
 * iwt_cqpoll_allow() - the process supports IWT_RING_DEFERRED (IWT_FEATURE_DEFERRED)
 * @cq: its completion queue, without queue pairs yet
 * @entries: entries of the ring; iwt_cqpoll_bytes() bytes for the bits follow them
 */
void iwt_cqpoll_allow(struct iwt_cq *cq, u32 entries)
{
	cq->poll.posted = (void *)cq->ring.ctl +
			  iwt_ring_bytes(entries, cq->ring.stride);
	cq->poll.bits = iwt_cqpoll_bytes(entries) * 8;
}

/* Stop the timer. @cq: completion queue that no queue pair uses. May sleep. */
void iwt_cqpoll_end(struct iwt_cq *cq)
{
	hrtimer_cancel(&cq->poll.timer);
	xa_destroy(&cq->poll.members);
}
