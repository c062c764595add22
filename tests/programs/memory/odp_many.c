// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: many processes have regions with on-demand paging. Counts the kernel's objects for
 * these processes while they run, and after they have ended.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "odp.h"
#include "patience.h"

#define PROCESSES	100
#define SECONDS		60

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
	char c = 'r';

	reg(b, at, PAGE, ALL_ACCESS);
	if (write(say, &c, 1) != 1 || read(hear, &c, 1))
		_exit(1);
	_exit(0);
}

static void make(struct bench *b, pid_t *pid, int *hear, int *say)
{
	int in[2], out[2], i;
	char c;

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
		if (read(in[0], &c, 1) != 1)
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

/*
 * Child processes inherit the descriptor of the device, register a region and exit. The regions
 * stay until the parent closes the device. But no large objects of the kernel may stay for each
 * child, such as address spaces or workqueues.
 */
void test_odp_many(struct bench *b)
{
	long queues = objects("pool_workqueue"), spaces = objects("mm_struct");
	int hear, say, status, i;
	pid_t pid[PROCESSES];
	bool good = true;

	/* this process does not exit, and has a region as well */
	reg(b, anonymous(PAGE), PAGE, ALL_ACCESS);
	make(b, pid, &hear, &say);
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
}
