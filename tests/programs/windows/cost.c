// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_windows: compares Writes through a window and Writes through its region: which take longer?
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "windows.h"

#define TIMES	20

static double run(struct bench *b, uint32_t rounds, uint32_t len, uint32_t rkey)
{
	struct request r = { IBV_WR_RDMA_WRITE, len, (uintptr_t)b->arena, rkey };
	struct timespec from, to;
	uint32_t i;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (i = 0; i < rounds; i++)
		if (near_do(b, 0, &r))
			die("a Write");
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / rounds;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Measures Writes with the key of the region and Writes with the key of the window in turn, TIMES
 * runs of each, and prints the medians. @rounds: Writes of a run
 */
void test_cost(struct bench *b, uint32_t rounds)
{
	int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_WRITE;
	static const uint32_t lens[] = { 8, SOURCE };
	struct ibv_mw *mw = window(b, 0, IBV_MW_TYPE_2);
	struct ibv_mr *mr = region(b, 0, all);
	double by_region[TIMES], by_window[TIMES];
	unsigned int n, i;

	if (bind_do(b, 0, mw, mr, b->arena, ARENA, IBV_ACCESS_REMOTE_WRITE))
		die("bind");
	for (n = 0; n < 2; n++) {
		for (i = 0; i < TIMES; i++) {
			by_region[i] = run(b, rounds, lens[n], mr->rkey);
			by_window[i] = run(b, rounds, lens[n], mw->rkey);
		}
		qsort(by_region, TIMES, sizeof(double), by_value);
		qsort(by_window, TIMES, sizeof(double), by_value);
		printf("# a Write of %u octets: %.0f ns by its region, %.0f ns by a window\n", lens[n],
		       by_region[TIMES / 2], by_window[TIMES / 2]);
	}
	if (ibv_dealloc_mw(mw) || ibv_dereg_mr(mr))
		die("cost");
}
