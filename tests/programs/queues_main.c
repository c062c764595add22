// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_queues -a ADDRESS [-n RESIZES] [-s SEED] resize|limit|times|overrun|verbs...: connects to itself at
 * ADDRESS, which a link has. Results in TAP.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "queues.h"

static unsigned int n_tests, n_bad;

void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

bool report(bool good, const char *what, ...)
{
	va_list args;

	n_bad += !good;
	printf("%sok %u - ", good ? "" : "not ", ++n_tests);
	va_start(args, what);
	vprintf(what, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	return good;
}

void skip(const char *what, const char *why)
{
	printf("ok %u - %s # SKIP %s\n", ++n_tests, what, why);
}

/* A number less than @n */
uint32_t below(struct link *l, uint32_t n)
{
	l->seed = l->seed * 6364136223846793005u + 1442695040888963407u;
	return (l->seed >> 33) % n;
}

uint64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void run(struct link *l, const char *group, uint32_t resizes)
{
	if (!strcmp(group, "resize")) {
		test_resize_rules(l);
		test_resize_events(l);
		test_resize_traffic(l, resizes);
	} else if (!strcmp(group, "limit")) {
		test_resize_limit(l);
	} else if (!strcmp(group, "times")) {
		test_times(l);
	} else if (!strcmp(group, "overrun")) {
		test_overrun(l);
	} else if (!strcmp(group, "verbs")) {
		test_vectors(l);
		test_refusals(l);
		test_queries(l);
		test_domains(l);
		test_wr_api(l);
	} else {
		errno = EINVAL;
		die(group);
	}
}

int main(int argc, char **argv)
{
	struct link l = { .seed = time(NULL) ^ (uint64_t)getpid() << 20 };
	uint32_t resizes = 300;
	int c;

	while ((c = getopt(argc, argv, "a:n:s:")) != -1) {
		switch (c) {
		case 'a': l.address = optarg; break;
		case 'n': resizes = strtoul(optarg, NULL, 0); break;
		case 's': l.seed = strtoull(optarg, NULL, 0); break;
		default: return 2;
		}
	}
	if (optind == argc || !l.address || !resizes)
		return 2;
	printf("# seed %#llx\n", (unsigned long long)l.seed);
	if (!strcmp(argv[optind], "limit"))
		drop_ipc_lock();
	link_open(&l);
	for (; optind < argc; optind++)
		run(&l, argv[optind], resizes);
	link_close(&l);
	printf("1..%u\n", n_tests);
	return !!n_bad;
}
