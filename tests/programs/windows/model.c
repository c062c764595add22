// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_windows: a random sequence of binds, invalidations and accesses of many windows over some
 * regions. A model predicts the result of each request and the contents of the memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "windows.h"

#define WINDOWS	12
#define REGIONS	5
#define RW	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define ALL	(RW | IBV_ACCESS_REMOTE_ATOMIC)

/*
 * A region. @pd: index of its domain; @at, @len: its range in the arena; @shift: difference
 * between the tagged offset (iova) and the address of its memory
 */
struct area {
	int pd, access;
	uint32_t at, len;
	uint64_t shift;
	struct ibv_mr *mr;
};

static struct area areas[REGIONS] = {
	{ 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, 0, ARENA, 0, NULL },
	{ 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, 5000, 30001, 1ULL << 40, NULL },
	{ 0, IBV_ACCESS_MW_BIND, 0, ARENA, 0, NULL },
	{ 0, IBV_ACCESS_LOCAL_WRITE, 0, ARENA, 0, NULL },
	{ 1, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, 100, ARENA - 100, 0, NULL },
};

/* The expected state of a window */
struct model {
	struct ibv_mw *mw;
	int pd;
	bool bound;
	/* connection that has bound the window; no other connection may use a window of type 2 */
	int pair;
	int area, access;
	uint32_t at, len;	/* range in the arena */
	uint32_t old_key;	/* rkey before the last bind */
};

struct state {
	struct model win[WINDOWS];
	uint8_t want[ARENA + 2 * PAGE];
	uint32_t did[8], refused[8];
	bool bad;
};

enum { BIND, UNBIND, LOCAL_INV, REMOTE_INV, ACCESS, DEALLOC, REGION };

static void wrong(struct state *s, const char *what)
{
	printf("# %s\n", what);
	s->bad = true;
}

static void show(const struct model *m)
{
	printf("# window of type %d, domain %d, %s by pair %d, region %d, access %#x, %u octets at %u\n",
	       m->mw->type == IBV_MW_TYPE_1 ? 1 : 2, m->pd, m->bound ? "bound" : "free", m->pair, m->area,
	       m->access, m->len, m->at);
}

/*
 * Ends a connection, and destroys its queue pairs. This unbinds the windows of type 2 that the
 * connection has bound.
 */
static void lose(struct bench *b, struct state *s, int pair)
{
	int i;

	pair_drop(b, pair);
	for (i = 0; i < WINDOWS; i++)
		if (s->win[i].mw->type == IBV_MW_TYPE_2 && s->win[i].pair == pair)
			s->win[i].bound = false;
}

/*
 * Checks the result of a request. @what: the operation (BIND and so on). @good: the request must
 * succeed. @got: status of its completion. @want: expected status of a failure, 0 for any status.
 * A request that fails must end its own connection, and cause the event @event of that
 * connection. The other connections must still work.
 */
static void judge(struct bench *b, struct state *s, int what, int pair, bool good, enum ibv_wc_status got,
		  enum ibv_wc_status want, int event)
{
	int ev = -1, i;

	s->did[what]++;
	if (good != !got || (!good && want && got != want)) {
		printf("# operation %d, pair %d: %s\n", what, pair, ibv_wc_status_str(got));
		wrong(s, good ? "refused" : "not refused, or refused with another status");
	}
	if (!got)
		return;
	s->refused[what]++;
	ev = far_event(b, pair);
	if (ev != event) {
		printf("# operation %d: event %d\n", what, ev);
		wrong(s, "another event");
	}
	lose(b, s, pair);
	for (i = 0; i < PAIRS; i++)
		if (b->pair[i].up && near_do(b, i, &(struct request){ .op = IBV_WR_RDMA_READ }))
			wrong(s, "another connection has ended");
}

static uint64_t addr_in(struct bench *b, const struct area *a, uint32_t at)
{
	return (uintptr_t)b->arena + at + a->shift;
}

