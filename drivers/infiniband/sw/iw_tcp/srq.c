// SPDX-License-Identifier: GPL-2.0
/*
 * The shared receive queue: the kernel or a process posts; several streams take receives.
 *
 * A stream takes a receive when the first segment of a Send arrives in order. From then on the
 * receive belongs to the stream. Receives that no stream has taken belong to no stream: when a
 * stream ends, it completes the receives that it has taken and does not change the queue. A
 * stream fills one receive at a time, so no peer holds more than one receive for each connection.
 * The consumer can observe how many receives a peer consumes: each completion names the queue
 * pair, `rdma -dd resource show qp` shows the number of receives that the queue pair has taken,
 * and the limit event reports in time that few receives are left (RFC 5041 8.3, RFC 5042
 * 6.4.3.1).
 *
 * A stream of a direct connection waits if no receive is posted (rx_wait.c). As long as a stream
 * waits, the ring has the flag IWT_RING_NEED_WAKEUP, and the process rings the doorbell after
 * each post; if the process does not know this doorbell, a timer looks for posts. The doorbell
 * wakes streams in the order in which they began to wait, but not more streams than there are
 * receives: a receive is reserved for each woken stream until the stream takes it, or ends.
 * Only a stream that never waits (iwt_srq_next()) may take a receive that is reserved for a woken
 * stream. Then the woken stream waits again, before all other streams.
 */
#include "srq.h"

#include <linux/sched.h>

/* Maximum number of receives that a resize copies while interrupts are off. */
#define MOVE_STEP	256
/* Maximum number of streams that one call of wake_some() wakes, while interrupts are off. */
#define WAKE_STEP	32
/* How often @timer looks for posts of a process that does not ring the doorbell. */
#define LOOK_NS		(4 * NSEC_PER_MSEC)

/*
 * Report an event. A process can set the limit of an empty queue again and again, and each call
 * raises an event at once. If the process does not read its events, they could fill memory. So if
 * an event of the queue is still unread, this function does not report a limit event: the process
 * will learn the same from the unread event.
 */
static void srq_tell(struct iwt_async *async, enum ib_event_type what)
{
	struct iwt_srq *srq = container_of(async, struct iwt_srq, async);
	struct ib_event ev = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = what,
	};

	if (what == IB_EVENT_SRQ_ERR)
		srq->end_streams(srq);
	else if (iwt_async_unread(async))
		return;
	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
}

/*
 * Return: number of posted receives that no stream has taken. A process can store any producer
 * index, so the number may be wrong: only compare it.
 */
static u32 left(const struct iwt_srq *srq)
{
	return iwt_ring_prod(&srq->rq.ring) - srq->rq.cons;
}

static void set_wait(struct iwt_srq *srq, struct iwt_srq_waiter *w, enum iwt_srq_wait to)
{
	srq->woken += (to == IWT_SRQ_WOKEN) - (w->wait == IWT_SRQ_WOKEN);
	WRITE_ONCE(w->wait, to);
}

/*
 * Wake streams that wait, if there are receives that are not reserved for other streams. If such
 * receives and waiting streams are left after WAKE_STEP streams were woken, the woken streams
 * call this function again when they take their receives (go_away()).
 */
static void wake_some(struct iwt_srq *srq)
{
	struct iwt_srq_waiter *w;
	u32 n;

	lockdep_assert_held(&srq->rq.lock);
	for (n = 0; n < WAKE_STEP && !list_empty(&srq->waiting) && left(srq) > srq->woken; n++) {
		w = list_first_entry(&srq->waiting, struct iwt_srq_waiter, node);
		list_del_init(&w->node);
		set_wait(srq, w, IWT_SRQ_WOKEN);
		w->wake(w);
	}
	if (list_empty(&srq->waiting) && iwt_ring_asleep(&srq->rq.ring))
		iwt_ring_awake(&srq->rq.ring);
}

/**
 * iwt_srq_wake() - serve a doorbell: wake streams for which receives have been posted
 * @srq: queue
 *
 * Any context.
 */
void iwt_srq_wake(struct iwt_srq *srq)
{
	unsigned long irq;

	spin_lock_irqsave(&srq->rq.lock, irq);
	wake_some(srq);
	spin_unlock_irqrestore(&srq->rq.lock, irq);
}

