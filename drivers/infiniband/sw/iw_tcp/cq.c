// SPDX-License-Identifier: GPL-2.0
/* Completion queues: add completions, raise events for the consumer. */
#include "cq.h"

#include <linux/timekeeping.h>

#include "dev.h"
#include "stats.h"

/*
 * Maximum number of events that a process may request through the arm word of its ring alone,
 * without a system call in between. Without this limit, a process that does not read its events
 * could store the arm word again and again, and so fill the list of events of uverbs. The memory
 * of this list is not charged to any process.
 */
#define EVENTS_BY_RING	32

/**
 * iwt_cq_stride() - size of an entry of the ring
 * @cq: queue; ->user and ->stamped are already set
 *
 * Any context.
 *
 * Return: the size in bytes.
 */
u32 iwt_cq_stride(const struct iwt_cq *cq)
{
	if (!cq->user)
		return sizeof(struct iwt_kcqe);
	return sizeof(struct iwt_cqe) + (cq->stamped ? sizeof(struct iwt_cqe_time) : 0);
}

static void run_handler(struct work_struct *work)
{
	struct iwt_cq *cq = container_of(work, struct iwt_cq, notify);

	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static void cq_tell(struct iwt_async *async, enum ib_event_type what)
{
	struct iwt_cq *cq = container_of(async, struct iwt_cq, async);
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = what,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
}

static void put_flag(struct iwt_cq *cq, u32 flag, bool on)
	__must_hold(&cq->lock)
{
	WRITE_ONCE(cq->flags, on ? cq->flags | flag : cq->flags & ~flag);
	WRITE_ONCE(cq->ring.ctl->flags, cq->flags);
}

/* Has the consumer requested an event for an entry with @flags (enum iwt_wc_flags)? */
static bool is_armed(const struct iwt_cq *cq, u8 flags)
	__must_hold(&cq->lock)
{
	u32 arm;

	smp_mb(); /* prod must be visible before arm is read: see store_arm() */
	arm = cq->credit ? READ_ONCE(cq->ring.ctl->arm) : cq->asked;
	return arm == IWT_CQ_ARM_ANY ||
	       (arm == IWT_CQ_ARM_SOLICITED && flags & IWT_WC_SOLICITED);
}

/*
 * Use one credit: an event that the process may request through the arm word alone. When the
 * last credit is used, set the flag IWT_RING_ARM_BY_CALL, which requires the process to arm by a
 * system call, and read the arm word once more. The process stores the word before it reads the
 * flag. So either the process sees the flag and makes the call, or this function sees the stored
 * word (as in iwt_ring_sleep(); tests/unit/event_model.py tries all orders). While there is no
 * credit, cq->asked replaces the word.
 */
static void spend(struct iwt_cq *cq)
	__must_hold(&cq->lock)
{
	if (!cq->user || !cq->credit || --cq->credit)
		return;
	put_flag(cq, IWT_RING_ARM_BY_CALL, true);
	smp_mb(); /* the flag must be visible before the word is read */
	cq->asked = READ_ONCE(cq->ring.ctl->arm);
}

static void cq_disarm(struct iwt_cq *cq)
	__must_hold(&cq->lock)
{
	WRITE_ONCE(cq->ring.ctl->arm, IWT_CQ_ARM_NONE);
	cq->asked = IWT_CQ_ARM_NONE;
	cq->held = 0;
	spend(cq);
}

/*
 * Does the completion handler only schedule work? The handler of uverbs wakes the reader. If the
 * RDMA core polls a queue for a kernel consumer (->wc is not NULL), the handler of the RDMA core
 * queues the polling. A consumer's own handler may run any code, and may take locks that the
 * caller of this function holds.
 */
static bool only_schedules(const struct iwt_cq *cq)
{
	return cq->user || cq->ibcq.wc;
}

/*
 * Call the handler directly if possible, otherwise in a work item of system_bh_wq. The work item
 * may add a context switch to each message: for example, if a bottom half queues the work item
 * while a thread waits for the processor, ksoftirqd runs the work item.
 */
static void cq_raise(struct iwt_cq *cq)
{
	if (only_schedules(cq))
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	else
		queue_work(system_bh_wq, &cq->notify);
}

/*
 * Raise the delayed event, if there is one. If the consumer has meanwhile taken all completions,
 * no event is needed.
 */
static void raise_held(struct iwt_cq *cq)
{
	unsigned long irq;
	bool notify;

	spin_lock_irqsave(&cq->lock, irq);
	notify = cq->held && iwt_cq_untaken(cq);
	cq->held = 0;
	if (notify)
		cq_disarm(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	if (notify)
		cq_raise(cq);
}

static enum hrtimer_restart period_over(struct hrtimer *timer)
{
	raise_held(container_of(timer, struct iwt_cq, timer));
	return HRTIMER_NORESTART;
}

/*
 * Count a completion, and decide whether its event is delayed. The timer limits the delay.
 * The event for a failure is never delayed. Return: true if the event is delayed.
 */
static bool delay(struct iwt_cq *cq, const struct iwt_cqe *cqe)
	__must_hold(&cq->lock)
{
	if (!cq->mod_count || cqe->status != IB_WC_SUCCESS)
		return false;
	if (++cq->held >= cq->mod_count)
		return false;
	if (cq->held == 1)
		hrtimer_start(&cq->timer,
			      ns_to_ktime(cq->mod_period * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

/**
 * iwt_cq_setup() - set up a completion queue on ring memory
 * @cq: queue; ->user and ->stamped are already set
 * @mem: ring memory of iwt_ring_bytes() bytes, zeroed
 * @entries: number of entries, a power of two
 *
 * Never sleeps.
 */
void iwt_cq_setup(struct iwt_cq *cq, void *mem, u32 entries)
	__context_unsafe(/* no other processor can access the queue yet */)
{
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resizing);
	cq->first = entries;
	cq->room = entries;
	cq->credit = EVENTS_BY_RING;
	INIT_WORK(&cq->notify, run_handler);
	iwt_async_setup(&cq->async, cq_tell);
	hrtimer_setup(&cq->timer, period_over, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	iwt_ring_init(&cq->ring, mem, entries, iwt_cq_stride(cq));
	cq->prod = IWT_FIRST;
}

/**
 * iwt_cq_quiesce() - wait for the handlers that run, and prevent further calls of handlers
 * @cq: queue that no queue pair uses any more
 *
 * May sleep.
 */
void iwt_cq_quiesce(struct iwt_cq *cq)
{
	hrtimer_cancel(&cq->timer);
	cancel_work_sync(&cq->notify);
	iwt_async_quiesce(&cq->async);
}

/* Write the time of a completion into the ring, after the entry of the completion. */
static void put_time(const struct iwt_cq *cq, struct iwt_cqe_time *at)
{
	*at = (struct iwt_cqe_time) {
		.raw = ktime_get_raw_ns() + cq->raw_offset,
		.wallclock = ktime_get_real_ns(),
	};
}

static void put_user_entry(struct iwt_cq *cq, void *at, const struct iwt_cqe *cqe)
	__must_hold(&cq->lock)
{
	memcpy(at, cqe, sizeof(*cqe));
	if (cq->stamped)
		put_time(cq, at + sizeof(*cqe));
	/* this reads memory that the process can write: a wrong entry harms only the process */
	if (unlikely(cq->moving))
		memcpy(iwt_cq_part_at(cq, &cq->next, cq->prod), at, cq->ring.stride);
}

static void put_entry(struct iwt_cq *cq, const struct iwt_cqe *cqe,
		      struct ib_qp *qp)
	__must_hold(&cq->lock)
{
	void *at = iwt_ring_at(&cq->ring, cq->prod);

	if (cq->user) {
		put_user_entry(cq, at, cqe);
	} else {
		struct iwt_kcqe *k = at;

		k->e = *cqe;
		k->qp = qp;
	}
	/* iwt_cq_untaken() reads prod without the lock */
	WRITE_ONCE(cq->prod, cq->prod + 1);
	iwt_ring_set_prod(&cq->ring, cq->prod);
}

/**
 * iwt_cq_set_flag() - set or clear a flag that the process reads
 * @cq: queue of the process
 * @flag: flag of enum iwt_ring_flags
 * @on: true: set the flag; false: clear the flag
 *
 * Any context.
 */
void iwt_cq_set_flag(struct iwt_cq *cq, u32 flag, bool on)
{
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	put_flag(cq, flag, on);
	spin_unlock_irqrestore(&cq->lock, irq);
}

static void lost_entry(struct iwt_cq *cq)
	__must_hold(&cq->lock)
{
	if (cq->flags & IWT_RING_OVERRUN)
		return;
	put_flag(cq, IWT_RING_OVERRUN, true);
	iwt_count(to_iwt_dev(cq->ibcq.device), IWT_C_CQ_OVERRUN);
	iwt_async_raise(&cq->async, IB_EVENT_CQ_ERR);
}

/**
 * iwt_cq_push() - add a completion, and raise an event if the consumer has requested one
 * @cq: queue
 * @cqe: completion
 * @qp: queue pair of the completion
 *
 * Any context that may take a spinlock. This function only compares the consumer index, which a
 * process can overwrite: an invalid index loses only completions of that process.
 *
 * Return: true; false when the queue is full, or has overrun before: the completion is lost, and
 * the stream of @qp has to end (iwt_qp_check_overrun()).
 */
bool iwt_cq_push(struct iwt_cq *cq, const struct iwt_cqe *cqe, struct ib_qp *qp)
{
	bool notify = false, room;
	unsigned long irq;
	u32 used;

	spin_lock_irqsave(&cq->lock, irq);
	used = cq->prod - READ_ONCE(cq->ring.ctl->cons);
	room = used < cq->room && !(cq->flags & IWT_RING_OVERRUN);
	if (!room) {
		lost_entry(cq);
	} else {
		put_entry(cq, cqe, qp);
		notify = is_armed(cq, cqe->flags) && !delay(cq, cqe);
		if (notify)
			cq_disarm(cq);
	}
	spin_unlock_irqrestore(&cq->lock, irq);

	if (notify)
		cq_raise(cq);
	return room;
}

/* The switch has no default, so that the compiler reports an operation without a case. */
static enum ib_wc_opcode ib_wc_of(enum iwt_wc_opcode op)
{
	switch (op) {
	case IWT_WC_SEND:
		return IB_WC_SEND;
	case IWT_WC_WRITE:
		return IB_WC_RDMA_WRITE;
	case IWT_WC_READ:
		return IB_WC_RDMA_READ;
	case IWT_WC_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case IWT_WC_REG_MR:
		return IB_WC_REG_MR;
	case IWT_WC_RECV:
		return IB_WC_RECV;
	case IWT_WC_RECV_RDMA_WITH_IMM:
		return IB_WC_RECV_RDMA_WITH_IMM;
	case IWT_WC_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case IWT_WC_COMP_SWAP:
		return IB_WC_COMP_SWAP;
	case IWT_WC_MASKED_FETCH_ADD:
		return IB_WC_MASKED_FETCH_ADD;
	case IWT_WC_MASKED_COMP_SWAP:
		return IB_WC_MASKED_COMP_SWAP;
	case IWT_WC_BIND_MW:
		break;	/* only processes can post this request */
	}
	return IB_WC_SEND;
}

static void fill_wc(const struct iwt_kcqe *k, struct ib_wc *wc)
{
	*wc = (struct ib_wc) {
		.wr_id = k->e.wr_id,
		.status = k->e.status,
		.opcode = ib_wc_of(k->e.opcode),
		.vendor_err = k->e.vendor_err,
		.byte_len = k->e.byte_len,
		.qp = k->qp,
		.port_num = 1,
	};
	if (k->e.flags & IWT_WC_WITH_INVALIDATE) {
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = k->e.ex;
	}
	if (k->e.flags & IWT_WC_WITH_IMM) {
		wc->wc_flags = IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)k->e.ex;
	}
}

/**
 * iwt_cq_poll() - remove completions from a kernel consumer's queue
 * @cq: queue
 * @n: number of entries of @wc
 * @wc: receives the completions
 *
 * Any context.
 *
 * Return: number of completions.
 */
int iwt_cq_poll(struct iwt_cq *cq, int n, struct ib_wc *wc)
{
	unsigned long irq;
	int got = 0;
	u32 cons;

	spin_lock_irqsave(&cq->lock, irq);
	cons = cq->ring.ctl->cons;
	while (got < n && cons != cq->prod) {
		const struct iwt_kcqe *k = iwt_ring_at(&cq->ring, cons++);

		/* completions of a destroyed queue pair are dropped */
		if (k->qp)
			fill_wc(k, &wc[got++]);
	}
	iwt_ring_set_cons(&cq->ring, cons);
	spin_unlock_irqrestore(&cq->lock, irq);
	return got;
}

/*
 * Store the arm word, with the barrier that pairs with is_armed(): this function stores the word
 * before its caller reads the ring, and iwt_cq_push() writes the ring before it reads the word.
 * So no completion is missed. cq->lock is held.
 */
static void store_arm(struct iwt_cq *cq, bool solicited)
{
	u32 *arm = &cq->ring.ctl->arm;

	/* a request for all completions stays in force, even if a thread stores it just now */
	if (solicited)
		cmpxchg(arm, IWT_CQ_ARM_NONE, IWT_CQ_ARM_SOLICITED);
	else
		WRITE_ONCE(*arm, IWT_CQ_ARM_ANY);
	smp_mb(); /* pairs with is_armed() */
}

/**
 * iwt_cq_arm() - a kernel consumer requests one call of its completion handler
 * @cq: queue of the kernel consumer
 * @flags: all or only solicited completions, and IB_CQ_REPORT_MISSED_EVENTS
 *
 * Any context.
 *
 * Return: 1 if the queue already contains completions and @flags contains
 * IB_CQ_REPORT_MISSED_EVENTS, else 0.
 */
int iwt_cq_arm(struct iwt_cq *cq, enum ib_cq_notify_flags flags)
{
	unsigned long irq;
	bool missed;

	spin_lock_irqsave(&cq->lock, irq);
	store_arm(cq, (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED);
	missed = iwt_cq_untaken(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed && (flags & IB_CQ_REPORT_MISSED_EVENTS);
}

/**
 * iwt_cq_ask() - a process requests one event by a system call
 * @cq: queue of the process
 * @solicited: for solicited completions only
 * @at_once: raise the event at once if the queue already contains completions, unless the queue
 *	is armed for solicited completions only
 *
 * A process that has credit requests events without a system call: the process stores the arm
 * word of its ring. This function restores the credit. Any context.
 */
void iwt_cq_ask(struct iwt_cq *cq, bool solicited, bool at_once)
{
	unsigned long irq;
	bool notify;

	spin_lock_irqsave(&cq->lock, irq);
	/* restore the credit before the process sees that it may arm without a call */
	cq->credit = EVENTS_BY_RING;
	put_flag(cq, IWT_RING_ARM_BY_CALL, false);
	store_arm(cq, solicited);
	notify = at_once && iwt_cq_untaken(cq) && is_armed(cq, 0);
	if (notify)
		cq_disarm(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	if (notify)
		cq_raise(cq);
}

/**
 * iwt_cq_moderate() - raise one event for several completions
 * @cq: queue
 * @count: completions for each event
 * @period: maximum delay of the event after the first completion, in microseconds
 *
 * Events are delayed only if @count is above 1 and @period is not 0, so that no event is delayed
 * for ever. Events for failures are never delayed. Any context.
 */
void iwt_cq_moderate(struct iwt_cq *cq, u16 count, u16 period)
{
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	cq->mod_count = count > 1 && period ? count : 0;
	cq->mod_period = period;
	spin_unlock_irqrestore(&cq->lock, irq);
	/* raise an event that the old settings have delayed */
	raise_held(cq);
}

/*
 * Raise a delayed event now. If the RDMA core polls a queue for a kernel consumer, the RDMA core
 * stops polling before it destroys the queue. Afterwards the timer must not start the polling
 * again.
 */
static void raise_now(struct iwt_cq *cq)
{
	hrtimer_cancel(&cq->timer);
	raise_held(cq);
}

/**
 * iwt_cq_clean() - drop the completions of a queue pair that is being destroyed
 * @cq: queue
 * @qp: queue pair, which adds no completions any more
 *
 * This function changes only the queue of a kernel consumer: the userspace provider drops the
 * completions from the queue of a process. A delayed event is raised, so when the last queue pair
 * is destroyed, no event is delayed any more. May sleep.
 */
void iwt_cq_clean(struct iwt_cq *cq, const struct ib_qp *qp)
{
	unsigned long irq;
	u32 i;

	if (cq->user)
		return;
	raise_now(cq);
	spin_lock_irqsave(&cq->lock, irq);
	for (i = cq->ring.ctl->cons; i != cq->prod; i++) {
		struct iwt_kcqe *k = iwt_ring_at(&cq->ring, i);

		if (k->qp == qp)
			k->qp = NULL;
	}
	spin_unlock_irqrestore(&cq->lock, irq);
}
