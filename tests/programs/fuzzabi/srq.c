// SPDX-License-Identifier: GPL-2.0
/* Steps: shared receive queues are created, modified, queried and posted to. */
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "fuzzabi.h"

/* The ring of a shared receive queue is ring[1], like the ring of a receive queue. */
static void fill_srq(struct obj *o, const void *private)
{
	struct iwt_create_srq_resp r;

	memcpy(&r, private, sizeof(r));
	o->ring[1] = (struct ring) { NULL, r.mmap_length, r.mmap_offset, r.entries, r.stride };
}

static void got_srq(struct fuzz *f, const struct obj *pd, uint32_t handle, const void *private)
{
	uint32_t domain = pd->handle;
	int ctx = pd->ctx;
	struct obj *o = iwt_new(f, SRQ, ctx, handle);

	o->pd = domain;
	fill_srq(o, private);
	iwt_map(f, o, 1);
}

static void by_method(struct fuzz *f, const struct obj *pd, uint32_t max_wr, uint32_t max_sge)
{
	uint8_t *private = f->out + 64;
	uint64_t user = 1, type = IB_UVERBS_SRQT_BASIC;
	struct ib_uverbs_attr *handle;
	uint32_t limit = 0;
	struct call c;

	iwt_call(&c, I_CREATE_SRQ, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	handle = iwt_handle(&c, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	iwt_handle(&c, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd->handle);
	iwt_in(&c, UVERBS_ATTR_CREATE_SRQ_TYPE, &type, sizeof(type));
	iwt_in(&c, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &user, sizeof(user));
	iwt_in(&c, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &max_wr, sizeof(max_wr));
	iwt_in(&c, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &max_sge, sizeof(max_sge));
	iwt_in(&c, UVERBS_ATTR_CREATE_SRQ_LIMIT, &limit, sizeof(limit));
	iwt_out(&c, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, f->out, 4);
	iwt_out(&c, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, f->out + 8, 4);
	iwt_out(&c, UVERBS_ATTR_UHW_OUT, private, sizeof(struct iwt_create_srq_resp));
	if (!iwt_send(f, iwt_fd(f->w, pd), &c))
		got_srq(f, pd, handle->data, private);
}

static void by_command(struct fuzz *f, const struct obj *pd, uint32_t max_wr, uint32_t max_sge)
{
	struct ib_uverbs_create_srq core = {
		.user_handle = 1, .pd_handle = pd->handle, .max_wr = max_wr, .max_sge = max_sge,
	};
	struct command c = {
		W_CREATE_SRQ, IB_USER_VERBS_CMD_CREATE_SRQ, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_create_srq_resp), 0, sizeof(struct iwt_create_srq_resp),
	};
	uint32_t handle;

	if (iwt_command(f, iwt_fd(f->w, pd), &c))
		return;
	memcpy(&handle, f->out, sizeof(handle));
	got_srq(f, pd, handle, f->out + c.answer_len);
}

void iwt_op_srq(struct fuzz *f)
{
	uint32_t max_wr = 1 + iwt_below(f, 200), max_sge = 1 + iwt_below(f, 4);
	struct obj *pd = iwt_some_pd(f);

	if (!pd)
		return;
	if (iwt_chance(f, 50))
		by_method(f, pd, max_wr, max_sge);
	else
		by_command(f, pd, max_wr, max_sge);
}

static int modify(struct fuzz *f, const struct obj *srq, uint32_t mask, uint32_t max_wr,
		  uint32_t limit)
{
	struct ib_uverbs_modify_srq core = {
		.srq_handle = srq->handle, .attr_mask = mask, .max_wr = max_wr, .srq_limit = limit,
	};
	struct command c = {
		W_MODIFY_SRQ, IB_USER_VERBS_CMD_MODIFY_SRQ, false, &core, NULL, sizeof(core),
	};

	return iwt_command(f, iwt_fd(f->w, srq), &c);
}

void iwt_op_modify_srq(struct fuzz *f)
{
	struct obj *srq = iwt_pick(f, SRQ, -1);

	if (srq)
		modify(f, srq, iwt_chance(f, 80) ? IBV_SRQ_LIMIT : iwt_below(f, 8),
		       1 + iwt_below(f, 300), iwt_below(f, 20));
}

/*
 * Resizes a shared receive queue by the calls of the provider. Other threads may post meanwhile.
 */
void iwt_op_resize_srq(struct fuzz *f)
{
	struct obj *srq = iwt_pick(f, SRQ, -1);
	uint32_t max_wr = 1 + iwt_below(f, 300);
	uint8_t *answer = f->out + 64;
	struct iwt_create_srq_resp ring;
	struct call c;

	if (!srq)
		return;
	iwt_call(&c, I_SRQ_NEW_RING, UVERBS_OBJECT_SRQ, IWT_METHOD_SRQ_NEW_RING);
	iwt_handle(&c, IWT_ATTR_SRQ, srq->handle);
	iwt_in(&c, IWT_ATTR_SRQ_MAX_WR, &max_wr, sizeof(max_wr));
	iwt_out(&c, IWT_ATTR_SRQ_RING, answer, sizeof(ring));
	if (iwt_send(f, iwt_fd(f->w, srq), &c))
		return;
	memcpy(&ring, answer, sizeof(ring));
	if (modify(f, srq, IBV_SRQ_MAX_WR | (iwt_chance(f, 30) ? IBV_SRQ_LIMIT : 0), max_wr,
		   iwt_below(f, 20)))
		return;
	fill_srq(srq, &ring);
	iwt_map(f, srq, 1);
}

void iwt_op_query_srq(struct fuzz *f)
{
	struct obj *srq = iwt_pick(f, SRQ, -1);
	struct ib_uverbs_query_srq core = { .srq_handle = srq ? srq->handle : 0 };
	struct command c = {
		W_QUERY_SRQ, IB_USER_VERBS_CMD_QUERY_SRQ, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_query_srq_resp),
	};

	if (srq)
		iwt_command(f, iwt_fd(f->w, srq), &c);
}

void iwt_op_srq_recv(struct fuzz *f)
{
	struct obj *srq = iwt_pick(f, SRQ, -1);

	struct call c;

	if (!srq)
		return;
	iwt_post_recvs(f, srq, 1 + iwt_below(f, 12));
	if (iwt_chance(f, 50))
		return;
	iwt_call(&c, I_SRQ_DOORBELL, UVERBS_OBJECT_SRQ, IWT_METHOD_SRQ_DOORBELL);
	iwt_handle(&c, IWT_ATTR_SRQ, srq->handle);
	iwt_send(f, iwt_fd(f->w, srq), &c);
}
