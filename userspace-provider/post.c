// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting: the provider writes work requests into the shared rings, and rings the doorbell only
 * if the ring's flag IWT_RING_NEED_WAKEUP is set. The flag is clear if the kernel polls the ring,
 * or relies on the process to flush its posts later (iwt_cq_flush()).
 */

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>
#include <util/compiler.h>

#include "iw_tcp.h"

static_assert(sizeof(struct ibv_sge) == sizeof(struct iwt_sge) &&
	      offsetof(struct ibv_sge, addr) ==
		      offsetof(struct iwt_sge, addr) &&
	      offsetof(struct ibv_sge, length) ==
		      offsetof(struct iwt_sge, length) &&
	      offsetof(struct ibv_sge, lkey) ==
		      offsetof(struct iwt_sge, lkey),
	      "scatter/gather elements are copied as they are");

/*
 * Returns the entry for the next work request, or NULL when the queue is full or does not exist.
 * The caller holds the lock of the queue.
 */
void *iwt_wq_claim(struct iwt_wq *wq)
{
	if (unlikely(!wq->ring.ctl))
		return NULL;

	if (unlikely(wq->next - wq->cons >= wq->ring.num)) {
		wq->cons = iwt_load(&wq->ring.ctl->cons);
		if (wq->next - wq->cons >= wq->ring.num)
			return NULL;
	}

	return iwt_ring_entry(&wq->ring, wq->next++);
}

/*
 * Passes to the kernel the entries that were claimed since this function was last called. Returns
 * the action that the caller must perform. The caller holds the lock of the queue.
 */
enum iwt_news iwt_wq_publish(struct iwt_wq *wq)
{
	if (wq->next == wq->prod)
		return IWT_NEWS_NONE;

	wq->prod = wq->next;
	iwt_store(&wq->ring.ctl->prod, wq->prod);

	/*
	 * The kernel sets the flag and then reads prod again: so either the kernel
	 * sees this value of prod, or this function sees the flag.
	 */
	atomic_thread_fence(memory_order_seq_cst);

	return iwt_load(&wq->ring.ctl->flags) & IWT_RING_NEED_WAKEUP ?
		IWT_NEWS_RING : IWT_NEWS_QUIET;
}

/*
 * Rings the doorbell: the kernel reads the send queue and the receive queue. Returns 0 or an
 * errno value. The caller does not hold the lock of a queue.
 */
int iwt_qp_doorbell(struct iwt_qp *qp)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, IWT_METHOD_QP_DOORBELL,
			       1);

	fill_attr_in_obj(cmd, IWT_ATTR_QP, qp->vqp.qp.handle);

	return execute_ioctl(qp->vqp.qp.context, cmd);
}

/*
 * Performs the action @news after a post to the send queue. IWT_NEWS_RING: rings the doorbell.
 * IWT_NEWS_QUIET: records the post in the completion queues of the queue pair, because the kernel
 * may rely on this process to flush its posts. If so (IWT_RING_DEFERRED), iwt_cq_flush() flushes
 * the post later. The caller does not hold the lock of the queue. Returns 0 or an errno value.
 */
int iwt_sq_tell(struct iwt_qp *qp, enum iwt_news news)
{
	struct iwt_cq *send_cq = to_iwt_cq(qp->vqp.qp.send_cq);
	struct iwt_cq *recv_cq = to_iwt_cq(qp->vqp.qp.recv_cq);

	if (news == IWT_NEWS_RING)
		return iwt_qp_doorbell(qp);
	/* no entry was posted */
	if (news == IWT_NEWS_NONE)
		return 0;
	if (recv_cq != send_cq)
		iwt_cq_defer(recv_cq, qp->recv_bit);
	iwt_cq_defer(send_cq, qp->send_bit);

	return 0;
}

/* Initializes the header of a work request, without data and without operands. */
void iwt_wqe_start(const struct iwt_qp *qp, struct iwt_send_wqe *wqe,
		   enum iwt_wr_opcode opcode, uint64_t wr_id,
		   unsigned int send_flags)
{
	uint8_t flags = 0;

	if (qp->sig_all || send_flags & IBV_SEND_SIGNALED)
		flags |= IWT_WR_SIGNALED;
	if (send_flags & IBV_SEND_SOLICITED)
		flags |= IWT_WR_SOLICITED;
	if (send_flags & IBV_SEND_FENCE)
		flags |= IWT_WR_FENCE;

	*wqe = (struct iwt_send_wqe) {
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = flags,
	};
}

static bool iwt_is_atomic(uint8_t opcode)
{
	return opcode == IWT_WR_FETCH_ADD || opcode == IWT_WR_CMP_SWAP;
}

/*
 * Appends inline data to a work request. Returns 0; EINVAL if the data are too long, or if the
 * operation has no inline data (a Read, an atomic operation, a bind); EOPNOTSUPP for payload in a
 * Send with immediate data, because RFC 7306 has no such message.
 */
