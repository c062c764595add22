// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_windows: tests the rules for binding, using and invalidating a window, one rule at a time,
 * and the order of binds and invalidations relative to other requests.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"
#include "windows.h"

#define RW	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define LOCAL	IBV_ACCESS_LOCAL_WRITE
#define BINDS	IBV_ACCESS_MW_BIND

/* Regions to bind to: their domain and access */
enum { ALL, READ_ONLY, NO_BIND, FOREIGN, REGIONS };
static const struct {
	int pd, access;
} regions[REGIONS] = {
	[ALL] = { 0, LOCAL | BINDS },
	[READ_ONLY] = { 0, BINDS },
	[NO_BIND] = { 0, LOCAL },
	[FOREIGN] = { 1, LOCAL | BINDS },
};

static const struct rule {
	const char *what;
	enum ibv_wc_status want;
	int type, pd, region, access;
	int64_t at;
	uint64_t len;
} rules[] = {
	{ "type 1: a whole region", 0, 1, 0, ALL, RW | IBV_ACCESS_REMOTE_ATOMIC, 0, ARENA },
	{ "type 2: a whole region", 0, 2, 0, ALL, RW | IBV_ACCESS_REMOTE_ATOMIC, 0, ARENA },
	{ "the last octet of a region", 0, 2, 0, ALL, RW, ARENA - 1, 1 },
	{ "no rights at all", 0, 2, 0, ALL, 0, 0, 100 },
	{ "type 1: no octets", 0, 1, 0, ALL, RW, 0, 0 },
	{ "type 2: no octets", IBV_WC_MW_BIND_ERR, 2, 0, ALL, RW, 0, 0 },
	{ "type 2: zero-based", 0, 2, 0, ALL, RW | IBV_ACCESS_ZERO_BASED, 8, 100 },
	{ "type 1: zero-based", IBV_WC_MW_BIND_ERR, 1, 0, ALL, RW | IBV_ACCESS_ZERO_BASED, 8,
	  100 },
	{ "a range that ends one octet behind the region", IBV_WC_MW_BIND_ERR, 2, 0, ALL, RW, 1,
	  ARENA },
	{ "a range that begins one octet before the region", IBV_WC_MW_BIND_ERR, 2, 0, ALL, RW,
	  -1, 10 },
	{ "a range that begins behind the region", IBV_WC_MW_BIND_ERR, 1, 0, ALL, RW, ARENA, 1 },
	{ "a length that wraps", IBV_WC_MW_BIND_ERR, 2, 0, ALL, RW, 8, UINT64_MAX },
	{ "a length of 4 GB more", IBV_WC_MW_BIND_ERR, 2, 0, ALL, RW, 0, (1ULL << 32) + 8 },
	{ "a read-only region, with the right to read", 0, 2, 0, READ_ONLY,
	  IBV_ACCESS_REMOTE_READ, 0, 99 },
	{ "a read-only region, with the right to write", IBV_WC_MW_BIND_ERR, 2, 0, READ_ONLY,
	  IBV_ACCESS_REMOTE_WRITE, 0, 99 },
	{ "a read-only region, with the right to atomic operations", IBV_WC_MW_BIND_ERR, 1, 0,
	  READ_ONLY,
	  IBV_ACCESS_REMOTE_ATOMIC, 0, 99 },
	{ "a region without the right to bind", IBV_WC_MW_BIND_ERR, 2, 0, NO_BIND, RW, 0, 99 },
	{ "a region of another domain", IBV_WC_MW_BIND_ERR, 2, 0, FOREIGN, RW, 0, 99 },
	{ "a window of another domain", IBV_WC_MW_BIND_ERR, 1, 1, ALL, RW, 0, 99 },
	{ "a region and a window of another domain", IBV_WC_MW_BIND_ERR, 2, 1, FOREIGN, RW, 0,
	  99 },
	/* accepted, because programs request this right for windows as they do for regions */
	{ "the local right to write, which has no meaning for a window", IBV_WC_SUCCESS, 2, 0,
	  ALL, RW | LOCAL, 0, 99 },
	{ "the right to bind", IBV_WC_MW_BIND_ERR, 2, 0, ALL, RW | BINDS, 0, 99 },
	{ "the hint of relaxed ordering", IBV_WC_MW_BIND_ERR, 2, 0, ALL,
	  RW | IBV_ACCESS_RELAXED_ORDERING, 0, 99 },
	{ "an unknown right", IBV_WC_MW_BIND_ERR, 1, 0, ALL, RW | 1 << 30, 0, 99 },
};

