// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD library: all regions that a program registers are not pinned. A thread gives their
 * memory the right to be executed and takes it back, again and again. The contents stay, and the
 * program can use them all the time; but the kernel forgets each time where the pages are. At the
 * end the library prints on standard error how many regions there were.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define PAGE	4096ul
#define MAX	64	/* regions whose memory changes */

static struct {
	uintptr_t start, end;
} memory[MAX];
static unsigned int regions;

__attribute__((destructor)) static void tell(void)
{
	if (regions)
		fprintf(stderr, "# unpinned %u\n", regions);
}

/* What is not mapped any more is none of the program's. */
static void *change(void *arg)
{
	for (;;) {
		for (int i = 0; i < MAX; i++) {
			void *at = (void *)memory[i].start;
			size_t len = memory[i].end - memory[i].start;

			if (!len)
				continue;
			if (!mprotect(at, len, PROT_READ | PROT_WRITE | PROT_EXEC))
				mprotect(at, len, PROT_READ | PROT_WRITE);
		}
		usleep(2000);
	}
	return NULL;
}

/* Not what needs memory that is pinned. What the program may not write stays as it is. */
static int unpin(void *addr, size_t length, int access)
{
	unsigned int i;
	pthread_t thread;

	if (access & IBV_ACCESS_MW_BIND)
		return access;
	i = regions++;
	if (i < MAX && access & IBV_ACCESS_LOCAL_WRITE) {
		memory[i].start = (uintptr_t)addr & ~(PAGE - 1);
		memory[i].end = ((uintptr_t)addr + length + PAGE - 1) & ~(PAGE - 1);
	}
	if (!i)
		pthread_create(&thread, NULL, change, NULL);
	return access | IBV_ACCESS_ON_DEMAND;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, int) = dlsym(RTLD_NEXT, "ibv_reg_mr");

	return next(pd, addr, length, unpin(addr, length, access));
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, uint64_t, unsigned int) =
		dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");

	return next(pd, addr, length, iova, unpin(addr, length, access));
}
