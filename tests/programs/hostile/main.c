// SPDX-License-Identifier: GPL-2.0
/*
 *	iwt_hostile -s ADDRESS			the tame peer (peer.c)
 *	iwt_hostile -c ADDRESS [--seed SEED]	the hostile process, TAP
 *
 * The hostile process writes arbitrary values into the rings that it shares with the kernel, and
 * misuses the other interfaces of an iw_tcp device. Each case runs in its own child process,
 * so that a crash ends only this case. The kernel must refuse every wrong request of the case,
 * and a correct connection must work afterwards.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"
#include "patience.h"

const char *iwt_address;
uint64_t iwt_seed;

uint64_t iwt_rnd(void)
{
	/* xorshift; two threads that call this function at the same time may get equal numbers */
	iwt_seed ^= iwt_seed << 13;
	iwt_seed ^= iwt_seed >> 7;
	iwt_seed ^= iwt_seed << 17;
	return iwt_seed;
}

__attribute__((noreturn, format(printf, 1, 2)))
void iwt_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "# ");
	vfprintf(stderr, fmt, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static const struct {
	const char *name;
	void (*fn)(void);
	int ends;	/* signal that ends the case, or 0 */
} cases[] = {
	{ "a correct connection works at the beginning", iwt_honest, 0 },
	{ "operations of the kernel, and operations that do not exist", iwt_opcodes, 0 },
	{ "impossible counts and lengths", iwt_counts, 0 },
	{ "impossible atomic operations", iwt_atomics, 0 },
	{ "kernel addresses and the kernel's key in sends", iwt_kernel_memory, 0 },
	{ "kernel addresses, keys and counts in receives", iwt_kernel_receives, 0 },
	{ "indices of rings that jump", iwt_indices, 0 },
	{ "everything in all rings changes at random", iwt_fuzz, 0 },
	{ "work requests change after the doorbell", iwt_races, 0 },
	{ "rings are unmapped during traffic", iwt_unmap, 0 },
	{ "the process forks during traffic", iwt_forks, 0 },
	{ "a child connects its parent's queue pair", iwt_children, 0 },
	{ "the process exits during traffic", iwt_exits, 0 },
	{ "the process is killed during traffic", iwt_killed, SIGKILL },
	{ "work requests by system call", iwt_legacy, 0 },
	{ "mappings of other places, sizes and rights", iwt_maps, 0 },
	{ "a storm of doorbells in every state", iwt_doorbells, 0 },
	{ "registrations of memory that the process does not have", iwt_registrations, 0 },
	{ "methods with wrong objects and flags", iwt_methods, 0 },
	{ "events that are requested by the ring and never read", iwt_arms, 0 },
	{ "events that are requested by calls and never read", iwt_arms_called, 0 },
};

/* Runs @fn in a child process. Return: true if the child ended as expected. */
static bool in_child(void (*fn)(void), int ends)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* a time limit that is longer than all waits of a case together */
		patient_alarm(PATIENCE * 5, NULL);
		fn();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status) && WTERMSIG(status) != ends)
		printf("# ended by signal %d\n", WTERMSIG(status));
	return ends ? WIFSIGNALED(status) && WTERMSIG(status) == ends :
		      WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	unsigned int i, n = sizeof(cases) / sizeof(cases[0]);
	int bad = 0;
	bool server;

	iwt_seed = time(NULL) ^ getpid();
	if (argc == 5 && !strcmp(argv[3], "--seed"))
		iwt_seed = strtoull(argv[4], NULL, 0);
	else if (argc != 3)
		return 2;
	server = !strcmp(argv[1], "-s");
	iwt_address = argv[2];
	if (server)
		return iwt_serve();
	setbuf(stdout, NULL);
	if (!iwt_seed)
		iwt_seed = 1;
	printf("TAP version 13\n# seed %llu\n", (unsigned long long)iwt_seed);
	for (i = 0; i < n; i++) {
		bool ok = in_child(cases[i].fn, cases[i].ends);

		if (!in_child(iwt_honest, 0)) {
			printf("# a correct connection does not work afterwards\n");
			ok = false;
		}
		printf("%sok %u - %s\n", ok ? "" : "not ", i + 1, cases[i].name);
		bad += !ok;
	}
	printf("1..%u\n", n);
	return !!bad;
}
