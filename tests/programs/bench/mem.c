// SPDX-License-Identifier: GPL-2.0
/*
 * Mode "mem" of iwt_bench: the memory of an idle connection. Both ends are on this machine, so
 * the client measures both: it compares the kernel's memory with one connection and with all
 * connections. The rings that processes map are not counted.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

/*
 * Returns the length in bytes of the mapping that a line of /proc/self/maps describes, if the
 * mapping is a ring of the device; otherwise 0.
 */
static int64_t rings_of(const char *line)
{
	unsigned long long from, to;

	return strstr(line, "/uverbs") && sscanf(line, "%llx-%llx", &from, &to) == 2 ? to - from : 0;
}

static uint64_t mapped(void)
{
	return bench_sum("/proc/self/maps", rings_of);
}

static void client(struct bench *b, struct bench_result *r)
{
	uint64_t before, rings, start = bench_now();

	bench_connect(b, 1);
	before = bench_kernel_memory();
	rings = mapped();
	bench_connect(b, b->o.qps);
	r->octets = bench_kernel_memory() - before;
	r->ns = bench_now() - start;
	rings = mapped() - rings;
	/* the server has mapped the same number of bytes */
	r->octets -= 2 * rings;
	r->messages = 2 * (b->o.qps - 1);
}

/*
 * bench_mem - in the result, "messages" is the number of ends of connections, and "octets" is the
 * memory of all these ends
 */
void bench_mem(struct bench *b, struct bench_result *r)
{
	b->o.depth = 16;
	if (b->o.server)
		bench_serve(b);
	else
		client(b, r);
	bench_leave(b);
}
