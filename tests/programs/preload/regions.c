// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD library: writes the memory regions of a program to files. A test compares the files
 * of both programs of a connection, because the programs transfer data without comparing the
 * data. Before a writable region is registered, the library fills the region with random bytes.
 * When the program disconnects, destroys a queue pair, deregisters a region or frees the memory
 * of a region, the library writes each region that was registered since the last such moment to a
 * file $IWT_REGIONS.PROCESS.NUMBER. The library ignores regions of less than 4 KiB or more than
 * 64 MiB, and all regions after the first 64. It ignores all regions if IWT_REGIONS is not set.
 *
 * If IWT_MEET is set, a program that wants to destroy its first queue pair creates the file
 * $IWT_REGIONS-end, and waits until the file $IWT_MEET exists. The wait has no limit.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <malloc.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#undef ibv_reg_mr

#define MAX	64		/* regions */
#define SMALL	4096		/* bytes; the library ignores a shorter region */
#define LARGE	(64ul << 20)	/* bytes; the library ignores a longer region */

static struct {
	char *at;
	size_t len;
} region[MAX];
static unsigned int regions;

/* The original function, which the function of the same name in this library replaces */
#define NEXT(name)	((typeof(name) *)dlsym(RTLD_NEXT, #name))

static void fill(char *at, size_t len)
{
	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n <= 0)
			return;
		at += n;
		len -= n;
	}
}

static void note(void *at, size_t len, int access)
{
	if (!getenv("IWT_REGIONS") || len < SMALL || len > LARGE || regions == MAX)
		return;
	if (access & IBV_ACCESS_LOCAL_WRITE)
		fill(at, len);
	region[regions].at = at;
	region[regions++].len = len;
}

static void tell(void)
{
	const char *prefix = getenv("IWT_REGIONS");
	unsigned int i, n = regions;
	char name[4096];
	FILE *file;

	regions = 0;
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s.%d.%u", prefix, getpid(), i);
		file = fopen(name, "w");
		if (!file)
			continue;
		fwrite(region[i].at, 1, region[i].len, file);
		fclose(file);
	}
}

static void meet(void)
{
	const char *prefix = getenv("IWT_REGIONS"), *other = getenv("IWT_MEET");
	static bool met;
	char name[4096];
	FILE *file;

	if (met || !prefix || !other || !*other)
		return;
	met = true;
	snprintf(name, sizeof(name), "%s-end", prefix);
	file = fopen(name, "w");
	if (file)
		fclose(file);
	while (access(other, F_OK))
		usleep(10000);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *at, size_t len, int access)
{
	note(at, len, access);
	return NEXT(ibv_reg_mr)(pd, at, len, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t len, uint64_t iova,
				unsigned int access)
{
	note(at, len, access);
	return NEXT(ibv_reg_mr_iova2)(pd, at, len, iova, access);
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	tell();
	return NEXT(rdma_disconnect)(id);
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	tell();
	NEXT(rdma_destroy_qp)(id);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	meet();
	tell();
	return NEXT(ibv_destroy_qp)(qp);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	tell();
	return NEXT(ibv_dereg_mr)(mr);
}

/*
 * The server of fio frees its memory and exits without ending its connection. A region may begin
 * after the start of the memory that is freed.
 */
void free(void *p)
{
	static typeof(free) *next;
	unsigned int i;

	for (i = 0; p && i < regions; i++) {
		if ((uintptr_t)region[i].at - (uintptr_t)p < malloc_usable_size(p))
			tell();
	}
	if (!next)
		next = NEXT(free);
	next(p);
}

/* Both programs of perftest use the current second as a seed: make the seeds differ. */
void srand(unsigned int seed)
{
	NEXT(srand)(seed ^ (unsigned int)getpid() * 2654435761u);
}
