// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_direct [-n NUMBER] [-s SEED] LINK GID LINK GID GROUP...: runs groups of tests between two
 * links. LINK is a name, or NAME@NAMESPACE for a link in another network namespace than that of
 * the program. GID is the index of a GID of the link before it. GROUP is basics, attributes,
 * refusals, late, wrong, leave, reset, named, receives, rings, limits, errors, confirm, reads, wait,
 * die, many (NUMBER connections) or churn (NUMBER changes by each thread). The groups stay,
 * alone, crowd (NUMBER queue pairs on each link that never find their peer), calling (NUMBER such
 * queue pairs on the first link) and restless (NUMBER such queue pairs on the first link, which are
 * reset all the time) end when the process is killed. SEED repeats a run. Results in TAP.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "direct.h"

static void run(const char *group, uint32_t n)
{
	static const struct {
		const char *name;
		void (*test)(void);
	} groups[] = {
		{ "basics", test_basics }, { "attributes", test_attributes },
		{ "refusals", test_refusals }, { "late", test_late }, { "wrong", test_wrong },
		{ "leave", test_leave }, { "reset", test_reset },
		{ "named", test_named },
		{ "receives", test_receives }, { "rings", test_rings }, { "limits", test_limits },
		{ "errors", test_errors }, { "confirm", test_confirm },
		{ "reads", test_reads },
		{ "wait", test_wait }, { "stay", test_stay },
		{ "die", test_die },
	};
	unsigned int i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!strcmp(groups[i].name, group)) {
			groups[i].test();
			return;
		}
	}
	if (!strcmp(group, "many")) {
		test_many(n);
	} else if (!strcmp(group, "alone")) {
		test_alone(16);
	} else if (!strcmp(group, "crowd")) {
		test_alone(n);
	} else if (!strcmp(group, "calling")) {
		test_calling(n);
	} else if (!strcmp(group, "restless")) {
		test_restless(n);
	} else if (!strcmp(group, "churn")) {
		test_churn(n);
	} else {
		errno = EINVAL;
		die(group);
	}
}

/* @link: NAME or NAME@NAMESPACE */
static void open_link(struct side *s, char *link, int gid_index)
{
	char *net = strchr(link, '@'), path[80];
	int fd = -1;

	if (net) {
		*net++ = '\0';
		snprintf(path, sizeof(path), "/run/netns/%s", net);
		fd = net_open(path);
	}
	side_open(s, link, fd, gid_index);
}

int main(int argc, char **argv)
{
	const char *seed = NULL;
	uint32_t n = 100;
	int c;

	while ((c = getopt(argc, argv, "n:s:")) != -1) {
		switch (c) {
		case 'n': n = strtoul(optarg, NULL, 0); break;
		case 's': seed = optarg; break;
		default: return 2;
		}
	}
	if (argc - optind < 5 || !n)
		return 2;
	random_begin(seed);
	open_link(&a, argv[optind], atoi(argv[optind + 1]));
	open_link(&b, argv[optind + 2], atoi(argv[optind + 3]));
	for (optind += 4; optind < argc; optind++)
		run(argv[optind], n);
	side_close(&a);
	side_close(&b);
	return results_end();
}