static int some_access(struct bench *b)
{
	return chance(50) ? ALL : (chance(60) ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (chance(60) ? IBV_ACCESS_REMOTE_READ : 0) | (chance(40) ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static bool may_bind(const struct model *m, const struct model *n, int pair)
{
	const struct area *a = &areas[n->area];

	if (m->pd != pd_of(pair))
		return false;
	if (m->mw->type == IBV_MW_TYPE_2 && m->bound)
		return false;
	if (m->mw->type == IBV_MW_TYPE_1 && n->access & IBV_ACCESS_ZERO_BASED)
		return false;
	return a->pd == m->pd && a->access & IBV_ACCESS_MW_BIND && n->at >= a->at &&
	       n->at + n->len <= a->at + a->len &&
	       (a->access & IBV_ACCESS_LOCAL_WRITE ||
		!(n->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)));
}

/* Chooses a range for the window @n. In most cases the range is in the region of the window. */
static void some_range(struct bench *b, struct model *n)
{
	const struct area *a = &areas[n->area];

	n->len = 1 + below(chance(50) ? 200 : 20000);
	n->at = a->at + below(a->len);
	if (chance(95) && n->len > a->at + a->len - n->at)
		n->len = a->at + a->len - n->at;
	if (n->at + n->len > ARENA)
		n->len = ARENA - n->at;
}

static void try_bind(struct bench *b, struct state *s, struct model *m)
{
	int pair = chance(90) ? (m->pd ? 2 : (int)below(2)) : (int)below(PAIRS);
	struct model n = *m;
	enum ibv_wc_status got;
	uint32_t key = m->mw->rkey;
	bool good;

	/* a bound window of type 2 cannot be bound again: try this only in one of ten cases */
	if (m->mw->type == IBV_MW_TYPE_2 && m->bound && chance(90))
		return;
	n.area = chance(90) ? (m->pd ? 4 : (int)below(2)) : (int)below(REGIONS);
	some_range(b, &n);
	n.access = some_access(b);
	if (m->mw->type == IBV_MW_TYPE_2 ? chance(30) : chance(3))
		n.access |= IBV_ACCESS_ZERO_BASED;
	n.pair = pair;
	n.bound = true;
	good = may_bind(m, &n, pair);
	got = bind_do(b, pair, m->mw, areas[n.area].mr, (void *)addr_in(b, &areas[n.area], n.at), n.len, n.access);
	if (good != !got)
		show(&n);
	judge(b, s, BIND, pair, good, got, IBV_WC_MW_BIND_ERR, IBV_EVENT_QP_FATAL);
	if (got) {
		m->mw->rkey = key;
		return;
	}
	*m = n;
	m->old_key = key;
}

static void try_unbind(struct bench *b, struct state *s, struct model *m)
{
	int pair = m->pd ? 2 : (int)below(2);

	if (m->mw->type != IBV_MW_TYPE_1)
		return;
	m->old_key = m->mw->rkey;
	judge(b, s, UNBIND, pair, true, bind_do(b, pair, m->mw, NULL, NULL, 0, 0), 0, 0);
	m->bound = false;
}

static bool may_invalidate(const struct model *m, int pair, bool key)
{
	if (m->mw->type != IBV_MW_TYPE_2 || m->pd != pd_of(pair))
		return false;
	return !m->bound || (key && m->pair == pair);
}

static void try_local_inv(struct bench *b, struct state *s, struct model *m)
{
	int pair = m->bound && chance(85) ? m->pair : (int)below(PAIRS);
	bool key = chance(90), good;
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV };
	enum ibv_wc_status got;

	if (m->mw->type == IBV_MW_TYPE_1 && chance(90))
		return;
	good = may_invalidate(m, pair, key);
	wr.invalidate_rkey = key ? m->mw->rkey : m->mw->rkey ^ (1 + below(255));
	got = far_do(b, pair, &wr);
	if (good != !got)
		show(m);
	judge(b, s, LOCAL_INV, pair, good, got, IBV_WC_LOC_QP_OP_ERR, IBV_EVENT_QP_FATAL);
	if (!got)
		m->bound = false;
}

static void try_remote_inv(struct bench *b, struct state *s, struct model *m)
{
	int pair = m->bound && chance(85) ? m->pair : (int)below(PAIRS);
	bool key = chance(90), good, other;
	struct request r = { .op = IBV_WR_SEND_WITH_INV };
	enum ibv_wc_status got;
	struct ibv_wc wc;

	if (m->mw->type == IBV_MW_TYPE_1 && chance(90))
		return;
	good = m->bound && may_invalidate(m, pair, key);
	other = m->bound && key && (m->pd != pd_of(pair) || (m->mw->type == IBV_MW_TYPE_2 && m->pair != pair));
	r.rkey = key ? m->mw->rkey : m->mw->rkey ^ (1 + below(255));
	pair_connect(b, pair);
	far_receive(b, pair);
	got = near_do(b, pair, &r);
	if (good != !got)
		show(m);
	if (!got) {
		reap(b->pair[pair].far_cq, &wc, 1);
		if (wc.status || !(wc.wc_flags & IBV_WC_WITH_INV) || wc.invalidated_rkey != r.rkey)
			wrong(s, "the receive does not report the invalidation");
		m->bound = false;
	}
	judge(b, s, REMOTE_INV, pair, good, got, 0, other ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR);
}

static int need_of(enum ibv_wr_opcode op)
{
	return op == IBV_WR_RDMA_WRITE ? IBV_ACCESS_REMOTE_WRITE :
	       op == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_ATOMIC;
}

/*
 * Called after an access that has succeeded. Changes the memory of the model in the same way, and
 * compares the data that a Read or an atomic operation has returned with the model.
 */
static void follow(struct bench *b, struct state *s, enum ibv_wr_opcode op, uint32_t at, uint32_t len)
{
	uint8_t *want = s->want + PAGE + at;
	uint64_t word, found;

	switch (op) {
	case IBV_WR_RDMA_WRITE:
		memcpy(want, b->source, len);
		break;
	case IBV_WR_RDMA_READ:
		if (memcmp(want, b->source, len))
			wrong(s, "a Read has other octets");
		break;
	default:
		memcpy(&word, want, 8);
		memcpy(&found, b->source, 8);
		if (found != word)
			wrong(s, "an atomic operation returned another value");
		word++;
		memcpy(want, &word, 8);
	}
}

/*
 * Chooses an access. In most cases it is in the window, but it may begin before the window or end
 * after the window. The memory of an atomic operation is aligned. *@off: offset from the
 * beginning of the window, which may be negative
 */
static void some_part(struct bench *b, const struct model *m, bool atomic, int64_t *off, uint32_t *len)
{
	*off = below(m->len);
	*len = 1 + below(SOURCE);
	if (chance(90) && *len > m->len - *off)
		*len = m->len - *off;
	if (chance(3))
		(*off)--;
	if (atomic) {
		*off -= (m->at + *off) % 8;
		*len = 8;
	}
}

static void try_access(struct bench *b, struct state *s, struct model *m)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };
	int pair = m->bound && chance(95) ? m->pair : (int)below(PAIRS), key = below(40);
	enum ibv_wr_opcode op = ops[below(3)];
	struct request r = { .op = op, .rkey = m->mw->rkey };
	int64_t off;
	enum ibv_wc_status got;
	bool good;

	if ((!m->bound || !(m->access & need_of(op))) && chance(90))
		return;
	some_part(b, m, op == IBV_WR_ATOMIC_FETCH_AND_ADD, &off, &r.len);
	r.addr = (m->access & IBV_ACCESS_ZERO_BASED ? 0 : addr_in(b, &areas[m->area], m->at)) + off;
	if (key == 0)
		r.rkey ^= 1 + below(255);
	else if (key == 1)
		r.rkey = m->old_key;
	good = m->bound && key > 1 && m->access & need_of(op) && off >= 0 && off + r.len <= m->len &&
	       m->pd == pd_of(pair) && (m->mw->type == IBV_MW_TYPE_1 || m->pair == pair);
	fill(b->source, r.len);
	got = near_do(b, pair, &r);
	if (good != !got) {
		show(m);
		printf("# opcode %d by pair %d, %u octets at %d, key %d\n", op, pair, r.len, (int)off, key);
	}
	if (!got)
		follow(b, s, op, m->at + off, r.len);
	judge(b, s, ACCESS, pair, good, got, 0, IBV_EVENT_QP_ACCESS_ERR);
}

