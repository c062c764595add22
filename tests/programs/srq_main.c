// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_srq -s ADDRESS [-n ROUNDS] [-S SEED]: the server, whose results are in TAP
 * iwt_srq -c ADDRESS: the client, which connects again when a connection ends
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "srq.h"

static unsigned int n_tests, n_bad;

void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The first thing that is wrong counts. */
void wrong(struct server *s, const char *what, uint64_t a, uint64_t b)
{
	if (!s->wrong[0])
		snprintf(s->wrong, sizeof(s->wrong), "%s (%llu, %llu)", what,
			 (unsigned long long)a, (unsigned long long)b);
}

void report(struct server *s, const char *what)
{
	bool good = !s->wrong[0];

	n_bad += !good;
	if (!good)
		printf("# %s\n", s->wrong);
	printf("%sok %u - %s\n", good ? "" : "not ", ++n_tests, what);
	fflush(stdout);
	s->wrong[0] = 0;
}

/* A number less than @n */
uint32_t below(struct server *s, uint32_t n)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (s->seed >> 33) % n;
}

static int serve(const char *address, uint32_t rounds, uint64_t seed)
{
	static struct server s;

	s.seed = seed;
	printf("# seed %#llx\n", (unsigned long long)seed);
	server_open(&s, address);
	test_refusals(&s);
	test_random(&s, rounds);
	test_limit(&s, rounds / 20 + 1);
	test_resize(&s, rounds / 20 + 1);
	test_empty(&s);
	test_corrupt(&s);
	server_close(&s);
	printf("1..%u\n", n_tests);
	return !!n_bad;
}

int main(int argc, char **argv)
{
	uint64_t seed = time(NULL) ^ (uint64_t)getpid() << 20;
	const char *here = NULL, *there = NULL;
	uint32_t rounds = 2000;
	int c;

	while ((c = getopt(argc, argv, "s:c:n:S:")) != -1) {
		switch (c) {
		case 's': here = optarg; break;
		case 'c': there = optarg; break;
		case 'n': rounds = strtoul(optarg, NULL, 0); break;
		case 'S': seed = strtoull(optarg, NULL, 0); break;
		default: return 2;
		}
	}
	if (optind != argc || !here == !there || !rounds)
		return 2;
	return here ? serve(here, rounds, seed) : client(there);
}
