// SPDX-License-Identifier: GPL-2.0
/* Steps: queue pairs are created, modified and queried. */
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "fuzzabi.h"

void iwt_fill_qp(struct obj *o, const void *private)
{
	struct iwt_create_qp_resp r;

	memcpy(&r, private, sizeof(r));
	o->num = r.qp_id;
	o->ring[0] = (struct ring) {
		NULL, r.sq_mmap_length, r.sq_mmap_offset, r.sq_entries, r.sq_stride,
	};
	o->ring[1] = (struct ring) {
		NULL, r.rq_mmap_length, r.rq_mmap_offset, r.rq_entries, r.rq_stride,
	};
}

static struct obj *got_qp(struct fuzz *f, int ctx, uint32_t handle, const void *private)
{
	struct obj *o = iwt_new(f, QP, ctx, handle);

	iwt_fill_qp(o, private);
	iwt_map(f, o, 0);
	iwt_map(f, o, 1);
	return o;
}

static struct obj *by_method(struct fuzz *f, int ctx, const struct ib_uverbs_ex_create_qp *q)
{
	struct ib_uverbs_qp_cap cap = {
		q->max_send_wr, q->max_recv_wr, q->max_send_sge, q->max_recv_sge,
		q->max_inline_data,
	};
	uint8_t *private = f->out + 128;
	struct ib_uverbs_attr *handle;
	uint64_t user = 1, type = IB_UVERBS_QPT_RC;
	struct call c;

