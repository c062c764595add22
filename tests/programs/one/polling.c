// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_polling ADDRESS PORT SETTING COUNTERS: does a worker that polls a send queue end when the
 * administrator switches polling off? The process has a connection to itself. It posts a small
 * RDMA Write every 20 microseconds and almost never polls for completions. So the driver has
 * finished each Write before the process posts the next Write, and a worker of the driver polls
 * the send queue. SETTING is the file of the setting "polling"; COUNTERS is the directory of the
 * link's counters.
 *
 * No second program takes part, because a worker ends as soon as another thread is runnable on
 * the processor of the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cm.h"
#include "patience.h"
#include "results.h"

#define DEPTH		1024
#define SIGNALED	256	/* one of 256 Writes has a completion */
#define PAUSE_NS	20000
#define ROUNDS		20
#define MORE		1500	/* Writes with polling off: 30 ms; a worker's run takes 5 ms */
#define TEST_MS		20000	/* the longest wait of all rounds together for a worker */
#define LAST_RUNS	2	/* at the switch to off, one run may be active, and one queued */

struct poster {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint64_t n;
	int setting, counter;
	uint64_t end_ms;	/* value of running_ms() until which polled() posts */
};

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int open_file(const char *dir, const char *name, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s%s%s", dir, *name ? "/" : "", name);
	fd = open(path, flags);
	if (fd < 0)
		die(path);
	return fd;
}

static void write_word(int fd, const char *word)
{
	if (pwrite(fd, word, strlen(word), 0) != (ssize_t)strlen(word))
		die(word);
}

/* Return: the counter sqpoll, the number of runs of workers so far */
static uint64_t runs(const struct poster *p)
{
	char text[32] = "";

	if (pread(p->counter, text, sizeof(text) - 1, 0) <= 0)
		die("a counter");
	return strtoull(text, NULL, 10);
}

/* Posts the next Write, which writes its number, @p->n, to the registered word. */
static void post(struct poster *p)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&p->n, .length = sizeof(p->n) };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_INLINE,
		.wr.rdma = { .remote_addr = (uintptr_t)p->mr->addr, .rkey = p->mr->rkey },
	};

	if (++p->n % SIGNALED == 0)
		wr.send_flags |= IBV_SEND_SIGNALED;
	errno = ibv_post_send(p->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

static void check_completion(struct poster *p)
{
	struct ibv_wc wc;

	reap(p->cq, &wc, 1);
	if (wc.status == IBV_WC_SUCCESS)
		return;
	printf("# %s\n", ibv_wc_status_str(wc.status));
	errno = EIO;
	die("a Write");
}

/*
 * Posts @count Writes. The completion of a signaled Write is polled SIGNALED / 2 Writes later, so
 * that the first poll finds it.
 */
static void pace(struct poster *p, int count)
{
	long long next;

	while (count--) {
		next = now() + PAUSE_NS;
		post(p);
		if (p->n > SIGNALED && p->n % SIGNALED == SIGNALED / 2)
			check_completion(p);
		while (now() < next)
			;
	}
}

/*
 * Posts until workers have run twice. Return: false if this has not happened before end_ms. On a
 * machine with other work the driver may find no idle processor for a worker.
 */
static bool polled(struct poster *p)
{
	uint64_t before = runs(p);

	do {
		pace(p, SIGNALED / 4);
		if (runs(p) >= before + 2)
			return true;
	} while (running_ms() < p->end_ms);
	return false;
}

/*
 * Switches polling on, and switches it off when workers have run. Return: number of runs that
 * ended after polling was switched off; -1 if no worker polled
 */
static long switched_off(struct poster *p)
{
	uint64_t before;

	write_word(p->setting, "on");
	if (!polled(p))
		return -1;
	write_word(p->setting, "off");
	before = runs(p);
	pace(p, MORE);
	return runs(p) - before;
}

static void test(struct poster *p, const volatile uint64_t *word)
{
	long most = -1, n = 0;
	int i;

	p->end_ms = running_ms() + TEST_MS;
	for (i = 0; i < ROUNDS && n >= 0; i++) {
		n = switched_off(p);
		if (n > most)
			most = n;
	}
	pace(p, SIGNALED - p->n % SIGNALED);
	check_completion(p);
	if (most < 0)
		skip("a worker ends when polling is switched off", "no worker polled");
	else
		report(most <= LAST_RUNS, "a worker ends when polling is switched off (%ld runs more)",
		       most);
	report(*word == p->n, "the last of %llu Writes is in place", (unsigned long long)p->n);
}

static struct ibv_mr *register_word(struct ibv_pd *pd, uint64_t *word)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, word, sizeof(*word),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

int main(int argc, char **argv)
{
	static uint64_t word;
	struct ibv_qp_init_attr_ex near, far;
	struct ibv_context *verbs;
	struct poster p = {};
	struct ibv_pd *pd;
	struct conn c;

	if (argc != 5)
		return 2;
	p.setting = open_file(argv[3], "", O_WRONLY);
	p.counter = open_file(argv[4], "sqpoll", O_RDONLY);
	/* without a lifespan of 0, the kernel may return values that are 10 ms old */
	write_word(open_file(argv[4], "lifespan", O_WRONLY), "0");
	verbs = cm_open(argv[1], argv[2]);
	pd = ibv_alloc_pd(verbs);
	if (!pd)
		die("ibv_alloc_pd");
	p.mr = register_word(pd, &word);
	p.cq = cq_make(verbs, DEPTH, NULL);
	near = qp_attr(pd, p.cq, DEPTH);
	near.cap.max_inline_data = sizeof(word);
	far = qp_attr(pd, cq_make(verbs, 1, NULL), 1);
	conn_make(&c, &near, &far);
	p.qp = c.near->qp;
	test(&p, &word);
	conn_drop(&c);
	cq_drop(p.cq);
	cq_drop(far.send_cq);
	ibv_dereg_mr(p.mr);
	ibv_dealloc_pd(pd);
	cm_close();
	return results_end();
}
