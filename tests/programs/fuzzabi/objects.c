// SPDX-License-Identifier: GPL-2.0
/* Steps: objects are created, changed, queried and destroyed, by commands and methods. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "fuzzabi.h"

/* Mostly returns context 0, because objects of different contexts do not work together. */
static int some_ctx(struct fuzz *f)
{
	return iwt_chance(f, 80) ? 0 : iwt_below(f, CONTEXTS);
}

static int other_ctx(struct fuzz *f, int ctx)
{
	return f->hot && iwt_chance(f, 3) ? -1 : ctx;
}

/*
 * Mostly returns the first protection domain, because objects of different domains do not work
 * together.
 */
struct obj *iwt_some_pd(struct fuzz *f)
{
	struct obj *first = &f->w->obj[PD][0];

	return first->live && iwt_chance(f, 85) ? first : iwt_pick(f, PD, -1);
}

void iwt_op_pd(struct fuzz *f)
{
	static const struct ib_uverbs_alloc_pd core;
	struct command c = {
		W_ALLOC_PD, IB_USER_VERBS_CMD_ALLOC_PD, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_alloc_pd_resp),
	};
	int ctx = some_ctx(f);
	uint32_t handle;

	if (iwt_command(f, f->w->ctx[ctx], &c))
		return;
	memcpy(&handle, f->out, sizeof(handle));
	iwt_new(f, PD, ctx, handle);
}

void iwt_op_channel(struct fuzz *f)
{
	static const struct ib_uverbs_create_comp_channel core;
	struct command c = {
		W_COMP_CHANNEL, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, false, &core, NULL,
		sizeof(core), sizeof(struct ib_uverbs_create_comp_channel_resp),
	};
	int ctx = some_ctx(f);
	uint32_t fd;

	if (iwt_command(f, f->w->ctx[ctx], &c))
		return;
	memcpy(&fd, f->out, sizeof(fd));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	iwt_new(f, CHANNEL, ctx, fd);
}

void iwt_fill_cq(struct obj *o, const void *private)
{
	struct iwt_create_cq_resp r;

	memcpy(&r, private, sizeof(r));
	o->ring[0] = (struct ring) {
		NULL, r.mmap_length, r.mmap_offset, r.entries, r.stride,
	};
}

static void got_cq(struct fuzz *f, int ctx, uint32_t handle, const void *private)
{
	struct obj *o = iwt_new(f, CQ, ctx, handle);

	iwt_fill_cq(o, private);
	iwt_map(f, o, 0);
}

static void cq_by_method(struct fuzz *f, int ctx, uint32_t cqe, int channel)
{
	uint8_t *private = f->out + 64;
	struct ib_uverbs_attr *handle;
	uint32_t vector = 0;
	uint64_t user = 1;
	struct call c;

	iwt_call(&c, I_CREATE_CQ, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	handle = iwt_handle(&c, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	iwt_in(&c, UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe));
	iwt_in(&c, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user, sizeof(user));
	iwt_in(&c, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector, sizeof(vector));
	iwt_out(&c, UVERBS_ATTR_CREATE_CQ_RESP_CQE, f->out, 4);
	if (channel >= 0)
		iwt_handle(&c, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel);
	iwt_out(&c, UVERBS_ATTR_UHW_OUT, private, sizeof(struct iwt_create_cq_resp));
	if (!iwt_send(f, f->w->ctx[ctx], &c))
		got_cq(f, ctx, handle->data, private);
}

static void cq_by_command(struct fuzz *f, int ctx, struct command *c)
{
	uint32_t handle;

	if (iwt_command(f, f->w->ctx[ctx], c))
		return;
	memcpy(&handle, f->out, sizeof(handle));
	got_cq(f, ctx, handle, f->out + c->answer_len);
}

static void cq_extended(struct fuzz *f, int ctx, uint32_t cqe, int channel)
{
	struct ib_uverbs_ex_create_cq core = {
		.cqe = cqe, .comp_channel = channel,
		/* sometimes each entry also has a timestamp */
		.flags = iwt_chance(f, 20) ? IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION : 0,
	};
	struct command c = {
		X_CREATE_CQ, IB_USER_VERBS_EX_CMD_CREATE_CQ, true, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_ex_create_cq_resp), 0, sizeof(struct iwt_create_cq_resp),
	};

	cq_by_command(f, ctx, &c);
}

