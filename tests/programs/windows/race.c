// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_windows: a window is bound to other memory, invalidated or deallocated while the peer
 * writes through this window. The window alternates between two places in memory. When the peer
 * must not write to a place any more, the program copies the contents of this place, and compares
 * the place with this copy later.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "patience.h"
#include "windows.h"

#define ACCESS	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define BURST	8	/* requests in flight: Writes, and a Read after the Writes */
#define PLACE	(ARENA / 4)	/* bytes of each place */

enum way { REBIND, INVALIDATE, DEALLOC, DEREGISTER };

struct race {
	struct bench *b;
	enum way way;
	_Atomic uint32_t rkey;	/* key for the peer; 0 ends the thread of the peer */
	_Atomic uint32_t done;	/* completed Writes and Reads; some may not have arrived yet */
	_Atomic bool failed;
	uint64_t base;		/* remote address of the beginning of the window */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

/*
 * The thread of the peer: writes and reads with the key r->rkey, until the key is 0 or a request
 * fails.
 */
static void *fire(void *arg)
{
	struct race *r = arg;
	struct bench *b = r->b;
	uint32_t rkey, n = 0;
	struct request req = { .len = SOURCE };
	struct ibv_wc wc;
	int i, bad = 0;

	while (!bad && (rkey = r->rkey)) {
		memset(b->source, ++n, SOURCE);
		for (i = 0; i < BURST; i++) {
			req.op = i < BURST - 1 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
			req.addr = r->base + (n * 113 + i * 1024) % (PLACE - SOURCE);
			req.rkey = rkey;
			near_post(b, 0, &req);
		}
		for (i = 0; i < BURST; i++) {
			reap(b->pair[0].near_cq, &wc, 1);
			bad += !!wc.status;
			r->done += !wc.status;
		}
	}
	r->failed = bad;
	return NULL;
}

static void bind_race(struct race *r, int i, struct ibv_mw *mw, struct ibv_mr *mr, uint8_t *at)
{
	if (bind_do(r->b, i, mw, mr, at, PLACE, ACCESS | (mw->type == IBV_MW_TYPE_2 ? IBV_ACCESS_ZERO_BASED : 0)))
		die("bind");
}

/* Ends the access through the window. */
static void end(struct race *r, struct ibv_mw **mw, struct ibv_mr **mr, uint8_t *other)
{
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = (*mw)->rkey };
	struct bench *b = r->b;

	switch (r->way) {
	case REBIND:
		bind_race(r, 1, *mw, *mr, other);
		break;
	case INVALIDATE:
		if (far_do(b, 0, &inv))
			die("invalidate");
		break;
	case DEALLOC:
	case DEREGISTER:
		if (ibv_dealloc_mw(*mw))
			die("ibv_dealloc_mw");
		if (r->way == DEREGISTER && ibv_dereg_mr(*mr))
			die("ibv_dereg_mr");
		*mw = window(b, 0, IBV_MW_TYPE_1);
		if (r->way == DEREGISTER)
			*mr = region(b, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
		break;
	}
}

static bool one(struct race *r, struct ibv_mw **mw, struct ibv_mr **mr, int n)
{
	uint8_t *place = r->b->arena + (n & 1) * 2 * PLACE, *other = r->b->arena + (~n & 1) * 2 * PLACE;
	uint8_t seen[PLACE];
	pthread_t peer;
	uint32_t some = r->done;
	struct patience p = {};
	uint64_t until;
	bool same;

	pair_connect(r->b, 0);
	pair_connect(r->b, 1);
	if (r->way != INVALIDATE && r->way != REBIND)
		bind_race(r, 1, *mw, *mr, place);
	else
		bind_race(r, r->way == INVALIDATE ? 0 : 1, *mw, *mr, place);
	r->base = (*mw)->type == IBV_MW_TYPE_2 ? 0 : (uintptr_t)place;
	r->rkey = (*mw)->rkey;
	if (pthread_create(&peer, NULL, fire, r))
		die("pthread_create");
	/* end the access after the first completions; other requests are in flight then */
	while (r->done == some && !r->failed && patient(&p, PATIENCE, 0))
		;
	until = now_ms() + 2000;
	end(r, mw, mr, other);
	memcpy(seen, place, PLACE);
	while (!r->failed && now_ms() < until)
		;
	same = !memcmp(seen, place, PLACE);
	r->rkey = 0;
	pthread_join(peer, NULL);
	/* drop the connection: data in flight must not arrive in the memory of the next round */
	pair_drop(r->b, 0);
	r->failed = false;
	return same && !memcmp(seen, place, PLACE);
}

static void race(struct bench *b, enum way way, enum ibv_mw_type type, uint32_t ms, const char *what)
{
	struct ibv_mr *mr = region(b, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = window(b, 0, type);
	struct race r = { .b = b, .way = way };
	uint64_t until = now_ms() + ms;
	int n = 0, changed = 0;

	do
		changed += !one(&r, &mw, &mr, n++);
	while (now_ms() < until);
	printf("# %s: %d times, %u Writes and Reads\n", what, n, r.done);
	if (ibv_dealloc_mw(mw) || ibv_dereg_mr(mr))
		die("race");
	report(!changed && r.done, "%s", what);
}

void test_races(struct bench *b, uint32_t ms)
{
	race(b, REBIND, IBV_MW_TYPE_1, ms, "race: a window is bound elsewhere");
	race(b, INVALIDATE, IBV_MW_TYPE_2, ms, "race: a window is invalidated");
	race(b, DEALLOC, IBV_MW_TYPE_1, ms, "race: a window is deallocated");
	race(b, DEREGISTER, IBV_MW_TYPE_1, ms, "race: a window is deallocated and its region deregistered");
}
