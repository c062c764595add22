// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory -a ADDRESS [-p PORT] [-t WHAT] [-n ROUNDS] [-s SEED] [-f FILE]: connects to itself at
 * ADDRESS, which a link has, and tries what regions allow. WHAT: "rereg"; "odp"; "odpcharge", in a
 * control group for memory; "odpcost"; "odpadvice"; "odpmany", as root; "dmabuf", which needs the
 * module iwt_dmabuf.
 * "odpkill", "odpstay", "odpexec", "odpadvise" and "hold" have to be killed; "odpstay" and
 * "odpexec" say "# waits" when streams wait, "odpadvise" when a call does, "hold" says "# holds"
 * when it has its regions. FILE: a file that "rereg" may only read; memory.stat of the group of
 * "odpcharge"; the directory of the device's counters for "odpcost". Results in TAP.
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

static bool needs_file(const char *what)
{
	return !strcmp(what, "rereg") || !strcmp(what, "odpcharge") || !strcmp(what, "odpcost");
}

int main(int argc, char **argv)
{
	struct bench b = { .port = "7476" };
	const char *file = NULL, *seed = NULL, *what = "rereg";
	uint32_t rounds = 300;
	int c;

	while ((c = getopt(argc, argv, "a:p:n:s:f:t:")) != -1) {
		switch (c) {
		case 'a': b.address = optarg; break;
		case 'p': b.port = optarg; break;
		case 'n': rounds = strtoul(optarg, NULL, 0); break;
		case 's': seed = optarg; break;
		case 'f': file = optarg; break;
		case 't': what = optarg; break;
		default: return 2;
		}
	}
	if (optind != argc || !b.address || !rounds || (!file && needs_file(what)))
		return 2;
	random_begin(seed);
	bench_open(&b);
	/* what the children leave goes with the process */
	if (!strcmp(what, "odpmany")) {
		test_odp_many(&b);
		return results_end();
	}
	if (!strcmp(what, "rereg"))
		test_rereg(&b, rounds, file);
	else if (!strcmp(what, "dmabuf"))
		test_dmabuf(&b, rounds);
	else if (!strcmp(what, "odp"))
		test_odp(&b, rounds);
	else if (!strcmp(what, "odpcharge"))
		test_odp_charge(&b, file);
	else if (!strcmp(what, "odpkill"))
		test_odp_kill(&b);
	else if (!strcmp(what, "odpstay") || !strcmp(what, "odpexec"))
		test_odp_wait(&b, what + 3);
	else if (!strcmp(what, "odpcost"))
		test_odp_cost(&b, file);
	else if (!strcmp(what, "odpadvice"))
		test_odp_advice(&b);
	else if (!strcmp(what, "odpadvise"))
		test_odp_advise(&b);
	else if (!strcmp(what, "hold"))
		test_hold(&b);
	else
		return 2;
	bench_close(&b);
	return results_end();
}
