// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: the cost of regions with on-demand paging: how often the kernel calls the driver,
 * how often FPDUs wait for memory, and how many pages the kernel has to write to disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "odp.h"

#define REGIONS	200
#define LONG	(15 * PAGE)	/* bytes of a message; a local peer sends them in few FPDUs */
#define TRIES	8
#define CLEAN	64		/* pages of a file */

/* The directory of the device's counters */
static const char *counters;

/*
 * Waits, and then reads a counter. RDMA core gets a new value from the driver only after some ms.
 */
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

/*
 * Many regions share a page. When the page disappears, the kernel must call the driver once for
 * all regions, not once for each region.
 */
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
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 64, (uintptr_t)at + 64,
			      mr[REGIONS - 1]->rkey), "a Write through another region");
	n = counted("odp_invalidate");
	if (madvise(at, PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	n = counted("odp_invalidate") - n;
	printf("# %d regions, a page goes: %ld times\n", REGIONS, n);
	must(&good, n > 0, "the kernel told the driver that the page disappears");
	must(&good, n < REGIONS / 10, "the kernel told the driver once for all regions");
	for (i = 0; i < REGIONS; i += REGIONS - 1) {
		memset(b->source, 1, 128);
		must(&good, !bench_do(b, IBV_WR_RDMA_READ, 128, (uintptr_t)at, mr[i]->rkey) && !b->source[0] &&
		     !b->source[127], "a Read of the fresh page");
	}
	/* the end of one region must not remove the page from another region */
	must(&good, !ibv_dereg_mr(mr[0]) &&
	     !bench_do(b, IBV_WR_RDMA_WRITE, 64, (uintptr_t)at, mr[1]->rkey), "a Write to a region that stays");
	report(good, "the kernel calls the driver once for a page of many regions");
	for (i = 1; i < REGIONS; i++)
		ibv_dereg_mr(mr[i]);
	munmap(at, PAGE);
}

/*
 * Transfers one message from the region @have to the region @absent. Return: true if all bytes of
 * the message have arrived.
 */
static bool message(struct bench *b, enum ibv_wr_opcode op, const struct ibv_mr *have, const struct ibv_mr *absent)
{
	bool to_peer = op != IBV_WR_RDMA_READ;
	const struct ibv_mr *mine = to_peer ? have : absent, *peers = to_peer ? absent : have;
	struct ibv_sge from = { (uintptr_t)mine->addr, LONG, mine->lkey };
	struct ibv_sge to = { (uintptr_t)peers->addr, LONG, peers->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad;
	bool good;

	bench_connect(b);
	if (op == IBV_WR_SEND && ibv_post_recv(b->pair.far->qp, &recv, &bad))
		die("ibv_post_recv");
	post_request(b->pair.near->qp, op, &from, (uintptr_t)peers->addr, peers->rkey);
	if (op == IBV_WR_RDMA_WRITE)
		bench_post(b, IBV_WR_RDMA_READ, 0, 0, 0);
	good = !bench_reap(b) && (op != IBV_WR_RDMA_WRITE || !bench_reap(b));
	return good && (op != IBV_WR_SEND || !bench_reap_from(b->pair.far_cq)) &&
	       !memcmp(have->addr, absent->addr, LONG);
}

/*
 * Transfers a message into absent memory. Each of the few FPDUs may wait once for memory. Return:
 * the number of additional waits
 */
static long waits_too_often(struct bench *b, enum ibv_wr_opcode op, const struct ibv_mr *have, bool *good)
{
	uint8_t *at = anonymous(LONG);
	struct ibv_mr *absent = reg(b, at, LONG, ALL_ACCESS);
	long faults = counted("odp_fault"), fpdus = counted("rx_fpdu");

	must(good, message(b, op, have, absent), "a message");
	faults = counted("odp_fault") - faults;
	/*
	 * Do not count FPDUs without data: the Request of a Read, and the Request and the empty
	 * Response of the Read after a Write.
	 */
	fpdus = counted("rx_fpdu") - fpdus - (op == IBV_WR_RDMA_WRITE ? 2 : op == IBV_WR_RDMA_READ);
	printf("# %ld FPDUs wait %ld times\n", fpdus, faults);
	must(good, faults > 0 && fpdus > 0 && fpdus < LONG / PAGE / 2, "FPDUs are long, and wait");
	ibv_dereg_mr(absent);
	munmap(at, LONG);
	return faults > fpdus ? faults - fpdus : 0;
}

/*
 * An FPDU must wait only once, for all its memory: after each wait, the driver checks and places
 * the whole FPDU again.
 */
static void test_fpdu(struct bench *b)
{
	static const struct { enum ibv_wr_opcode op; const char *name; } ops[] = {
		{ IBV_WR_RDMA_WRITE, "Writes" }, { IBV_WR_RDMA_READ, "Reads" }, { IBV_WR_SEND, "Sends" },
	};
	uint8_t *have = anonymous(LONG);
	struct ibv_mr *mr = ibv_reg_mr(b->pd[0], have, LONG, WRITABLE | IBV_ACCESS_REMOTE_READ);
	bool good = true;
	size_t i;
	int try;

	if (!mr)
		die("ibv_reg_mr");
	fill(have, LONG);
	bench_connect(b);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		/*
		 * try again: if the kernel removes a page meanwhile, the FPDU must wait once more
		 */
		for (try = 0; try < TRIES && waits_too_often(b, ops[i].op, mr, &good); try++)
			;
		must(&good, try < TRIES, ops[i].name);
	}
	report(good, "an FPDU waits once for all of its memory");
	ibv_dereg_mr(mr);
	munmap(have, LONG);
}

/*
 * Return: number of dirty pages of the mapping at @at, which the kernel must write to disk or
 * swap
 */
static long dirty_pages(const uint8_t *at)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from, to;
	char line[400];
	bool here = false;
	long kb, all = 0;

	if (!f)
		die("smaps");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from == (uintptr_t)at;
		else if (here && (sscanf(line, "Shared_Dirty: %ld", &kb) == 1 ||
				  sscanf(line, "Private_Dirty: %ld", &kb) == 1))
			all += kb;
	}
	fclose(f);
	return all * 1024 / PAGE;
}

