// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_windows -a ADDRESS [-p PORT] [-n ROUNDS] [-t MS] [-s SEED] [-c ACCESSES] [-l] [-x]: tests how
 * memory windows are bound, which accesses they allow, and how they are invalidated. The program
 * connects to itself at ADDRESS, an address of a link, and PORT (7477). ROUNDS: steps of the
 * random test (1000); MS: duration of each race in milliseconds (1000); SEED repeats a run. -c:
 * only compares the time of ACCESSES through a window and through its region. -l: only posts a
 * long list of requests that send no message. -x: only binds windows and exits. Results in TAP.
 */
#include <stdlib.h>
#include <unistd.h>

#include "windows.h"

int main(int argc, char **argv)
{
	struct bench b = { .port = "7477" };
	const char *seed = NULL;
	uint32_t rounds = 1000, ms = 1000, cost = 0;
	bool leave = false, list = false;
	int c;

	while ((c = getopt(argc, argv, "a:p:n:t:s:c:lx")) != -1) {
		switch (c) {
		case 'a': b.address = optarg; break;
		case 'p': b.port = optarg; break;
		case 'l': list = true; break;
		case 'x': leave = true; break;
		case 'n': rounds = strtoul(optarg, NULL, 0); break;
		case 't': ms = strtoul(optarg, NULL, 0); break;
		case 's': seed = optarg; break;
		case 'c': cost = strtoul(optarg, NULL, 0); break;
		default: return 2;
		}
	}
	if (optind != argc || !b.address || !rounds || !ms)
		return 2;
	random_begin(seed);
	bench_open(&b);
	if (leave)
		leave_bound(&b);
	if (cost) {
		test_cost(&b, cost);
	} else if (list) {
		test_list(&b);
	} else {
		test_rules(&b);
		test_model(&b, rounds);
		test_races(&b, ms);
	}
	bench_close(&b);
	return results_end();
}
