// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_windows -a ADDRESS [-p PORT] [-n ROUNDS] [-t MS] [-s SEED] [-c ROUNDS] [-x]: connects to itself at ADDRESS,
 * which a link has, and tries memory windows: what binds them, what they allow, and what ends
 * them. -t: each race in ms; -c: only compares the time of accesses through a window and through
 * its region; -x: only ends with bound windows. Results in TAP.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "windows.h"

static unsigned int n_tests, n_bad;

void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

void report(bool good, const char *what)
{
	n_bad += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++n_tests, what);
	fflush(stdout);
}

static uint32_t next(struct bench *b)
{
	b->seed = b->seed * 6364136223846793005u + 1442695040888963407u;
	return b->seed >> 33;
}

/* A number less than @n */
uint32_t below(struct bench *b, uint32_t n)
{
	return next(b) % n;
}

bool chance(struct bench *b, uint32_t percent)
{
	return below(b, 100) < percent;
}

void fill(struct bench *b, uint8_t *at, size_t len)
{
	while (len--)
		*at++ = next(b);
}

int main(int argc, char **argv)
{
	struct bench b = { .port = "7477", .seed = time(NULL) ^ (uint64_t)getpid() << 20 };
	uint32_t rounds = 1000, ms = 1000, cost = 0;
	bool leave = false;
	int c;

	while ((c = getopt(argc, argv, "a:p:n:t:s:c:x")) != -1) {
		switch (c) {
		case 'a': b.address = optarg; break;
		case 'p': b.port = optarg; break;
		case 'x': leave = true; break;
		case 'n': rounds = strtoul(optarg, NULL, 0); break;
		case 't': ms = strtoul(optarg, NULL, 0); break;
		case 's': b.seed = strtoull(optarg, NULL, 0); break;
		case 'c': cost = strtoul(optarg, NULL, 0); break;
		default: return 2;
		}
	}
	if (optind != argc || !b.address || !rounds || !ms)
		return 2;
	printf("# seed %#llx\n", (unsigned long long)b.seed);
	bench_open(&b);
	if (leave)
		leave_bound(&b);
	if (cost) {
		test_cost(&b, cost);
	} else {
		test_rules(&b);
		test_model(&b, rounds);
		test_races(&b, ms);
	}
	bench_close(&b);
	printf("1..%u\n", n_tests);
	return !!n_bad;
}