/* Reads the first byte of each page. Return: the bytes combined by OR */
static uint8_t look(const uint8_t *at)
{
	volatile const uint8_t *p = at;
	uint8_t all = 0;
	int i;

	for (i = 0; i < CLEAN; i++)
		all |= p[i * PAGE];
	return all;
}

/*
 * Pages of a file that were only read stay clean, although the peer writes to other pages of the
 * same region. A page that the peer has written to is dirty, and keeps its contents when the
 * kernel evicts the page.
 */
static void test_clean(struct bench *b)
{
	int fd = memfd_create("iwt_memory", 0);
	struct ibv_mr *mr;
	bool good = true;
	uint8_t *at;

	if (fd < 0 || ftruncate(fd, CLEAN * PAGE))
		die("memfd_create");
	at = map(CLEAN * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	madvise(at, CLEAN * PAGE, MADV_NOHUGEPAGE);
	mr = reg(b, at, CLEAN * PAGE, ALL_ACCESS);
	must(&good, !look(at) && !dirty_pages(at), "all pages are clean at first");
	must(&good, !bench_do(b, IBV_WR_RDMA_READ, PAGE, (uintptr_t)at, mr->rkey) && !b->source[0], "a Read");
	must(&good, !bench_do(b, IBV_WR_RDMA_READ, PAGE, (uintptr_t)at + 9 * PAGE, mr->rkey), "another Read");
	must(&good, !dirty_pages(at), "the pages are clean after Reads");
	fill(b->source, PAGE);
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, PAGE, (uintptr_t)at + 5 * PAGE, mr->rkey), "a Write");
	/* empty the page tables: now a page is dirty only if the driver has marked it so */
	if (madvise(at, CLEAN * PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	look(at);
	printf("# of %d pages, %ld are dirty behind a Write of one\n", CLEAN, dirty_pages(at));
	must(&good, dirty_pages(at) == 1, "a Write makes one page dirty");
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 2 * PAGE, (uintptr_t)at + 20 * PAGE, mr->rkey), "a Write");
	madvise(at, CLEAN * PAGE, MADV_PAGEOUT);
	must(&good, !memcmp(at + 20 * PAGE, b->source, PAGE),
	     "written octets after MADV_PAGEOUT");
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, PAGE, (uintptr_t)at + 30 * PAGE, mr->rkey), "a Write");
	ibv_dereg_mr(mr);
	madvise(at, CLEAN * PAGE, MADV_PAGEOUT);
	must(&good, !memcmp(at + 30 * PAGE, b->source, PAGE),
	     "written octets after the end of the region");
	report(good, "pages that nobody wrote stay clean, pages that the peer wrote are kept");
	munmap(at, CLEAN * PAGE);
	close(fd);
}

void test_odp_cost(struct bench *b, const char *dir)
{
	counters = dir;
	test_overlap(b);
	test_fpdu(b);
	test_clean(b);
	conn_drop(&b->pair);
}
