/* SPDX-License-Identifier: GPL-2.0 */
/* The shared receive queue: receives for the Sends of several streams. */
#ifndef IWT_SRQ_H
#define IWT_SRQ_H

#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "async_event.h"
#include "rq.h"

struct iwt_mmap;

/* Progress of a stream that waits for a receive. */
enum iwt_srq_wait {
	IWT_SRQ_AWAY,		/* does not wait */
	IWT_SRQ_WAITS,		/* is in the list of the queue */
	IWT_SRQ_WOKEN,		/* was woken; a receive is reserved for this stream */
};

/**
 * struct iwt_srq_waiter - a stream that may wait for a receive
 * @node: entry in iwt_srq.waiting, with %IWT_SRQ_WAITS
 * @wait: progress; rq.lock guards @node and @wait, but a stream may read its own @wait without
 *	the lock: only the stream itself begins and ends a wait (%IWT_SRQ_AWAY)
 * @wake: runs the engines of the stream; called with rq.lock held
 */
struct iwt_srq_waiter {
	struct list_head node;
	enum iwt_srq_wait wait;
	void (*wake)(struct iwt_srq_waiter *w);
};

/**
 * struct iwt_srq - shared receive queue
 * @ibsrq: verbs object
 * @rq: ring and its consumer side. Streams on several processors take receives, so rq.lock guards
 *	all fields of @rq; rq.lock is acquired inside the lock of the stream
 * @user: the ring is shared with a process, which posts to it without a system call
 * @failed: a process has written an invalid index or an invalid number of elements into the ring:
 *	no stream takes a receive any more; rq.lock guards @failed and @limit
 * @rings: true: the process rings the doorbell if IWT_RING_NEED_WAKEUP is set in the ring; false:
 *	the process does not know this doorbell, so @timer looks for posts
 * @waiting: streams that wait for a receive, in the order in which they began; rq.lock guards
 *	this list and @woken
 * @woken: number of streams that were woken and have not taken their receive
 * @timer: wakes streams, if the process does not ring the doorbell
 * @limit: an event is reported when fewer than this number of receives are left; 0: no event is
 *	requested
 * @async: asynchronous events of the queue
 * @end_streams: ends the streams of the queue pairs that use the queue, when the queue has
 *	failed. Process context, may sleep
 * @change: held during a modification of the queue; guards the fields below
 * @map: mapping of a user queue's ring
 * @mem: ring memory of a kernel queue
 * @spare: mapping of the ring for the next resize (IWT_METHOD_SRQ_NEW_RING), or NULL
 * @spare_entries: number of entries of the ring of @spare
 */
struct iwt_srq {
	struct ib_srq ibsrq;
	struct iwt_rq rq;
	bool user;
	bool failed;
	bool rings;
	struct list_head waiting;
	u32 woken;
	struct hrtimer timer;
	u32 limit;
	struct iwt_async async;
	void (*end_streams)(struct iwt_srq *srq);
	struct mutex change; /* one modification at a time */
	struct iwt_mmap *map;
	void *mem;
	struct iwt_mmap *spare;
	u32 spare_entries;
};

static inline struct iwt_srq *to_iwt_srq(struct ib_srq *srq)
{
	return container_of(srq, struct iwt_srq, ibsrq);
}

/* Is the stream still waiting for a receive? @w: waiter of the stream; its lock is held. */
static inline bool iwt_srq_is_waiting(const struct iwt_srq_waiter *w)
{
	return READ_ONCE(w->wait) == IWT_SRQ_WAITS;
}

#ifdef CONFIG_INFINIBAND_IW_TCP_SRQ
void iwt_srq_setup(struct iwt_srq *srq, void *mem, u32 entries, u32 max_sge);
void iwt_srq_quiesce(struct iwt_srq *srq);
int iwt_srq_post(struct iwt_srq *srq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad);
int iwt_srq_next(struct iwt_srq *srq, struct iwt_rwqe *wqe);
int iwt_srq_next_or_wait(struct iwt_srq *srq, struct iwt_rwqe *wqe,
			 struct iwt_srq_waiter *w, bool wait);
void iwt_srq_leave(struct iwt_srq *srq, struct iwt_srq_waiter *w);
void iwt_srq_wake(struct iwt_srq *srq);
int iwt_srq_set_limit(struct iwt_srq *srq, u32 limit);
int iwt_srq_move(struct iwt_srq *srq, void *mem, u32 entries, const u32 *limit);
void iwt_srq_query(struct iwt_srq *srq, struct ib_srq_attr *attr);
#else
static inline int iwt_srq_next(struct iwt_srq *srq, struct iwt_rwqe *wqe)
{
	return -EOPNOTSUPP;
}

static inline int iwt_srq_next_or_wait(struct iwt_srq *srq, struct iwt_rwqe *wqe,
				       struct iwt_srq_waiter *w, bool wait)
{
	return -EOPNOTSUPP;
}

static inline void iwt_srq_leave(struct iwt_srq *srq, struct iwt_srq_waiter *w)
{
}
#endif

#endif
