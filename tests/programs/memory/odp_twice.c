// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: two threads remove the same page at the same time, while a peer reads the page. Only
 * one of the threads finds the page in the driver's table; both must wait until the driver does
 * not use the page any more. Each thread then makes a page of its own present. The kernel may
 * take the removed page for it, and the peer must not get its bytes. A processor that waits for
 * the driver runs nothing else, so this test finds an error only with three processors.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "odp.h"

#define THREADS		2
#define PATTERN		0xaa	/* the bytes of the page; the bytes of a removed page are 0 */
#define ALIEN		0xbb	/* the bytes of other pages */

struct twice {
	uint8_t *at;
	atomic_uint threads;
	atomic_uint round, ready;
	atomic_bool end;
};

static void spin(unsigned int n)
{
	while (n--)
		atomic_signal_fence(memory_order_seq_cst);
}

static void *removes(void *arg)
{
	struct twice *t = arg;
	/* both threads spin for the same random time, the second thread a little longer */
	unsigned int round = 0, seed = 1, behind = atomic_fetch_add(&t->threads, 1) * 3000;
	uint8_t *own = anonymous(PAGE);

	for (;;) {
		madvise(own, PAGE, MADV_DONTNEED);
		atomic_fetch_add(&t->ready, 1);
		while (atomic_load(&t->round) == round)
			if (atomic_load(&t->end))
				return NULL;
		round++;
		spin(rand_r(&seed) % 300000 + behind);
		madvise(t->at, PAGE, MADV_DONTNEED);
		memset(own, ALIEN, PAGE);
	}
}

static bool holds(const uint8_t *at, uint8_t what)
{
	return memchr(at, what, PAGE);
}

void test_odp_twice(struct bench *b, uint32_t rounds)
{
	struct twice t = { .at = anonymous(PAGE) };
	struct ibv_mr *mr = reg(b, t.at, PAGE, ALL_ACCESS);
	struct ibv_sge sge = { (uintptr_t)t.at, PAGE, mr->lkey };
	uint32_t i, halves = 0, whole = 0;
	pthread_t thread[THREADS];
	bool good = true;
	int n;

	for (n = 0; n < THREADS; n++)
		if (pthread_create(&thread[n], NULL, removes, &t))
			die("pthread_create");
	for (i = 0; i < rounds && good; i++) {
		while (atomic_load(&t.ready) < THREADS)
			sched_yield();
		atomic_store(&t.ready, 0);
		memset(t.at, PATTERN, PAGE);
		ibv_advise_mr(b->pd[0], IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
		atomic_fetch_add(&t.round, 1);
		good = !bench_do(b, IBV_WR_RDMA_READ, PAGE, (uintptr_t)t.at, mr->rkey) && !holds(b->source, ALIEN);
		halves += holds(b->source, PATTERN) && holds(b->source, 0);
		whole += !holds(b->source, 0);
	}
	atomic_store(&t.end, true);
	for (n = 0; n < THREADS; n++)
		pthread_join(thread[n], NULL);
	printf("# %u Reads: %u before the page was removed, %u meanwhile\n", i, whole, halves);
	report(good, "two threads remove a page: a Read gets no byte of another page");
	conn_drop(&b->pair);
	ibv_dereg_mr(mr);
}
