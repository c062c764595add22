// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: pages of regions with on-demand paging disappear during Writes. Regions, mappings,
 * queue pairs and processes end while streams wait for pages.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "odp.h"

struct fire {
	struct bench *b;
	struct ibv_mr *mr;
	uint32_t n;
	enum ibv_wc_status status;
};

static void *write_on(void *arg)
{
	struct fire *w = arg;

	while (!(w->status = bench_reap(w->b)) && w->n--)
		bench_post(w->b, IBV_WR_RDMA_WRITE, SOURCE, (uintptr_t)w->mr->addr, w->mr->rkey);
	return NULL;
}

/*
 * Removes pages while a peer writes to the pages. Afterwards, another Write must arrive
 * completely.
 */
static bool zap_under_fire(struct bench *b)
{
	uint8_t *at = anonymous(SOURCE), *spare;
	struct fire w = { .b = b, .n = 300, .mr = reg(b, at, SOURCE, ALL_ACCESS) };
	pthread_t thread;
	bool good;
	int i;

	fill(b->source, SOURCE);
	bench_connect(b);
	bench_post(b, IBV_WR_RDMA_WRITE, SOURCE, (uintptr_t)at, w.mr->rkey);
	if (pthread_create(&thread, NULL, write_on, &w))
		die("pthread_create");
	for (i = 0; i < 200; i++) {
		size_t page = below(SOURCE / PAGE) * PAGE;

		switch (below(4)) {
		case 0: madvise(at + page, PAGE, MADV_DONTNEED); break;
		case 1: madvise(at + page, PAGE, MADV_PAGEOUT); break;
		case 2:
			mprotect(at + page, PAGE, PROT_READ);
			mprotect(at + page, PAGE, PROT_READ | PROT_WRITE);
			break;
		default:
			spare = anonymous(PAGE);
			mremap(spare, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + page);
		}
		usleep(below(50));
	}
	pthread_join(thread, NULL);
	/* connect again: a page that was read-only for a moment may have ended the stream */
	good = true;
	conn_drop(&b->pair);
	good &= !bench_do(b, IBV_WR_RDMA_WRITE, SOURCE, (uintptr_t)at, w.mr->rkey) && !memcmp(at, b->source, SOURCE);
	conn_drop(&b->pair);
	ibv_dereg_mr(w.mr);
	munmap(at, SOURCE);
	return good;
}

/*
 * Ends a mapping, a region or the queue pairs, after a random time in which the stream may wait
 * for pages.
 */
static bool end_under_fire(struct bench *b)
{
	uint8_t *at = anonymous(ARENA);
	struct ibv_mr *mr = reg(b, at, ARENA, ALL_ACCESS);
	int i, how = below(3);

	bench_connect(b);
	for (i = 0; i < ARENA / SOURCE; i++)
		bench_post(b, below(2) ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, SOURCE,
			   (uintptr_t)at + i * SOURCE, mr->rkey);
	usleep(below(300));
	if (how == 0)
		munmap(at, ARENA);
	if (how == 1)
		ibv_dereg_mr(mr);
	conn_drop(&b->pair);
	if (how != 1)
		ibv_dereg_mr(mr);
	if (how != 0)
		munmap(at, ARENA);
	return true;
}

/* Kills a process at a random time while streams wait for its pages. */
static bool killed(struct bench *b, const char *self)
{
	static int n;
	char port[12];
	int status;
	pid_t pid;

	snprintf(port, sizeof(port), "%d", 7500 + n++);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		execl(self, self, "-a", b->address, "-p", port, "-t", "odpkill", "-n", "1", NULL);
		_exit(127);
	}
	usleep(below(300000));
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && (WIFSIGNALED(status) || !WEXITSTATUS(status));
}

void test_odp_kill(struct bench *b)
{
	for (;;)
		end_under_fire(b);
}

void test_odp_races(struct bench *b, uint32_t rounds)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < rounds / 10 + 1 && good; i++)
		good = zap_under_fire(b);
	report(good, "pages disappear during Writes: the last Write arrives");
	for (i = 0; i < rounds && good; i++)
		good = end_under_fire(b);
	report(good, "regions, mappings and queue pairs end while streams wait for pages");
	for (i = 0; i < rounds / 10 + 1 && good; i++)
		good = killed(b, "/proc/self/exe");
	report(good, "a process is killed while streams wait for its pages");
}

