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
 * often, it polls by the command of uverbs, and has the engines of all queue
 * pairs run for which something is new. That is one call for many requests.
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

#include <linux/ktime.h>
#include <linux/sched.h>

#include "cq.h"
#include "device.h"
#include "qp_priv.h"

/* Nanoseconds without a doorbell after which the next is not in a row with it. */
#define TEND_PAUSE	(200 * NSEC_PER_USEC)
/* Doorbells in a row before it begins; a watching worker comes first. */
#define TEND_AFTER	32
/* How long nobody needs to come before the timer stands in. */
#define TEND_PATIENCE	(500 * NSEC_PER_USEC)
/* How often in a row it does before it is over. */
#define TEND_MISSED	4
/* How long nobody is counted on after that, if work was late: at first, at most. */
#define TEND_WAIT	NSEC_PER_MSEC
#define TEND_WAIT_MAX	NSEC_PER_SEC

static struct iwt_cq *cq_of(const struct iwt_qp *qp, int i)
{
	return to_iwt_cq(i ? qp->ibqp.recv_cq : qp->ibqp.send_cq);
}

/* Has something been posted since it was last looked at? */
static bool is_new(const struct iwt_qp *qp)
{
	return iwt_ring_prod(&qp->sq.ring) != READ_ONCE(qp->tend.prod);
}

/* What is posted later is new. The engine is called after this. */
static void note_seen(struct iwt_qp *qp)
{
	WRITE_ONCE(qp->tend.prod, iwt_ring_prod(&qp->sq.ring));
}

static void note_life(struct iwt_tend *t)
{
	t->seen = ktime_get_ns();
	t->missed = 0;
	t->late = false;
}

/**
 * iwt_tend_visit() - the process polls by command
 * @cq: its completion queue
 *
 * Has the engines run of the queue pairs for which something is new. Process context,
 * may sleep.
 */
void iwt_tend_visit(struct iwt_cq *cq)
{
	struct iwt_tend *t = &cq->tend;
	LIST_HEAD(todo);

	iwt_count(to_iwt_dev(cq->ibcq.device), IWT_C_VISIT);
	spin_lock_bh(&t->lock);
	t->visits++;
	list_splice_init(&t->qps, &todo);
	while (!list_empty(&todo)) {
		struct iwt_tended *at = list_first_entry(&todo,
							 struct iwt_tended,
							 node);
		struct iwt_qp *qp = at->qp;

		list_move_tail(&at->node, &t->qps);
		if (!is_new(qp))
			continue;
		note_seen(qp);
		iwt_qp_get(qp);
		spin_unlock_bh(&t->lock);
		iwt_qp_call(qp);
		iwt_qp_put(qp);
		cond_resched();
		spin_lock_bh(&t->lock);
	}
	t->visits--;
	note_life(t);
	spin_unlock_bh(&t->lock);
}

/* The ring of @at waits for one process less; the lock of the list is held. */
static void let_go(struct iwt_tended *at)
{
	struct iwt_qp *qp = at->qp;

	list_del_init(&at->node);
	spin_lock_bh(&qp->lock);
	qp->tend.by--;
	spin_unlock_bh(&qp->lock);
	/* the engine looks once more, and puts the ring to sleep */
	iwt_qp_kick_later(qp);
}

/* Back to doorbells; t->lock is held. */
static void end_all(struct iwt_cq *cq)
{
	struct iwt_tend *t = &cq->tend;
	struct iwt_tended *at, *next;

	list_for_each_entry_safe(at, next, &t->qps, node)
		let_go(at);
	WRITE_ONCE(t->on, false);
	iwt_cq_set_flag(cq, IWT_RING_TENDED, false);
	WRITE_ONCE(t->row, 0);
	if (!t->late) {
		t->wait = TEND_WAIT;
		return;
	}
	t->quiet = ktime_get_ns() + t->wait;
	t->wait = min_t(u64, t->wait * 2, TEND_WAIT_MAX);
}

/* Nobody has come: have done what there is to do. t->lock is held. */
static void stand_in(struct iwt_tend *t)
{
	struct iwt_tended *at;

	list_for_each_entry(at, &t->qps, node) {
		if (!is_new(at->qp))
			continue;
		t->late = true;
		note_seen(at->qp);
		iwt_qp_kick_later(at->qp);
	}
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
	if (t->missed > TEND_MISSED)
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

	list_add_tail(&at->node, &t->qps);
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

	spin_lock_bh(&t->lock);
	if (list_empty(&at->node) && ktime_get_ns() >= t->quiet) {
		note_life(t);
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

	if (!qp->tend.known)
		return;
	/* what the engine did since @before is no pause of the process's */
	if (streams && before - READ_ONCE(t->last) < TEND_PAUSE)
		row = READ_ONCE(t->row) + 1;
	WRITE_ONCE(t->row, row);
	WRITE_ONCE(t->last, now);
	if (!streams || (row < TEND_AFTER && !READ_ONCE(t->on)) ||
	    !iwt_qp_sends(qp))
		return;
	note_seen(qp);
	begin(cq_of(qp, 0), &qp->tend.at[0]);
	if (cq_of(qp, 1) != cq_of(qp, 0))
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
		INIT_LIST_HEAD(&qp->tend.at[i].node);
		qp->tend.at[i].qp = qp;
	}
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

		spin_lock_bh(&t->lock);
		if (!list_empty(&qp->tend.at[i].node))
			let_go(&qp->tend.at[i]);
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
	INIT_LIST_HEAD(&t->qps);
	t->wait = TEND_WAIT;
	hrtimer_setup(&t->timer, look_after, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
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
}
