// SPDX-License-Identifier: GPL-2.0
/* The send queue: requests start and complete in order. */
#include "sq.h"

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "cq.h"
#include "proto/wire.h"
#include "stats_errors.h"
#include "trace.h"
#include "tx_zc.h"

/* Return: size of the body of an atomic operation in a ring, in bytes. */
static u32 atomic_bytes(bool user)
{
	return user ? IWT_ATOMIC_BODY_USER : sizeof(struct iwt_atomic_body);
}

/**
 * iwt_sq_stride() - size of a ring entry
 * @max_sge: elements that must fit
 * @max_inline: bytes of inline data that must fit
 * @user: ring of a process
 *
 * Entries are whole cache lines, so that two work requests never share a cache line.
 *
 * Return: bytes, a multiple of 64.
 */
u32 iwt_sq_stride(u32 max_sge, u32 max_inline, bool user)
{
	/* every entry has room for each body of a fixed size */
	BUILD_BUG_ON(sizeof(struct iwt_bind_body) > IWT_ATOMIC_BODY_USER);
	u32 body = max3((u32)(max_sge * sizeof(struct iwt_sge)), max_inline,
			atomic_bytes(user));

	return ALIGN(sizeof(struct iwt_send_wqe) + body, 64);
}

/**
 * iwt_sq_init() - set up a send queue on ring memory
 * @sq: queue, zeroed
 * @mem: ring memory of iwt_ring_bytes() bytes, zeroed
 * @entries: number of entries, a power of two
 * @stride: size of an entry, from iwt_sq_stride()
 * @gfp: GFP_KERNEL, or GFP_KERNEL_ACCOUNT for the queue of the calling process
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM; the caller calls iwt_sq_free() in either case.
 */
int iwt_sq_init(struct iwt_sq *sq, void *mem, u32 entries, u32 stride,
		gfp_t gfp)
{
	sq->entries = kvcalloc(entries, sizeof(*sq->entries), gfp);
	sq->wqe = kzalloc(max_t(size_t, stride, sizeof(*sq->wqe)), gfp);
	if (!sq->entries || !sq->wqe)
		return -ENOMEM;
	spin_lock_init(&sq->lock);
	iwt_ring_init(&sq->ring, mem, entries, stride);
	sq->cons = IWT_FIRST;
	sq->retire = IWT_FIRST;
	sq->ring.ctl->flags = IWT_RING_NEED_WAKEUP;
	return 0;
}

/**
 * iwt_sq_free() - release the memory that iwt_sq_init() allocated, if any
 * @sq: queue; the caller has to free the ring memory
 */
void iwt_sq_free(struct iwt_sq *sq)
{
	kvfree(sq->entries);
	kfree(sq->wqe);
	sq->entries = NULL;
	sq->wqe = NULL;
}

/* Compute the size of the body from the private header. Return: false if the size is invalid. */
static bool body_bytes(const struct iwt_sq *sq, const struct iwt_send_wqe *h,
		       u32 *bytes)
{
	if (iwt_wr_is_atomic(h->opcode)) {
		*bytes = atomic_bytes(sq->user);
		return true;
	}
	if (h->opcode == IWT_WR_BIND_MW) {
		*bytes = sizeof(struct iwt_bind_body);
		return true;
	}
	if (h->flags & IWT_WR_INLINE) {
		*bytes = h->inline_len;
		return h->inline_len <= sq->inline_max;
	}
	*bytes = h->num_sge * sizeof(struct iwt_sge);
	return h->num_sge <= sq->sge_max;
}

static u64 wqe_len(const struct iwt_swqe *w)
{
	u64 len = 0;
	int i;

	if (iwt_wr_is_atomic(w->h.opcode))
		return IWT_ATOMIC_LEN;
	if (w->h.opcode == IWT_WR_BIND_MW || w->h.opcode == IWT_WR_LOCAL_INV ||
	    w->h.opcode == IWT_WR_REG_MR)
		return 0;
	if (w->h.flags & IWT_WR_INLINE)
		return w->h.inline_len;
	for (i = 0; i < w->h.num_sge; i++)
		len += w->sge[i].length;
	return len;
}

