// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses which allocation fails. The kernel offers two ways.
 *
 * The file /proc/thread-self/fail-nth lets the n-th allocation of the calling thread fail.
 *
 * failslab and fail_page_alloc let every interval-th allocation fail, in the context of any task,
 * softirq or interrupt. The kernel counts these allocations, but no program can read or set the
 * kernel's count. The count begins at 0, and after a failure it is equal to the interval.
 * Therefore this program sets the interval to the count plus n, to let the n-th allocation from
 * now on fail. If a step makes fewer than n allocations, this process makes more allocations
 * until one fails; then the count is known again. A file keeps the count from one run of this
 * program to the next.
 *
 * If the kernel can check the stack of an allocation, only allocations with an address of a given
 * range on the stack fail. The kernel does not count the other allocations.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define COUNTS		"/run/iwt_faults.counts"
#define BURN		1000000		/* most allocations that find_count() makes */

enum { SLAB, PAGE, KINDS };

static const char * const names[KINDS] = { "failslab", "fail_page_alloc" };

/* Descriptors of files that are written while allocations may fail, so they are opened before. */
static struct kind {
	int probability, interval, times, task_filter;
	unsigned long count;	/* the kernel's count */
	unsigned long armed;	/* the interval that iwt_arm() has set, or 0 */
} kinds[KINDS];
static int fail_nth, make_it_fail;
static enum iwt_where now;
static unsigned long only_from, only_to = ~0ul;

void iwt_die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

void iwt_put(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		iwt_die(file);
	close(fd);
}

static void put(int fd, unsigned long value)
{
	char line[24];

	snprintf(line, sizeof(line), "%lu", value);
	if (write(fd, line, strlen(line)) < 0)
		iwt_die("a file of fault injection");
}

/*
 * Returns the number of allocations that may still fail (the file "times"). Also returns 0 if
 * open() fails for lack of memory.
 */
static unsigned long times(const struct kind *k)
{
	char path[100], line[24] = "";
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/times", names[k - kinds]);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	if (read(fd, line, sizeof(line) - 1) < 0)
		line[0] = 0;
	close(fd);
	return strtoul(line, NULL, 0);
}

static int open_file(const char *kind, const char *name)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	fd = open(path, O_RDWR);
	if (fd < 0)
		iwt_die(path);
	return fd;
}

/* Writes a setting of fault injection, which selects the allocations that may fail. */
static void allow(const char *kind, const char *name, const char *value)
{
	char path[100];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	iwt_put(path, value);
}

static void save_counts(void)
{
	FILE *f = fopen(COUNTS, "w");

	if (f) {
		fprintf(f, "%lu %lu\n", kinds[SLAB].count, kinds[PAGE].count);
		fclose(f);
	}
}

static void load_counts(void)
{
	FILE *f = fopen(COUNTS, "r");

	if (f) {
		if (fscanf(f, "%lu %lu", &kinds[SLAB].count, &kinds[PAGE].count) != 2)
			iwt_die(COUNTS);
		fclose(f);
	}
	atexit(save_counts);
}

void iwt_faults_open(void)
{
	const char *verbose = getenv("IWT_FAULTS_VERBOSE");
	int i;

	for (i = 0; i < KINDS; i++) {
		struct kind *k = &kinds[i];

		k->probability = open_file(names[i], "probability");
		k->interval = open_file(names[i], "interval");
		k->times = open_file(names[i], "times");
		k->task_filter = open_file(names[i], "task-filter");
		allow(names[i], "verbose", verbose ? verbose : "0");
		put(k->probability, 0);
	}
	allow(names[SLAB], "ignore-gfp-wait", "N");
	allow(names[PAGE], "ignore-gfp-wait", "N");
	allow(names[PAGE], "ignore-gfp-highmem", "N");
	allow(names[PAGE], "min-order", "0");
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR);
	make_it_fail = open("/proc/thread-self/make-it-fail", O_RDWR);
	if (fail_nth < 0 || make_it_fail < 0)
		iwt_die("fail-nth");
	load_counts();
}

