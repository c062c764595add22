// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: what is kept for processes that have regions that are not pinned, and for those that have gone. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "odp.h"

#define PROCESSES	100
#define SECONDS		60

/* Those that are free and kept by a processor count as others, until they are given back. */
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

/* Objects of a kind that the kernel has, -1 if it does not tell */
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

/* Has the descriptor of the device from its parent, and leaves a region there. */
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

/* Return: true when there are few more objects than there were. */
static bool few(const char *kind, long were)
{
	long is = 0;
	int i;

	for (i = 0; i < SECONDS * 10; i++) {
		is = objects(kind) - were;
		if (is < PROCESSES / 2) {
			printf("# %s: %ld more\n", kind, is);
			return true;
		}
		usleep(100000);
	}
	printf("# %s: %ld more\n", kind, is);
	return false;
}

/*
 * Processes that inherit the descriptor, register a region and exit leave the region, and nothing
 * that is as large as an address space or a queue.
 */
void test_odp_many(struct bench *b)
{
	long queues = objects("pool_workqueue"), spaces = objects("mm_struct");
	int hear, say, status, i;
	pid_t pid[PROCESSES];
	bool good = true;

	/* a process that stays has a region, too */
	reg(b, anonymous(PAGE), PAGE, ALL_ACCESS);
	make(b, pid, &hear, &say);
	if (queues < 0)
		skip("processes with regions share queues", "this kernel does not tell of its queues");
	else
		report(few("pool_workqueue", queues), "processes with regions share queues");
	close(say);
	for (i = 0; i < PROCESSES; i++)
		must(&good, waitpid(pid[i], &status, 0) == pid[i] && !status, "the end of a process");
	if (spaces < 0)
		skip("the address space of a process goes, though its region stays", "this kernel does not tell of them");
	else
		report(few("mm_struct", spaces) && good, "the address space of a process goes, though its region stays");
	close(hear);
}
