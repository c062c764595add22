/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the engines learn that a process has posted work requests. wake_doorbell.c describes all
 * ways.
 *
 *	wake_doorbell.c	the doorbell; the history of doorbells selects one of these ways
 *	wake_sqpoll.c	a worker polls one send queue
 *	wake_cqpoll.c	a process flushes its posts when it polls a completion queue
 *	wake_reply.c	the engine spins for a reply; its state is in stream.h
 *	wake_migrate.c	long sends leave a processor that other threads need
 *	wake_cpu.c	selects the processor for a worker
 *	wake_habit.c	counts how often an event has to occur before one of these begins
 *
 * When to begin and when to end is policy (wake_habit.h): a wrong decision costs time, but never
 * loses a post. How to end is not policy: a poller that decrements iwt_stream.pollers must run
 * the engines once more.
 */
#ifndef IWT_WAKE_H
#define IWT_WAKE_H

#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "wake_habit.h"

struct iwt_cq;
struct iwt_qp;

/* Value of iwt_cqpoll_member.bit for a queue pair that has no bit. */
#define IWT_NO_BIT	U32_MAX

/**
 * struct iwt_sqpoll - a worker that polls a process's send queue
 * @work: the worker
 * @on: the worker polls, so the process need not ring the doorbell; guarded by the lock of the
 *	stream
 * @habit: doorbells in quick succession start the worker; not locked and perhaps inexact, as are
 *	the fields below
 * @rx_pos: bytes received until the last doorbell
 * @poster: processor of the doorbell that started the worker
 * @cpu: processor for the worker, nr_cpu_ids if none is known
 */
struct iwt_sqpoll {
	struct work_struct work;
	bool on;
	struct iwt_habit habit;
	u32 rx_pos;
	u32 poster;
	u32 cpu;
};

/**
 * struct iwt_migrate - engines that may move to another processor
 * @work: runs the engines on the other processor
 * @habit: the engines migrate after they have used up several budgets on a processor that other
 *	threads need; @habit.last_ns is the time of the last migration; guarded by the lock of
 *	the stream
 * @from: processor that the engines leave; not locked and perhaps outdated, as is @cpu
 * @cpu: processor to migrate to, nr_cpu_ids if none is known
 */
struct iwt_migrate {
	struct work_struct work;
	struct iwt_habit habit;
	u32 from;
	u32 cpu;
};

/**
 * struct iwt_cqpoll - posts that are flushed by polling a completion queue
 * @lock: guards all fields except @found, @habit and those that setup alone writes; BH off,
 *	outside of the lock of the stream
 * @posted: a bit for each queue pair that may have been posted to; shared with the process
 * @bits: number of bits in @posted, a multiple of 32
 * @top: 1 above the highest bit that a queue pair has ever had
 * @members: struct iwt_cqpoll_member of the queue pairs, indexed by their bits
 * @on: the process is requested to flush its posts
 * @flushes: calls of iwt_cqpoll_flush() in progress
 * @seen_ns: end of the last call, or time when the timer last ran in its place, in nanoseconds
 * @missed: how often in a row the timer ran in place of a call
 * @late: the timer has found posts that the process had not flushed
 * @found: requests that the calls in progress have found; not locked, perhaps inexact
 * @poor: calls in a row that found at most one request, no more than a doorbell serves
 * @quiet_ns: earliest time to begin again, in nanoseconds
 * @wait_ns: if this way ends after late posts or poor calls, @quiet_ns is this many nanoseconds
 *	later
 * @timer: runs the engines in place of a process that does not call
 * @habit: doorbells in quick succession start the deferring of posts; not locked, perhaps inexact
 */
