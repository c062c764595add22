// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: polling, arming, and the flush of deferred posts. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ccan/array_size.h>
#include <infiniband/cmd_ioctl.h>
#include <util/compiler.h>

#include "iw_tcp.h"
#include "iw_tcp_abi.h"
#include "compat/compat.h"

/* Number of posts without a doorbell after which iwt_cq_defer() flushes them. */
#define IWT_UNFLUSHED_MAX	64

/*
 * Creates a completion queue. Returns NULL with errno set on failure. The caller checks @attr,
 * and sets single_threaded and the functions for polling.
 */
struct iwt_cq *iwt_cq_new(struct ibv_context *context,
			  const struct ibv_cq_init_attr_ex *attr)
{
	bool stamped = attr->wc_flags & IWT_WC_TIMES;
	struct ibv_cq_init_attr_ex kernel_attr = {
		.cqe = attr->cqe,
		.channel = attr->channel,
		.comp_vector = attr->comp_vector,
		.wc_flags = attr->wc_flags & IWT_WC_TIMES,
	};
	struct iwt_cmd_create_cq_resp resp = {};
	struct iwt_cmd_create_cq cmd = {};
	struct iwt_ring_desc desc;
	struct iwt_cq *cq;
	int ret;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	ret = ibv_cmd_create_cq_ex(context, &kernel_attr, NULL, &cq->vcq,
				   &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				   sizeof(resp), 0);
	if (ret)
		goto err_free;

	desc = (struct iwt_ring_desc) {
		.offset = resp.mmap_offset,
		.length = resp.mmap_length,
		.num = resp.entries,
		.stride = resp.stride,
		.min_stride = sizeof(struct iwt_cqe) +
			      (stamped ? sizeof(struct iwt_cqe_time) : 0),
		.tail = resp.posted_bits / 8,
	};
	ret = iwt_ring_map(&cq->ring, context->cmd_fd, &desc);
	if (ret)
		goto err_destroy;

	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&cq->resizing, NULL);
	cq->first_entries = cq->ring.entries;
	cq->first_num = cq->ring.num;
	cq->cons = iwt_load(&cq->ring.ctl->cons);
	cq->posted = iwt_ring_tail(&cq->ring);
	cq->posted_bits = resp.posted_bits / 32 * 32;

	return cq;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
	errno = ret;
	return NULL;
}

struct ibv_cq *iwt_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct iwt_cq *cq;

	cq = iwt_cq_new(context, &attr);

	return cq ? &cq->vcq.cq : NULL;
}

int iwt_destroy_cq(struct ibv_cq *ibcq)
{
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	iwt_ring_unmap(&cq->ring);
	iwt_unmap(&cq->more);
	pthread_mutex_destroy(&cq->resizing);
	pthread_spin_destroy(&cq->lock);
	free(cq);

	return 0;
}

/* The kernel implements event moderation. */
int iwt_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

void iwt_cq_lock(struct iwt_cq *cq)
{
	if (!cq->single_threaded)
		pthread_spin_lock(&cq->lock);
}

void iwt_cq_unlock(struct iwt_cq *cq)
{
	if (!cq->single_threaded)
		pthread_spin_unlock(&cq->lock);
}

/*
 * Sets *prod to the end of the available completions, which begin at @cons. Returns EIO if no
 * completion is available, and no more completions will come: a completion was lost because the
 * queue was full, or the device was removed. Else returns 0. The caller holds the CQ lock.
 */
int iwt_cq_available(struct iwt_cq *cq, uint32_t cons, uint32_t *prod)
{
	struct iwt_ring_ctl *ctl = cq->ring.ctl;

	*prod = iwt_load(&ctl->prod);
	if (likely(*prod != cons))
		return 0;
	if (likely(!(iwt_load(&ctl->flags) & IWT_RING_OVERRUN)))
		return 0;

	/* the kernel sets the flag after the last completion: read prod again */
	*prod = iwt_load(&ctl->prod);

	return *prod == cons ? EIO : 0;
}

