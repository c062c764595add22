// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues that a polling process tends.
 *
 * A doorbell is a system call. Where no processor is idle for a worker that watches
 * (qp_watch.c), or there are many queue pairs, a process that posts one request
 * after the other pays for one each time, since the engine is done with the last
 * before the next is there. But it will look for completions, too. As long as it does,
 * its rings do not ask to be woken, and its completion queues say so
 * (IWT_RING_TENDED): when it has posted and finds one of them empty, or has posted
 * often, it visits (IWT_METHOD_CQ_VISIT), which runs the engines of the queue pairs
 * that it has posted to, of which it has set a bit. That is one call for many
 * requests, and as many queue pairs as there are cost nothing.
 *
 * Nothing is lost when it does not come. A timer stands in for it, and after a while
 * ends it, and has each engine run; an engine that finds no work on a ring that nobody
 * tends asks to be woken before it looks for the last time (iwt_ring_sleep()). Until
 * then the process has come, or the engine will. tests/unit/ring_model.py tries all
 * orders. A process that was late with work is not counted on for some time, longer
 * each time.
 *
 * A queue pair has up to two completion queues; whoever polls one of them comes. Its
 * ring goes to sleep when nobody polls either.
 */
#include "tend.h"

#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "cq.h"
#include "dev.h"
#include "qp_priv.h"
#include "stats.h"

/* Nanoseconds without a doorbell after which the next is not in a row with it. */
#define TEND_PAUSE	(200 * NSEC_PER_USEC)
/* Doorbells in a row before it begins; a watching worker comes first. */
#define TEND_AFTER	32
/* How long nobody needs to come before the timer stands in. */
#define TEND_PATIENCE	(500 * NSEC_PER_USEC)
/* How often in a row it does before it is over. */
#define TEND_MISSED	4
/* Visits in a row, each for one request at most, after which doorbells are cheaper. */
#define TEND_POOR	32
/*
 * How long nobody is counted on after that, if work was late or visits poor: at first,
 * at most.
 */
#define TEND_WAIT	NSEC_PER_MSEC
#define TEND_WAIT_MAX	NSEC_PER_SEC

static struct iwt_cq *cq_of(const struct iwt_qp *qp, int i)
{
	return to_iwt_cq(i ? qp->ibqp.recv_cq : qp->ibqp.send_cq);
}

static void note_life(struct iwt_tend *t)
{
	t->seen = ktime_get_ns();
	t->missed = 0;
	t->late = false;
}

/*
 * Clears bits of what was posted. The barrier of xchg() pairs with the process's between
 * prod and its bit: the engine sees what was posted before a bit was set, or seen set.
 */
static unsigned long take_bits(struct iwt_tend *t, u32 word)
{
	u32 *at = &t->posted[word];

	return READ_ONCE(*at) ? xchg(at, 0) : 0;
}

/* Calls @look for each bit that is set; the process may set any. */
static void take_posted(struct iwt_tend *t,
			void (*look)(struct iwt_tend *t, u32 bit))
{
	u32 words = DIV_ROUND_UP(READ_ONCE(t->top), 32);
	u32 word, i;

	for (word = 0; word < words; word++) {
		unsigned long bits = take_bits(t, word);

		for_each_set_bit(i, &bits, 32)
			look(t, word * 32 + i);
	}
}

/*
 * The queue pair of a bit, if its ring counts on whoever polls; t->lock is held. If it
 * does not, nothing is lost with the bit: its engine has asked to be woken, or is yet to
 * look at the ring.
 */
static struct iwt_qp *find(struct iwt_tend *t, u32 bit)
{
	const struct iwt_tended *at = xa_load(&t->qps, bit);

	return at && at->on ? at->qp : NULL;
}

static void look_now(struct iwt_tend *t, u32 bit)
{
	struct iwt_qp *qp;

	spin_lock_bh(&t->lock);
	qp = find(t, bit);
	if (qp) {
		iwt_qp_get(qp);
		t->found += iwt_ring_prod(&qp->sq.ring) - READ_ONCE(qp->sq.cons);
	}
	spin_unlock_bh(&t->lock);
	if (!qp)
		return;
	iwt_qp_run_sync(qp);
	iwt_qp_put(qp);
	cond_resched();
}

