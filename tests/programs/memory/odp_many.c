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

/* PROCESSES children, which run at the same time and inherit the descriptor of the device */
struct crowd {
	struct bench *b;
	struct left *left;	/* regions of the first crowd */
	int say;		/* pipe of the first crowd to the parent */
	int hear, end;		/* pipe: the children exit when the parent closes @end */
	pid_t pid[PROCESSES];
};

/* Starts the children. @life: what each of them does; its result is the exit status */
static void crowd_begin(struct crowd *c, int (*life)(const struct crowd *c))
{
	int stay[2], i;
	char none;

	if (pipe(stay))
		die("pipe");
	c->hear = stay[0];
	c->end = stay[1];
	for (i = 0; i < PROCESSES; i++) {
		c->pid[i] = fork();
		if (c->pid[i] < 0)
			die("fork");
		if (!c->pid[i]) {
			close(c->end);
			_exit(life(c) || read(c->hear, &none, 1));
		}
	}
	close(c->hear);
}

/* Lets the children exit. Return: false if the exit status of a child was not 0 */
static bool crowd_end(struct crowd *c)
{
	bool good = true;
	int status, i;

	close(c->end);
	for (i = 0; i < PROCESSES; i++)
		must(&good, waitpid(c->pid[i], &status, 0) == c->pid[i] && !status, "the end of a process");
	return good;
}

/* The first crowd: each child leaves a region when it exits. */
static int leave_region(const struct crowd *c)
{
	uint8_t *at = anonymous(PAGE);
	struct ibv_mr *mr = reg(c->b, at, PAGE, ALL_ACCESS);
	struct left region = { (uintptr_t)at, mr->lkey };

	return write(c->say, &region, sizeof(region)) != sizeof(region);
}

/* Starts the first crowd, and waits for its regions. */
static void make(struct crowd *c)
{
	int in[2], i;

	if (pipe(in))
		die("pipe");
	c->say = in[1];
	crowd_begin(c, leave_region);
	close(in[1]);
	for (i = 0; i < PROCESSES; i++)
		if (read(in[0], &c->left[i], sizeof(c->left[i])) != sizeof(c->left[i]))
			die("a child");
	close(in[0]);
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

/* The second crowd. Return: 0 if this process can prefetch none of the regions */
static int no_region_is_ours(const struct crowd *c)
{
	struct ibv_sge sge = { .length = PAGE };
	int i, bad = 0;

	for (i = 0; i < PROCESSES; i++) {
		sge.addr = c->left[i].addr;
		sge.lkey = c->left[i].lkey;
		bad |= ibv_advise_mr(c->b->pd[0], IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1) != EFAULT;
	}
	return bad;
}

/*
 * The processes that registered the regions have ended, and the kernel has freed their address
 * spaces. New processes, which run at the same time, get the memory of these structures. So the
 * driver may take a new process for the process of a region. No new process may use a region. (And
 * the module can be unloaded: odp.sh tests this.)
 */
static void test_heirs(struct bench *b, struct left *left)
{
	struct crowd c = { .b = b, .left = left };

	crowd_begin(&c, no_region_is_ours);
	report(crowd_end(&c), "regions of ended processes do not belong to new processes");
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
	struct crowd c = { .b = b, .left = left };
	bool good;

	/* this process does not exit, and has a region as well */
	reg(b, anonymous(PAGE), PAGE, ALL_ACCESS);
	make(&c);
	if (queues < 0)
		skip("processes with regions share queues",
		     "this kernel does not count its workqueues");
	else
		report(few("pool_workqueue", queues), "processes with regions share queues");
	good = crowd_end(&c);
	if (spaces < 0)
		skip("the address space of a process is freed although its region stays",
		     "this kernel does not count its address spaces");
	else
		report(few("mm_struct", spaces) && good,
		       "the address space of a process is freed although its region stays");
	test_heirs(b, left);
}
