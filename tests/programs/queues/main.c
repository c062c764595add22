// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_queues -a ADDRESS [-n RESIZES] [-s SEED] GROUP...: runs groups of tests. The program
 * connects to itself at ADDRESS, an address of a link. GROUP is resize, limit, times, overrun or
 * verbs. "limit" must be the first group, because the process first drops CAP_IPC_LOCK. RESIZES
 * (300) is the number of resizes for each way to poll, in the group "resize". SEED repeats a run.
 * Results in TAP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queues.h"

static void link_open(struct link *l)
{
	l->verbs = cm_open(l->address, "7477");
	l->pd = ibv_alloc_pd(l->verbs);
	if (!l->pd)
		die("ibv_alloc_pd");
}

static void link_close(struct link *l)
{
	if (ibv_dealloc_pd(l->pd))
		die("ibv_dealloc_pd");
	cm_close();
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
	const char *seed = NULL;
	struct link l = {};
	uint32_t resizes = 300;
	int c;

	while ((c = getopt(argc, argv, "a:n:s:")) != -1) {
		switch (c) {
		case 'a': l.address = optarg; break;
		case 'n': resizes = strtoul(optarg, NULL, 0); break;
		case 's': seed = optarg; break;
		default: return 2;
		}
	}
	if (optind == argc || !l.address || !resizes)
		return 2;
	random_begin(seed);
	if (!strcmp(argv[optind], "limit"))
		drop_ipc_lock();
	link_open(&l);
	for (; optind < argc; optind++)
		run(&l, argv[optind], resizes);
	link_close(&l);
	return results_end();
}
