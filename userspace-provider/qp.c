// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creating, querying, modifying and destroying queue pairs. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iw_tcp.h"
#include "iw_tcp_abi.h"

/* Checks the attributes of a new queue pair. Returns 0 or an errno value. */
static int iwt_qp_check(const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) ||
	    !attr->send_cq || !attr->recv_cq)
		return EINVAL;
	if (attr->qp_type != IBV_QPT_RC)
		return EOPNOTSUPP;

	return 0;
}

/* Maps the queue that @desc describes. Returns 0 or an errno value. */
int iwt_wq_init(struct iwt_wq *wq, int fd, const struct iwt_ring_desc *desc,
		uint32_t max_sge)
{
	int ret;

	pthread_spin_init(&wq->lock, PTHREAD_PROCESS_PRIVATE);

	/* a queue pair may lack this queue; then ring.ctl stays NULL */
	if (!desc->num)
		return 0;

	ret = iwt_ring_map(&wq->ring, fd, desc);
	if (ret)
		return ret;

	wq->prod = iwt_load(&wq->ring.ctl->prod);
	wq->next = wq->prod;
	wq->cons = iwt_load(&wq->ring.ctl->cons);
	wq->max_sge = max_sge;

	return 0;
}

void iwt_wq_fini(struct iwt_wq *wq)
{
	iwt_ring_unmap(&wq->ring);
	pthread_spin_destroy(&wq->lock);
}

static int iwt_qp_map(struct iwt_qp *qp, struct ibv_context *context,
		      const struct iwt_create_qp_resp *resp,
		      struct ibv_qp_cap *cap)
{
	struct iwt_ring_desc sq = {
		.offset = resp->sq_mmap_offset,
		.length = resp->sq_mmap_length,
		.num = resp->sq_entries,
		.stride = resp->sq_stride,
	};
	struct iwt_ring_desc rq = {
		.offset = resp->rq_mmap_offset,
		.length = resp->rq_mmap_length,
		.num = resp->rq_entries,
		.stride = resp->rq_stride,
	};
	uint32_t data;
	int ret, err;

	/* iwt_send_wqe.num_sge has 8 bits */
	if (cap->max_send_sge > UINT8_MAX)
		cap->max_send_sge = UINT8_MAX;
	/*
	 * The lists and the inline data of requests must fit into an entry. So iwt_ring_map()
	 * compares the stride with min_stride, which must not overflow below.
	 */
	if (cap->max_recv_sge > IWT_RING_MAX_STRIDE ||
	    resp->max_inline > IWT_RING_MAX_STRIDE)
		return EPROTO;

	data = cap->max_send_sge * sizeof(struct iwt_sge);
	if (data < resp->max_inline)
		data = resp->max_inline;
	if (data < IWT_ATOMIC_BODY_USER)
		data = IWT_ATOMIC_BODY_USER;
	sq.min_stride = sizeof(struct iwt_send_wqe) + data;
	rq.min_stride = sizeof(struct iwt_recv_wqe) +
			cap->max_recv_sge * sizeof(struct iwt_sge);
	qp->max_inline = resp->max_inline;
	qp->send_bit = resp->send_bit;
	qp->recv_bit = resp->recv_bit;

	ret = iwt_wq_init(&qp->sq, context->cmd_fd, &sq, cap->max_send_sge);
	err = iwt_wq_init(&qp->rq, context->cmd_fd, &rq, cap->max_recv_sge);
	if (!ret)
		ret = err;
	if (ret) {
		iwt_wq_fini(&qp->sq);
		iwt_wq_fini(&qp->rq);
	}

	return ret;
}

static struct iwt_qp *iwt_qp_new(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr)
{
	struct iwt_cmd_create_qp_resp resp = {};
	struct iwt_cmd_create_qp cmd = {};
	uint32_t comp_mask = attr->comp_mask;
	struct iwt_qp *qp;
	int ret;

	ret = iwt_qp_check(attr);
	if (ret)
		goto err;

	ret = ENOMEM;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		goto err;

	qp->features = to_iwt_context(context)->features;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		ret = iwt_qp_set_wr_ops(qp, attr->send_ops_flags);
		if (ret)
			goto err_free;
	}

	/* create_flags is 0, and ibv_cmd_create_qp_ex() does not support the bit for it */
	attr->comp_mask &= ~IBV_QP_INIT_ATTR_CREATE_FLAGS;
	ret = ibv_cmd_create_qp_ex(context, &qp->vqp, attr, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	attr->comp_mask = comp_mask;
	if (ret)
		goto err_free;

	ret = iwt_qp_map(qp, context, &resp.drv_payload, &attr->cap);
	if (ret)
		goto err_destroy;

	qp->sq.single_threaded = iwt_pd_single_threaded(attr->pd);
	qp->rq.single_threaded = qp->sq.single_threaded;
	qp->sig_all = attr->sq_sig_all;
	attr->cap.max_inline_data = qp->max_inline;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		qp->vqp.comp_mask |= VERBS_QP_EX;

	return qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	free(qp);
err:
	errno = ret;
	return NULL;
}

struct ibv_qp *iwt_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct iwt_qp *qp;

	qp = iwt_qp_new(pd->context, &attr_ex);
	if (!qp)
		return NULL;
	attr->cap = attr_ex.cap;

	return &qp->vqp.qp;
}

struct ibv_qp *iwt_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr)
{
	struct iwt_qp *qp;

	qp = iwt_qp_new(context, attr);

	return qp ? &qp->vqp.qp : NULL;
}

int iwt_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = {};

	return ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

/* No completion of the queue pair can follow: see iwt_cq_clean(). */
static void iwt_clean_cqs(struct ibv_qp *ibqp)
{
	iwt_cq_clean(to_iwt_cq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		iwt_cq_clean(to_iwt_cq(ibqp->recv_cq), ibqp->qp_num);
}

int iwt_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct ibv_modify_qp cmd = {};
	int ret;

	ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (!ret && attr_mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		iwt_clean_cqs(ibqp);

	return ret;
}

int iwt_destroy_qp(struct ibv_qp *ibqp)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;

	iwt_clean_cqs(ibqp);
	iwt_wq_fini(&qp->sq);
	iwt_wq_fini(&qp->rq);
	free(qp);

	return 0;
}
