// SPDX-License-Identifier: GPL-2.0
/* Reads a receive queue. The fuzzer's input determines the queue and the steps of reading. */
#include "fuzz.h"
#include "rxqueue.h"

/*
 * Returns a number from the input; after the end of the input, a pseudo-random number. If @ctx is
 * NULL, restarts the sequence of pseudo-random numbers.
 */
static u32 choose(void *ctx)
{
	static u32 state;
	struct input *in = ctx;

	if (!in)
		return state = 1;
	state = state * 1664525 + 1013904223;
	return in->left ? take(in, 2) : state >> 16;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct rxqueue q = { .any = choose, .ctx = &in };
	u32 step = 1 + take(&in, 1);

	choose(NULL);
	rxqueue_make(&q);
	MUST(rxqueue_walk(&q, step));
	rxqueue_free(&q);
	return 0;
}
