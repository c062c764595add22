// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: what regions that are not pinned cost. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory_odp.h"

#define REGIONS	200

/* The directory of the device's counters */
static const char *counters;

/* The device reads its counters anew when these are older than some milliseconds. */
static long counted(const char *name)
{
	char path[400];
	long n;
	FILE *f;

	usleep(50000);
	snprintf(path, sizeof(path), "%s/%s", counters, name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &n) != 1)
		die(path);
	fclose(f);
	return n;
}

/* A page that many regions have: when it goes, the kernel is held up as by one of them. */
static void test_overlap(struct bench *b)
{
	uint8_t *at = anonymous(PAGE);
	struct ibv_mr *mr[REGIONS];
	bool good = true;
	long n;
	int i;

	for (i = 0; i < REGIONS; i++)
		mr[i] = reg(b, at, PAGE - i, ALL_ACCESS);
	fill(b->source, PAGE);
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 64, (uintptr_t)at, mr[0]->rkey), "a Write");
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 64, (uintptr_t)at + 64, mr[REGIONS - 1]->rkey), "another one");
	n = counted("odp_invalidate");
	if (madvise(at, PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	n = counted("odp_invalidate") - n;
	printf("# %d regions, a page goes: %ld times\n", REGIONS, n);
	must(&good, n > 0, "the kernel told that the page goes");
	must(&good, n < REGIONS / 10, "it told it once");
	for (i = 0; i < REGIONS; i += REGIONS - 1) {
		memset(b->source, 1, 128);
		must(&good, !bench_do(b, IBV_WR_RDMA_READ, 128, (uintptr_t)at, mr[i]->rkey) && !b->source[0] &&
		     !b->source[127], "a Read of the fresh page");
	}
	/* what one region has is not gone with another */
	must(&good, !ibv_dereg_mr(mr[0]) &&
	     !bench_do(b, IBV_WR_RDMA_WRITE, 64, (uintptr_t)at, mr[1]->rkey), "a Write to a region that stays");
	report(good, "a page of many regions goes as fast as a page of one");
	for (i = 1; i < REGIONS; i++)
		ibv_dereg_mr(mr[i]);
	munmap(at, PAGE);
}

void test_odp_cost(struct bench *b, const char *dir)
{
	counters = dir;
	test_overlap(b);
	conn_drop(&b->pair);
}