int iwt_wqe_set_inline(const struct iwt_qp *qp, struct iwt_send_wqe *wqe,
		       const void *addr, size_t length)
{
	if (wqe->opcode == IWT_WR_READ || iwt_is_atomic(wqe->opcode) ||
	    wqe->opcode == IWT_WR_BIND_MW ||
	    length > qp->max_inline - wqe->inline_len)
		return EINVAL;
	if (wqe->opcode == IWT_WR_SEND_WITH_IMM && length)
		return EOPNOTSUPP;

	wqe->flags |= IWT_WR_INLINE;
	if (length)
		memcpy((uint8_t *)(wqe + 1) + wqe->inline_len, addr, length);
	wqe->inline_len += length;

	return 0;
}

/*
 * Sets the scatter/gather list of a work request. Returns 0; EINVAL if the number of elements is
 * invalid: an atomic operation has exactly one element, and a bind has none; EOPNOTSUPP for
 * payload in a Send with immediate data.
 */
int iwt_wqe_set_sge(const struct iwt_qp *qp, struct iwt_send_wqe *wqe,
		    const struct ibv_sge *sge, size_t num_sge)
{
	size_t i;

	if (num_sge > qp->sq.max_sge ||
	    (iwt_is_atomic(wqe->opcode) && num_sge != 1) ||
	    (wqe->opcode == IWT_WR_BIND_MW && num_sge))
		return EINVAL;
	if (wqe->opcode == IWT_WR_SEND_WITH_IMM) {
		for (i = 0; i < num_sge; i++)
			if (sge[i].length)
				return EOPNOTSUPP;
	}

	if (num_sge)
		memcpy(wqe + 1, sge, num_sge * sizeof(*sge));
	wqe->num_sge = num_sge;

	return 0;
}

/* Sets the operands of an atomic operation. */
void iwt_wqe_set_atomic(struct iwt_send_wqe *wqe, uint64_t data,
			uint64_t compare)
{
	struct iwt_atomic_body *body = (struct iwt_atomic_body *)(wqe + 1);

	body->data = data;
	body->compare = compare;
}

/*
 * Sets the range that a window will cover, its access rights and its new key byte, which is the
 * lowest byte of @rkey; the other bytes are ignored. Returns 0, or EINVAL if the range is not
 * empty and @info has no region. The kernel checks all other fields.
 */
int iwt_wqe_set_bind(struct iwt_send_wqe *wqe, const struct ibv_mw *mw,
		     uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct iwt_bind_body *body = (struct iwt_bind_body *)(wqe + 1);

	if (info->length && !info->mr)
		return EINVAL;

	wqe->rkey = (mw->rkey & ~0xffu) | (rkey & 0xff);
	wqe->ex = info->mw_access_flags;
	*body = (struct iwt_bind_body) {
		.addr = info->addr,
		.length = info->length,
		.lkey = info->mr ? info->mr->lkey : 0,
	};

	return 0;
}

/* Returns the enum iwt_wr_opcode of an operation of IWT_FEATURE_RFC7306; -1 for other opcodes. */
static int iwt_rfc7306_opcode(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IWT_WR_WRITE_WITH_IMM;
	case IBV_WR_SEND_WITH_IMM:
		return IWT_WR_SEND_WITH_IMM;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IWT_WR_FETCH_ADD;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IWT_WR_CMP_SWAP;
	default:
		return -1;
	}
}

static int iwt_send_opcode(const struct iwt_qp *qp, enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
		return IWT_WR_SEND;
	case IBV_WR_SEND_WITH_INV:
		return IWT_WR_SEND_WITH_INV;
	case IBV_WR_RDMA_WRITE:
		return IWT_WR_WRITE;
	case IBV_WR_RDMA_READ:
		return IWT_WR_READ;
	case IBV_WR_LOCAL_INV:
		return IWT_WR_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return qp->features & IWT_FEATURE_WINDOWS ? IWT_WR_BIND_MW : -1;
	default:
		return qp->features & IWT_FEATURE_RFC7306 ?
			iwt_rfc7306_opcode(opcode) : -1;
	}
}

static int iwt_send_data(const struct iwt_qp *qp, struct iwt_send_wqe *wqe,
			 const struct ibv_send_wr *wr)
{
	const struct ibv_sge *sge;
	int ret;
	int i;

	if (wr->num_sge < 0)
		return EINVAL;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return iwt_wqe_set_sge(qp, wqe, wr->sg_list, wr->num_sge);

	/* this sets the inline flag even if the list has no data */
	ret = iwt_wqe_set_inline(qp, wqe, NULL, 0);
	for (i = 0; !ret && i < wr->num_sge; i++) {
		sge = &wr->sg_list[i];
		ret = iwt_wqe_set_inline(qp, wqe, (void *)(uintptr_t)sge->addr,
					 sge->length);
	}

	return ret;
}

