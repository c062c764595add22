/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the engines learn that a process has posted work requests. There are several ways, which
 * wake_doorbell.c describes.
 *
 *	wake_doorbell.c	the doorbell; the history of doorbells decides when another way begins
 *	wake_sqpoll.c	a worker polls one send queue
 *	wake_cqpoll.c	a process flushes its posts when it polls a completion queue
 *	wake_reply.c	the engine spins for a reply; the state of the spin is in stream.h
 *	wake_migrate.c	during a long send, the engines leave a processor that other threads need
 *	wake_cpu.c	selects the processor for a worker
 *	wake_habit.c	counts the events after which one of these ways begins
 *
 * The beginning and the end of a way are decisions of policy (wake_habit.h): a wrong decision
 * makes the driver slower, but no post is lost. One rule is not policy: a poller that decrements
 * iwt_stream.pollers must run the engines once more after that.
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
 * @habit: number of doorbells in a row, in quick succession, after which the worker starts; no
 *	lock guards this field and the fields below, so they may be inexact
 * @prod: producer index of the send queue at the last doorbell
 * @rx_pos: value of iwt_rx.pos at the last doorbell for a request
 * @poster: processor of the doorbell that started the worker
 * @cpu: processor for the worker, nr_cpu_ids if no processor is known
 */
struct iwt_sqpoll {
	struct work_struct work;
	bool on;
	struct iwt_habit habit;
	u32 prod;
	u32 rx_pos;
	u32 poster;
	u32 cpu;
};

/**
 * struct iwt_migrate - engines that may move to another processor
 * @work: runs the engines on the other processor
 * @habit: counts how often the engines have used up their budget on a processor that other
 *	threads need; @habit.last_ns is the time of the last migration; guarded by the lock of
 *	the stream
 * @from: processor that the engines leave; no lock guards @from and @cpu, so they may be outdated
 * @cpu: processor to migrate to, nr_cpu_ids if no processor is known
 */
struct iwt_migrate {
	struct work_struct work;
	struct iwt_habit habit;
	u32 from;
	u32 cpu;
};

/**
 * struct iwt_cqpoll - posts that are flushed by polling a completion queue
 * @lock: guards all fields except @habit and the fields that only the setup writes; taken with BH
 *	off, and outside of the lock of the stream
 * @posted: a bit for each queue pair, which the process sets when it posts; the process has the
 *	bits mapped
 * @bits: number of bits in @posted: a multiple of 32, or 0
 * @top: one more than the number of the highest bit that a queue pair has ever had
 * @members: struct iwt_cqpoll_member of the queue pairs, indexed by the numbers of their bits
 * @on: the process is requested to defer and to flush its posts
 * @flushes: calls of iwt_cqpoll_flush() in progress
 * @seen_ns: when the last call of iwt_cqpoll_flush() ended, or when the timer last ran the
 *	engines in place of such a call, in nanoseconds
 * @missed: how often the timer ran the engines since the last call of iwt_cqpoll_flush()
 * @late: since the last call, the timer has found posts that the process had not flushed
 * @found: requests that the calls in progress have found, perhaps inexact if several calls are in
 *	progress
 * @poor: number of calls in a row that found at most one request each, so that a doorbell would
 *	have done the same
 * @quiet_ns: earliest time at which posts may be deferred again, in nanoseconds
 * @wait_ns: if the deferring of posts ends because of @late or @poor, posts are not deferred
 *	again for this number of nanoseconds
 * @timer: runs the engines if the process does not call IWT_METHOD_CQ_POLL in time
 * @habit: number of doorbells in a row, in quick succession, after which posts are deferred; no
 *	lock guards this field, so it may be inexact
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
 * @bit: number of the bit of @qp in iwt_cqpoll.posted, or %IWT_NO_BIT
 * @on: the posts to @qp are deferred, so the process need not ring its doorbell; guarded by
 *	iwt_cqpoll.lock
 */
struct iwt_cqpoll_member {
	struct iwt_qp *qp;
	u32 bit;
	bool on;
};

/* Size in bytes of iwt_cqpoll.posted. @entries: size of the completion queue, a power of two. */
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
