// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting by ibv_wr_*(). The lock of the send queue is held from wr_start to wr_complete or
 * wr_abort. Between these calls, qp->wr_err stores the first error: then qp->wqe is NULL, and
 * wr_complete posts no work request and returns the error.
 */

#include <errno.h>

#include "iw_tcp.h"

#define IWT_SEND_OPS_RFC7306 (IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |	\
			      IBV_QP_EX_WITH_SEND_WITH_IMM |		\
			      IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |	\
			      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

#define IWT_SEND_OPS (IBV_QP_EX_WITH_RDMA_WRITE |	\
		      IBV_QP_EX_WITH_SEND |		\
		      IBV_QP_EX_WITH_SEND_WITH_INV |	\
		      IBV_QP_EX_WITH_RDMA_READ |	\
		      IBV_QP_EX_WITH_LOCAL_INV)

static void iwt_wr_fail(struct iwt_qp *qp, int err)
{
	qp->wr_err = err;
	qp->wqe = NULL;
}

static void iwt_wr_start(struct ibv_qp_ex *ibqp)
{
	struct iwt_qp *qp = to_iwt_qp_ex(ibqp);

	iwt_wq_lock(&qp->sq);
	qp->wr_err = 0;
	qp->wqe = NULL;
}

static void iwt_wr_abort(struct ibv_qp_ex *ibqp)
{
	struct iwt_qp *qp = to_iwt_qp_ex(ibqp);

	qp->sq.next = qp->sq.prod;
	qp->wqe = NULL;
	iwt_wq_unlock(&qp->sq);
}

static int iwt_wr_complete(struct ibv_qp_ex *ibqp)
{
	struct iwt_qp *qp = to_iwt_qp_ex(ibqp);
	int ret = qp->wr_err;
	enum iwt_news news;

	if (ret) {
		iwt_wr_abort(ibqp);
		return ret;
	}

	qp->wqe = NULL;
	news = iwt_wq_publish(&qp->sq);
	iwt_wq_unlock(&qp->sq);

	return iwt_sq_tell(qp, news);
}

/* Begins a work request. Returns its entry in the ring, or NULL after an error. */
static struct iwt_send_wqe *iwt_wr_next(struct ibv_qp_ex *ibqp,
					enum iwt_wr_opcode opcode)
{
	struct iwt_qp *qp = to_iwt_qp_ex(ibqp);

	if (qp->wr_err)
		return NULL;

	qp->wqe = iwt_wq_claim(&qp->sq);
	if (!qp->wqe) {
		iwt_wr_fail(qp, ENOMEM);
		return NULL;
	}
	iwt_wqe_start(qp, qp->wqe, opcode, ibqp->wr_id, ibqp->wr_flags);

	return qp->wqe;
}

static void iwt_wr_rdma(struct ibv_qp_ex *ibqp, enum iwt_wr_opcode opcode,
			uint32_t rkey, uint64_t remote_addr)
{
	struct iwt_send_wqe *wqe = iwt_wr_next(ibqp, opcode);

	if (!wqe)
		return;

	wqe->rkey = rkey;
	wqe->remote_addr = remote_addr;
}

static void iwt_wr_inv(struct ibv_qp_ex *ibqp, enum iwt_wr_opcode opcode,
		       uint32_t invalidate_rkey)
{
	struct iwt_send_wqe *wqe = iwt_wr_next(ibqp, opcode);

	if (!wqe)
		return;

	wqe->ex = invalidate_rkey;
}

static void iwt_wr_send(struct ibv_qp_ex *ibqp)
{
	iwt_wr_next(ibqp, IWT_WR_SEND);
}

static void iwt_wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	iwt_wr_inv(ibqp, IWT_WR_SEND_WITH_INV, invalidate_rkey);
}

static void iwt_wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	iwt_wr_inv(ibqp, IWT_WR_LOCAL_INV, invalidate_rkey);
}

static void iwt_wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t remote_addr)
{
	iwt_wr_rdma(ibqp, IWT_WR_WRITE, rkey, remote_addr);
}

static void iwt_wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
			     uint64_t remote_addr)
{
	iwt_wr_rdma(ibqp, IWT_WR_READ, rkey, remote_addr);
}

static void iwt_wr_imm(struct ibv_qp_ex *ibqp, enum iwt_wr_opcode opcode,
		       uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	struct iwt_send_wqe *wqe = iwt_wr_next(ibqp, opcode);

	if (!wqe)
		return;

	wqe->rkey = rkey;
	wqe->remote_addr = remote_addr;
	wqe->ex = (__force uint32_t)imm_data;
}

static void iwt_wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm_data)
{
	iwt_wr_imm(ibqp, IWT_WR_SEND_WITH_IMM, 0, 0, imm_data);
}

