// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and ends the connection of a judge (judge.h). Other steps do not use the judge's
 * objects.
 */
#include <string.h>
#include <sys/mman.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "judge.h"

#define RING_BYTES	(1ull << 20)

static bool call(struct judge *j, const struct command *c)
{
	return !iwt_command(j->f, j->f->w->ctx[j->ctx], c);
}

static void have(struct judge *j, struct obj *o)
{
	memset(o, 0, sizeof(*o));
	memcpy(&o->handle, j->f->out, sizeof(o->handle));
	o->ctx = j->ctx;
	o->live = true;
}

static bool make_pd(struct judge *j, struct obj *o)
{
	static const struct ib_uverbs_alloc_pd core;
	struct command c = {
		J_CALL, IB_USER_VERBS_CMD_ALLOC_PD, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_alloc_pd_resp),
	};

	if (!call(j, &c))
		return false;
	have(j, o);
	return true;
}

/* @room: length in bytes of the memory for the driver's part of the answer */
static bool make_cq(struct judge *j, struct obj *o, uint32_t cqe, size_t room)
{
	struct ib_uverbs_ex_create_cq core = { .cqe = cqe, .comp_channel = -1 };
	struct command c = {
		J_CALL, IB_USER_VERBS_EX_CMD_CREATE_CQ, true, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_ex_create_cq_resp), 0, room,
	};

	if (!call(j, &c))
		return false;
	have(j, o);
	iwt_fill_cq(o, j->f->out + c.answer_len);
	return true;
}

static bool make_qp(struct judge *j, int which, size_t room)
{
	struct ib_uverbs_ex_create_qp core = {
		.pd_handle = j->pd[0].handle, .send_cq_handle = j->cq[which].handle,
		.recv_cq_handle = j->cq[which].handle,
		.max_send_wr = j->wrs, .max_recv_wr = j->wrs,
		.max_send_sge = JUDGED_SGES, .max_recv_sge = JUDGED_SGES,
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};
	struct command c = {
		J_CALL, IB_USER_VERBS_EX_CMD_CREATE_QP, true, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_ex_create_qp_resp), 0, room,
	};

	if (!call(j, &c))
		return false;
	have(j, &j->qp[which]);
	iwt_fill_qp(&j->qp[which], j->f->out + c.answer_len);
	return true;
}

static bool make_mr(struct judge *j, int which)
{
	uint32_t all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ib_uverbs_reg_mr core = {
		.start = REGION_AT(which), .length = REGION_BYTES, .hca_va = REGION_AT(which),
		.pd_handle = j->pd[which == OTHERS].handle,
		.access_flags = which == READ_ONLY ? 0 : all,
	};
	struct command c = {
		J_CALL, IB_USER_VERBS_CMD_REG_MR, false, &core, NULL, sizeof(core),
		sizeof(struct ib_uverbs_reg_mr_resp), 0, sizeof(struct iwt_reg_mr_resp),
	};
	struct ib_uverbs_reg_mr_resp answer;

	if (!call(j, &c))
		return false;
	have(j, &j->mr[which]);
	memcpy(&answer, j->f->out, sizeof(answer));
	j->mr[which].handle = answer.mr_handle;
	j->mr[which].num = answer.lkey;
	return true;
}

static bool map(struct judge *j)
{
	int i;

	for (i = 0; i < 2; i++) {
		iwt_map_at(j->f, &j->cq[i], 0, JUDGED_RINGS + 3 * i * RING_BYTES);
		iwt_map_at(j->f, &j->qp[i], 0, JUDGED_RINGS + (3 * i + 1) * RING_BYTES);
		iwt_map_at(j->f, &j->qp[i], 1, JUDGED_RINGS + (3 * i + 2) * RING_BYTES);
		if (!j->cq[i].ring[0].at || !j->qp[i].ring[0].at || !j->qp[i].ring[1].at)
			return false;
	}
	return true;
}

/*
 * Creates the judge's objects, and connects the queue pairs. @cqe: size of the sender's
 * completion queue. Return: true if all calls succeeded.
 */