/* Returns EINVAL for a window of type 1, which a program must bind by ibv_bind_mw(). */
static int iwt_send_bind(struct iwt_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	if (wr->bind_mw.mw->type != IBV_MW_TYPE_2)
		return EINVAL;

	return iwt_wqe_set_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
				&wr->bind_mw.bind_info);
}

/* Sets the operation's own fields of the header, and the operands of an atomic operation. */
static void iwt_send_special(struct iwt_send_wqe *wqe,
			     const struct ibv_send_wr *wr)
{
	switch (wqe->opcode) {
	case IWT_WR_LOCAL_INV:
	case IWT_WR_SEND_WITH_INV:
		wqe->ex = wr->invalidate_rkey;
		break;
	case IWT_WR_WRITE_WITH_IMM:
	case IWT_WR_WRITE:
	case IWT_WR_READ:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
		if (wqe->opcode == IWT_WR_WRITE_WITH_IMM)
			wqe->ex = (__force uint32_t)wr->imm_data;
		break;
	case IWT_WR_SEND_WITH_IMM:
		wqe->ex = (__force uint32_t)wr->imm_data;
		break;
	case IWT_WR_FETCH_ADD:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		iwt_wqe_set_atomic(wqe, wr->wr.atomic.compare_add, 0);
		break;
	case IWT_WR_CMP_SWAP:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		iwt_wqe_set_atomic(wqe, wr->wr.atomic.swap,
				   wr->wr.atomic.compare_add);
		break;
	}
}

static int iwt_send_one(struct iwt_qp *qp, const struct ibv_send_wr *wr)
{
	int opcode = iwt_send_opcode(qp, wr->opcode);
	struct iwt_send_wqe *wqe;
	int ret;

	if (unlikely(opcode < 0))
		return EOPNOTSUPP;

	wqe = iwt_wq_claim(&qp->sq);
	if (unlikely(!wqe))
		return ENOMEM;

	iwt_wqe_start(qp, wqe, opcode, wr->wr_id, wr->send_flags);
	iwt_send_special(wqe, wr);
	if (opcode == IWT_WR_LOCAL_INV)
		return 0;

	ret = opcode == IWT_WR_BIND_MW ? iwt_send_bind(wqe, wr) :
					 iwt_send_data(qp, wqe, wr);
	if (unlikely(ret))
		/* the kernel has not yet read the entry */
		qp->sq.next--;

	return ret;
}

/*
 * On failure the work requests before *bad_wr are posted. If the doorbell fails, because the
 * device was removed, *bad_wr is the first work request.
 */
int iwt_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	struct ibv_send_wr *first = wr;
	enum iwt_news news;
	int ret = 0;
	int err;

	iwt_wq_lock(&qp->sq);
	for (; wr; wr = wr->next) {
		ret = iwt_send_one(qp, wr);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}
	news = iwt_wq_publish(&qp->sq);
	iwt_wq_unlock(&qp->sq);

	err = iwt_sq_tell(qp, news);
	if (unlikely(err)) {
		*bad_wr = first;
		ret = err;
	}

	return ret;
}

static int iwt_recv_one(struct iwt_wq *rq, const struct ibv_recv_wr *wr)
{
	struct iwt_recv_wqe *wqe;

	if (unlikely(wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge))
		return EINVAL;

	wqe = iwt_wq_claim(rq);
	if (unlikely(!wqe))
		return ENOMEM;

	*wqe = (struct iwt_recv_wqe) {
		.wr_id = wr->wr_id,
		.num_sge = wr->num_sge,
	};
	if (wr->num_sge)
		memcpy(wqe + 1, wr->sg_list,
		       wr->num_sge * sizeof(*wr->sg_list));

	return 0;
}

/*
 * Writes a list of receives into the ring. Returns 0 or an errno value; after an error, sets
 * *@bad_wr to the first receive that was not written. The caller holds the lock of the queue.
 */
int iwt_wq_put_recvs(struct iwt_wq *wq, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	int ret = 0;

	for (; wr; wr = wr->next) {
		ret = iwt_recv_one(wq, wr);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}

	return ret;
}

/*
 * Reports errors as iwt_post_send() does. The kernel reads the ring when a message arrives, and
 * requires the doorbell only if a message waits for a receive, or if the queue pair is in error:
 * then the kernel flushes the receive.
 */
int iwt_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	struct ibv_recv_wr *first = wr;
	enum iwt_news news;
	int ret;
	int err;

	if (unlikely(ibqp->srq)) {
		*bad_wr = wr;
		return EINVAL;
	}

	iwt_wq_lock(&qp->rq);
	ret = iwt_wq_put_recvs(&qp->rq, wr, bad_wr);
	news = iwt_wq_publish(&qp->rq);
	iwt_wq_unlock(&qp->rq);

	err = news == IWT_NEWS_RING ? iwt_qp_doorbell(qp) : 0;
	if (unlikely(err)) {
		*bad_wr = first;
		ret = err;
	}

	return ret;
}