static void iwt_wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
				  uint64_t remote_addr, __be32 imm_data)
{
	iwt_wr_imm(ibqp, IWT_WR_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void iwt_wr_atomic(struct ibv_qp_ex *ibqp, enum iwt_wr_opcode opcode,
			  uint32_t rkey, uint64_t remote_addr, uint64_t data,
			  uint64_t compare)
{
	struct iwt_send_wqe *wqe = iwt_wr_next(ibqp, opcode);

	if (!wqe)
		return;

	wqe->rkey = rkey;
	wqe->remote_addr = remote_addr;
	iwt_wqe_set_atomic(wqe, data, compare);
}

static void iwt_wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
				  uint64_t remote_addr, uint64_t compare,
				  uint64_t swap)
{
	iwt_wr_atomic(ibqp, IWT_WR_CMP_SWAP, rkey, remote_addr, swap, compare);
}

static void iwt_wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				    uint64_t remote_addr, uint64_t add)
{
	iwt_wr_atomic(ibqp, IWT_WR_FETCH_ADD, rkey, remote_addr, add, 0);
}

static void iwt_wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw,
			   uint32_t rkey,
			   const struct ibv_mw_bind_info *bind_info)
{
	struct iwt_send_wqe *wqe = iwt_wr_next(ibqp, IWT_WR_BIND_MW);
	int ret;

	if (!wqe)
		return;

	ret = mw->type == IBV_MW_TYPE_2 ?
		iwt_wqe_set_bind(wqe, mw, rkey, bind_info) : EINVAL;
	if (ret)
		iwt_wr_fail(to_iwt_qp_ex(ibqp), ret);
}

static void iwt_wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
				const struct ibv_sge *sg_list)
{
	struct iwt_qp *qp = to_iwt_qp_ex(ibqp);
	int ret;

	if (!qp->wqe)
		return;

	ret = iwt_wqe_set_sge(qp, qp->wqe, sg_list, num_sge);
	if (ret)
		iwt_wr_fail(qp, ret);
}

static void iwt_wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey,
			   uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	iwt_wr_set_sge_list(ibqp, 1, &sge);
}

static void iwt_wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t num_buf,
					const struct ibv_data_buf *buf_list)
{
	struct iwt_qp *qp = to_iwt_qp_ex(ibqp);
	size_t i;
	int ret;

	if (!qp->wqe)
		return;

	ret = iwt_wqe_set_inline(qp, qp->wqe, NULL, 0);
	for (i = 0; !ret && i < num_buf; i++)
		ret = iwt_wqe_set_inline(qp, qp->wqe, buf_list[i].addr,
					 buf_list[i].length);
	if (ret)
		iwt_wr_fail(qp, ret);
}

static void iwt_wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
				   size_t length)
{
	struct ibv_data_buf buf = {
		.addr = addr,
		.length = length,
	};

	iwt_wr_set_inline_data_list(ibqp, 1, &buf);
}

static void iwt_qp_set_rfc7306_ops(struct ibv_qp_ex *ex, uint64_t send_ops)
{
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = iwt_wr_send_imm;
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = iwt_wr_rdma_write_imm;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = iwt_wr_atomic_cmp_swp;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = iwt_wr_atomic_fetch_add;
}

/* Returns 0, or EOPNOTSUPP if @send_ops contains an operation that is not supported. */
int iwt_qp_set_wr_ops(struct iwt_qp *qp, uint64_t send_ops)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	uint64_t known = IWT_SEND_OPS;

	if (qp->features & IWT_FEATURE_RFC7306)
		known |= IWT_SEND_OPS_RFC7306;
	if (qp->features & IWT_FEATURE_WINDOWS)
		known |= IBV_QP_EX_WITH_BIND_MW;
	if (!check_comp_mask(send_ops, known))
		return EOPNOTSUPP;

	iwt_qp_set_rfc7306_ops(ex, send_ops);
	if (send_ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = iwt_wr_send;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = iwt_wr_send_inv;
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = iwt_wr_rdma_write;
	if (send_ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = iwt_wr_rdma_read;
	if (send_ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = iwt_wr_local_inv;
	if (send_ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = iwt_wr_bind_mw;

	ex->wr_set_sge = iwt_wr_set_sge;
	ex->wr_set_sge_list = iwt_wr_set_sge_list;
	ex->wr_set_inline_data = iwt_wr_set_inline_data;
	ex->wr_set_inline_data_list = iwt_wr_set_inline_data_list;

	ex->wr_start = iwt_wr_start;
	ex->wr_complete = iwt_wr_complete;
	ex->wr_abort = iwt_wr_abort;

	return 0;
}