static void cq_plain(struct fuzz *f, int ctx, uint32_t cqe, int channel)
{
	struct ib_uverbs_create_cq core = { .cqe = cqe, .comp_channel = channel };
	struct command c = {
		W_CREATE_CQ, IB_USER_VERBS_CMD_CREATE_CQ, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_create_cq_resp), 0, sizeof(struct iwt_create_cq_resp),
	};

	cq_by_command(f, ctx, &c);
}

void iwt_op_cq(struct fuzz *f)
{
	int ctx = some_ctx(f);
	struct obj *channel = iwt_chance(f, 60) ? iwt_pick(f, CHANNEL, other_ctx(f, ctx)) : NULL;
	int fd = channel ? (int)channel->handle : -1;
	uint32_t cqe = iwt_chance(f, 80) ? 512 : 1u << iwt_below(f, 12);

	switch (iwt_below(f, 3)) {
	case 0:
		cq_by_method(f, ctx, cqe, fd);
		break;
	case 1:
		cq_extended(f, ctx, cqe, fd);
		break;
	default:
		cq_plain(f, ctx, cqe, fd);
	}
}

void iwt_op_modify_cq(struct fuzz *f)
{
	struct obj *cq = iwt_pick(f, CQ, -1);
	struct ib_uverbs_ex_modify_cq core = {
		.cq_handle = cq ? cq->handle : 0, .attr_mask = IBV_CQ_ATTR_MODERATE,
		.attr = { iwt_below(f, 20), iwt_below(f, 2000) },
	};
	struct command c = {
		X_MODIFY_CQ, IB_USER_VERBS_EX_CMD_MODIFY_CQ, true, &core, NULL, sizeof(core),
	};

	if (cq)
		iwt_command(f, iwt_fd(f->w, cq), &c);
}

static void resized(struct fuzz *f, const struct obj *cq, uint32_t flags)
{
	struct call c;

	iwt_call(&c, I_RESIZED, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_RESIZED);
	iwt_handle(&c, IWT_ATTR_CQ, cq->handle);
	iwt_in(&c, IWT_ATTR_CQ_RESIZED_FLAGS, &flags, sizeof(flags));
	iwt_send(f, iwt_fd(f->w, cq), &c);
}

static void resize(struct fuzz *f, const struct obj *cq, uint32_t cqe)
{
	struct ib_uverbs_resize_cq core = { .cq_handle = cq->handle, .cqe = cqe };
	struct command c = {
		W_RESIZE_CQ, IB_USER_VERBS_CMD_RESIZE_CQ, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_resize_cq_resp), 0, sizeof(struct iwt_resize_cq_resp),
	};
	struct iwt_resize_cq_resp r;
	void *at;

	if (iwt_command(f, iwt_fd(f->w, cq), &c))
		return;
	memcpy(&r, f->out + c.answer_len, sizeof(r));
	if (!r.mmap_length)
		return;
	at = mmap(NULL, r.mmap_length, PROT_READ | PROT_WRITE, MAP_SHARED, iwt_fd(f->w, cq),
		  r.mmap_offset);
	iwt_count(M_MMAP, at == MAP_FAILED ? errno : 0);
	if (at == MAP_FAILED)
		return;
	memset(at, 0xa5, PAGE);
	munmap(at, r.mmap_length);
}

/*
 * Resizes a completion queue. Other steps read only the entries of the first mapping. These
 * entries are valid until CQ_RESIZED moves the queue to another mapping, and again after a second
 * resize has moved the queue back to the first mapping.
 */
void iwt_op_resize_cq(struct fuzz *f)
{
	struct obj *cq = iwt_pick(f, CQ, -1);

	if (!cq)
		return;
	resize(f, cq, iwt_chance(f, 80) ? 512u << iwt_below(f, 5) : (uint32_t)iwt_value(f));
	if (iwt_chance(f, 30))
		return;
	if (iwt_chance(f, 70)) {
		resized(f, cq, IWT_CQ_RESIZED_NOT);
		return;
	}
	resized(f, cq, iwt_chance(f, 90) ? 0 : iwt_value(f));
	resize(f, cq, 256);
	resized(f, cq, 0);
}

