/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the engines hear of what a process posts. wake_doorbell.c has the whole story.
 *
 *	wake_doorbell.c	the doorbell, and what its history leads to
 *	wake_sqpoll.c	a worker polls one send queue
 *	wake_cqpoll.c	a process flushes its posts when it polls a completion queue
 *	wake_reply.c	the engine spins for a reply; its state is in stream.h
 *	wake_migrate.c	long sends leave a processor that others want
 *	wake_cpu.c	which processor a worker may take
 *	wake_habit.c	how often something has to happen before one of these begins
 *
 * When to begin and to end is policy (wake_habit.h): wrong guesses cost time, never a post. How
 * to end is not: a poller that leaves iwt_stream.pollers runs the engines once more.
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

/* The bit of a queue pair that has none. */
#define IWT_NO_BIT	U32_MAX

/**
 * struct iwt_sqpoll - a worker that polls a process's send queue
 * @work: the worker
 * @on: it polls, so the process need not ring; guarded by the lock of the stream
 * @habit: doorbells in quick succession make the worker begin; a guess, as are the next ones
 * @rx_pos: octets received until the last doorbell
 * @poster: processor where the doorbell was that made the worker begin
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
 * @work: takes them there
 * @habit: budgets that they used up on a processor that others wanted as well make them
 *	migrate; its time is that of the last migration; guarded by the lock of the stream
 * @from: processor where they were then; a guess, as is the next
 * @cpu: processor to go to, nr_cpu_ids if none is known
 */
struct iwt_migrate {
	struct work_struct work;
	struct iwt_habit habit;
	u32 from;
	u32 cpu;
};

/**
 * struct iwt_cqpoll - posts that are flushed by polling a completion queue
 * @lock: guards all but the guesses and what is set up; BH off, outside of the lock of the
 *	stream
 * @posted: a bit for each queue pair that may have been posted to; shared with the process
 * @bits: how many there are, a multiple of 32
 * @top: end of those that any queue pair has had
 * @members: struct iwt_cqpoll_member of the queue pairs, by their bits
 * @on: the process knows that it has to flush
 * @flushes: calls of iwt_cqpoll_flush() under way
 * @seen_ns: end of the last one, or when the timer took its place, in nanoseconds
 * @missed: how often in a row the timer took its place
 * @late: and something had been posted then
 * @found: requests that the calls under way have found; a guess
 * @poor: calls in a row that were no better than doorbells
 * @quiet_ns: when it may begin again, in nanoseconds
 * @wait_ns: nanoseconds from an end with late posts to @quiet_ns
 * @timer: takes the place of a process that does not call
 * @habit: doorbells in quick succession make it begin; a guess
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
 * struct iwt_cqpoll_member - a queue pair at one of its completion queues
 * @qp: queue pair
 * @bit: in iwt_cqpoll.posted, or %IWT_NO_BIT
 * @on: the process need not ring for it; guarded by the lock there
 */
struct iwt_cqpoll_member {
	struct iwt_qp *qp;
	u32 bit;
	bool on;
};

/* Octets of the bits of a completion queue of so many entries, a power of two. */
static inline size_t iwt_cqpoll_bytes(u32 entries)
{
	return max_t(u32, entries, 32) / 8;
}

/* wake_doorbell.c */
void iwt_doorbell(struct iwt_qp *qp);
void iwt_doorbell_setup(struct iwt_qp *qp);
void iwt_doorbell_join(struct iwt_qp *qp);
void iwt_doorbell_end(struct iwt_qp *qp);

/* wake_sqpoll.c */
void iwt_sqpoll_setup(struct iwt_sqpoll *p);
void iwt_sqpoll_rang(struct iwt_qp *qp, bool busy, u64 now);
void iwt_sqpoll_end(struct iwt_qp *qp);

/* wake_cqpoll.c, of a completion queue */
void iwt_cqpoll_setup(struct iwt_cq *cq);
void iwt_cqpoll_allow(struct iwt_cq *cq, u32 entries);
void iwt_cqpoll_flush(struct iwt_cq *cq);
void iwt_cqpoll_end(struct iwt_cq *cq);

/* wake_cqpoll.c, of a queue pair */
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

#endif
