// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polling by ibv_start_poll(), ibv_next_poll() and ibv_end_poll(). The lock of the queue is held
 * from a successful start_poll to end_poll. end_poll advances the consumer index past all entries
 * that were read.
 */

#include <errno.h>

#include <util/compiler.h>

#include "iw_tcp.h"

static void iwt_cq_show(struct iwt_cq *cq)
{
	cq->cqe = iwt_ring_entry(&cq->ring, cq->cons);
	cq->vcq.cq_ex.wr_id = cq->cqe->wr_id;
	cq->vcq.cq_ex.status = cq->cqe->status;
}

/*
 * Begins to poll. Returns 0, and the lock stays held; ENOENT if the queue is empty, or EIO after
 * an overrun: then the lock is not held.
 */
static int iwt_cq_start(struct iwt_cq *cq)
{
	int ret;

	iwt_cq_lock(cq);
	ret = iwt_cq_available(cq, cq->cons, &cq->polled);
	if (!ret && cq->cons == cq->polled)
		ret = ENOENT;
	if (ret) {
		iwt_cq_unlock(cq);
		return ret;
	}
	iwt_cq_show(cq);

	return 0;
}

static int iwt_start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct iwt_cq *cq = to_iwt_cq_ex(ibcq);
	int ret;

	if (attr->comp_mask)
		return EINVAL;

	ret = iwt_cq_start(cq);
	if (ret == ENOENT && iwt_cq_flush(cq))
		ret = iwt_cq_start(cq);

	return ret;
}

static int iwt_next_poll(struct ibv_cq_ex *ibcq)
{
	struct iwt_cq *cq = to_iwt_cq_ex(ibcq);
	uint32_t next = cq->cons + 1;
	int ret = 0;

	if (next == cq->polled) {
		ret = iwt_cq_available(cq, next, &cq->polled);
		if (!ret && next == cq->polled)
			ret = ENOENT;
	}
	/* the current completion does not change: end_poll consumes it */
	if (ret)
		return ret;

	cq->cons = next;
	iwt_cq_show(cq);

	return 0;
}

static void iwt_end_poll(struct ibv_cq_ex *ibcq)
{
	struct iwt_cq *cq = to_iwt_cq_ex(ibcq);
	bool left;

	cq->cqe = NULL;
	cq->cons++;
	iwt_store(&cq->ring.ctl->cons, cq->cons);
	left = cq->cons != cq->polled;
	iwt_cq_unlock(cq);
	if (unlikely(left))
		iwt_cq_remind(cq);
}

static enum ibv_wc_opcode iwt_read_opcode(struct ibv_cq_ex *ibcq)
{
	return iwt_cqe_opcode(to_iwt_cq_ex(ibcq)->cqe);
}

static uint32_t iwt_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_iwt_cq_ex(ibcq)->cqe->vendor_err;
}

static unsigned int iwt_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return iwt_cqe_flags(to_iwt_cq_ex(ibcq)->cqe);
}

static uint32_t iwt_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_iwt_cq_ex(ibcq)->cqe->byte_len;
}

/* ibv_wc_read_invalidated_rkey() also calls this function. */
static __be32 iwt_read_imm_data(struct ibv_cq_ex *ibcq)
{
	return (__force __be32)to_iwt_cq_ex(ibcq)->cqe->ex;
}

static uint32_t iwt_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_iwt_cq_ex(ibcq)->cqe->qp_num;
}

/*
 * A completion of a connected queue pair has none of the following values. An iWARP port has no
 * LID.
 */

static uint32_t iwt_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint32_t iwt_read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t iwt_read_sl(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t iwt_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

/* In a queue with timestamps, the time of a completion follows the entry of the completion. */
static const struct iwt_cqe_time *iwt_cqe_time(const struct iwt_cq *cq)
{
	return (const struct iwt_cqe_time *)(cq->cqe + 1);
}

static uint64_t iwt_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return iwt_cqe_time(to_iwt_cq_ex(ibcq))->raw;
}

static uint64_t iwt_read_wallclock_ns(struct ibv_cq_ex *ibcq)
{
	return iwt_cqe_time(to_iwt_cq_ex(ibcq))->wallclock;
}

static void iwt_cq_set_time_ops(struct ibv_cq_ex *ex, uint64_t wc_flags)
{
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = iwt_read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = iwt_read_wallclock_ns;
}

static void iwt_cq_set_poll_ops(struct iwt_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = iwt_start_poll;
	ex->next_poll = iwt_next_poll;
	ex->end_poll = iwt_end_poll;
	ex->read_opcode = iwt_read_opcode;
	ex->read_vendor_err = iwt_read_vendor_err;
	ex->read_wc_flags = iwt_read_wc_flags;

	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = iwt_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = iwt_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = iwt_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = iwt_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = iwt_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = iwt_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = iwt_read_dlid_path_bits;
	iwt_cq_set_time_ops(ex, wc_flags);
}

/*
 * Checks the attributes of a new queue; returns 0 or an errno value. The flag to ignore an
 * overrun is not supported: the kernel would have to overwrite entries that the program has not
 * read yet, and then the indices of the kernel and of the program would differ.
 */
static int iwt_cq_check(const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags,
			     IBV_WC_STANDARD_FLAGS | IWT_WC_TIMES))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    !check_comp_mask(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain || !iwt_is_parent_domain(attr->parent_domain)))
		return EINVAL;

	return 0;
}

static bool iwt_cq_single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return true;

	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	       iwt_pd_single_threaded(attr->parent_domain);
}

struct ibv_cq_ex *iwt_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr)
{
	struct iwt_cq *cq;
	int ret;

	ret = iwt_cq_check(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}

	cq = iwt_cq_new(context, attr);
	if (!cq)
		return NULL;

	cq->single_threaded = iwt_cq_single_threaded(attr);
	iwt_cq_set_poll_ops(cq, attr->wc_flags);

	return &cq->vcq.cq_ex;
}
