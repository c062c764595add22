/* SPDX-License-Identifier: GPL-2.0 */
/* The shared receive queue: receives for the Sends of several streams. */
#ifndef IWT_SRQ_H
#define IWT_SRQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "async_event.h"
#include "rq.h"

struct iwt_mmap;

/**
 * struct iwt_srq - shared receive queue
 * @ibsrq: verbs object
 * @rq: ring and its consumer side. Streams on several processors take receives, so rq.lock guards
 *	all fields of @rq; rq.lock is acquired inside the lock of the stream
 * @user: the ring is shared with a process, which posts to it without a system call
 * @failed: a process has written an invalid index or list into the ring: no stream takes a
 *	receive any more; rq.lock guards @failed and @limit
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

#ifdef CONFIG_INFINIBAND_IW_TCP_SRQ
void iwt_srq_setup(struct iwt_srq *srq, void *mem, u32 entries, u32 max_sge);
void iwt_srq_quiesce(struct iwt_srq *srq);
int iwt_srq_post(struct iwt_srq *srq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad);
int iwt_srq_next(struct iwt_srq *srq, struct iwt_rwqe *wqe);
bool iwt_srq_has(struct iwt_srq *srq);
int iwt_srq_set_limit(struct iwt_srq *srq, u32 limit);
int iwt_srq_move(struct iwt_srq *srq, void *mem, u32 entries, const u32 *limit);
void iwt_srq_query(struct iwt_srq *srq, struct ib_srq_attr *attr);
#else
static inline int iwt_srq_next(struct iwt_srq *srq, struct iwt_rwqe *wqe)
{
	return -EOPNOTSUPP;
}

static inline bool iwt_srq_has(struct iwt_srq *srq)
{
	return true;
}
#endif

#endif