/* Was that visit better than a doorbell? */
static void note_worth(struct iwt_tend *t)
{
	t->poor = t->found > 1 ? 0 : t->poor + 1;
	t->found = 0;
}

/**
 * iwt_tend_visit() - the process visits
 * @cq: its completion queue
 *
 * Has the engines run of the queue pairs for which something is new. Process context,
 * may sleep.
 */
void iwt_tend_visit(struct iwt_cq *cq)
{
	struct iwt_tend *t = &cq->tend;

	iwt_count(to_iwt_dev(cq->ibcq.device), IWT_C_VISIT);
	spin_lock_bh(&t->lock);
	t->visits++;
	spin_unlock_bh(&t->lock);
	take_posted(t, look_now);
	spin_lock_bh(&t->lock);
	t->visits--;
	note_life(t);
	note_worth(t);
	spin_unlock_bh(&t->lock);
}

/* The ring of @at waits for one process less; the lock of the list is held. */
static void let_go(struct iwt_tended *at)
{
	struct iwt_qp *qp = at->qp;

	at->on = false;
	spin_lock_bh(&qp->lock);
	qp->tend.by--;
	spin_unlock_bh(&qp->lock);
	/* the engine looks once more, and puts the ring to sleep */
	iwt_qp_run_bh(qp);
}

/* Back to doorbells; t->lock is held. */
static void end_all(struct iwt_cq *cq)
{
	struct iwt_tend *t = &cq->tend;
	struct iwt_tended *at;
	unsigned long bit;

	xa_for_each(&t->qps, bit, at)
		if (at->on)
			let_go(at);
	WRITE_ONCE(t->on, false);
	iwt_cq_set_flag(cq, IWT_RING_TENDED, false);
	WRITE_ONCE(t->row, 0);
	if (!t->late && t->poor <= TEND_POOR) {
		t->wait = TEND_WAIT;
		return;
	}
	t->quiet = ktime_get_ns() + t->wait;
	t->wait = min_t(u64, t->wait * 2, TEND_WAIT_MAX);
}

static void look_later(struct iwt_tend *t, u32 bit)
{
	struct iwt_qp *qp = find(t, bit);

	if (!qp)
		return;
	t->late = true;
	iwt_qp_run_bh(qp);
}

/* Nobody has come: have done what there is to do. t->lock is held. */
static void stand_in(struct iwt_tend *t)
{
	take_posted(t, look_later);
	t->missed++;
	t->seen = ktime_get_ns();
}

static enum hrtimer_restart look_after(struct hrtimer *timer)
{
	struct iwt_cq *cq = container_of(timer, struct iwt_cq, tend.timer);
	struct iwt_tend *t = &cq->tend;
	bool on;

	spin_lock_bh(&t->lock);
	if (t->visits)
		note_life(t);
	else if (ktime_get_ns() - t->seen >= TEND_PATIENCE)
		stand_in(t);
	if (t->missed > TEND_MISSED || t->poor > TEND_POOR)
		end_all(cq);
	hrtimer_set_expires(timer, ns_to_ktime(t->seen + TEND_PATIENCE));
	on = t->on;
	spin_unlock_bh(&t->lock);
	return on ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* Whoever polls @cq looks at the ring from now on; t->lock is held. */
static void add(struct iwt_cq *cq, struct iwt_tended *at)
{
	struct iwt_tend *t = &cq->tend;
	struct iwt_qp *qp = at->qp;

	at->on = true;
	if (!t->on)
		hrtimer_start(&t->timer, ns_to_ktime(TEND_PATIENCE),
			      HRTIMER_MODE_REL_SOFT);
	WRITE_ONCE(t->on, true);
	/* before the ring says that it need not be woken */
	iwt_cq_set_flag(cq, IWT_RING_TENDED, true);
	spin_lock_bh(&qp->lock);
	qp->tend.by++;
	if (iwt_qp_sends(qp) && !qp->sq.sealed)
		iwt_ring_awake(&qp->sq.ring);
	spin_unlock_bh(&qp->lock);
}

static void begin(struct iwt_cq *cq, struct iwt_tended *at)
{
	struct iwt_tend *t = &cq->tend;

	if (at->bit == IWT_NO_BIT)
		return;
	spin_lock_bh(&t->lock);
	if (!at->on && ktime_get_ns() >= t->quiet) {
		note_life(t);
		t->poor = 0;
		add(cq, at);
	}
	spin_unlock_bh(&t->lock);
}

/**
 * iwt_tended_rang() - a process's doorbell was answered
 * @qp: queue pair
 * @streams: it does not wait for anything between its posts
 * @before: when it rang, in nanoseconds
 * @now: when it was answered
 *
 * Process context.
 */
void iwt_tended_rang(struct iwt_qp *qp, bool streams, u64 before, u64 now)
{
	struct iwt_tend *t = &cq_of(qp, 0)->tend;
	u32 row = 0;

	/* what the engine did since @before is no pause of the process's */
	if (streams && before - READ_ONCE(t->last) < TEND_PAUSE)
		row = READ_ONCE(t->row) + 1;
	WRITE_ONCE(t->row, row);
	WRITE_ONCE(t->last, now);
	if (!streams || (row < TEND_AFTER && !READ_ONCE(t->on)) ||
	    !iwt_qp_sends(qp))
		return;
	begin(cq_of(qp, 0), &qp->tend.at[0]);
	begin(cq_of(qp, 1), &qp->tend.at[1]);
}

/**
 * iwt_tended_setup() - nobody tends it yet
 * @qp: queue pair, zeroed
 */
void iwt_tended_setup(struct iwt_qp *qp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(qp->tend.at); i++) {
		qp->tend.at[i].qp = qp;
		qp->tend.at[i].bit = IWT_NO_BIT;
	}
}