static void try_rule(struct bench *b, const struct rule *r, struct ibv_mr **mr)
{
	struct ibv_mw *mw = window(b, r->pd, r->type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	enum ibv_wc_status status = bind_do(b, 0, mw, mr[r->region], b->arena + r->at, r->len, r->access);
	char what[100];
	bool good = status == r->want;

	if (!good)
		printf("# %s\n", ibv_wc_status_str(status));
	/* a refused bind ends the connection and binds nothing: the region can be deregistered */
	if (status)
		good = good && far_event(b, 0) == IBV_EVENT_QP_FATAL && !ibv_dereg_mr(mr[r->region]);
	else
		good = good && !ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr[r->region]);
	mr[r->region] = region(b, regions[r->region].pd, regions[r->region].access);
	if (status) {
		pair_drop(b, 0);
		good = good && !ibv_dealloc_mw(mw);
	}
	snprintf(what, sizeof(what), "bind: %s: %s", r->what, r->want ? "refused" : "done");
	report(good, "%s", what);
}

/* Posts a request. Return: true if the request has failed with the status @want. */
static bool fails(struct bench *b, int i, struct ibv_send_wr *wr, enum ibv_wc_status want)
{
	enum ibv_wc_status status = far_do(b, i, wr);

	if (status != want)
		printf("# %s\n", ibv_wc_status_str(status));
	if (status)
		pair_drop(b, i);
	return status == want;
}

static bool denied(struct bench *b, int i, const struct request *r, int event)
{
	int got;

	if (!near_do(b, i, r))
		return false;
	got = far_event(b, i);
	if (got != event)
		printf("# event %d\n", got);
	pair_drop(b, i);
	return got == event;
}

static void test_names(struct bench *b, struct ibv_mr *mr)
{
	struct ibv_mw *mw = window(b, 0, IBV_MW_TYPE_2), *other = window(b, 0, IBV_MW_TYPE_2), copy;
	struct ibv_mr as_region = *mr;
	struct ibv_send_wr wr;

	report(!bind_do(b, 0, mw, mr, b->arena, 64, RW), "names: a window is bound to a region");
	as_region.lkey = mw->rkey;
	wr = bind_wr(other, &as_region, b->arena, 8, RW);
	report(fails(b, 0, &wr, IBV_WC_MW_BIND_ERR), "names: a window is not bound to a window");
	report(!bind_do(b, 0, mw, mr, b->arena, 64, RW),
	       "names: the window is bound again after the end of its queue pair");
	copy = *mw;
	copy.rkey = mr->rkey;
	wr = bind_wr(&copy, mr, b->arena, 8, RW);
	report(fails(b, 0, &wr, IBV_WC_MW_BIND_ERR),
	       "names: a region is not bound like a window");
	as_region.lkey = mr->lkey ^ 1;
	wr = bind_wr(mw, &as_region, b->arena, 8, RW);
	report(fails(b, 0, &wr, IBV_WC_MW_BIND_ERR),
	       "names: a bind to a region with a wrong key is refused");
	copy.rkey = mw->rkey ^ 0x12345600;
	wr = bind_wr(&copy, mr, b->arena, 8, RW);
	report(fails(b, 0, &wr, IBV_WC_MW_BIND_ERR),
	       "names: a bind of a window that does not exist is refused");
	report(!bind_do(b, 0, mw, mr, b->arena, 64, RW), "names: the window is bound");
	wr = bind_wr(mw, mr, b->arena, 64, RW);
	report(fails(b, 0, &wr, IBV_WC_MW_BIND_ERR),
	       "names: a window of type 2 is not bound twice");
	ibv_dealloc_mw(mw);
	ibv_dealloc_mw(other);
}

