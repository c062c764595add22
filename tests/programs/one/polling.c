// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_polling ADDRESS PORT SETTING COUNTERS: does a worker that polls a send queue end when the
 * administrator switches polling off? The process has a connection to itself. It posts small RDMA
 * Writes at a distance of 20 microseconds and almost never polls for completions. So the driver
 * has finished each Write before the next one is posted, and a worker of the driver polls for it.
 * SETTING is the file of the setting "polling"; COUNTERS is the directory of the link's counters.
 *
 * The second test fills TCP's buffers, on a path with a delay, and then posts nothing more. The
 * driver may not go on polling: requests that TCP can't take yet are no new posts.
 *
 * No other program takes part, because a worker ends when a thread is runnable on its processor.
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
#define SIGNALED	256	/* one Write in so many has a completion */
#define PAUSE_NS	20000
#define ROUNDS		20
#define MORE		1500	/* Writes with polling off: 30 ms, six times a worker's run */
#define TEST_MS		20000	/* after this time no further worker is expected */
#define LAST_RUNS	2	/* when polling ends, one run is in progress and one is queued */
#define LARGE		65536	/* bytes of a large Write */
#define LARGE_COUNT	256	/* large Writes: more than TCP's buffers hold */
#define BACKLOGS	10

struct poster {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint64_t n;		/* small Writes posted */
	uint64_t reaped;	/* completions of small Writes */
	int setting, counter;
	uint64_t end_ms;	/* when the test ends, by running_ms() */
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

/* Return: number of runs of workers so far */
static uint64_t runs(const struct poster *p)
{
	char text[32] = "";

	if (pread(p->counter, text, sizeof(text) - 1, 0) <= 0)
		die("a counter");
	return strtoull(text, NULL, 10);
}

/* Posts a Write of @sge to the same offset of the memory. */
static void post(struct poster *p, struct ibv_sge *sge, unsigned int flags)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = sge, .num_sge = 1, .send_flags = flags,
		.wr.rdma = { .remote_addr = (uintptr_t)p->mr->addr, .rkey = p->mr->rkey },
	};

	errno = ibv_post_send(p->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

/* Posts the next small Write, which writes its number to the word. */
static void post_number(struct poster *p)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&p->n, .length = sizeof(p->n) };
	unsigned int flags = IBV_SEND_INLINE;

	if (++p->n % SIGNALED == 0)
		flags |= IBV_SEND_SIGNALED;
	post(p, &sge, flags);
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

/* Polls for the completions of all small Writes that have one. */
static void check_numbers(struct poster *p)
{
	for (; p->reaped < p->n / SIGNALED; p->reaped++)
		check_completion(p);
}

/*
 * Posts @count Writes. Each completion is polled half a period after its Write was posted, so that
 * one poll is enough.
 */
static void pace(struct poster *p, int count)
{
	long long next;

	while (count--) {
		next = now() + PAUSE_NS;
		post_number(p);
		if (p->n % SIGNALED == SIGNALED / 2)
			check_numbers(p);
		while (now() < next)
			;
	}
}

/*
 * Posts until a worker has polled. Return: false if no worker polled within the time of the test.
 * On a machine with other work the driver may find no idle processor for a worker.
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

/* Return: number of runs of workers after polling was switched off; -1 if no worker polled */
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

/* Return: number of runs of workers after LARGE_COUNT large Writes; -1 if no worker polled */
static long with_backlog(struct poster *p)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->mr->addr, .length = LARGE, .lkey = p->mr->lkey,
	};
	uint64_t before;
	int i;

	write_word(p->setting, "on");
	if (!polled(p))
		return -1;
	for (i = 1; i <= LARGE_COUNT; i++)
		post(p, &sge, i == LARGE_COUNT ? IBV_SEND_SIGNALED : 0);
	before = runs(p);
	check_numbers(p);
	check_completion(p);
	return runs(p) - before;
}

/* Repeats @round; each returns a number of runs. Return: the highest number; -1: no worker polled */
static long most_runs(struct poster *p, long (*round)(struct poster *p), int rounds)
{
	long most = -1, n = 0;

	p->end_ms = running_ms() + TEST_MS;
	while (rounds-- && n >= 0) {
		n = round(p);
		if (n > most)
			most = n;
	}
	return most;
}

static void check_runs(long most, const char *what)
{
	if (most < 0)
		skip(what, "no worker polled");
	else
		report(most <= LAST_RUNS, "%s (%ld runs more)", what, most);
}

/* Return: true when the last small Write is in place. A Write completes before that. */
static bool in_place(const struct poster *p, const volatile uint64_t *word)
{
	struct patience wait = {};

	while (*word != p->n)
		if (!patient(&wait, 10, *word))
			return false;
	return true;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *memory)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, LARGE,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

/*
 * Runs @round up to @rounds times, on a connection and with a completion queue of its own, because
 * the driver remembers whether workers and polling processes paid.
 */
static void test(struct ibv_context *verbs, struct ibv_pd *pd, struct poster *p,
		 long (*round)(struct poster *p), int rounds, const char *what)
{
	volatile uint64_t *word = p->mr->addr;
	struct ibv_qp_init_attr_ex near, far;
	struct conn c;

	p->cq = cq_make(verbs, DEPTH, NULL);
	near = qp_attr(pd, p->cq, DEPTH);
	near.cap.max_inline_data = sizeof(p->n);
	far = qp_attr(pd, cq_make(verbs, 1, NULL), 1);
	conn_make(&c, &near, &far);
	p->qp = c.near->qp;
	p->n = 0;
	p->reaped = 0;
	*word = 0;
	check_runs(most_runs(p, round, rounds), what);
	pace(p, SIGNALED - p->n % SIGNALED);
	check_numbers(p);
	report(in_place(p, word), "the last of %llu small Writes is in place",
	       (unsigned long long)p->n);
	conn_drop(&c);
	cq_drop(p->cq);
	cq_drop(far.send_cq);
}

int main(int argc, char **argv)
{
	static uint64_t words[LARGE / sizeof(uint64_t)];
	struct ibv_context *verbs;
	struct poster p = {};
	struct ibv_pd *pd;

	if (argc != 5)
		return 2;
	p.setting = open_file(argv[3], "", O_WRONLY);
	p.counter = open_file(argv[4], "sqpoll", O_RDONLY);
	/* the kernel would return counters that are 10 ms old */
	write_word(open_file(argv[4], "lifespan", O_WRONLY), "0");
	verbs = cm_open(argv[1], argv[2]);
	pd = ibv_alloc_pd(verbs);
	if (!pd)
		die("ibv_alloc_pd");
	p.mr = register_memory(pd, words);
	test(verbs, pd, &p, switched_off, ROUNDS, "a worker ends when polling is switched off");
	test(verbs, pd, &p, with_backlog, BACKLOGS,
	     "a worker ends while TCP can take no more data");
	ibv_dereg_mr(p.mr);
	ibv_dealloc_pd(pd);
	cm_close();
	return results_end();
}
