// SPDX-License-Identifier: GPL-2.0
/* The receive queue: the kernel or a process posts; the stream takes receives in order. */
#include "rq.h"

#include <linux/overflow.h>
#include <linux/slab.h>

#include "cq.h"
#include "stats_errors.h"
#include "trace.h"

/* Return: size of a ring entry in bytes, a multiple of 32. @max_sge: elements that must fit. */
u32 iwt_rq_stride(u32 max_sge)
{
	return ALIGN(sizeof(struct iwt_recv_wqe) +
		     max_sge * sizeof(struct iwt_sge), 32);
}

/**
 * iwt_rq_set_ring() - set up the ring of a receive queue
 * @rq: queue
 * @mem: ring memory of iwt_ring_bytes() bytes, zeroed; NULL without a ring
 * @entries: number of entries, a power of two; 0 without a ring
 * @max_sge: elements that must fit into an entry
 *
 * Never sleeps.
 */
void iwt_rq_set_ring(struct iwt_rq *rq, void *mem, u32 entries, u32 max_sge)
{
	rq->sge_max = max_sge;
	rq->entries = entries;
	if (!entries)
		return;
	iwt_ring_init(&rq->ring, mem, entries, iwt_rq_stride(max_sge));
	rq->cons = IWT_FIRST;
}

/**
 * iwt_rq_init() - set up a receive queue on ring memory
 * @rq: queue, zeroed
 * @mem: ring memory of iwt_ring_bytes() bytes, zeroed; NULL without a ring
 * @entries: number of entries, a power of two; 0 without a ring
 * @max_sge: elements that must fit into an entry
 * @gfp: GFP_KERNEL, or GFP_KERNEL_ACCOUNT for the queue of the calling process
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM; the caller calls iwt_rq_free() in either case.
 */
int iwt_rq_init(struct iwt_rq *rq, void *mem, u32 entries, u32 max_sge,
		gfp_t gfp)
{
	rq->wqe = kzalloc(struct_size(rq->wqe, sge, max_sge), gfp);
	if (!rq->wqe)
		return -ENOMEM;
	spin_lock_init(&rq->lock);
	iwt_rq_set_ring(rq, mem, entries, max_sge);
	return 0;
}

/**
 * iwt_rq_free() - release the memory that iwt_rq_init() allocated, if any
 * @rq: queue; the caller has to free the ring memory
 */
void iwt_rq_free(struct iwt_rq *rq)
{
	kfree(rq->wqe);
	rq->wqe = NULL;
}

/**
 * iwt_rq_post() - put a kernel consumer's receive on the ring
 * @rq: queue; rq->lock is held
 * @wr: work request
 *
 * Any context.
 *
 * Return: 0, -ENOMEM when the queue is full, -EINVAL for a receive with too many elements or a
 * queue without a ring.
 */
int iwt_rq_post(struct iwt_rq *rq, const struct ib_recv_wr *wr)
{
	struct iwt_recv_wqe *w;
	struct iwt_sge *to;
	u32 prod;
	int i;

	lockdep_assert_held(&rq->lock);
	if (!rq->entries || wr->num_sge < 0 || wr->num_sge > rq->sge_max)
		return -EINVAL;
	prod = rq->ring.ctl->prod;
	if (prod - READ_ONCE(rq->ring.ctl->cons) > rq->ring.mask)
		return -ENOMEM;

	w = iwt_ring_at(&rq->ring, prod);
	to = (struct iwt_sge *)(w + 1);
	w->wr_id = wr->wr_id;
	w->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		to[i].addr = wr->sg_list[i].addr;
		to[i].length = wr->sg_list[i].length;
		to[i].lkey = wr->sg_list[i].lkey;
	}
	iwt_ring_set_prod(&rq->ring, prod + 1);
	return 0;
}

static bool rq_corrupt(const struct iwt_rq *rq, u32 prod)
{
	return prod - rq->cons > rq->ring.mask + 1;
}

/**
 * iwt_rq_next() - take the next receive
 * @rq: queue; the lock of the stream is held, or the lock of the shared receive queue that @rq
 *	is a part of
 * @wqe: memory for the private copy: @rq->wqe, or a buffer of the same size
 *
 * Return: 1 when a receive was taken, 0 when the queue is empty, -EINVAL when the producer index
 * or the number of elements in the ring is invalid.
 */