enum ibv_wc_opcode iwt_cqe_opcode(const struct iwt_cqe *cqe)
{
	static const enum ibv_wc_opcode opcodes[] = {
		[IWT_WC_SEND] = IBV_WC_SEND,
		[IWT_WC_WRITE] = IBV_WC_RDMA_WRITE,
		[IWT_WC_READ] = IBV_WC_RDMA_READ,
		[IWT_WC_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[IWT_WC_REG_MR] = IBV_WC_DRIVER1,
		[IWT_WC_RECV] = IBV_WC_RECV,
		[IWT_WC_RECV_RDMA_WITH_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
		[IWT_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
		[IWT_WC_COMP_SWAP] = IBV_WC_COMP_SWAP,
		[IWT_WC_MASKED_FETCH_ADD] = IBV_WC_DRIVER1,
		[IWT_WC_MASKED_COMP_SWAP] = IBV_WC_DRIVER1,
		[IWT_WC_BIND_MW] = IBV_WC_BIND_MW,
	};

	if (unlikely(cqe->opcode >= ARRAY_SIZE(opcodes)))
		return IBV_WC_DRIVER1;

	return opcodes[cqe->opcode];
}

unsigned int iwt_cqe_flags(const struct iwt_cqe *cqe)
{
	return (cqe->flags & IWT_WC_WITH_INVALIDATE ? IBV_WC_WITH_INV : 0) |
	       (cqe->flags & IWT_WC_WITH_IMM ? IBV_WC_WITH_IMM : 0);
}

static void iwt_cqe_to_wc(const struct iwt_cqe *cqe, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc) {
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = iwt_cqe_opcode(cqe),
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		/* this also sets imm_data, a member of the same union */
		.invalidated_rkey = cqe->ex,
		.qp_num = cqe->qp_num,
		.wc_flags = iwt_cqe_flags(cqe),
	};
}

static int iwt_cq_arm(struct iwt_cq *cq, uint32_t flags)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM, 2);

	fill_attr_in_obj(cmd, IWT_ATTR_CQ, cq->vcq.cq.handle);
	fill_attr_in_uint32(cmd, IWT_ATTR_CQ_ARM_FLAGS, flags);

	return execute_ioctl(cq->vcq.cq.context, cmd);
}

/*
 * Requests the event of a queue that is armed for any completion, and from which the program has
 * not taken all completions. Some programs arm a queue, poll a limited number of completions, and
 * then sleep although more completions are in the queue: hardware raises the event for these
 * completions immediately. The kernel does so only at this request. The request is a system call,
 * but only if completions are left in an armed queue. If the call fails, the device was removed
 * and raises no events.
 */
void iwt_cq_remind(struct iwt_cq *cq)
{
	if (unlikely(iwt_load(&cq->ring.ctl->arm) == IWT_CQ_ARM_ANY))
		iwt_cq_arm(cq, IWT_CQ_ARM_AT_ONCE);
}

/* Makes the kernel execute the posted requests of all queue pairs with a set bit. */
static void iwt_cq_call(struct iwt_cq *cq)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_POLL, 1);

	fill_attr_in_obj(cmd, IWT_ATTR_CQ, cq->vcq.cq.handle);
	execute_ioctl(cq->vcq.cq.context, cmd);
}

/*
 * Flushes the requests that were posted without a doorbell, if the kernel relies on the process
 * to flush them (IWT_RING_DEFERRED). Returns true if this function has called the kernel, so that
 * there may be new completions. The caller does not hold the CQ lock.
 */
bool iwt_cq_flush(struct iwt_cq *cq)
{
	if (likely(!(iwt_load(&cq->ring.ctl->flags) & IWT_RING_DEFERRED)))
		return false;
	/* clear the counter first: the next flush handles requests that are posted from now on */
	if (!iwt_load(&cq->unflushed) ||
	    !__atomic_exchange_n(&cq->unflushed, 0, __ATOMIC_SEQ_CST))
		return false;
	iwt_cq_call(cq);

	return true;
}

/*
 * Records a post without a doorbell: sets the bit @bit of the queue pair, and increments the
 * counter of such posts. The caller has executed a full barrier after the post. A process that
 * always finds completions, or does not poll, flushes after IWT_UNFLUSHED_MAX posts. Several
 * threads may increment the counter at the same time, so an increment may be lost. This does no
 * harm: each thread stores a number other than zero, and for every such number iwt_cq_flush()
 * flushes all posts.
 */
