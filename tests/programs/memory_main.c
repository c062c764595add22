// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory -a ADDRESS [-t WHAT] [-n ROUNDS] [-s SEED] [-f FILE]: connects to itself at ADDRESS,
 * which a link has, and tries what regions allow. WHAT: "rereg", or "dmabuf", which needs the
 * module iwt_dmabuf. FILE: a file that "rereg" may only read. Results in TAP.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

static void test_rereg(struct bench *b, uint32_t rounds, const char *file)
{
	test_rereg_model(b, rounds);
	test_rereg_traffic(b, rounds / 10 + 1);
	test_rereg_private(b, file);
}

int main(int argc, char **argv)
{
	struct bench b = {};
	const char *file = NULL, *seed = NULL, *what = "rereg";
	uint32_t rounds = 300;
	int c;

	while ((c = getopt(argc, argv, "a:n:s:f:t:")) != -1) {
		switch (c) {
		case 'a': b.address = optarg; break;
		case 'n': rounds = strtoul(optarg, NULL, 0); break;
		case 's': seed = optarg; break;
		case 'f': file = optarg; break;
		case 't': what = optarg; break;
		default: return 2;
		}
	}
	if (optind != argc || !b.address || !rounds || (!file && !strcmp(what, "rereg")))
		return 2;
	random_begin(seed);
	bench_open(&b);
	if (!strcmp(what, "rereg"))
		test_rereg(&b, rounds, file);
	else if (!strcmp(what, "dmabuf"))
		test_dmabuf(&b, rounds);
	else
		return 2;
	bench_close(&b);
	return results_end();
}
