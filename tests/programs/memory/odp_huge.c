// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: regions with on-demand paging in huge pages, which appear, split and collapse. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "odp.h"

/* Return: bytes of a huge page, or 0 if the kernel has no huge pages */
static size_t huge_size(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[200];
	size_t kb = 0;

	if (!f)
		die("/proc/meminfo");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Hugepagesize: %zu", &kb) == 1)
			break;
	fclose(f);
	return kb * 1024;
}

/* Runs random operations on one region, which is a random part of @len bytes at a->arena. */
static void operations(struct bench *b, struct any *a, size_t len, uint32_t rounds)
{
	uint32_t i;

	memcpy(a->model, a->arena, len);
	any_part(b, a, len);
	a->mem = a->arena + a->start;
	a->want = a->model + a->start;
	a->iova = any_iova(b, (uintptr_t)a->mem);
	a->mr = ibv_reg_mr_iova(b->pd[0], a->mem, a->len, a->iova, ALL_ACCESS | ODP);
	if (!a->mr)
		die("ibv_reg_mr");
	for (i = 0; i < rounds && !a->wrong[0]; i++)
		any_access(b, a);
	conn_drop(&b->pair);
	if (memcmp(a->arena, a->model, len))
		any_wrong(a, "octets of the process differ");
	ibv_dereg_mr(a->mr);
	if (a->wrong[0])
		printf("# access %u: %s\n", i, a->wrong);
}

static void hugetlb(struct bench *b, uint32_t rounds)
{
	static const char what[] = "huge pages of the process (MAP_HUGETLB)";
	size_t huge = huge_size(), len = 2 * huge;
	struct any a = { .name = what };

	a.arena = huge ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) :
			 MAP_FAILED;
	if (a.arena == MAP_FAILED) {
		skip(what, "no huge pages are reserved");
		return;
	}
	a.model = malloc(len);
	operations(b, &a, len, rounds);
	if (madvise(a.arena + huge, huge, MADV_DONTNEED))
		die("MADV_DONTNEED");
	operations(b, &a, len, rounds);
	report(!a.wrong[0], what);
	munmap(a.arena, len);
	free(a.model);
}

/* A thread that splits and collapses huge pages. The contents of the pages stay the same. */
struct stir {
	uint8_t *at;
	size_t huge;
	unsigned int n, collapsed;
	volatile bool stop;
};

static void *split_and_collapse(void *arg)
{
	struct stir *s = arg;

	while (!s->stop) {
		uint8_t *page = s->at + s->n++ * 7 * PAGE % (2 * s->huge);

		/* other rights for a page split its huge page; the page always stays writable */
		if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) ||
		    mprotect(page, PAGE, PROT_READ | PROT_WRITE))
			die("mprotect");
		s->collapsed += !madvise(s->at, 2 * s->huge, MADV_COLLAPSE);
		usleep(500);
	}
	return NULL;
}

static void transparent(struct bench *b, uint32_t rounds)
{
	static const char what[] = "huge pages split and collapse during random operations";
	size_t huge = huge_size() ?: 512 * PAGE, len = 2 * huge;
	uint8_t *raw = anonymous(len + huge);
	struct any a = { .name = what };
	struct stir s = { .huge = huge };
	pthread_t thread;

	s.at = (uint8_t *)(((uintptr_t)raw + huge - 1) / huge * huge);
	a.arena = s.at;
	madvise(s.at, len, MADV_HUGEPAGE);
	memset(s.at, 0x5a, len);
	a.model = malloc(len);
	if (madvise(s.at, len, MADV_COLLAPSE)) {
		skip(what, "this kernel cannot make huge pages");
		goto out;
	}
	if (pthread_create(&thread, NULL, split_and_collapse, &s))
		die("pthread_create");
	while (!s.collapsed && !a.wrong[0])
		operations(b, &a, len, rounds);
	s.stop = true;
	pthread_join(thread, NULL);
	printf("# %u splits, %u collapses\n", s.n, s.collapsed);
	report(!a.wrong[0], what);
out:
	free(a.model);
	munmap(raw, len + huge);
}

void test_odp_huge(struct bench *b, uint32_t rounds)
{
	hugetlb(b, 2 * rounds);
	transparent(b, 4 * rounds);
}
