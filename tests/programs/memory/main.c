// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory -a ADDRESS [-b OTHER] [-p PORT] [-t WHAT] [-n ROUNDS] [-s SEED] [-f FILE]: tests
 * memory regions. The process connects to itself at ADDRESS, an address of a link, and PORT (7476).
 * ROUNDS (300) determines the number of random steps. SEED repeats a run. WHAT (rereg) is:
 *
 *	rereg		ibv_rereg_mr(); FILE: a file that the process may only read
 *	dmabuf		regions of dma-bufs; needs the module iwt_dmabuf
 *	odp		on-demand paging
 *	odpcharge	the charge for the kernel's objects of regions; the process is in a
 *			control group for memory, and FILE is memory.stat of this group
 *	odpcost		the cost of on-demand paging; FILE: the directory of the device's counters
 *	odpadvice	ibv_advise_mr() that waits for a page fault
 *	odpfile		page faults that no signal ends; FILE: a file whose pages never arrive
 *	odpmany		many processes; needs root
 *	odptwice	two threads remove the same page
 *
 * These tests print results in TAP. The following tests run until a script kills them:
 *
 *	odpkill		ends objects while a stream waits for pages, again and again
 *	odpstay		prints "# waits" when streams wait for page faults. OTHER: the address of
 *			another link, on which streams wait, too
 *	odpinherit	as odpstay, but another process inherits the connections
 *	odpleft		as odpinherit, and the region of the first streams has ended
 *	odpexec		as odpstay, then replaces the process by another program
 *	odpadvise	prints "# waits" when ibv_advise_mr() waits for a page fault
 *	hold		prints "# holds" when regions are registered
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
	return !strcmp(what, "rereg") || !strcmp(what, "odpcharge") || !strcmp(what, "odpcost") ||
	       !strcmp(what, "odpfile");
}

int main(int argc, char **argv)
{
	struct bench b = { .port = "7476" };
	const char *file = NULL, *seed = NULL, *other = NULL, *what = "rereg";
	uint32_t rounds = 300;
	int c;

	while ((c = getopt(argc, argv, "a:b:p:n:s:f:t:")) != -1) {
		switch (c) {
		case 'a': b.address = optarg; break;
		case 'b': other = optarg; break;
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
	/* do not close: the children of this test leave regions, which the exit destroys */
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
	else if (!strcmp(what, "odpstay") || !strcmp(what, "odpinherit") ||
		 !strcmp(what, "odpleft") || !strcmp(what, "odpexec"))
		test_odp_wait(&b, other, what + 3);
	else if (!strcmp(what, "odpcost"))
		test_odp_cost(&b, file);
	else if (!strcmp(what, "odpadvice"))
		test_odp_advice(&b);
	else if (!strcmp(what, "odpfile"))
		test_odp_file(&b, file);
	else if (!strcmp(what, "odpadvise"))
		test_odp_advise(&b);
	else if (!strcmp(what, "odptwice"))
		test_odp_twice(&b, rounds);
	else if (!strcmp(what, "hold"))
		test_hold(&b);
	else
		return 2;
	bench_close(&b);
	return results_end();
}