void iwt_op_mr(struct fuzz *f)
{
	struct obj *pd = iwt_some_pd(f), *mr;
	uint64_t off = iwt_below(f, 32) * PAGE + (iwt_chance(f, 30) ? iwt_below(f, PAGE) : 0);
	struct ib_uverbs_reg_mr core = {
		.start = DATA + off, .length = PAGE + iwt_below(f, 8 * PAGE), .hca_va = DATA + off,
		.access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				(iwt_chance(f, 70) ? IBV_ACCESS_MW_BIND : 0),
	};
	struct command c = {
		W_REG_MR, IB_USER_VERBS_CMD_REG_MR, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_reg_mr_resp), 0, sizeof(struct iwt_reg_mr_resp),
	};
	struct ib_uverbs_reg_mr_resp answer;

	if (!pd)
		return;
	core.pd_handle = pd->handle;
	if (iwt_chance(f, 30))
		core.access_flags |= IBV_ACCESS_ON_DEMAND;
	if (core.access_flags & IBV_ACCESS_ON_DEMAND && iwt_chance(f, 20)) {
		core.start = core.hca_va = 0;
		core.length = UINT64_MAX;
	}
	if (iwt_hot(f) && iwt_chance(f, 40))
		core.start = core.hca_va = iwt_pointer(f);
	if (iwt_command(f, iwt_fd(f->w, pd), &c))
		return;
	memcpy(&answer, f->out, sizeof(answer));
	mr = iwt_new(f, MR, pd->ctx, answer.mr_handle);
	mr->num = answer.lkey;
	mr->pd = pd->handle;
	/* of an implicit region, store the part that contains the program's memory DATA */
	mr->addr = core.length == UINT64_MAX ? DATA : core.hca_va;
	mr->bytes = core.length == UINT64_MAX ? 32 * PAGE : core.length;
}

/* Changes a region. Other threads may use the old bounds of this region meanwhile. */
void iwt_op_rereg(struct fuzz *f)
{
	struct obj *mr = iwt_pick(f, MR, -1), *pd = mr ? iwt_pick(f, PD, mr->ctx) : NULL;
	uint64_t at = DATA + iwt_below(f, 32) * PAGE + (iwt_chance(f, 30) ? iwt_below(f, PAGE) : 0);
	struct ib_uverbs_rereg_mr core = {
		.flags = 1 + iwt_below(f, 7), .start = at, .hca_va = at,
		.length = PAGE + iwt_below(f, 8 * PAGE),
		.access_flags = (iwt_chance(f, 70) ? 15 : iwt_below(f, 16)) | (iwt_chance(f, 30) ? IBV_ACCESS_ON_DEMAND : 0),
	};
	struct command c = {
		W_REREG_MR, IB_USER_VERBS_CMD_REREG_MR, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_rereg_mr_resp),
	};
	struct ib_uverbs_rereg_mr_resp answer;

	if (!pd)
		return;
	core.mr_handle = mr->handle;
	core.pd_handle = pd->handle;
	if (iwt_hot(f) && iwt_chance(f, 40))
		core.start = core.hca_va = iwt_pointer(f);
	if (iwt_command(f, iwt_fd(f->w, mr), &c))
		return;
	memcpy(&answer, f->out, sizeof(answer));
	mr->num = answer.lkey;
	if (core.flags & IBV_REREG_MR_CHANGE_PD)
		mr->pd = pd->handle;
	if (core.flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = core.hca_va;
		mr->bytes = core.length;
	}
}

void iwt_op_mw(struct fuzz *f)
{
	struct obj *pd = iwt_some_pd(f), *mw;
	struct ib_uverbs_alloc_mw core = { .mw_type = 1 + iwt_below(f, 2) };
	struct command c = {
		W_ALLOC_MW, IB_USER_VERBS_CMD_ALLOC_MW, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_alloc_mw_resp),
	};
	struct ib_uverbs_alloc_mw_resp answer;

	if (!pd)
		return;
	core.pd_handle = pd->handle;
	if (iwt_command(f, iwt_fd(f->w, pd), &c))
		return;
	memcpy(&answer, f->out, sizeof(answer));
	mw = iwt_new(f, MW, pd->ctx, answer.mw_handle);
	mw->num = answer.rkey;
	mw->pd = pd->handle;
}

/* ---- destroying ---- */

