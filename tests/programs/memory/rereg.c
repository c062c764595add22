// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: tests of ibv_rereg_mr(). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"
#include "pinned.h"

#define WRITABLE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define ALL_ACCESS	(WRITABLE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static uint8_t *map(size_t len)
{
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

/* ---- random changes of a region, compared with a model ---- */

struct model {
	uint8_t *at;	/* memory that the region should cover */
	uint32_t len;
	int access;
	int pd;
};

struct subject {
	struct ibv_mr *mr;
	struct model is;
	uint8_t *arena;		/* ARENA bytes, and then an inaccessible page */
	uint8_t want[ARENA_MAX];	/* expected contents of the arena */
	uint32_t old_key;
	char wrong[200];
};

static void wrong(struct subject *s, const char *what)
{
	if (!s->wrong[0])
		snprintf(s->wrong, sizeof(s->wrong), "%s: region at %zu, %u octets, access %#x, domain %d",
			 what, s->is.at - s->arena, s->is.len, s->is.access, s->is.pd);
}

static int some_access(struct bench *b)
{
	return ALL_ACCESS & below(ALL_ACCESS + 1);
}

static bool possible(const struct subject *s, const struct model *m)
{
	if (m->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(m->access & IBV_ACCESS_LOCAL_WRITE))
		return false;
	return m->len && m->at + m->len <= s->arena + ARENA;
}

/*
 * Requests a random change. A change that possible() allows must succeed, and changes the model,
 * too. Other changes must fail.
 */
static void change(struct bench *b, struct subject *s)
{
	static const int sets[] = { IBV_REREG_MR_CHANGE_TRANSLATION, IBV_REREG_MR_CHANGE_ACCESS,
				    IBV_REREG_MR_CHANGE_PD };
	struct model m = s->is;
	uint32_t key = s->mr->rkey;
	int flags = 0, i, rc;

	while (!flags)
		for (i = 0; i < 3; i++)
			flags |= chance(40) ? sets[i] : 0;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		m.at = s->arena + below(ARENA);
		m.len = chance(10) ? 0 : below(chance(50) ? 100 : ARENA / 2);
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		m.access = some_access(b);
	if (flags & IBV_REREG_MR_CHANGE_PD)
		m.pd = below(2);
	rc = ibv_rereg_mr(s->mr, flags, b->pd[m.pd], m.at, m.len,
			  flags & IBV_REREG_MR_CHANGE_ACCESS ? m.access : 0);
	if (!rc != possible(s, &m)) {
		s->is = m;
		wrong(s, rc ? "refused" : "not refused");
		return;
	}
	if (rc) {
		if (s->mr->rkey != key)
			wrong(s, "the key changed in spite of an error");
		return;
	}
	s->is = m;
	s->old_key = key;
	if (s->mr->rkey == key || s->mr->rkey != s->mr->lkey)
		wrong(s, "the keys are wrong");
}

static bool may(const struct model *m, enum ibv_wr_opcode op)
{
	int need = op == IBV_WR_RDMA_WRITE ? IBV_ACCESS_REMOTE_WRITE :
		   op == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_ATOMIC;

	return m->access & need && m->pd == 0;
}

static void follow_atomic(struct bench *b, struct subject *s, size_t off)
{
	uint64_t word, found;

	memcpy(&word, s->want + off, 8);
	memcpy(&found, b->source, 8);
	if (found != word)
		wrong(s, "an atomic operation returned another value");
	word++;
	memcpy(s->want + off, &word, 8);
}

/* Tries a random access of the peer. The access must succeed exactly if the model allows it. */
static void try_access(struct bench *b, struct subject *s)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };
	enum ibv_wr_opcode op = ops[below(3)];
	bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD, old = s->old_key && chance(10);
	uint32_t off = below(s->is.len), len = atomic ? 8 : 1 + below(SOURCE), status;
	uint8_t *at = s->is.at + off;
	bool good;

	if (chance(80) && len > s->is.len - off && !atomic)
		len = s->is.len - off;
	if (atomic)
		at = (uint8_t *)((uintptr_t)at & ~(uintptr_t)7);
	good = !old && may(&s->is, op) && at >= s->is.at && len <= s->is.at + s->is.len - at;
	fill(b->source, len);
	status = bench_do(b, op, len, (uintptr_t)at, old ? s->old_key : s->mr->rkey);
	if (!status != good) {
		printf("# opcode %d, offset %d, %u octets: %s\n", op, (int)(at - s->is.at), len,
		       ibv_wc_status_str(status));
		wrong(s, old ? "an access by an old key" : "an access has another result");
	}
	if (status)
		return;
	if (op == IBV_WR_RDMA_WRITE)
		memcpy(s->want + (at - s->arena), b->source, len);
	else if (op == IBV_WR_RDMA_READ && memcmp(s->want + (at - s->arena), b->source, len))
		wrong(s, "a Read has other octets");
	else if (atomic)
		follow_atomic(b, s, at - s->arena);
}

