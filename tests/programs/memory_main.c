// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory -a ADDRESS [-t WHAT] [-n ROUNDS] [-s SEED] [-f FILE]: connects to itself at ADDRESS,
 * which a link has, and tries what regions allow. WHAT: "rereg", or "dmabuf", which needs the
 * module iwt_dmabuf. FILE: a file that "rereg" may only read. Results in TAP.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

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

void skip(const char *what, const char *why)
{
	printf("ok %u - %s # SKIP %s\n", ++n_tests, what, why);
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

/* Pages that the kernel counts as pinned by this process */
size_t pinned_pages(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	size_t kb = 0;

	if (!f)
		die("/proc/self/status");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %zu", &kb) == 1)
			break;
	fclose(f);
	return kb * 1024 / PAGE;
}

static void test_rereg(struct bench *b, uint32_t rounds, const char *file)
{
	test_rereg_model(b, rounds);
	test_rereg_traffic(b, rounds / 10 + 1);
	test_rereg_private(b, file);
}

int main(int argc, char **argv)
{
	struct bench b = { .seed = time(NULL) ^ (uint64_t)getpid() << 20 };
	const char *file = NULL, *what = "rereg";
	uint32_t rounds = 300;
	int c;

	while ((c = getopt(argc, argv, "a:n:s:f:t:")) != -1) {
		switch (c) {
		case 'a': b.address = optarg; break;
		case 'n': rounds = strtoul(optarg, NULL, 0); break;
		case 's': b.seed = strtoull(optarg, NULL, 0); break;
		case 'f': file = optarg; break;
		case 't': what = optarg; break;
		default: return 2;
		}
	}
	if (optind != argc || !b.address || !rounds || (!file && !strcmp(what, "rereg")))
		return 2;
	printf("# seed %#llx\n", (unsigned long long)b.seed);
	bench_open(&b);
	if (!strcmp(what, "rereg"))
		test_rereg(&b, rounds, file);
	else if (!strcmp(what, "dmabuf"))
		test_dmabuf(&b, rounds);
	else
		return 2;
	bench_close(&b);
	printf("1..%u\n", n_tests);
	return !!n_bad;
}
