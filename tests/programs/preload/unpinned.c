// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD library: registers the regions of a program with on-demand paging (not pinned),
 * except regions to which windows may be bound. A thread makes the memory of the first 64 regions
 * executable and non-executable, again and again, if the program may write to them. The
 * memory keeps its contents, and the program can access the memory all the time, but each change
 * makes the driver forget the addresses of the pages. At the end the library prints on standard
 * error how many regions it has registered in this way.
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
#define MAX	64	/* regions whose memory the thread changes */

static struct {
	uintptr_t start, end;
} memory[MAX];
static unsigned int regions;

__attribute__((destructor)) static void tell(void)
{
	if (regions)
		fprintf(stderr, "# unpinned %u\n", regions);
}

/* The thread. Errors of mprotect() do not matter: the program may have unmapped the memory. */
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

/*
 * Return: @access plus IBV_ACCESS_ON_DEMAND, or only @access if windows may be bound to the
 * region, which then needs pinned memory. The thread does not change the memory of a region
 * without IBV_ACCESS_LOCAL_WRITE, because the program may have mapped this memory read-only.
 */
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