/*
 * Is the producer index @prod invalid? A process may store any index. An index is invalid if it
 * is too far ahead, or if it precedes @sq->cons: then prod - cons would be nearly 2^32.
 */
static bool sq_corrupt(const struct iwt_sq *sq, u32 prod)
{
	return prod - sq->retire > sq->ring.mask + 1 ||
	       prod - sq->retire < sq->cons - sq->retire;
}

/*
 * Does this queue support the operation? The switch has no default, so that the compiler reports
 * an operation without a case.
 */
static bool may_start(const struct iwt_sq *sq, enum iwt_wr_opcode opcode)
{
	switch (opcode) {
	case IWT_WR_READ_WITH_INV:
	case IWT_WR_REG_MR:
	case IWT_WR_MASKED_FETCH_ADD:
	case IWT_WR_MASKED_CMP_SWAP:
		return !sq->user;
	/* in-kernel verbs define no request that binds a window */
	case IWT_WR_BIND_MW:
		return sq->user;
	case IWT_WR_SEND:
	case IWT_WR_SEND_WITH_INV:
	case IWT_WR_WRITE:
	case IWT_WR_READ:
	case IWT_WR_LOCAL_INV:
	case IWT_WR_WRITE_WITH_IMM:
	case IWT_WR_SEND_WITH_IMM:
	case IWT_WR_FETCH_ADD:
	case IWT_WR_CMP_SWAP:
		return true;
	}
	return false;
}

/**
 * iwt_sq_next() - start the next work request
 * @sq: queue; the lock of the stream is held
 * @wqe: receives the private copy; @sq->wqe, or a buffer of the same size
 * @idx: receives the index of the work request, for iwt_sq_done()
 *
 * The work request is copied once, and the copied header determines how much of the body is
 * copied: later writes of a process to the ring have no effect.
 *
 * Return: 1 when a work request was started; 0 when the queue is empty; -EINVAL when the producer
 * index or the work request is invalid; -EOPNOTSUPP when the opcode is unknown or this queue does
 * not support it. If the work request is invalid or not supported, this function marks it as
 * finished, with an error status.
 */
int iwt_sq_next(struct iwt_sq *sq, struct iwt_swqe *wqe, u32 *idx)
{
	u32 prod = sq->sealed ? sq->end : iwt_ring_prod(&sq->ring);
	struct iwt_sq_entry *e;
	const u8 *from;
	u32 body;
	u64 len;

	if (prod == sq->cons)
		return 0;
	if (sq_corrupt(sq, prod))
		return -EINVAL;

	from = iwt_ring_at(&sq->ring, sq->cons);
	iwt_ring_read(&wqe->h, from, sizeof(wqe->h));
	e = iwt_sq_entry(sq, sq->cons);
	*idx = sq->cons;
	WRITE_ONCE(sq->cons, *idx + 1);
	*e = (struct iwt_sq_entry) {
		.wr_id = wqe->h.wr_id,
		.last_seq = iwt_zc_last_seq(sq->zc),
		.opcode = wqe->h.opcode,
		.flags = wqe->h.flags | (sq->sig_all ? IWT_WR_SIGNALED : 0),
	};
	if (!body_bytes(sq, &wqe->h, &body)) {
		iwt_sq_done(sq, *idx, IB_WC_LOC_LEN_ERR);
		return -EINVAL;
	}
	if (!may_start(sq, wqe->h.opcode)) {
		iwt_sq_done(sq, *idx, IB_WC_LOC_QP_OP_ERR);
		return -EOPNOTSUPP;
	}
	iwt_ring_read(wqe->data, from + sizeof(wqe->h), body);
	len = wqe_len(wqe);
	e->len = len;
	if (len > U32_MAX) {	/* RFC 5041 5.2 */
		iwt_sq_done(sq, *idx, IB_WC_LOC_LEN_ERR);
		return -EINVAL;
	}
	return 1;
}

/**
 * iwt_sq_seal() - do not start work requests that are posted from now on
 * @sq: queue; the lock of the stream is held
 */
void iwt_sq_seal(struct iwt_sq *sq)
{
	if (!sq->sealed)
		sq->end = iwt_ring_prod(&sq->ring);
	sq->sealed = true;
}

