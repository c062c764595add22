// SPDX-License-Identifier: GPL-2.0
/*
 * Mode "still" of iwt_bench: a check instead of a measurement. Each end posts a stream of
 * requests and polls for their completions, so the device may rely on this polling. Then the end
 * posts some more requests and does not poll for completions; the end only watches the memory
 * that the peer writes its answer to. The device must send these requests nevertheless.
 */
#include <errno.h>

#include "bench.h"
#include "patience.h"

#define STREAM		256	/* requests posted while the process polls for completions */
#define STILL		4	/* requests posted after the process has stopped polling */
#define PATIENCE	30	/* seconds */

static void reap(struct bench *b)
{
	struct ibv_wc wc[32];
	int n = ibv_poll_cq(b->cq, 32, wc), i;

	for (i = 0; i < n; i++) {
		bench_wc(&wc[i]);
		bench_retire(b, &wc[i]);
	}
}

static void stream(struct bench *b, struct bench_conn *c)
{
	unsigned int i;

	for (i = 0; i < STREAM; i++) {
		while (c->inflight >= b->o.depth / 2)
			reap(b);
		bench_data(b, c, i % b->every == 0);
	}
}

static void still(struct bench *b, struct bench_conn *c, unsigned char value)
{
	unsigned int i;

	while (c->inflight >= b->o.depth - STILL)
		reap(b);
	/* @value must be the last request: after its arrival, the peer may disconnect */
	for (i = 1; i < STILL; i++)
		bench_put(b, c, 0xff);
	bench_put(b, c, value);
}

static void wait_for(struct bench *b, unsigned char value)
{
	volatile unsigned char *p = (unsigned char *)b->buf;
	struct patience wait = {};

	while (*p != value) {
		if (patient(&wait, PATIENCE, 0))
			continue;
		errno = ETIMEDOUT;
		bench_die("what was posted did not go out");
	}
}

void bench_still(struct bench *b, struct bench_result *r)
{
	struct bench_conn *c = &b->conn[0];
	uint64_t i;

	b->o.qps = 1;
	if (b->o.server)
		bench_serve(b);
	else
		bench_connect(b, 1);
	for (i = 0; i < b->o.count; i++) {
		if (b->o.server)
			wait_for(b, i % 127 + 1);
		stream(b, c);
		still(b, c, i % 127 + 1);
		if (!b->o.server)
			wait_for(b, i % 127 + 1);
	}
	/* only the client waits: the server's receives fail when the client disconnects */
	while (!b->o.server && c->inflight)
		reap(b);
	r->messages = b->o.count * (STREAM + STILL);
	bench_leave(b);
}