static void start_timer(struct iwt_srq *srq)
{
	lockdep_assert_held(&srq->rq.lock);
	hrtimer_start(&srq->timer, ns_to_ktime(LOOK_NS), HRTIMER_MODE_REL_SOFT);
}

static enum hrtimer_restart look_for_posts(struct hrtimer *timer)
{
	struct iwt_srq *srq = container_of(timer, struct iwt_srq, timer);
	unsigned long irq;

	spin_lock_irqsave(&srq->rq.lock, irq);
	wake_some(srq);
	if (!list_empty(&srq->waiting))
		start_timer(srq);
	spin_unlock_irqrestore(&srq->rq.lock, irq);
	return HRTIMER_NORESTART;
}

/**
 * iwt_srq_setup() - set up a shared receive queue on ring memory
 * @srq: queue, zeroed except for ->user, ->rings, ->end_streams and the fields that RDMA core has
 *	set
 * @mem: ring memory of iwt_ring_bytes() bytes, zeroed
 * @entries: number of entries, a power of two
 * @max_sge: elements that must fit into an entry
 *
 * Never sleeps.
 */
void iwt_srq_setup(struct iwt_srq *srq, void *mem, u32 entries, u32 max_sge)
{
	spin_lock_init(&srq->rq.lock);
	mutex_init(&srq->change);
	iwt_async_setup(&srq->async, srq_tell);
	INIT_LIST_HEAD(&srq->waiting);
	hrtimer_setup(&srq->timer, look_for_posts, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	iwt_rq_set_ring(&srq->rq, mem, entries, max_sge);
}

/**
 * iwt_srq_quiesce() - wait for the end of all reports of events, and of the timer
 * @srq: queue that no queue pair uses any more
 *
 * No event is reported after this function has returned. May sleep.
 */
void iwt_srq_quiesce(struct iwt_srq *srq)
{
	hrtimer_cancel(&srq->timer);
	iwt_async_quiesce(&srq->async);
}

/*
 * Raise the limit event if few receives are left, at most once after each time that the limit is
 * set.
 */
static void look_limit(struct iwt_srq *srq)
{
	if (likely(!srq->limit) || left(srq) >= srq->limit)
		return;
	srq->limit = 0;
	iwt_async_raise(&srq->async, IB_EVENT_SRQ_LIMIT_REACHED);
}

/**
 * iwt_srq_post() - post a list of receives
 * @srq: queue of a kernel consumer
 * @wr: list
 * @bad: after an error, set to the first receive that was not posted
 *
 * Any context.
 *
 * Return: 0; -ENOMEM when the queue is full; -EINVAL when a receive has too many elements.
 */
int iwt_srq_post(struct iwt_srq *srq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad)
{
	unsigned long irq;
	int err = 0;

	spin_lock_irqsave(&srq->rq.lock, irq);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = iwt_rq_post(&srq->rq, wr);
	spin_unlock_irqrestore(&srq->rq.lock, irq);
	if (err)
		*bad = wr;
	return err;
}

static int take(struct iwt_srq *srq, struct iwt_rwqe *wqe)
{
	int got;

	lockdep_assert_held(&srq->rq.lock);
	if (unlikely(srq->failed))
		return -EINVAL;
	got = iwt_rq_next(&srq->rq, wqe);
	if (likely(got >= 0)) {
		look_limit(srq);
		return got;
	}
	srq->failed = true;
	iwt_async_raise(&srq->async, IB_EVENT_SRQ_ERR);
	return got;
}

/**
 * iwt_srq_next() - take the next receive
 * @srq: queue
 * @wqe: receives the private copy, with room for the maximum number of elements
 *
 * Any context; the lock of the stream is held.
 *
 * Return: 1 when a receive was taken; 0 when the queue is empty; -EINVAL when the producer index
 * or the number of elements in the ring is invalid: then the queue can never be used again, and
 * all streams that use the queue have to end.
 */
int iwt_srq_next(struct iwt_srq *srq, struct iwt_rwqe *wqe)
{
	unsigned long irq;
	int got;

	spin_lock_irqsave(&srq->rq.lock, irq);
	got = take(srq, wqe);
	spin_unlock_irqrestore(&srq->rq.lock, irq);
	return got;
}

/* Is there a receive for the stream, besides those that are reserved for other woken streams? */
static bool has_one_for(const struct iwt_srq *srq, const struct iwt_srq_waiter *w)
{
	return left(srq) > srq->woken - (w->wait == IWT_SRQ_WOKEN);
}

/*
 * There was no receive for the stream. Set the flag that makes posters ring the doorbell, and
 * look for a receive that was posted before the flag was set. Return: true if the stream waits
 * now; false if there is a receive for the stream.
 */
static bool wait_for_one(struct iwt_srq *srq, struct iwt_srq_waiter *w)
{
	iwt_ring_sleep(&srq->rq.ring, srq->rq.cons);
	if (has_one_for(srq, w))
		return false;
	if (!srq->rings && list_empty(&srq->waiting))
		start_timer(srq);
	/*
	 * a woken stream finds no receive only if the process has moved the producer index back,
	 * or if a stream that never waits has taken the receive by iwt_srq_next()
	 */
	if (w->wait == IWT_SRQ_WOKEN)
		list_add(&w->node, &srq->waiting);
	else if (w->wait == IWT_SRQ_AWAY)
		list_add_tail(&w->node, &srq->waiting);
	set_wait(srq, w, IWT_SRQ_WAITS);
	return true;
}

/*
 * Remove the stream from the list, if the stream waits. A receive that was reserved for the
 * stream can wake another stream.
 */
static void go_away(struct iwt_srq *srq, struct iwt_srq_waiter *w)
{
	if (w->wait == IWT_SRQ_WAITS)
		list_del_init(&w->node);
	set_wait(srq, w, IWT_SRQ_AWAY);
	wake_some(srq);
}

/**
 * iwt_srq_next_or_wait() - take the next receive, or begin to wait for a receive
 * @srq: queue
 * @wqe: receives the private copy, with room for the maximum number of elements
 * @w: waiter of the stream; the lock of the stream is held
 * @wait: if there is no receive, the stream waits for one
 *
 * As iwt_srq_next(). If the stream waits, @w->wake is called as soon as there is a receive for
 * the stream. The stream ends the wait by a call of this function that returns a receive, or by
 * iwt_srq_leave().
 *
 * Return: as iwt_srq_next().
 */
int iwt_srq_next_or_wait(struct iwt_srq *srq, struct iwt_rwqe *wqe,
			 struct iwt_srq_waiter *w, bool wait)
{
	unsigned long irq;
	int got = 0;

	spin_lock_irqsave(&srq->rq.lock, irq);
	if (srq->failed || has_one_for(srq, w))
		got = take(srq, wqe);
	if (!got && wait && !wait_for_one(srq, w))
		got = take(srq, wqe);
	if (got)
		go_away(srq, w);
	spin_unlock_irqrestore(&srq->rq.lock, irq);
	return got;
}

/**
 * iwt_srq_leave() - a stream has ended, and waits for a receive no longer
 * @srq: queue
 * @w: waiter of the stream; the lock of the stream is held
 */
void iwt_srq_leave(struct iwt_srq *srq, struct iwt_srq_waiter *w)
{
	unsigned long irq;

	if (READ_ONCE(w->wait) == IWT_SRQ_AWAY)
		return;
	spin_lock_irqsave(&srq->rq.lock, irq);
	go_away(srq, w);
	spin_unlock_irqrestore(&srq->rq.lock, irq);
}

/**
 * iwt_srq_set_limit() - request one event when few receives are left
 * @srq: queue
 * @limit: raise the event when fewer than @limit receives are left, at once if fewer are left
 *	already; 0: no event
 *
 * If the process has not read the last event yet, no other limit event is reported. Any context.
 *
 * Return: 0, or -EINVAL if @limit exceeds the size of the queue.
 */
int iwt_srq_set_limit(struct iwt_srq *srq, u32 limit)
{
	unsigned long irq;
	int err = 0;

	spin_lock_irqsave(&srq->rq.lock, irq);
	if (limit > srq->rq.entries) {
		err = -EINVAL;
	} else {
		srq->limit = limit;
		look_limit(srq);
	}
	spin_unlock_irqrestore(&srq->rq.lock, irq);
	return err;
}

/*
 * Copy up to MOVE_STEP posted receives, from index *@at on, to the new ring @to; *@prod is set to
 * the producer index. A receive that was copied, and that a stream has taken since, does no harm:
 * its index precedes the consumer index.
 *
 * Return: 1 when all receives are copied; 0 when some receives are left; -EINVAL when more
 * receives are posted than the new ring has entries, or when the producer index is invalid.
 */
static int copy_some(const struct iwt_rq *rq, const struct iwt_ring *to, u32 *at, u32 *prod)
{
	u32 n;

	*prod = iwt_ring_prod(&rq->ring);
	if (*prod - rq->cons > min(rq->ring.mask, to->mask) + 1)
		return -EINVAL;
	if (*at - rq->cons > *prod - rq->cons)
		*at = rq->cons;
	for (n = 0; n < MOVE_STEP && *at != *prod; n++, (*at)++)
		memcpy(iwt_ring_at(to, *at), iwt_ring_at(&rq->ring, *at), to->stride);
	return *at == *prod;
}

static int move_step(struct iwt_srq *srq, const struct iwt_ring *to, u32 *at,
		     const u32 *limit)
{
	struct iwt_rq *rq = &srq->rq;
	unsigned long irq;
	u32 prod;
	int done;

	spin_lock_irqsave(&rq->lock, irq);
	done = copy_some(rq, to, at, &prod);
	if (done > 0) {
		WRITE_ONCE(to->ctl->cons, rq->cons);
		WRITE_ONCE(to->ctl->prod, prod);
		WRITE_ONCE(to->ctl->flags, list_empty(&srq->waiting) ? 0 : IWT_RING_NEED_WAKEUP);
		rq->ring = *to;
		rq->entries = to->mask + 1;
		if (limit)
			srq->limit = *limit;
		look_limit(srq);
	}
	spin_unlock_irqrestore(&rq->lock, irq);
	return done;
}

static u32 first_left(struct iwt_srq *srq)
{
	unsigned long irq;
	u32 cons;

	spin_lock_irqsave(&srq->rq.lock, irq);
	cons = srq->rq.cons;
	spin_unlock_irqrestore(&srq->rq.lock, irq);
	return cons;
}

/**
 * iwt_srq_move() - replace the ring, and copy the posted receives to the new ring in order
 * @srq: queue; srq->change is held. A process must not post meanwhile; a kernel consumer may
 * @mem: memory of the new ring, zeroed
 * @entries: size of the new ring, a power of two
 * @limit: new limit, or NULL to keep the present limit; the new ring is large enough for the
 *	present limit, which never exceeds the number of posted receives
 *
 * Streams may take receives meanwhile. May sleep.
 *
 * Return: 0; -EINVAL when more receives are posted than the new ring has entries, when @limit
 * exceeds the number of these entries, or when the producer index is invalid; -EAGAIN when
 * receives are posted faster than they can be copied.
 */
int iwt_srq_move(struct iwt_srq *srq, void *mem, u32 entries, const u32 *limit)
{
	u32 rounds = 4 * (srq->rq.entries / MOVE_STEP + 1);
	u32 at = first_left(srq);
	struct iwt_ring to;
	int done;

	lockdep_assert_held(&srq->change);
	if (limit && *limit > entries)
		return -EINVAL;
	iwt_ring_init(&to, mem, entries, srq->rq.ring.stride);
	do {
		done = move_step(srq, &to, &at, limit);
		if (done)
			return min(done, 0);
		cond_resched();
	} while (--rounds);
	return -EAGAIN;
}

/**
 * iwt_srq_query() - read the size and the limit of the queue
 * @srq: queue
 * @attr: receives the size and the limit
 *
 * Any context.
 */
void iwt_srq_query(struct iwt_srq *srq, struct ib_srq_attr *attr)
{
	unsigned long irq;

	spin_lock_irqsave(&srq->rq.lock, irq);
	attr->max_wr = srq->rq.entries;
	attr->max_sge = srq->rq.sge_max;
	attr->srq_limit = srq->limit;
	spin_unlock_irqrestore(&srq->rq.lock, irq);
}