/**
 * iwt_sq_done() - mark a work request as finished
 * @sq: queue; the lock of the stream is held
 * @idx: from iwt_sq_next()
 * @status: result; ignored if the work request has finished before
 */
void iwt_sq_done(struct iwt_sq *sq, u32 idx, enum ib_wc_status status)
{
	struct iwt_sq_entry *e = iwt_sq_entry(sq, idx);

	if (e->done)
		return;
	e->status = status;
	e->done = true;
}

static u8 iwt_wc_of(u8 wr_opcode)
{
	static const u8 map[] = {
		[IWT_WR_SEND]		= IWT_WC_SEND,
		[IWT_WR_SEND_WITH_INV]	= IWT_WC_SEND,
		[IWT_WR_WRITE]		= IWT_WC_WRITE,
		[IWT_WR_READ]		= IWT_WC_READ,
		[IWT_WR_READ_WITH_INV]	= IWT_WC_READ,
		[IWT_WR_LOCAL_INV]	= IWT_WC_LOCAL_INV,
		[IWT_WR_REG_MR]		= IWT_WC_REG_MR,
		[IWT_WR_WRITE_WITH_IMM]	= IWT_WC_WRITE,
		[IWT_WR_SEND_WITH_IMM]	= IWT_WC_SEND,
		[IWT_WR_FETCH_ADD]	= IWT_WC_FETCH_ADD,
		[IWT_WR_CMP_SWAP]	= IWT_WC_COMP_SWAP,
		[IWT_WR_MASKED_FETCH_ADD] = IWT_WC_MASKED_FETCH_ADD,
		[IWT_WR_MASKED_CMP_SWAP] = IWT_WC_MASKED_COMP_SWAP,
		[IWT_WR_BIND_MW]	= IWT_WC_BIND_MW,
	};

	return wr_opcode < ARRAY_SIZE(map) ? map[wr_opcode] : IWT_WC_SEND;
}

/*
 * May the completion of an unsignaled request that has failed be left out? Kernel consumers whose
 * completion queues RDMA core polls have many such requests, for which core does nothing
 * (rdma_rw_ctx_post()), and make their queues large enough only for the other requests.
 */
static bool is_ignored(const struct iwt_sq *sq, const struct iwt_sq_entry *e)
{
	return !e->wr_id && !(e->flags & IWT_WR_SIGNALED) && iwt_cq_core_polls(sq->cq);
}

static void complete_entry(struct iwt_sq *sq, const struct iwt_sq_entry *e,
			   struct ib_qp *qp)
{
	struct iwt_cqe cqe = {
		.wr_id = e->wr_id,
		.qp_num = qp->qp_num,
		.byte_len = e->len,
		.opcode = iwt_wc_of(e->opcode),
		.status = e->status,
	};

	trace_iwt_wr_done(qp, e->wr_id, e->opcode, e->status);
	if (e->status == IB_WC_SUCCESS && !(e->flags & IWT_WR_SIGNALED))
		return;
	if (e->status != IB_WC_SUCCESS) {
		cqe.flags = IWT_WC_SOLICITED;
		iwt_cause_wr(qp, e->wr_id, e->opcode, e->status);
	}
	if (!is_ignored(sq, e) && !iwt_cq_push(sq->cq, &cqe, qp))
		sq->lost = true;
}

/*
 * Is the request finished, and has TCP released its memory? @released: from
 * iwt_zc_released_seq().
 */
static bool may_retire(const struct iwt_sq *sq, const struct iwt_sq_entry *e,
		       u32 released)
{
	return e->done && (!sq->zc || (s32)(released - e->last_seq) >= 0);
}

/**
 * iwt_sq_retire() - complete the oldest finished work requests, in order (RFC 5040 5.5 rule 15)
 * @sq: queue; the lock of the stream is held
 * @qp: queue pair, for the completions
 * @until: index of the first work request that may not complete yet, at most @sq->cons
 * @max: maximum number of work requests
 *
 * If TCP refers to the memory of a request, the request completes only when TCP has released the
 * memory, even if the connection has ended. This function frees the entries of the ring before it
 * writes the completions: a consumer that has polled a completion may post to the freed entry at
 * once.
 *
 * Return: true when @max requests were completed and another request can be completed.
 */
