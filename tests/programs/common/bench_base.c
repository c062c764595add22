// SPDX-License-Identifier: GPL-2.0
/* Parts of iwt_bench and iwt_tcpref: clocks, addresses and the line with the result. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "bench_base.h"

volatile bool bench_stop;

/* bench_die - prints @what and the text of errno, and ends the program */
void bench_die(const char *what)
{
	err(1, "%s", what);
}

uint64_t bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* bench_sleep_until - sleeps until bench_now() is @ns, as exactly as the kernel can wake a process */
void bench_sleep_until(uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000u, .tv_nsec = ns % 1000000000u };

	prctl(PR_SET_TIMERSLACK, 1);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static volatile uint64_t *idle_count;

/* bench_idle_from - reads idle time from the file of iwt_idle instead of from the kernel */
void bench_idle_from(const char *path)
{
	int fd = open(path, O_RDONLY);

	idle_count = mmap(NULL, sizeof(*idle_count), PROT_READ, MAP_SHARED, fd, 0);
	if (idle_count == MAP_FAILED)
		bench_die(path);
}

/*
 * bench_idle - returns the idle time of all processors in nanoseconds, or 0 unless @wanted. The
 * time is not read from /proc/stat, which counts in ticks.
 */
uint64_t bench_idle(bool wanted)
{
	unsigned long long ns, sum = 0;
	char line[256];
	FILE *f;

	if (!wanted)
		return 0;
	if (idle_count)
		return *idle_count;
	f = fopen("/proc/timer_list", "r");
	if (!f)
		bench_die("/proc/timer_list");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %llu nsecs", &ns) == 1)
			sum += ns;
	fclose(f);
	return sum;
}

/*
 * bench_begin, bench_end - measure the time from bench_begin() to bench_end() and, if @idle is
 * set, the idle time of the processors
 */
void bench_begin(struct bench_result *r, bool idle)
{
	r->idle_ns = bench_idle(idle);
	r->ns = bench_now();
}

void bench_end(struct bench_result *r, bool idle)
{
	r->ns = bench_now() - r->ns;
	r->idle_ns = bench_idle(idle) - r->idle_ns;
}

static void stop(int sig) { bench_stop = true; }

/* bench_timer - sets bench_stop after @ms milliseconds */
void bench_timer(unsigned int ms)
{
	struct itimerval tv = { .it_value = { ms / 1000, ms % 1000 * 1000 } };
	struct sigaction sa = { .sa_handler = stop };

	bench_stop = false;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &tv, NULL);
}

/*
 * bench_address - parses a numeric address; the caller keeps the result until the program exits
 */
struct addrinfo *bench_address(const char *addr, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai;

	if (getaddrinfo(addr, port, &hints, &ai))
		bench_die(addr);
	return ai;
}

/* bench_samples - allocates an array for the latest BENCH_SAMPLES samples */
uint64_t *bench_samples(void)
{
	uint64_t *sample = calloc(BENCH_SAMPLES, sizeof(*sample));

	if (!sample)
		bench_die("memory");
	return sample;
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * bench_quantiles - computes p50_ns, p99_ns and p999_ns of @r. @sample: durations of the latest
 * messages, in units of @ns nanoseconds
 */
void bench_quantiles(struct bench_result *r, uint64_t *sample, double ns)
{
	uint64_t n = r->messages < BENCH_SAMPLES ? r->messages : BENCH_SAMPLES;

	qsort(sample, n, sizeof(*sample), order);
	r->p50_ns = sample[n / 2] * ns;
	r->p99_ns = sample[n * 99 / 100] * ns;
	r->p999_ns = sample[n * 999 / 1000] * ns;
}

/* bench_sum - adds up @worth(line) over the lines of a file */
int64_t bench_sum(const char *path, int64_t (*worth)(const char *line))
{
	int64_t sum = 0;
	char line[512];
	FILE *f = fopen(path, "r");

	if (!f)
		bench_die(path);
	while (fgets(line, sizeof(line), f))
		sum += worth(line);
	fclose(f);
	return sum;
}

/*
 * Return: bytes that a line of /proc/meminfo adds to the memory of the kernel. The bytes of
 * MemTotal are positive, free memory and the memory of files and processes are negative, and
 * other lines are 0.
 */
static int64_t kernels_own(const char *line)
{
	static const char *const not_ours[] = {
		"MemFree:", "Buffers:", "Cached:", "SwapCached:", "AnonPages:"
	};
	char name[32];
	long long kb;

	if (sscanf(line, "%31s %lld kB", name, &kb) != 2)
		return 0;
	if (!strcmp(name, "MemTotal:"))
		return kb * 1024;
	for (unsigned int i = 0; i < sizeof(not_ours) / sizeof(*not_ours); i++)
		if (!strcmp(name, not_ours[i]))
			return -kb * 1024;
	return 0;
}

/* Returns the bytes of free pages in the processors' lists, which MemFree does not count. */
static int64_t free_apart(const char *line)
{
	long long n;

	return sscanf(line, " count: %lld", &n) == 1 ? n * sysconf(_SC_PAGESIZE) : 0;
}

/* Frees caches that are not in use, so that their memory is not counted. */
static void drop_caches(void)
{
	FILE *f = fopen("/proc/sys/vm/drop_caches", "w");

	if (!f || fputs("3", f) < 0 || fclose(f))
		bench_die("/proc/sys/vm/drop_caches");
}

/*
 * bench_kernel_memory - returns the bytes that the kernel itself uses: memory that is neither
 * free nor used by a file or a process. This includes memory that has no line in /proc/meminfo,
 * such as pages that a socket holds. The function first waits for a second, because some memory
 * is freed late, for instance after a grace period of RCU.
 */
uint64_t bench_kernel_memory(void)
{
	sleep(1);
	drop_caches();
	return bench_sum("/proc/meminfo", kernels_own) - bench_sum("/proc/zoneinfo", free_apart);
}

void bench_print(const struct bench_result *r)
{
	printf("messages=%llu octets=%llu ns=%llu idle_ns=%llu p50_ns=%llu p99_ns=%llu p999_ns=%llu\n",
	       (unsigned long long)r->messages, (unsigned long long)r->octets,
	       (unsigned long long)r->ns, (unsigned long long)r->idle_ns,
	       (unsigned long long)r->p50_ns, (unsigned long long)r->p99_ns,
	       (unsigned long long)r->p999_ns);
}