static void allow_range(unsigned long from, unsigned long to)
{
	char line[24];
	int i;

	for (i = 0; i < KINDS; i++) {
		snprintf(line, sizeof(line), "%#lx", from);
		allow(names[i], "require-start", line);
		snprintf(line, sizeof(line), "%#lx", to);
		allow(names[i], "require-end", line);
	}
}

/*
 * From now on, an allocation can only fail if it is made by code at the addresses @from to @to,
 * or by a function that this code calls.
 */
void iwt_only(unsigned long from, unsigned long to)
{
	only_from = from;
	only_to = to;
	allow_range(from, to);
}

/* Selects the allocations that iwt_arm() lets fail from now on. */
void iwt_aim(enum iwt_where where)
{
	now = where;
}

static struct kind *anywhere(void)
{
	return now == IWT_SLABS ? &kinds[SLAB] : now == IWT_PAGES ? &kinds[PAGE] : NULL;
}

static void set_nth(unsigned int n)
{
	int error = errno;

	if (dprintf(fail_nth, "%u", n) < 0)
		iwt_die("fail-nth");
	errno = error;
}

static unsigned int left_of_nth(void)
{
	char line[16] = "";
	int error = errno;

	if (pread(fail_nth, line, sizeof(line) - 1, 0) < 0)
		iwt_die("fail-nth");
	errno = error;
	return strtoul(line, NULL, 10);
}

/* Lets the @n-th allocation from now on fail. If @n is 0, no allocation fails. */
void iwt_arm(unsigned int n)
{
	struct kind *k = anywhere();

	if (!k) {
		set_nth(n);
		return;
	}
	if (!n)
		return;
	k->armed = k->count + n;
	put(k->interval, k->armed);
	put(k->times, 1);
	put(k->probability, 100);
}

/* Makes some allocations of slabs and of pages. */
static void burn(void)
{
	static char page[4096];
	int i, fds[2];

	if (pipe(fds))
		return;
	for (i = 0; i < 8; i++)
		if (write(fds[1], page, sizeof(page)) < 0)
			break;
	close(fds[0]);
	close(fds[1]);
}

/*
 * Makes allocations until one fails, so that the kernel's count is known. Called after a step in
 * which no allocation has failed.
 */
static void find_count(struct kind *k)
{
	bool all = !only_from && only_to == ~0ul;
	int i;

	if (!all)
		allow_range(0, ~0ul);
	put(k->task_filter, 1);
	put(make_it_fail, 1);
	put(k->probability, 100);
	for (i = 0; i < BURN && times(k); i++)
		burn();
	put(k->probability, 0);
	put(make_it_fail, 0);
	put(k->task_filter, 0);
	if (!all)
		allow_range(only_from, only_to);
	if (i == BURN)
		iwt_die("counting allocations");
}

/* Lets no allocation fail from now on. Return: true if one has failed since iwt_arm(). */
bool iwt_disarm(void)
{
	struct kind *k = anywhere();
	int error = errno;
	bool failed;

	if (!k) {
		failed = !left_of_nth();
		set_nth(0);
		return failed;
	}
	if (!k->armed)
		return false;
	put(k->probability, 0);
	failed = !times(k);
	if (!failed)
		find_count(k);
	/* with an interval of 1 the kernel does not count allocations */
	if (k->armed > 1)
		k->count = k->armed;
	k->armed = 0;
	errno = error;
	return failed;
}

/*
 * With IWT_CALLER, allocations neither fail nor are counted until iwt_resume(). Return: the
 * argument for iwt_resume().
 */
unsigned int iwt_pause(void)
{
	unsigned int left;

	if (anywhere())
		return 0;
	left = left_of_nth();
	set_nth(0);
	return left;
}

void iwt_resume(unsigned int left)
{
	if (!anywhere())
		set_nth(left);
}