static int destroy_method(struct fuzz *f, int fd, enum kind k, uint32_t handle)
{
	static const struct { enum method m; uint16_t object, method, id, answer; } how[] = {
		[PD] = { I_DESTROY_PD, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
			 UVERBS_ATTR_DESTROY_PD_HANDLE, 0 },
		[CQ] = { I_DESTROY_CQ, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY,
			 UVERBS_ATTR_DESTROY_CQ_HANDLE, UVERBS_ATTR_DESTROY_CQ_RESP },
		[QP] = { I_DESTROY_QP, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY,
			 UVERBS_ATTR_DESTROY_QP_HANDLE, UVERBS_ATTR_DESTROY_QP_RESP },
		[SRQ] = { I_DESTROY_SRQ, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY,
			  UVERBS_ATTR_DESTROY_SRQ_HANDLE, UVERBS_ATTR_DESTROY_SRQ_RESP },
		[MR] = { I_DESTROY_MR, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
			 UVERBS_ATTR_DESTROY_MR_HANDLE, 0 },
		[MW] = { I_DESTROY_MW, UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY,
			 UVERBS_ATTR_DESTROY_MW_HANDLE, 0 },
	};
	struct call c;

	iwt_call(&c, how[k].m, how[k].object, how[k].method);
	iwt_handle(&c, how[k].id, handle);
	if (how[k].answer)
		iwt_out(&c, how[k].answer, f->out,
			k == CQ ? sizeof(struct ib_uverbs_destroy_cq_resp) :
			k == SRQ ? sizeof(struct ib_uverbs_destroy_srq_resp) :
				  sizeof(struct ib_uverbs_destroy_qp_resp));
	return iwt_send(f, fd, &c);
}

static int destroy_command(struct fuzz *f, int fd, enum kind k, uint32_t handle)
{
	struct { uint64_t answer; uint32_t handle, reserved; } core = { 0, handle };
	static const struct { enum method m; uint32_t number; size_t answer; } how[] = {
		[PD] = { W_DEALLOC_PD, IB_USER_VERBS_CMD_DEALLOC_PD, 0 },
		[CQ] = { W_DESTROY_CQ, IB_USER_VERBS_CMD_DESTROY_CQ,
			 sizeof(struct ib_uverbs_destroy_cq_resp) },
		[QP] = { W_DESTROY_QP, IB_USER_VERBS_CMD_DESTROY_QP,
			 sizeof(struct ib_uverbs_destroy_qp_resp) },
		[SRQ] = { W_DESTROY_SRQ, IB_USER_VERBS_CMD_DESTROY_SRQ,
			  sizeof(struct ib_uverbs_destroy_srq_resp) },
		[MR] = { W_DEREG_MR, IB_USER_VERBS_CMD_DEREG_MR, 0 },
		[MW] = { W_DEALLOC_MW, IB_USER_VERBS_CMD_DEALLOC_MW, 0 },
	};
	struct command c = { how[k].m, how[k].number, false, &core, NULL, sizeof(core),
			     how[k].answer };

	if (!how[k].answer) {
		c.core = &core.handle;
		c.core_len = sizeof(core.handle);
	}
	return iwt_command(f, fd, &c);
}

void iwt_destroy(struct fuzz *f, enum kind k, struct obj *o)
{
	uint32_t handle = o->handle;
	bool was = o->live;
	int err = 0;

	o->live = false;
	if (!was)
		return;
	if (k == CHANNEL || k == SOCKET || k == CM_ID) {
		/*
		 * if a mutation moved the answer, the descriptor was not read and seems to be 0
		 */
		if (handle > STDERR_FILENO)
			close(handle);
	} else if (iwt_chance(f, 50)) {
		err = destroy_method(f, iwt_fd(f->w, o), k, handle);
	} else {
		err = destroy_command(f, iwt_fd(f->w, o), k, handle);
	}
	if (err == EBUSY)
		o->live = true;
}

void iwt_op_destroy(struct fuzz *f)
{
	static const enum kind k[] = { PD, CQ, QP, QP, MR, MR, MW, SRQ, CHANNEL };
	enum kind kind = k[iwt_below(f, sizeof(k) / sizeof(k[0]))];
	struct obj *o = iwt_pick(f, kind, -1);

	if (o)
		iwt_destroy(f, kind, o);
}
