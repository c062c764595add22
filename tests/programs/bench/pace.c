// SPDX-License-Identifier: GPL-2.0
/*
 * A flow with a gap: a message is due every gap microseconds, whether or not the messages before it
 * have arrived. A message is a Write, and a Send of 8 bytes behind it, whose completion tells the
 * server that the Write is complete. The delay of a message is the time from the moment when it is
 * due until its Send has completed at the server. Client and server must run on the same machine,
 * because they use the same clock. There is one queue pair, and a fixed number of messages.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static uint64_t due(const struct bench *b, uint64_t first, uint64_t n)
{
	return first + n * b->o.gap * 1000;
}

/* bench_paced - posts @count messages. Return: @count */
uint64_t bench_paced(struct bench *b, uint64_t count)
{
	uint64_t first = bench_now() + 1000000, n;
	struct bench_conn *c = &b->conn[0];

	bench_due(b, c, first);
	for (n = 0; n < count; n++) {
		bench_sleep_until(due(b, first, n));
		bench_progress(b, false);
		while (!c->credit || c->inflight + 2 > b->o.depth)
			bench_progress(b, b->o.events);
		c->credit--;
		bench_data(b, c, false);
		bench_tell(b, c, 8);
	}
	return count;
}

/* bench_delays - computes the quantiles of @r from the times at which the messages arrived */
void bench_delays(struct bench *b, struct bench_result *r)
{
	uint64_t first, n;

	memcpy(&first, b->buf + 24, 8);
	if (r->messages > BENCH_SAMPLES)
		r->messages = BENCH_SAMPLES;
	for (n = 0; n < r->messages; n++)
		b->arrival[n] -= due(b, first, n);
	bench_quantiles(r, b->arrival, 1);
}