/* Local requests may only use regions: the key of a window is refused as an lkey. */
static void test_local_use(struct bench *b, struct ibv_mr *mr)
{
	struct ibv_mw *mw = window(b, 0, IBV_MW_TYPE_1);
	struct ibv_sge sge = { (uintptr_t)b->arena, 8, 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	int all = RW | IBV_ACCESS_REMOTE_ATOMIC;

	report(!bind_do(b, 0, mw, mr, b->arena, 64, all), "local use: a window is bound");
	sge.lkey = mw->rkey;
	report(fails(b, 0, &wr, IBV_WC_LOC_PROT_ERR),
	       "local use: a Send from the window is refused");
	wr.opcode = IBV_WR_RDMA_READ;
	report(fails(b, 0, &wr, IBV_WC_LOC_PROT_ERR),
	       "local use: a Read into the window is refused");
	ibv_dealloc_mw(mw);
}

static void test_invalidate(struct bench *b, struct ibv_mr *mr)
{
	struct ibv_mw *one = window(b, 0, IBV_MW_TYPE_1), *two = window(b, 0, IBV_MW_TYPE_2);
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV };
	struct request r = { .op = IBV_WR_SEND_WITH_INV };

	report(!bind_do(b, 0, one, mr, b->arena, 64, RW) && !bind_do(b, 0, two, mr, b->arena, 64, RW),
	       "invalidate: windows");
	inv.invalidate_rkey = one->rkey;
	report(fails(b, 0, &inv, IBV_WC_LOC_QP_OP_ERR),
	       "invalidate: a window of type 1 is refused");
	inv.invalidate_rkey = mr->rkey;
	report(fails(b, 0, &inv, IBV_WC_LOC_QP_OP_ERR), "invalidate: a region is refused");
	inv.invalidate_rkey = two->rkey;
	report(!far_do(b, 0, &inv) && !far_do(b, 1, &inv),
	       "invalidate: an unbound window is accepted");
	report(fails(b, 2, &inv, IBV_WC_LOC_QP_OP_ERR),
	       "invalidate: a window of another domain is refused");
	report(!bind_do(b, 0, two, mr, b->arena, 64, RW), "invalidate: a window is bound");
	inv.invalidate_rkey = two->rkey;
	report(fails(b, 1, &inv, IBV_WC_LOC_QP_OP_ERR),
	       "invalidate: another queue pair is refused");
	pair_connect(b, 1);
	far_receive(b, 1);
	r.rkey = two->rkey;
	report(denied(b, 1, &r, IBV_EVENT_QP_ACCESS_ERR),
	       "invalidate: the peer of another queue pair is refused");
	pair_connect(b, 0);
	far_receive(b, 0);
	r.rkey = one->rkey;
	report(denied(b, 0, &r, IBV_EVENT_QP_REQ_ERR),
	       "invalidate: a window of type 1 by a peer is refused");
	report(!bind_do(b, 0, two, mr, b->arena, 64, RW),
	       "invalidate: the window is bound again");
	far_receive(b, 0);
	r.rkey = two->rkey;
	report(!near_do(b, 0, &r), "invalidate: the peer of the window's queue pair is accepted");
	pair_drop(b, 0);
	ibv_dealloc_mw(one);
	ibv_dealloc_mw(two);
}

/* While a window is bound, its region can neither be deregistered nor changed. */
static void test_region_stays(struct bench *b, struct ibv_mr *mr, enum ibv_mw_type type)
{
	struct ibv_mw *mw = window(b, 0, type);
	int rc[4];

	report(!bind_do(b, 0, mw, mr, b->arena, 64, RW), "region: a window is bound");
	rc[0] = ibv_dereg_mr(mr);
	rc[1] = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LOCAL);
	rc[2] = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b->arena, PAGE, 0);
	rc[3] = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, b->pd[1], NULL, 0, 0);
	report(rc[0] == EBUSY, "region: it is not deregistered while a window is bound");
	report(rc[1] && rc[2] && rc[3], "region: it is not changed while a window is bound");
	report(!near_do(b, 0, &(struct request){ IBV_WR_RDMA_WRITE, 8, (uintptr_t)b->arena, mw->rkey }),
	       "region: the window still allows accesses");
	report(!ibv_dealloc_mw(mw), "region: the window is deallocated while it is bound");
	report(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LOCAL | BINDS),
	       "region: it can be changed afterwards");
}

/*
 * The far end posts a bind and then a Send. The near end accesses the window as soon as it
 * has received the Send. The far end posts an invalidation and a Send in the same way; then the
 * access must fail. The far end never waits for the completion of its bind or invalidation.
 */