/* Return: the number of pages that a region pins, including pages that it covers in part */
static size_t pages_of(const struct ibv_mr *mr)
{
	uintptr_t first = (uintptr_t)mr->addr / PAGE, last = ((uintptr_t)mr->addr + mr->length - 1) / PAGE;

	return last - first + 1;
}

static void one_round(struct bench *b, struct subject *s)
{
	uint32_t i;

	/* number of other pinned pages of the process: pages of b->source, and rings of queues */
	size_t others = pinned_pages() - pages_of(s->mr);

	change(b, s);
	/* a smaller number is right: the kernel may release rings of an earlier connection now */
	if (pinned_pages() != others + pages_of(s->mr) && pinned_at_rest() >= others + pages_of(s->mr))
		wrong(s, "the number of pinned pages is wrong");
	for (i = below(4); i && !s->wrong[0]; i--)
		try_access(b, s);
	if (memcmp(s->arena, s->want, ARENA))
		wrong(s, "octets of the arena differ");
}

/*
 * Makes a page inaccessible, also for Linux 6.1, which registers memory with PROT_NONE: the page
 * belongs to a file that is empty.
 */
static void bar(uint8_t *page)
{
	int fd = memfd_create("empty", 0);

	if (fd < 0 || mmap(page, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		die("a page of an empty file");
	close(fd);
}

void test_rereg_model(struct bench *b, uint32_t rounds)
{
	static struct subject s;
	uint32_t i;

	s.arena = map(ARENA + PAGE);
	bar(s.arena + ARENA);
	fill(s.arena, ARENA);
	memcpy(s.want, s.arena, ARENA);
	s.is = (struct model){ .at = s.arena + 100, .len = 2 * PAGE, .access = ALL_ACCESS };
	s.mr = ibv_reg_mr(b->pd[0], s.is.at, s.is.len, s.is.access);
	if (!s.mr)
		die("ibv_reg_mr");
	for (i = 0; i < rounds && !s.wrong[0]; i++)
		one_round(b, &s);
	if (s.wrong[0])
		printf("# round %u: %s\n", i, s.wrong);
	report(!s.wrong[0],
	       "ibv_rereg_mr: random changes, each followed by an access of the peer");
	conn_drop(&b->pair);
	if (ibv_dereg_mr(s.mr))
		die("ibv_dereg_mr");
	report(pinned_at_rest() == pages_of(b->source_mr), "no page stays pinned at the end");
	munmap(s.arena, ARENA + PAGE);
}

/* ---- while the peer writes ---- */

struct writer {
	struct bench *b;
	uint64_t addr;
	uint32_t rkey;
};

/* Posts Writes with the same key again and again, until a Write fails. */
static void *write_on(void *arg)
{
	struct writer *w = arg;
	uint32_t n = 0;

	while (!bench_reap(w->b)) {
		if (n++ > 1000000)
			die("the old key works for ever");
		bench_post(w->b, IBV_WR_RDMA_WRITE, 2 * PAGE, w->addr, w->rkey);
	}
	return NULL;
}

/* Moves a region while Writes arrive. No byte may arrive in the old memory after the move. */
static bool move_under_fire(struct bench *b)
{
	uint8_t *old = map(2 * PAGE), *now = map(2 * PAGE);
	struct ibv_mr *mr = ibv_reg_mr(b->pd[0], old, 2 * PAGE, ALL_ACCESS);
	struct writer w = { .b = b, .addr = (uintptr_t)old };
	bool good = true;
	pthread_t thread;
	int i;

	if (!mr)
		die("ibv_reg_mr");
	w.rkey = mr->rkey;
	memset(b->source, 0xaa, SOURCE);
	memset(now, 0x11, 2 * PAGE);
	bench_connect(b);
	for (i = 0; i < 8; i++)
		bench_post(b, IBV_WR_RDMA_WRITE, 2 * PAGE, w.addr, w.rkey);
	if (pthread_create(&thread, NULL, write_on, &w))
		die("pthread_create");
	usleep(below(3000));
	if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, now, 2 * PAGE, 0))
		die("ibv_rereg_mr");
	memset(old, 0x22, 2 * PAGE);
	pthread_join(thread, NULL);
	conn_drop(&b->pair);
	for (i = 0; i < 2 * PAGE; i++)
		good &= old[i] == 0x22 && now[i] == 0x11;
	good &= !bench_do(b, IBV_WR_RDMA_WRITE, 2 * PAGE, (uintptr_t)now, mr->rkey) &&
		now[0] == 0xaa && now[2 * PAGE - 1] == 0xaa;
	conn_drop(&b->pair);
	ibv_dereg_mr(mr);
	munmap(old, 2 * PAGE);
	munmap(now, 2 * PAGE);
	return good;
}

