/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues. */
#ifndef IWT_CQ_H
#define IWT_CQ_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "async_event.h"
#include "ring.h"
#include "wake.h"

struct iwt_mmap;

/* An entry in the queue of a kernel consumer: a completion with its queue pair. */
struct iwt_kcqe {
	struct iwt_cqe e;
	struct ib_qp *qp;
};

/**
 * struct iwt_cq_part - memory of the entries of a completion queue after a resize
 * @ent: first entry, or NULL if the part does not exist
 * @mask: number of entries minus one
 * @map: separate memory of the entries; NULL if the entries follow the control words of the ring
 * @compat_mem: see compat_cq_user_resize
 */
struct iwt_cq_part {
	u8 *ent;
	u32 mask;
	struct iwt_mmap *map;
	void *compat_mem;
};

/**
 * struct iwt_cq - completion queue
 * @ibcq: verbs object
 * @ring: the ring, which the kernel shares with the process of a user queue. After a resize its
 *	entries may be in separate memory (cq_resize.c); @lock guards the address of the entries
 * @lock: guards the ring's kernel side, and the fields that are marked __guarded_by(&lock); any
 *	context, irqs off
 * @prod: the kernel's own producer index
 * @room: maximum number of entries in use at a time
 * @user: true: queue of a process, with entries of struct iwt_cqe; false: queue of a kernel
 *	consumer, with entries of struct iwt_kcqe
 * @stamped: queue of a process: a struct iwt_cqe_time follows each entry
 * @moving: each completion is also written to @next
 * @flags: flags that the process reads (enum iwt_ring_flags)
 * @mod_count: number of completions for one event; 0 if events are not delayed
 * @mod_period: maximum delay of an event in microseconds
 * @credit: number of events that a process may still request through the arm word of the ring,
 *	without a system call
 * @asked: enum iwt_cq_arm; replaces the arm word of the ring when @credit is 0
 * @held: number of completions that the delayed event will report; 0 if no event is delayed
 * @timer: raises the delayed event
 * @map: mapping of a user queue
 * @mem: ring memory of a kernel queue
 * @notify: runs a kernel consumer's own handler: never inside post_send, and never twice at the
 *	same time (rules in the kernel's Documentation/infiniband/core_locking.rst)
 * @async: asynchronous event of the queue: completions are lost
 * @raw_offset: nanoseconds by which the process's CLOCK_MONOTONIC_RAW is ahead of the kernel's
 * @first: number of entries after the control words; their memory exists as long as the queue
 * @part: memory of the entries in use; if @part.ent is NULL, the @first entries are in use
 * @next: memory of the entries to which the process is moving; @next.ent is NULL if the process
 *	is not moving
 * @resizing: held during a step of a resize; @part and @next are written with @resizing and @lock
 *	held, so the holder of either lock may read them
 * @poll: send queues; the process flushes their posts when it polls this queue (wake_cqpoll.c)
 */
struct iwt_cq {
	struct ib_cq ibcq;
	struct iwt_ring ring;
	spinlock_t lock;
	u32 prod __guarded_by(&lock);
	u32 room __guarded_by(&lock);
	bool user;
	bool stamped;
	bool moving __guarded_by(&lock);
	u32 flags __guarded_by(&lock);
	u16 mod_count __guarded_by(&lock);
	u16 mod_period __guarded_by(&lock);
	u32 credit __guarded_by(&lock);
	u32 asked __guarded_by(&lock);
	u32 held __guarded_by(&lock);
	struct hrtimer timer;
	struct iwt_mmap *map;
	void *mem;
	struct work_struct notify;
	struct iwt_async async;
	s64 raw_offset;
	u32 first;
	struct iwt_cq_part part;
	struct iwt_cq_part next;
	struct mutex resizing;
	struct iwt_cqpoll poll;
};

static inline struct iwt_cq *to_iwt_cq(struct ib_cq *cq)
{
	return container_of(cq, struct iwt_cq, ibcq);
}

/* Return: address of the entry with the index @idx in a part. */
static inline void *iwt_cq_part_at(const struct iwt_cq *cq, const struct iwt_cq_part *part,
				   u32 idx)
{
	return part->ent + (size_t)(idx & part->mask) * cq->ring.stride;
}

/* Are there completions that the consumer has not taken? Any context; may be outdated. */
static inline bool iwt_cq_untaken(const struct iwt_cq *cq)
{
	/* read without the lock */
	return context_unsafe(READ_ONCE(cq->prod)) != READ_ONCE(cq->ring.ctl->cons);
}

/*
 * Does RDMA core poll the queue for a kernel consumer (ib_alloc_cq())? Then the work requests of
 * its queue pairs point to a struct ib_cqe, and core ignores completions of other requests.
 */
static inline bool iwt_cq_core_polls(const struct iwt_cq *cq)
{
	return cq->ibcq.wc;
}

/* Does the arm word of the ring request an event? Any context; may be outdated. */
static inline bool iwt_cq_armed(const struct iwt_cq *cq)
{
	return READ_ONCE(cq->ring.ctl->arm) != IWT_CQ_ARM_NONE;
}

void iwt_cq_setup(struct iwt_cq *cq, void *mem, u32 entries);
void iwt_cq_quiesce(struct iwt_cq *cq);
u32 iwt_cq_stride(const struct iwt_cq *cq);
/* Return: false if the queue is full or has overrun: the completion is lost. */
bool iwt_cq_push(struct iwt_cq *cq, const struct iwt_cqe *cqe, struct ib_qp *qp);
void iwt_cq_set_flag(struct iwt_cq *cq, u32 flag, bool on);
int iwt_cq_poll(struct iwt_cq *cq, int n, struct ib_wc *wc);
int iwt_cq_arm(struct iwt_cq *cq, enum ib_cq_notify_flags flags);
void iwt_cq_ask(struct iwt_cq *cq, bool solicited, bool at_once);
void iwt_cq_moderate(struct iwt_cq *cq, u16 count, u16 period);
void iwt_cq_clean(struct iwt_cq *cq, const struct ib_qp *qp);

/* cq_resize.c */
#ifdef CONFIG_INFINIBAND_IW_TCP_RESIZE
int iwt_cq_resize(struct iwt_cq *cq, struct ib_ucontext *uc, u32 cqe,
		  struct iwt_resize_cq_resp *resp);
int iwt_cq_resized(struct iwt_cq *cq, bool moved);
void iwt_cq_free_parts(struct iwt_cq *cq);
#else
static inline int iwt_cq_resize(struct iwt_cq *cq, struct ib_ucontext *uc, u32 cqe,
				struct iwt_resize_cq_resp *resp)
{
	return -EOPNOTSUPP;
}

static inline int iwt_cq_resized(struct iwt_cq *cq, bool moved)
{
	return -EOPNOTSUPP;
}

static inline void iwt_cq_free_parts(struct iwt_cq *cq)
{
}
#endif

#endif