static void test_order(struct bench *b, struct ibv_mr *mr)
{
	struct ibv_mw *mw = window(b, 0, IBV_MW_TYPE_2);
	struct ibv_send_wr wr[4];
	struct ibv_recv_wr recv = {}, *bad;
	struct request r = { IBV_WR_RDMA_WRITE, 8, (uintptr_t)b->arena, 0 };
	struct ibv_wc wc;
	int i, lost = 0;

	for (i = 0; i < 50; i++) {
		pair_connect(b, 0);
		if (ibv_post_recv(b->pair[0].near->qp, &recv, &bad) ||
		    ibv_post_recv(b->pair[0].near->qp, &recv, &bad))
			die("ibv_post_recv");
		wr[0] = bind_wr(mw, mr, b->arena, 64, RW);
		mw->rkey = wr[0].bind_mw.rkey;
		wr[1] = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
		wr[0].next = &wr[1];
		if (far_post(b, 0, wr))
			die("ibv_post_send");
		reap(b->pair[0].near_cq, &wc, 1);
		r.rkey = mw->rkey;
		lost += near_do(b, 0, &r) != IBV_WC_SUCCESS;
		wr[2] = (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = mw->rkey };
		wr[3] = (struct ibv_send_wr){ .opcode = IBV_WR_SEND };
		wr[2].next = &wr[3];
		if (far_post(b, 0, wr + 2))
			die("ibv_post_send");
		reap(b->pair[0].near_cq, &wc, 1);
		lost += wc.status || !denied(b, 0, &r, IBV_EVENT_QP_ACCESS_ERR);
	}
	report(!lost, "order: a bind and an invalidation take effect before a later Send");
	ibv_dealloc_mw(mw);
}

/*
 * A window of type 2 stays bound when the connection of its queue pair ends. But a reset of the
 * queue pair unbinds the window.
 */
static void test_reset(struct bench *b, struct ibv_mr *mr)
{
	struct request r = { IBV_WR_RDMA_WRITE, 8, (uintptr_t)b->arena, 0 };
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_mw *mw = window(b, 0, IBV_MW_TYPE_2);
	struct patience p = {};

	/*
	 * Connect pair 1 before pair 0 fails: otherwise the rdma_cm events of the failed
	 * connection would arrive among the events of the new connection.
	 */
	pair_connect(b, 1);
	report(!bind_do(b, 0, mw, mr, b->arena, 64, RW), "reset: a window is bound");
	r.rkey = mw->rkey ^ 1;
	report(near_do(b, 0, &r), "reset: the connection ends");
	report(ibv_dereg_mr(mr) == EBUSY, "reset: the window is still bound");
	/* repeat, because TCP may not have closed the connection yet */
	while (ibv_modify_qp(b->pair[0].far->qp, &reset, IBV_QP_STATE) && patient(&p, PATIENCE, 0))
		usleep(1000);
	r.rkey = mw->rkey;
	report(!bind_do(b, 1, mw, mr, b->arena, 64, RW),
	       "reset: the reset unbinds the window, and another queue pair binds it");
	report(!near_do(b, 1, &(struct request){ IBV_WR_RDMA_WRITE, 8, (uintptr_t)b->arena, mw->rkey }),
	       "reset: the new peer accesses the window");
	pair_drop(b, 0);
	report(!near_do(b, 1, &(struct request){ IBV_WR_RDMA_WRITE, 8, (uintptr_t)b->arena, mw->rkey }),
	       "reset: the new peer accesses the window after the end of the first queue pair");
	ibv_dealloc_mw(mw);
}

/* Ends the process while windows of both types are bound. */
void leave_bound(struct bench *b)
{
	struct ibv_mr *mr = region(b, 0, LOCAL | BINDS);

	if (bind_do(b, 0, window(b, 0, IBV_MW_TYPE_1), mr, b->arena, 64, RW) ||
	    bind_do(b, 0, window(b, 0, IBV_MW_TYPE_2), mr, b->arena, 64, RW))
		_exit(1);
	_exit(LEFT_BOUND);
}

static void test_exit(struct bench *b)
{
	int status, pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "iwt_windows", "-a", b->address, "-p", "7478", "-x", NULL);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	report(WIFEXITED(status) && WEXITSTATUS(status) == LEFT_BOUND,
	       "exit: a process ends with bound windows");
}

void test_rules(struct bench *b)
{
	struct ibv_mr *mr[REGIONS];
	unsigned int i;

	for (i = 0; i < REGIONS; i++)
		mr[i] = region(b, regions[i].pd, regions[i].access);
	for (i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		try_rule(b, &rules[i], mr);
	test_names(b, mr[ALL]);
	test_local_use(b, mr[ALL]);
	test_invalidate(b, mr[ALL]);
	test_region_stays(b, mr[ALL], IBV_MW_TYPE_1);
	test_region_stays(b, mr[ALL], IBV_MW_TYPE_2);
	test_order(b, mr[ALL]);
	test_reset(b, mr[ALL]);
	for (i = 0; i < REGIONS; i++)
		if (ibv_dereg_mr(mr[i]))
			die("ibv_dereg_mr");
	test_exit(b);
}