struct iwt_cqpoll {
	spinlock_t lock;
	u32 *posted;
	u32 bits;
	u32 top __guarded_by(&lock);
	struct xarray members;
	bool on __guarded_by(&lock);
	bool late __guarded_by(&lock);
	u32 flushes __guarded_by(&lock);
	u32 missed __guarded_by(&lock);
	u32 found;
	u32 poor __guarded_by(&lock);
	u64 seen_ns __guarded_by(&lock);
	u64 quiet_ns __guarded_by(&lock);
	u64 wait_ns __guarded_by(&lock);
	struct hrtimer timer;
	struct iwt_habit habit;
};

/**
 * struct iwt_cqpoll_member - membership of a queue pair in one of its completion queues
 * @qp: queue pair
 * @bit: bit of the queue pair in iwt_cqpoll.posted, or %IWT_NO_BIT
 * @on: the process need not ring the doorbell of @qp; guarded by iwt_cqpoll.lock
 */
struct iwt_cqpoll_member {
	struct iwt_qp *qp;
	u32 bit;
	bool on;
};

/* Bytes of iwt_cqpoll.posted for a completion queue of @entries entries, a power of two. */
static inline size_t iwt_cqpoll_bytes(u32 entries)
{
	return max_t(u32, entries, 32) / 8;
}

#ifdef CONFIG_INFINIBAND_IW_TCP_POLLING
/* wake_doorbell.c */
void iwt_doorbell(struct iwt_qp *qp);
void iwt_doorbell_setup(struct iwt_qp *qp);
void iwt_doorbell_join(struct iwt_qp *qp);
void iwt_doorbell_end(struct iwt_qp *qp);

/* wake_sqpoll.c */
void iwt_sqpoll_setup(struct iwt_sqpoll *p);
void iwt_sqpoll_rang(struct iwt_qp *qp, bool busy, u64 now);
void iwt_sqpoll_end(struct iwt_qp *qp);

/* wake_cqpoll.c, for a completion queue */
void iwt_cqpoll_setup(struct iwt_cq *cq);
void iwt_cqpoll_allow(struct iwt_cq *cq, u32 entries);
void iwt_cqpoll_flush(struct iwt_cq *cq);
void iwt_cqpoll_end(struct iwt_cq *cq);

/* wake_cqpoll.c, for a queue pair */
void iwt_cqpoll_member_setup(struct iwt_qp *qp);
void iwt_cqpoll_member_join(struct iwt_qp *qp);
void iwt_cqpoll_member_rang(struct iwt_qp *qp, bool streams, u64 before, u64 now);
void iwt_cqpoll_member_end(struct iwt_qp *qp);

/* wake_migrate.c */
void iwt_migrate_setup(struct iwt_migrate *m);
void iwt_migrate_over_budget(struct iwt_qp *qp);
void iwt_migrate_end(struct iwt_qp *qp);

/* wake_cpu.c */
u32 iwt_idle_cpu_next(u32 cpu, u32 near);
u32 iwt_idle_cpu_begin(u32 cpu, struct work_struct *work);
void iwt_idle_cpu_again(struct work_struct *work);
int iwt_idle_cpu_init(void);
void iwt_idle_cpu_exit(void);
#else
#define iwt_doorbell(qp)	iwt_qp_run_sync(qp)

static inline void iwt_doorbell_setup(struct iwt_qp *qp)
{
}

static inline void iwt_doorbell_join(struct iwt_qp *qp)
{
}

static inline void iwt_doorbell_end(struct iwt_qp *qp)
{
}

static inline void iwt_cqpoll_setup(struct iwt_cq *cq)
{
}

static inline void iwt_cqpoll_allow(struct iwt_cq *cq, u32 entries)
{
}

static inline void iwt_cqpoll_flush(struct iwt_cq *cq)
{
}

static inline void iwt_cqpoll_end(struct iwt_cq *cq)
{
}

static inline void iwt_migrate_over_budget(struct iwt_qp *qp)
{
}

static inline int iwt_idle_cpu_init(void)
{
	return 0;
}

static inline void iwt_idle_cpu_exit(void)
{
}
#endif

#endif
