// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: compares regions with on-demand paging with a model, while the process changes the
 * pages of the regions.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "odp.h"

/* Chooses some pages of the arena. @from, @n: first page and number of pages */
static void some_pages(size_t *from, size_t *n)
{
	*from = below(ARENA / PAGE);
	*n = 1 + below(ARENA / PAGE - *from);
}

/* Discards pages. The pages are absent then, and contain zeros after the next access. */
static void zap(struct bench *b, struct any *a, size_t at, size_t len)
{
	if (madvise(a->arena + at, len, MADV_DONTNEED))
		die("MADV_DONTNEED");
	memset(a->model + at, 0, len);
}

/* Maps new pages at the same addresses. */
static void remap(struct bench *b, struct any *a, size_t at, size_t len)
{
	if (mmap(a->arena + at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		die("mmap");
	memset(a->model + at, 0, len);
	if (chance(50)) {
		fill(a->arena + at, len);
		memcpy(a->model + at, a->arena + at, len);
	}
}

/* Moves pages from another address into the arena. */
static void move_in(struct bench *b, struct any *a, size_t at, size_t len)
{
	uint8_t *new = anonymous(len);

	fill(new, len);
	memcpy(a->model + at, new, len);
	if (mremap(new, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, a->arena + at) == MAP_FAILED)
		die("mremap");
}

/*
 * A child shares the pages. Meanwhile, data that arrive must not change the child's copy of the
 * pages, and the child's writes must not change the region.
 */
static void in_child(struct bench *b, struct any *a, size_t at, size_t len)
{
	int status, talk[2];
	pid_t pid;
	char c;

	if (pipe(talk))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		size_t i;

		close(talk[1]);
		if (read(talk[0], &c, 1) != 0)
			_exit(1);
		/* data that the parent has received since the fork must not be in this copy */
		for (i = 0; i < len; i++)
			if (a->arena[at + i] != a->model[at + i])
				_exit(2);
		memset(a->arena + at, 0xcc, len);
		_exit(0);
	}
	close(talk[0]);
	any_access(b, a);
	close(talk[1]);
	if (waitpid(pid, &status, 0) != pid || status)
		any_wrong(a, "a child process sees other octets");
}

static void protect(struct bench *b, struct any *a, size_t at, size_t len)
{
	if (mprotect(a->arena + at, len, PROT_READ))
		die("mprotect");
	if (chance(50) && mprotect(a->arena + at, len, PROT_NONE))
		die("mprotect");
	if (mprotect(a->arena + at, len, PROT_READ | PROT_WRITE))
		die("mprotect");
}

static void change(struct bench *b, struct any *a)
{
	size_t at, n;

	some_pages(&at, &n);
	at *= PAGE;
	n *= PAGE;
	switch (below(8)) {
	case 0: zap(b, a, at, n); break;
	case 1: remap(b, a, at, n); break;
	case 2: move_in(b, a, at, n); break;
	case 3: in_child(b, a, at, n); break;
	case 4: protect(b, a, at, n); break;
	case 5: madvise(a->arena + at, n, MADV_PAGEOUT); break;
	case 6:
		fill(a->arena + at, n);
		memcpy(a->model + at, a->arena + at, n);
		break;
	}
	if (memcmp(a->arena, a->model, ARENA))
		any_wrong(a, "octets of the process differ");
}

static void random_pages(struct bench *b, const char *what, bool implicit, uint32_t rounds)
{
	static uint8_t model[ARENA_MAX];
	struct any a = { .name = what, .model = model };
	uint32_t i;

	a.arena = anonymous(ARENA);
	memset(model, 0, ARENA);
	if (implicit)
		a.mr = ibv_reg_mr(b->pd[0], NULL, SIZE_MAX, ALL_ACCESS | ODP);
	for (i = 0; i < rounds && !a.wrong[0]; i++) {
		any_part(b, &a, ARENA);
		a.mem = a.arena + a.start;
		a.want = a.model + a.start;
		a.iova = implicit ? (uintptr_t)a.mem : any_iova(b, (uintptr_t)a.mem);
		if (!implicit)
			a.mr = ibv_reg_mr_iova(b->pd[0], a.mem, a.len, a.iova, ALL_ACCESS | ODP);
		if (!a.mr)
			die("ibv_reg_mr");
		for (uint32_t k = 0; k < 6 && !a.wrong[0]; k++) {
			any_access(b, &a);
			change(b, &a);
		}
		if (!implicit)
			ibv_dereg_mr(a.mr);
	}
	if (implicit)
		ibv_dereg_mr(a.mr);
	if (a.wrong[0])
		printf("# round %u: %s\n", i, a.wrong);
	report(!a.wrong[0], what);
	conn_drop(&b->pair);
	munmap(a.arena, ARENA);
}

void test_odp_model(struct bench *b, uint32_t rounds)
{
	random_pages(b, "explicit regions: random operations while pages appear and disappear",
		     false, rounds / 3 + 1);
	random_pages(b, "an implicit region: random operations while pages appear and disappear",
		     true, rounds / 3 + 1);
}