void test_rereg_traffic(struct bench *b, uint32_t rounds)
{
	bool good = true;

	while (good && rounds--)
		good = move_under_fire(b);
	report(good, "ibv_rereg_mr during Writes: no Write arrives in the old memory");
}

/* ---- memory that is shared until it is written ---- */

/*
 * Return: true if ibv_rereg_mr() fails in a child process. If it succeeded, the region would
 * contain the child's memory at the same address, instead of the parent's memory.
 */
static bool child_is_refused(struct ibv_mr *mr)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid)
		_exit(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS));
	return waitpid(pid, &status, 0) == pid && !status;
}

void test_rereg_private(struct bench *b, const char *file)
{
	const char *what = "a page of a private file mapping becomes writable: it is copied";
	int fd = open(file, O_RDONLY);
	uint8_t before[PAGE], after[PAGE], *page;
	struct ibv_mr *mr;
	bool good;

	if (fd < 0 || pread(fd, before, PAGE, 0) != PAGE)
		die(file);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	mr = page == MAP_FAILED ? NULL : ibv_reg_mr(b->pd[0], page, PAGE, IBV_ACCESS_REMOTE_READ);
	if (!mr)
		die(what);
	good = !bench_do(b, IBV_WR_RDMA_READ, PAGE, (uintptr_t)page, mr->rkey) &&
	       !memcmp(b->source, before, PAGE) && child_is_refused(mr);
	if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS))
		die("ibv_rereg_mr");
	memset(b->source, 0x77, PAGE);
	good &= !bench_do(b, IBV_WR_RDMA_WRITE, PAGE, (uintptr_t)page, mr->rkey) &&
		!memcmp(page, b->source, PAGE);
	if (pread(fd, after, PAGE, 0) != PAGE)
		die(file);
	report(good && !memcmp(before, after, PAGE), "%s", what);
	conn_drop(&b->pair);
	ibv_dereg_mr(mr);
	munmap(page, PAGE);
	close(fd);
}
