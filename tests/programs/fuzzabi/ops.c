// SPDX-License-Identifier: GPL-2.0
/* The list of steps, and the main loop of a thread. */
#include "fuzzabi.h"

__thread sigjmp_buf iwt_guard;
__thread volatile bool iwt_guarded;

static const struct {
	void (*op)(struct fuzz *f);
	int weight;
} ops[] = {
	{ iwt_op_send, 200 }, { iwt_op_recv, 100 }, { iwt_op_poll, 100 }, { iwt_op_doorbell, 50 },
	{ iwt_op_pair, 18 }, { iwt_op_attach, 15 }, { iwt_op_scribble, 25 }, { iwt_op_judge, 10 }, { iwt_op_mr, 20 },
	{ iwt_op_rereg, 5 }, { iwt_op_dmabuf, 5 }, { iwt_op_mw, 15 }, { iwt_op_qp, 10 },
	{ iwt_op_srq, 8 }, { iwt_op_modify_srq, 8 }, { iwt_op_resize_srq, 8 }, { iwt_op_query_srq, 4 },
	{ iwt_op_srq_recv, 60 },
	{ iwt_op_destroy, 30 }, { iwt_op_cq, 15 }, { iwt_op_pd, 8 }, { iwt_op_channel, 8 },
	{ iwt_op_modify_qp, 12 }, { iwt_op_query_qp, 10 }, { iwt_op_modify_cq, 8 }, { iwt_op_resize_cq, 8 },
	{ iwt_op_query, 25 }, { iwt_op_any_command, 20 }, { iwt_op_any_method, 25 },
	{ iwt_op_direct, 25 }, { iwt_op_direct_pair, 18 },
	{ iwt_op_frames, 25 }, { iwt_op_sockets, 25 }, { iwt_op_cm, 8 }, { iwt_op_any_cm, 15 },
	{ iwt_op_maps, 20 }, { iwt_op_remap, 10 }, { iwt_op_files, 20 }, { iwt_op_context, 4 },
	{ iwt_op_fork, 2 },
};

#define N_OPS	(sizeof(ops) / sizeof(ops[0]))

void iwt_step(struct fuzz *f)
{
	int all = 0;
	uint32_t i;
	int n;

	for (i = 0; i < N_OPS; i++)
		all += ops[i].weight;
	n = iwt_below(f, all);
	for (i = 0; n >= ops[i].weight; i++)
		n -= ops[i].weight;
	ops[i].op(f);
}

/* Runs a step. If the step accesses an unmapped ring, skips the rest of the step. */
void iwt_guarded_step(struct fuzz *f, void (*what)(struct fuzz *f))
{
	if (!sigsetjmp(iwt_guard, 1)) {
		iwt_guarded = true;
		what(f);
	} else {
		__atomic_fetch_add(&iwt_tally->faults, 1, __ATOMIC_RELAXED);
	}
	iwt_guarded = false;
}

void iwt_fuzz_thread(struct fuzz *f, uint64_t n)
{
	uint64_t i;

	for (i = 1; i <= n && !f->w->stop; i++) {
		iwt_op_seed(f, i);
		f->hot = iwt_chance(f, 60) ? 0 : 30;
		iwt_guarded_step(f, iwt_step);
		__atomic_fetch_add(f->w->steps, 1, __ATOMIC_RELAXED);
	}
}