void iwt_cq_defer(struct iwt_cq *cq, uint32_t bit)
{
	uint32_t count = iwt_load(&cq->unflushed) + 1;
	uint32_t mask = 1u << bit % 32;
	uint32_t *word;

	if (bit >= cq->posted_bits)
		return;
	word = &cq->posted[bit / 32];
	/* the bit is usually set already */
	if (!(iwt_load(word) & mask))
		__atomic_fetch_or(word, mask, __ATOMIC_SEQ_CST);
	iwt_store(&cq->unflushed, count ? count : 1);
	if (count >= IWT_UNFLUSHED_MAX)
		iwt_cq_flush(cq);
}

static int iwt_cq_take(struct iwt_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uint32_t prod;
	int done = 0;
	bool left;
	int ret;

	iwt_cq_lock(cq);
	ret = iwt_cq_available(cq, cq->cons, &prod);
	while (done < num_entries && cq->cons != prod)
		iwt_cqe_to_wc(iwt_ring_entry(&cq->ring, cq->cons++),
			      &wc[done++]);
	if (done)
		iwt_store(&cq->ring.ctl->cons, cq->cons);
	left = cq->cons != prod;
	iwt_cq_unlock(cq);
	if (unlikely(left))
		iwt_cq_remind(cq);

	return ret ? -ret : done;
}

int iwt_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	int done;

	done = iwt_cq_take(cq, num_entries, wc);
	if (!done && iwt_cq_flush(cq))
		done = iwt_cq_take(cq, num_entries, wc);

	return done;
}

/*
 * Arms a completion queue. The kernel clears the word arm when it raises the event. If the queue
 * is already armed for any completion, a call for solicited completions changes nothing. After a
 * number of events the kernel requires a system call to arm the queue (IWT_RING_ARM_BY_CALL).
 */
int iwt_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	__u32 *arm = &cq->ring.ctl->arm;
	__u32 none = IWT_CQ_ARM_NONE;

	/* flush now, because the caller may sleep after this call */
	iwt_cq_flush(cq);
	if (solicited_only)
		__atomic_compare_exchange_n(arm, &none, IWT_CQ_ARM_SOLICITED,
					    false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(arm, IWT_CQ_ARM_ANY, __ATOMIC_SEQ_CST);

	/*
	 * The caller polls next: the reads of the poll must happen after the store to
	 * arm. The flag must also be read after the store: the kernel sets the flag
	 * and then reads arm again.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (likely(!(iwt_load(&cq->ring.ctl->flags) & IWT_RING_ARM_BY_CALL)))
		return 0;

	return iwt_cq_arm(cq, solicited_only ? IWT_CQ_ARM_FOR_SOLICITED : 0);
}

/*
 * Removes the completions of a queue pair that was destroyed or reset, so that the program sees
 * neither the number of the queue pair nor its wr_ids afterwards. The entries between cons and
 * prod belong to the process: this function moves the entries that remain towards prod.
 *
 * In a queue without a lock, the program may call this function between ibv_start_poll() and
 * ibv_end_poll(). Then the completion that the program reads stays, even if it belongs to the
 * queue pair, because ibv_end_poll() removes it.
 *
 * The kernel has added the last completion of the queue pair before the command that destroyed
 * or reset the queue pair returned, so no completion can follow. Completions of a queue pair that
 * was created since are not removed, because its number differs: the kernel assigns numbers in
 * turn, and would have to create 1 << 24 queue pairs between that command and this call to assign
 * the same number.
 */
void iwt_cq_clean(struct iwt_cq *cq, uint32_t qp_num)
{
	uint32_t prod, index, kept;
	struct iwt_cqe *cqe;

	iwt_cq_lock(cq);
	prod = iwt_load(&cq->ring.ctl->prod);
	kept = prod;
	for (index = prod; index != cq->cons; ) {
		cqe = iwt_ring_entry(&cq->ring, --index);
		if (cqe->qp_num == qp_num && cqe != cq->cqe)
			continue;
		if (--kept != index)
			memcpy(iwt_ring_entry(&cq->ring, kept), cqe,
			       cq->ring.stride);
	}
	if (cq->cqe) {
		cq->cqe = iwt_ring_entry(&cq->ring, kept);
		cq->polled = prod;
	}
	if (kept != cq->cons) {
		cq->cons = kept;
		iwt_store(&cq->ring.ctl->cons, kept);
	}
	iwt_cq_unlock(cq);
}