static void new_window(struct bench *b, struct model *m)
{
	*m = (struct model){ .pd = chance(20), .len = 1 };
	m->mw = window(b, m->pd, chance(40) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	m->old_key = ibv_inc_rkey(m->mw->rkey);
}

/*
 * Deallocates a window, bound or not. The key of this window must not allow an access any more.
 */
static void try_dealloc(struct bench *b, struct state *s, struct model *m)
{
	struct request r = { IBV_WR_RDMA_WRITE, 1, addr_in(b, &areas[m->area], m->at), m->mw->rkey };
	int pair = m->pair;

	if (ibv_dealloc_mw(m->mw))
		die("ibv_dealloc_mw");
	new_window(b, m);
	if (chance(30) && r.rkey != m->mw->rkey)
		judge(b, s, DEALLOC, pair, false, near_do(b, pair, &r), 0, IBV_EVENT_QP_ACCESS_ERR);
}

static void make_region(struct bench *b, struct area *a)
{
	a->mr = ibv_reg_mr_iova(b->pd[a->pd], b->arena + a->at, a->len, addr_in(b, a, a->at), a->access);
	if (!a->mr)
		die("ibv_reg_mr_iova");
}

static void try_region(struct bench *b, struct state *s)
{
	int n = below(REGIONS), i, rc;
	bool busy = false;

	for (i = 0; i < WINDOWS; i++)
		busy = busy || (s->win[i].bound && s->win[i].area == n);
	rc = ibv_dereg_mr(areas[n].mr);
	if (rc != (busy ? EBUSY : 0))
		wrong(s, busy ? "a region with windows was deregistered" :
			     "a region without windows was not deregistered");
	s->did[REGION]++;
	s->refused[REGION] += !!rc;
	if (!rc)
		make_region(b, &areas[n]);
}

static void one_step(struct bench *b, struct state *s)
{
	struct model *m = &s->win[below(WINDOWS)];
	uint32_t n = below(100);

	if (n < 35)
		try_bind(b, s, m);
	else if (n < 38)
		try_unbind(b, s, m);
	else if (n < 45)
		try_local_inv(b, s, m);
	else if (n < 52)
		try_remote_inv(b, s, m);
	else if (n < 95)
		try_access(b, s, m);
	else if (n < 98)
		try_dealloc(b, s, m);
	else
		try_region(b, s);
	if (memcmp(s->want, b->arena - PAGE, sizeof(s->want)))
		wrong(s, "the memory differs from the model");
}

void test_model(struct bench *b, uint32_t rounds)
{
	static const char *const names[] = { "binds", "unbinds", "local invalidations", "remote invalidations",
					     "accesses", "deallocations", "deregistrations" };
	static struct state s;
	uint32_t i, none = 0;

	for (i = 0; i < REGIONS; i++)
		make_region(b, &areas[i]);
	for (i = 0; i < WINDOWS; i++)
		new_window(b, &s.win[i]);
	fill(b->arena - PAGE, sizeof(s.want));
	memcpy(s.want, b->arena - PAGE, sizeof(s.want));
	for (i = 0; i < rounds && !s.bad; i++)
		one_step(b, &s);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		printf("# %u %s, %u refused\n", s.did[i], names[i], s.refused[i]);
		none += !s.did[i];
	}
	for (i = 0; i < WINDOWS; i++)
		if (ibv_dealloc_mw(s.win[i].mw))
			die("ibv_dealloc_mw");
	for (i = 0; i < REGIONS; i++)
		if (ibv_dereg_mr(areas[i].mr))
			die("ibv_dereg_mr");
	for (i = 0; i < PAIRS; i++)
		pair_drop(b, i);
	if (none && rounds >= 500)
		wrong(&s, "some kind of request was never tried");
	report(!s.bad, "model: binds, invalidations and accesses have the predicted results");
}