	iwt_call(&c, I_CREATE_QP, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	handle = iwt_handle(&c, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	iwt_handle(&c, UVERBS_ATTR_CREATE_QP_PD_HANDLE, q->pd_handle);
	iwt_handle(&c, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, q->send_cq_handle);
	iwt_handle(&c, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, q->recv_cq_handle);
	iwt_in(&c, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user, sizeof(user));
	iwt_in(&c, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	iwt_in(&c, UVERBS_ATTR_CREATE_QP_TYPE, &type, sizeof(type));
	if (q->is_srq)
		iwt_handle(&c, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, q->srq_handle);
	iwt_out(&c, UVERBS_ATTR_CREATE_QP_RESP_CAP, f->out, sizeof(cap));
	iwt_out(&c, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, f->out + 64, 4);
	iwt_out(&c, UVERBS_ATTR_UHW_OUT, private, sizeof(struct iwt_create_qp_resp));
	if (iwt_send(f, f->w->ctx[ctx], &c))
		return NULL;
	return got_qp(f, ctx, handle->data, private);
}

static struct obj *extended(struct fuzz *f, int ctx, const struct ib_uverbs_ex_create_qp *q)
{
	struct command c = {
		X_CREATE_QP, IB_USER_VERBS_EX_CMD_CREATE_QP, true, q, NULL, sizeof(*q),
		sizeof(struct ib_uverbs_ex_create_qp_resp), 0, sizeof(struct iwt_create_qp_resp),
	};
	uint32_t handle;

	if (iwt_command(f, f->w->ctx[ctx], &c))
		return NULL;
	memcpy(&handle, f->out, sizeof(handle));
	return got_qp(f, ctx, handle, f->out + c.answer_len);
}

static struct obj *plain(struct fuzz *f, int ctx, const struct ib_uverbs_ex_create_qp *q)
{
	struct ib_uverbs_create_qp core = {};
	struct command c = {
		W_CREATE_QP, IB_USER_VERBS_CMD_CREATE_QP, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_create_qp_resp), 0, sizeof(struct iwt_create_qp_resp),
	};
	uint32_t handle;

	/*
	 * the plain structure begins with the address of the answer; the other fields are equal
	 */
	memcpy((char *)&core + 8, q, sizeof(core) - 8);
	if (iwt_command(f, f->w->ctx[ctx], &c))
		return NULL;
	memcpy(&handle, f->out, sizeof(handle));
	return got_qp(f, ctx, handle, f->out + c.answer_len);
}

/* Modifies @qp, by the plain or the extended command. Return: true if this succeeded. */
bool iwt_modify_qp(struct fuzz *f, const struct obj *qp, struct ib_uverbs_ex_modify_qp *core)
{
	struct command c = {
		W_MODIFY_QP, IB_USER_VERBS_CMD_MODIFY_QP, false, &core->base, NULL,
		sizeof(core->base),
	};

	core->base.qp_handle = qp->handle;
	if (iwt_chance(f, 50)) {
		c = (struct command) {
			X_MODIFY_QP, IB_USER_VERBS_EX_CMD_MODIFY_QP, true, core, NULL,
			sizeof(*core), sizeof(struct ib_uverbs_ex_modify_qp_resp),
		};
	}
	return !iwt_command(f, iwt_fd(f->w, qp), &c);
}

void iwt_allow_all(struct fuzz *f, const struct obj *qp)
{
	struct ib_uverbs_ex_modify_qp core = { .base = {
		.attr_mask = IBV_QP_ACCESS_FLAGS,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	} };

	iwt_modify_qp(f, qp, &core);
}

struct obj *iwt_make_qp(struct fuzz *f)
{
	struct obj *pd = iwt_some_pd(f), *qp;
	int ctx = pd ? pd->ctx : 0;
	struct obj *scq = iwt_pick(f, CQ, ctx), *rcq = iwt_pick(f, CQ, ctx);
	struct obj *srq = iwt_chance(f, 30) ? iwt_pick(f, SRQ, ctx) : NULL;
	struct ib_uverbs_ex_create_qp q = {
		.max_send_wr = 1u << iwt_below(f, 7), .max_recv_wr = iwt_chance(f, 80) ? 64 : iwt_below(f, 5),
		.max_send_sge = 1 + iwt_below(f, 5), .max_recv_sge = 1 + iwt_below(f, 4),
		.max_inline_data = iwt_chance(f, 50) ? 0 : iwt_below(f, IWT_MAX_INLINE),
		.qp_type = IBV_QPT_RC, .sq_sig_all = iwt_below(f, 2),
	};

	if (!pd || !scq || !rcq)
		return NULL;
	q.pd_handle = pd->handle;
	q.send_cq_handle = scq->handle;
	q.recv_cq_handle = rcq->handle;
	if (srq) {
		q.is_srq = 1;
		q.srq_handle = srq->handle;
	}
	switch (iwt_below(f, 3)) {
	case 0:
		qp = by_method(f, ctx, &q);
		break;
	case 1:
		qp = extended(f, ctx, &q);
		break;
	default:
		qp = plain(f, ctx, &q);
	}
	if (!qp)
		return NULL;
	qp->pd = q.pd_handle;
	if (iwt_chance(f, 80))
		iwt_allow_all(f, qp);
	return qp;
}

void iwt_op_qp(struct fuzz *f)
{
	iwt_make_qp(f);
}

void iwt_op_modify_qp(struct fuzz *f)
{
	static const uint8_t to[] = {
		IBV_QPS_ERR, IBV_QPS_ERR, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_SQD, IBV_QPS_RTR,
		IBV_QPS_RTS,
	};
	struct obj *qp = iwt_pick(f, QP, -1);
	struct ib_uverbs_ex_modify_qp core = { .base = {
		.attr_mask = IBV_QP_STATE,
		.qp_state = to[iwt_below(f, sizeof(to))],
		.qp_access_flags = iwt_below(f, 16), .port_num = 1,
	} };

	if (!qp)
		return;
	if (iwt_chance(f, 50))
		core.base.attr_mask = IBV_QP_ACCESS_FLAGS;
	iwt_modify_qp(f, qp, &core);
}

void iwt_op_query_qp(struct fuzz *f)
{
	struct obj *qp = iwt_pick(f, QP, -1);
	struct ib_uverbs_query_qp core = {
		.qp_handle = qp ? qp->handle : 0,
		.attr_mask = IBV_QP_STATE | IBV_QP_CAP | IBV_QP_AV | IBV_QP_DEST_QPN,
	};
	struct command c = {
		W_QUERY_QP, IB_USER_VERBS_CMD_QUERY_QP, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_query_qp_resp),
	};

	if (qp)
		iwt_command(f, iwt_fd(f->w, qp), &c);
}
