/* SPDX-License-Identifier: GPL-2.0 */
/* The receive queue: each Send or Immediate Data of the peer consumes the oldest receive. */
#ifndef IWT_RQ_H
#define IWT_RQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "ring.h"

struct iwt_cq;
struct iwt_srq;

/* A private copy of one receive work request, with room for the maximum number of elements. */
struct iwt_rwqe {
	u64 wr_id;
	u64 len;	/* sum of the lengths of the elements, in bytes */
	u32 num_sge;
	struct iwt_sge sge[];
};

/**
 * struct iwt_rq - receive queue
 * @ring: shared ring; unused when @entries is 0
 * @lock: guards the posts of a kernel consumer; in a shared receive queue, all members
 * @cq: completion queue of the receives
 * @srq: shared receive queue that supplies the receives, or NULL; with @srq, @entries is 0
 * @entries: number of entries of the ring; 0 without a ring
 * @cons: index of the next receive to take; with @srq, the number of receives that this queue
 *	pair has taken from @srq; guarded by the lock of the stream
 * @sge_max: maximum number of elements of a receive
 * @lost: a completion was lost, because @cq is full, or @srq has failed: the stream has to end;
 *	guarded by the lock of the stream
 * @wqe: memory for the private copy of one receive, for iwt_rq_next()
 */
struct iwt_rq {
	struct iwt_ring ring;
	spinlock_t lock;
	struct iwt_cq *cq;
	struct iwt_srq *srq;
	u32 entries;
	u32 cons;
	u8 sge_max;
	bool lost;
	struct iwt_rwqe *wqe;
};

int iwt_rq_init(struct iwt_rq *rq, void *mem, u32 entries, u32 max_sge,
		gfp_t gfp);
void iwt_rq_set_ring(struct iwt_rq *rq, void *mem, u32 entries, u32 max_sge);
void iwt_rq_free(struct iwt_rq *rq);
u32 iwt_rq_stride(u32 max_sge);
int iwt_rq_post(struct iwt_rq *rq, const struct ib_recv_wr *wr);
int iwt_rq_next(struct iwt_rq *rq, struct iwt_rwqe *wqe);
/* Return: true if posted receives are left. */
bool iwt_rq_flush(struct iwt_rq *rq, struct ib_qp *qp, u32 max);
void iwt_rq_drop(struct iwt_rq *rq);
void iwt_rq_complete(struct iwt_rq *rq, struct ib_qp *qp, struct iwt_cqe *cqe);
void iwt_rq_fail(struct iwt_rq *rq, struct ib_qp *qp, u64 wr_id,
		 enum ib_wc_status status);

#endif