bool iwt_judged_begin(struct judge *j, uint32_t cqe)
{
	int i;

	for (i = 0; i < 2; i++)
		if (!make_pd(j, &j->pd[i]))
			return false;
	for (i = 0; i < REGIONS; i++)
		if (!make_mr(j, i))
			return false;
	for (i = 0; i < 2; i++) {
		if (!make_cq(j, &j->cq[i], i == TX ? cqe : 4 * JUDGED_WRS,
			     sizeof(struct iwt_create_cq_resp)) ||
		    !make_qp(j, i, sizeof(struct iwt_create_qp_resp)))
			return false;
		iwt_allow_all(j->f, &j->qp[i]);
	}
	return map(j) && iwt_attach(j->f, &j->qp[TX], &j->qp[RX]);
}

void iwt_judged_end(struct judge *j)
{
	int i;

	for (i = 0; i < 2; i++)
		iwt_destroy(j->f, QP, &j->qp[i]);
	for (i = 0; i < 2; i++)
		iwt_destroy(j->f, CQ, &j->cq[i]);
	for (i = 0; i < REGIONS; i++)
		iwt_destroy(j->f, MR, &j->mr[i]);
	for (i = 0; i < 2; i++)
		iwt_destroy(j->f, PD, &j->pd[i]);
	mmap((void *)JUDGED_RINGS, 6 * RING_BYTES, PROT_NONE,
	     MAP_FIXED | MAP_NORESERVE | MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
}

/*
 * Reports an error if the kernel has written more than @told bytes of an answer, the room that
 * the call has announced.
 */
static void no_more_than(struct judge *j, const char *name, size_t told)
{
	size_t i;

	for (i = told; i < 512; i++) {
		if (j->f->out[i]) {
			iwt_judged_say(j, name, "the answer is longer than its room");
			return;
		}
	}
}

/*
 * Tries to map the ring in one of three wrong ways: with another length, as a private mapping, or
 * by another context. The kernel must refuse each of them.
 */
static void odd_maps(struct judge *j, const struct ring *r)
{
	int fd = j->f->w->ctx[j->ctx], kind = iwt_below(j->f, 3);
	size_t len = r->len;
	void *p;

	if (kind == 0)
		len += iwt_chance(j->f, 50) || len == PAGE ? PAGE : -PAGE;
	if (kind == 1)
		fd = j->f->w->ctx[1];
	p = mmap((void *)JUDGED_RINGS, len, PROT_READ | PROT_WRITE,
		 MAP_FIXED | (kind == 2 ? MAP_PRIVATE : MAP_SHARED), fd, r->off);
	if (p == MAP_FAILED)
		return;
	/* the other context may have its own ring at that offset */
	if (kind != 1 || *(uint32_t *)(r->at + offsetof(struct iwt_ring_ctl, reserved0)) ==
	    *(uint32_t *)((uint8_t *)p + offsetof(struct iwt_ring_ctl, reserved0)))
		iwt_judged_say(j, "a mapping", "a wrong mapping was allowed");
}

/*
 * Creates queues with too little memory for the driver's answer, and checks that the kernel
 * writes no more bytes. Then tries a mapping that the kernel must refuse.
 */
void iwt_judged_answers(struct judge *j)
{
	size_t room = 8 * iwt_below(j->f, sizeof(struct iwt_create_cq_resp) / 8);
	struct obj *cq = &j->cq[RX];

	if (!make_pd(j, &j->pd[0]) || !make_cq(j, &j->cq[TX], 8, room))
		return;
	no_more_than(j, "a completion queue", sizeof(struct ib_uverbs_ex_create_cq_resp) + room);
	room = 8 * iwt_below(j->f, sizeof(struct iwt_create_qp_resp) / 8);
	if (!make_qp(j, TX, room))
		return;
	no_more_than(j, "a queue pair", sizeof(struct ib_uverbs_ex_create_qp_resp) + room);
	if (!make_cq(j, cq, 8, sizeof(struct iwt_create_cq_resp)))
		return;
	iwt_map_at(j->f, cq, 0, JUDGED_RINGS + RING_BYTES);
	if (!cq->ring[0].at)
		return;
	/* a mark by which odd_maps() recognises the ring; the kernel does not read this word */
	*(uint32_t *)(cq->ring[0].at + offsetof(struct iwt_ring_ctl, reserved0)) = 0x3a3a3a3a;
	odd_maps(j, &cq->ring[0]);
	iwt_count(J_ANSWERS, 0);
}
