// SPDX-License-Identifier: GPL-2.0
/*
 * Posts that a process flushes when it polls a completion queue.
 *
 * A doorbell is a system call. A process that posts one request after the other, and for which no
 * worker polls (wake_sqpoll.c), will poll for completions sooner or later. As long as the process
 * polls, the kernel does not set IWT_RING_NEED_WAKEUP in the rings of the send queues. Instead,
 * the kernel sets the flag IWT_RING_DEFERRED in the ring of the completion queue, and the process
 * has to do the following. When the process posts to a queue pair, the process sets the bit of
 * the queue pair. When the process finds the completion queue empty, or has posted often, the
 * process calls IWT_METHOD_CQ_POLL. This system call runs the engines of all queue pairs with a
 * set bit. One call serves many requests, and the number of calls does not grow with the number
 * of queue pairs.
 *
 * No post is lost if the process does not make this call: then a timer runs the engines. If the
 * timer has to do so several times in a row, it stops the deferring of posts: the engines of all
 * queue pairs run once more, and set the flag IWT_RING_NEED_WAKEUP before they read the ring for
 * the last time (see wake_doorbell.c). tests/unit/ring_model.py tries all orders of these steps.
 * The process has to use doorbells for some time if it did not make the call although it had
 * posted, or if many calls in a row found at most one request each. This time is doubled whenever
 * that happens again, up to a limit.
 *
 * A queue pair has up to two completion queues, and it is enough that the process polls one of
 * them. When the process has stopped polling both, the engine sets IWT_RING_NEED_WAKEUP again.
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

/* Restart the time within which the process must flush its posts. */
static void note_seen(struct iwt_cqpoll *p)
	__must_hold(&p->lock)
{
	p->seen_ns = ktime_get_ns();
	p->missed = 0;
	p->late = false;
}

/*
 * Read and clear the bits of a word. The process executes a barrier between the store of the
 * producer index and the store of the bit. The barrier of xchg() pairs with that barrier: for
 * each bit that this function returns, the engine sees the requests that the process posted
 * before it set the bit. @word: index of the word. Return: the bits that were set.
 */
static unsigned long cqpoll_take_bits(struct iwt_cqpoll *p, u32 word)
{
	u32 *at = &p->posted[word];

	return READ_ONCE(*at) ? xchg(at, 0) : 0;
}

/*
 * Clear all bits, and call @look for each bit that was set. The process may have set any bit,
 * also a bit that belongs to no queue pair.
 */
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
 * Return: the queue pair to which a bit belongs, or NULL. The result is also NULL if the posts to
 * the queue pair are not deferred: then the bit may be ignored, and no post is lost, because the
 * engine of the queue pair has set IWT_RING_NEED_WAKEUP, or will read the ring. p->lock is held.
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

/* Record whether this call has served more requests than one doorbell would have served. */
static void note_worth(struct iwt_cqpoll *p)
	__must_hold(&p->lock)
{
	p->poor = p->found > 1 ? 0 : p->poor + 1;
	p->found = 0;
}

/**
 * iwt_cqpoll_flush() - a process flushes its posts (IWT_METHOD_CQ_POLL)
 * @cq: completion queue that the process polls
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

/* Stop deferring posts: for all members, the process uses doorbells again; p->lock is held. */
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

/* The process has not called IWT_METHOD_CQ_POLL in time: run the engines without this call. */
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

/*
 * From now on posts to the queue pair of @m are deferred: a process that polls @cq need not ring
 * the doorbell. p->lock is held.
 */
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
	/* before iwt_ring_awake(): a process that sees no NEED_WAKEUP must see DEFERRED */
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
 * @streams: the process posts without waiting for the peer (posts_without_waiting())
 * @before: time when the process rang the doorbell, in nanoseconds
 * @now: time when the doorbell was served, in nanoseconds
 *
 * If enough doorbells with @streams have followed each other without a pause (wake_habit.h), this
 * function begins to defer the posts to @qp, unless the process has to use doorbells for some
 * time. If the send completion queue already defers posts, one doorbell with @streams is enough.
 * Process context.
 */
void iwt_cqpoll_member_rang(struct iwt_qp *qp, bool streams, u64 before, u64 now)
{
	struct iwt_cqpoll *p = &cq_of(qp, 0)->poll;
	/* from @before to @now the engines ran: that time is not a pause of the process */
	bool soon = iwt_habit_soon(&p->habit, before, now, IWT_PAUSE_NS);
	bool habit = iwt_habit_seen(&p->habit, streams && soon);

	/* p->on is read without the lock: an old value has an effect only on the speed */
	if (!streams || (!habit && !context_unsafe(READ_ONCE(p->on))) ||
	    !iwt_stream_sends(&qp->stream))
		return;
	cqpoll_begin(cq_of(qp, 0), &qp->cqpoll[0]);
	cqpoll_begin(cq_of(qp, 1), &qp->cqpoll[1]);
}

/**
 * iwt_cqpoll_member_setup() - initialise both memberships of a queue pair, without bits
 * @qp: queue pair, zeroed
 *
 * Any context.
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

	/* without a bit, this completion queue never defers posts to the queue pair */
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
 * @qp: new queue pair; no process can ring its doorbell yet
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
 * iwt_cqpoll_member_end() - end the memberships of a queue pair in its completion queues
 * @qp: queue pair; no process can ring its doorbell any more
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
		/* cqpoll_run_now() takes a reference to @qp before it drops the lock */
		xa_erase(&p->members, m->bit);
		spin_unlock_bh(&p->lock);
	}
}

/**
 * iwt_cqpoll_setup() - initialise the state of deferred posts of a completion queue
 * @cq: completion queue, without queue pairs yet; its iwt_cq.poll is zeroed
 *
 * Any context.
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
 * iwt_cqpoll_allow() - allow deferred posts: the process supports IWT_FEATURE_DEFERRED
 * @cq: completion queue of the process, without queue pairs yet
 * @entries: number of entries of the ring; iwt_cqpoll_bytes() bytes for the bits follow the
 *	entries
 */
void iwt_cqpoll_allow(struct iwt_cq *cq, u32 entries)
{
	cq->poll.posted = (void *)cq->ring.ctl +
			  iwt_ring_bytes(entries, cq->ring.stride);
	cq->poll.bits = iwt_cqpoll_bytes(entries) * 8;
}

/* Stop the timer, and free the table of members. @cq: queue without queue pairs. May sleep. */
void iwt_cqpoll_end(struct iwt_cq *cq)
{
	hrtimer_cancel(&cq->poll.timer);
	xa_destroy(&cq->poll.members);
}
