// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_srq -s ADDRESS [-n ROUNDS] [-S SEED]: the server, which prints results in TAP
 * iwt_srq -c ADDRESS: the client, which connects again when a connection ends
 *
 * ROUNDS is the number of steps of the random test (2000). SEED repeats a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "srq.h"

/* Records an error. Only the first error of a test is kept. */
void wrong(struct server *s, const char *what, uint64_t a, uint64_t b)
{
	if (!s->wrong[0])
		snprintf(s->wrong, sizeof(s->wrong), "%s (%llu, %llu)", what,
			 (unsigned long long)a, (unsigned long long)b);
}

/* Reports the result of a test. The test has passed if no error is recorded. */
void conclude(struct server *s, const char *what)
{
	if (s->wrong[0])
		printf("# %s\n", s->wrong);
	report(!s->wrong[0], "%s", what);
	s->wrong[0] = 0;
}

static int serve(const char *address, uint32_t rounds, const char *seed)
{
	static struct server s;

	random_begin(seed);
	server_open(&s, address);
	test_refusals(&s);
	/* srq.sh passes so many rounds that test_random() never ends, but test_ends() must end */
	test_ends(&s, rounds < 4000 ? rounds / 20 + 1 : 200);
	test_random(&s, rounds);
	test_limit(&s, rounds / 20 + 1);
	test_resize(&s, rounds / 20 + 1);
	test_empty(&s);
	test_corrupt(&s);
	server_close(&s);
	return results_end();
}

int main(int argc, char **argv)
{
	const char *here = NULL, *there = NULL, *seed = NULL;
	uint32_t rounds = 2000;
	int c;

	while ((c = getopt(argc, argv, "s:c:n:S:")) != -1) {
		switch (c) {
		case 's': here = optarg; break;
		case 'c': there = optarg; break;
		case 'n': rounds = strtoul(optarg, NULL, 0); break;
		case 'S': seed = optarg; break;
		default: return 2;
		}
	}
	if (optind != argc || !here == !there || !rounds)
		return 2;
	return here ? serve(here, rounds, seed) : client(there);
}