int iwt_rq_next(struct iwt_rq *rq, struct iwt_rwqe *wqe)
{
	struct iwt_recv_wqe head;
	const u8 *from;
	u32 prod, i;

	if (!rq->entries)
		return 0;
	prod = iwt_ring_prod(&rq->ring);
	if (prod == rq->cons)
		return 0;
	if (rq_corrupt(rq, prod))
		return -EINVAL;

	from = iwt_ring_at(&rq->ring, rq->cons);
	iwt_ring_read(&head, from, sizeof(head));
	wqe->wr_id = head.wr_id;
	wqe->num_sge = head.num_sge;
	if (wqe->num_sge > rq->sge_max)
		return -EINVAL;
	iwt_ring_read(wqe->sge, from + sizeof(head), wqe->num_sge * sizeof(wqe->sge[0]));
	wqe->len = 0;
	for (i = 0; i < wqe->num_sge; i++)
		wqe->len += wqe->sge[i].length;
	rq->cons++;
	iwt_ring_set_cons(&rq->ring, rq->cons);
	return 1;
}

/**
 * iwt_rq_complete() - complete a receive
 * @rq: queue; the lock of the stream is held
 * @qp: queue pair, for the completions
 * @cqe: completion; the caller has set all fields except qp_num
 */
void iwt_rq_complete(struct iwt_rq *rq, struct ib_qp *qp, struct iwt_cqe *cqe)
{
	cqe->qp_num = qp->qp_num;
	if (cqe->status != IB_WC_SUCCESS) {
		cqe->flags |= IWT_WC_SOLICITED;
		iwt_cause_wr(qp, cqe->wr_id, IWT_TRACE_RECV, cqe->status);
	}
	trace_iwt_wr_done(qp, cqe->wr_id, IWT_TRACE_RECV, cqe->status);
	if (!iwt_cq_push(rq->cq, cqe, qp))
		rq->lost = true;
}

/**
 * iwt_rq_fail() - complete a receive with an error
 * @rq: queue; the lock of the stream is held
 * @qp: queue pair, for the completions
 * @wr_id: the consumer's identifier of the receive
 * @status: error
 */
void iwt_rq_fail(struct iwt_rq *rq, struct ib_qp *qp, u64 wr_id,
		 enum ib_wc_status status)
{
	struct iwt_cqe cqe = {
		.wr_id = wr_id,
		.opcode = IWT_WC_RECV,
		.status = status,
	};

	iwt_rq_complete(rq, qp, &cqe);
}

/**
 * iwt_rq_flush() - complete posted receives, in order, with an error
 * @rq: queue; the lock of the stream is held
 * @qp: queue pair, for the completions
 * @max: maximum number of receives
 *
 * This function sets IWT_RING_NEED_WAKEUP: a receive that is posted later must be flushed, too,
 * so its poster must ring the doorbell.
 *
 * Return: true when posted receives are left; false if none are left, or if the producer index of
 * the ring is invalid.
 */
bool iwt_rq_flush(struct iwt_rq *rq, struct ib_qp *qp, u32 max)
{
	u32 prod;

	if (!rq->entries)
		return false;
	WRITE_ONCE(rq->ring.ctl->flags, IWT_RING_NEED_WAKEUP);
	smp_mb(); /* pairs with the barrier between the poster's accesses to prod and flags */
	prod = iwt_ring_prod(&rq->ring);
	if (rq_corrupt(rq, prod))
		return false;
	while (rq->cons != prod && max--) {
		struct iwt_recv_wqe w;

		iwt_ring_read(&w, iwt_ring_at(&rq->ring, rq->cons), sizeof(w));
		/* free the slot first: a consumer that sees the completion may reuse the slot */
		iwt_ring_set_cons(&rq->ring, ++rq->cons);
		iwt_rq_fail(rq, qp, w.wr_id, IB_WC_WR_FLUSH_ERR);
	}
	return rq->cons != prod;
}

/**
 * iwt_rq_drop() - remove all posted receives without completions, for a reset of the queue pair
 * @rq: queue without a connection; the lock of the stream is held
 *
 * If a process has stored an invalid producer index, the receives stay.
 */
void iwt_rq_drop(struct iwt_rq *rq)
{
	u32 prod;

	if (!rq->entries)
		return;
	prod = iwt_ring_prod(&rq->ring);
	if (rq_corrupt(rq, prod))
		return;
	rq->cons = prod;
	iwt_ring_set_cons(&rq->ring, prod);
}