static void join(struct iwt_tend *t, struct iwt_tended *at)
{
	u32 bit;

	/* without a bit the process rings */
	if (!t->bits || xa_alloc_bh(&t->qps, &bit, at, XA_LIMIT(0, t->bits - 1),
				    GFP_KERNEL))
		return;
	spin_lock_bh(&t->lock);
	at->bit = bit;
	WRITE_ONCE(t->top, max(t->top, bit + 1));
	spin_unlock_bh(&t->lock);
}

/**
 * iwt_tended_join() - have bits with the completion queues, if those have some left
 * @qp: queue pair that gets no doorbells yet
 *
 * May sleep.
 */
void iwt_tended_join(struct iwt_qp *qp)
{
	join(&cq_of(qp, 0)->tend, &qp->tend.at[0]);
	if (cq_of(qp, 1) != cq_of(qp, 0))
		join(&cq_of(qp, 1)->tend, &qp->tend.at[1]);
}

/**
 * iwt_tended_end() - nobody tends it any more
 * @qp: queue pair that gets no doorbells any more
 *
 * Process context.
 */
void iwt_tended_end(struct iwt_qp *qp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(qp->tend.at); i++) {
		struct iwt_tend *t = &cq_of(qp, i)->tend;
		struct iwt_tended *at = &qp->tend.at[i];

		if (at->bit == IWT_NO_BIT)
			continue;
		spin_lock_bh(&t->lock);
		if (at->on)
			let_go(at);
		/* whoever finds it has the lock until it has a reference */
		xa_erase(&t->qps, at->bit);
		spin_unlock_bh(&t->lock);
	}
}

/**
 * iwt_tend_setup() - nothing to tend yet
 * @cq: completion queue, zeroed
 */
void iwt_tend_setup(struct iwt_cq *cq)
{
	struct iwt_tend *t = &cq->tend;

	spin_lock_init(&t->lock);
	xa_init_flags(&t->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	t->wait = TEND_WAIT;
	hrtimer_setup(&t->timer, look_after, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

/**
 * iwt_tend_allow() - the process knows what is wanted of it
 * @cq: its completion queue, with no queue pairs yet
 * @entries: so many; behind them are iwt_tend_bytes() octets for the bits
 */
void iwt_tend_allow(struct iwt_cq *cq, u32 entries)
{
	cq->tend.posted = (void *)cq->ring.ctl +
			  iwt_ring_bytes(entries, cq->ring.stride);
	cq->tend.bits = iwt_tend_bytes(entries) * 8;
}

/**
 * iwt_tend_end() - nobody comes any more
 * @cq: completion queue that no queue pair uses
 *
 * May sleep.
 */
void iwt_tend_end(struct iwt_cq *cq)
{
	hrtimer_cancel(&cq->tend.timer);
	xa_destroy(&cq->tend.qps);
}
