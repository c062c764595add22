// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: many processes have regions with on-demand paging. Counts the kernel's objects for
 * these processes while they run, and after they have ended. Then other processes use the regions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "odp.h"
#include "patience.h"

#define PROCESSES	100
#define SECONDS		60

/* A region of a child process */
struct left {
	uint64_t addr;
	uint32_t lkey;
};

/*
 * Releases the free objects that processors keep, because slabinfo counts these objects as used.
 */
static void shrink(const char *kind)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", kind);
	f = fopen(path, "w");
	if (!f)
		return;
	fputs("1", f);
	fclose(f);
}

/* Return: how many objects of a kind the kernel has, or -1 if slabinfo does not list the kind */
static long objects(const char *kind)
{
	char line[400], name[100];
	long n, is = -1;
	FILE *f;

	shrink(kind);
	f = fopen("/proc/slabinfo", "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%99s %ld", name, &n) == 2 && !strcmp(name, kind))
			is = n;
	fclose(f);
	return is;
}

/* A child inherits the descriptor of the device, and leaves a region when it exits. */
static void child(struct bench *b, int say, int hear)
{
	uint8_t *at = anonymous(PAGE);
	struct ibv_mr *mr = reg(b, at, PAGE, ALL_ACCESS);
	struct left region = { (uintptr_t)at, mr->lkey };

	if (write(say, &region, sizeof(region)) != sizeof(region) || read(hear, &region, 1))
		_exit(1);
	_exit(0);
}

static void make(struct bench *b, pid_t *pid, struct left *left, int *hear, int *say)
{
	int in[2], out[2], i;

	if (pipe(in) || pipe(out))
		die("pipe");
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			die("fork");
		if (!pid[i]) {
			close(out[1]);
			child(b, in[1], out[0]);
		}
	}
	close(in[1]);
	close(out[0]);
	for (i = 0; i < PROCESSES; i++)
		if (read(in[0], &left[i], sizeof(left[i])) != sizeof(left[i]))
			die("a child");
	*hear = in[0];
	*say = out[1];
}

/*
 * Waits until there are fewer than @were + PROCESSES / 2 objects of the kind. Return: false if
 * this does not happen in time
 */
static bool few(const char *kind, long were)
{
	struct patience p = {};
	long is;

	while ((is = objects(kind) - were) >= PROCESSES / 2 && patient(&p, SECONDS, 0))
		usleep(100000);
	printf("# %s: %ld more\n", kind, is);
	return is < PROCESSES / 2;
}

/* Return: 0 if this process can prefetch none of the regions */
static int no_region_is_ours(struct bench *b, const struct left *left)
{
	struct ibv_sge sge = { .length = PAGE };
	int i, bad = 0;

	for (i = 0; i < PROCESSES; i++) {
		sge.addr = left[i].addr;
		sge.lkey = left[i].lkey;
		bad |= ibv_advise_mr(b->pd[0], IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1) != EFAULT;
	}
	return bad;
}

/*
 * The processes that registered the regions have ended, and the kernel has freed their address
 * spaces. New processes, which run at the same time, get the memory of these structures. So the
 * driver may take a new process for the process of a region. No new process may use a region. (And
 * the module can be unloaded: odp.sh tests this.)
 */
static void test_heirs(struct bench *b, const struct left *left)
{
	int wait[2], status, i;
	pid_t pid[PROCESSES];
	bool good = true;
	char c;

	if (pipe(wait))
		die("pipe");
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			die("fork");
		if (!pid[i]) {
			close(wait[1]);
			_exit(no_region_is_ours(b, left) || read(wait[0], &c, 1));
		}
	}
	close(wait[1]);
	close(wait[0]);
	for (i = 0; i < PROCESSES; i++)
		must(&good, waitpid(pid[i], &status, 0) == pid[i] && !status, "a new process");
	report(good, "regions of ended processes do not belong to new processes");
}

/*
 * Child processes inherit the descriptor of the device, register a region and exit. The regions
 * stay until the parent closes the device. But no large objects of the kernel may stay for each
 * child, such as address spaces or workqueues.
 */
void test_odp_many(struct bench *b)
{
	long queues = objects("pool_workqueue"), spaces = objects("mm_struct");
	struct left left[PROCESSES];
	int hear, say, status, i;
	pid_t pid[PROCESSES];
	bool good = true;

	/* this process does not exit, and has a region as well */
	reg(b, anonymous(PAGE), PAGE, ALL_ACCESS);
	make(b, pid, left, &hear, &say);
	if (queues < 0)
		skip("processes with regions share queues",
		     "this kernel does not count its workqueues");
	else
		report(few("pool_workqueue", queues), "processes with regions share queues");
	close(say);
	for (i = 0; i < PROCESSES; i++)
		must(&good, waitpid(pid[i], &status, 0) == pid[i] && !status, "the end of a process");
	if (spaces < 0)
		skip("the address space of a process is freed although its region stays",
		     "this kernel does not count its address spaces");
	else
		report(few("mm_struct", spaces) && good,
		       "the address space of a process is freed although its region stays");
	close(hear);
	test_heirs(b, left);
}