bool iwt_sq_retire(struct iwt_sq *sq, struct ib_qp *qp, u32 until, u32 max)
{
	u32 released = iwt_zc_released_seq(sq->zc);
	u32 i = sq->retire, end = i;

	while ((s32)(until - end) > 0 && end - i < max &&
	       may_retire(sq, iwt_sq_entry(sq, end), released))
		end++;
	if (i == end)
		return false;
	WRITE_ONCE(sq->retire, end);
	iwt_ring_set_cons(&sq->ring, end);
	for (; i != end; i++)
		complete_entry(sq, iwt_sq_entry(sq, i), qp);
	return (s32)(until - end) > 0 && may_retire(sq, iwt_sq_entry(sq, end), released);
}

/*
 * Return: the status for the next request that a flush fails: sq->blame, if it is set, for one
 * request; then IB_WC_WR_FLUSH_ERR.
 */
static enum ib_wc_status flush_status(struct iwt_sq *sq)
{
	enum ib_wc_status status = sq->blame ?: IB_WC_WR_FLUSH_ERR;

	sq->blame = IB_WC_SUCCESS;
	return status;
}

/**
 * iwt_sq_fail() - fail all unfinished work requests, and all requests after a failed request
 * @sq: queue that sends nothing any more; the lock of the stream is held
 * @unsent: index of the first framed work request that TCP has not accepted completely; @sq->cons
 *	if there is no such request
 *
 * The bytes of the request @unsent, and of all later requests, are perhaps never sent (RFC 5040
 * 5.4, 6.2.1).
 */
void iwt_sq_fail(struct iwt_sq *sq, u32 unsent)
{
	bool failed = false;
	u32 i;

	/* all requests after a failed request fail, even those that may have been sent */
	for (i = sq->retire; i != sq->cons; i++) {
		struct iwt_sq_entry *e = iwt_sq_entry(sq, i);

		if (!e->done)
			iwt_sq_done(sq, i, flush_status(sq));
		failed = failed || i == unsent;
		if (failed && e->status == IB_WC_SUCCESS)
			e->status = flush_status(sq);
		failed = failed || e->status != IB_WC_SUCCESS;
		if (failed)
			sq->blame = IB_WC_SUCCESS;
	}
}

/**
 * iwt_sq_flush() - complete the remaining work requests, in order, with an error
 * @sq: queue after iwt_sq_fail(), or with no request in progress; the lock of the stream is held
 * @qp: queue pair, for the completions
 * @max: maximum number of work requests
 *
 * If a process has stored an invalid producer index, only the started requests are completed.
 *
 * Return: true when requests are left that the next call can complete.
 */
bool iwt_sq_flush(struct iwt_sq *sq, struct ib_qp *qp, u32 max)
{
	u32 prod = iwt_ring_prod(&sq->ring), n;

	if (sq_corrupt(sq, prod))
		prod = sq->cons;
	for (n = 0; sq->cons != prod && n < max; n++) {
		struct iwt_send_wqe w;

		iwt_ring_read(&w, iwt_ring_at(&sq->ring, sq->cons), sizeof(w));
		*iwt_sq_entry(sq, sq->cons) = (struct iwt_sq_entry) {
			.wr_id = w.wr_id,
			.last_seq = iwt_zc_last_seq(sq->zc),
			.opcode = w.opcode,
			.status = flush_status(sq),
			.done = true,
		};
		WRITE_ONCE(sq->cons, sq->cons + 1);
	}
	/* sq->blame does not apply to requests that are posted from now on */
	sq->blame = IB_WC_SUCCESS;
	return iwt_sq_retire(sq, qp, sq->cons, max) || sq->cons != prod;
}

/**
 * iwt_sq_drop() - remove all requests without completions, for a reset of the queue pair
 * @sq: queue without a connection, whose memory TCP does not use; the lock of the stream is held
 *
 * If a process has stored an invalid producer index, the requests stay.
 */
void iwt_sq_drop(struct iwt_sq *sq)
{
	u32 prod = iwt_ring_prod(&sq->ring);

	sq->sealed = false;
	if (sq_corrupt(sq, prod))
		return;
	WRITE_ONCE(sq->cons, prod);
	WRITE_ONCE(sq->retire, prod);
	iwt_ring_set_cons(&sq->ring, prod);
}
