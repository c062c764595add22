// SPDX-License-Identifier: GPL-2.0
/* Time limits that depend on progress, and on the time in which this machine runs. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

#define LATE	1000	/* most milliseconds that step() counts without a clock file */
#define SOON	20	/* least milliseconds between two reads of the clock file */
#define SLICE	200	/* most milliseconds of one poll() in patient_poll() */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

/*
 * Reads the clock file ($IWT_CLOCK) until two reads agree, because the writer may be in the
 * middle of an update. Return: false if there is no file, or if the file cannot be read.
 */
static bool read_file(uint64_t *ms)
{
	static int fd = -2;
	char a[24] = "", b[24] = "";
	const char *path;
	int i;

	if (fd == -2) {
		path = getenv("IWT_CLOCK");
		fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	}
	for (i = 0; i < 100; i++) {
		if (pread(fd, a, sizeof(a) - 1, 0) <= 0 || pread(fd, b, sizeof(b) - 1, 0) <= 0)
			return false;
		if (!memcmp(a, b, sizeof(a)))
			break;
	}
	*ms = strtoull(a, NULL, 10);
	return true;
}

/*
 * Return: the milliseconds by which running_ms() grows. Only one thread at a time may call this
 * function.
 */
static uint64_t step(void)
{
	static uint64_t looked, told;	/* system clock and clock file at the last step */
	static bool file;		/* the clock file has been read before */
	uint64_t now = now_ms(), went = now - looked, before = told;
	bool was = file;

	if (looked && went < SOON)
		return 0;
	if (!looked)
		went = 0;
	looked = now;
	/* if the file has been readable once, a later error is temporary */
	file = read_file(&told) || was;
	if (was)
		return told > before ? told - before : 0;
	return went < LATE ? went : LATE;
}

uint64_t running_ms(void)
{
	static uint64_t sum;
	static bool busy;

	if (!__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&sum, sum + step(), __ATOMIC_RELAXED);
		__atomic_store_n(&busy, false, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&sum, __ATOMIC_RELAXED);
}

void patient_late(const char *what)
{
	fprintf(stderr, "# time-out: %s\n", what);
}

bool patient(struct patience *p, unsigned int seconds, uint64_t moved)
{
	uint64_t now = running_ms();
	char what[40];

	if (!p->begun || moved != p->moved) {
		p->begun = true;
		p->since = now;
		p->moved = moved;
	}
	if (now - p->since < seconds * 1000ull)
		return true;
	snprintf(what, sizeof(what), "nothing moved for %u s", seconds);
	if (!p->over)
		patient_late(what);
	p->over = true;
	return false;
}

static unsigned int alarm_after;
static uint64_t (*alarm_moved)(void);

static void *watch(void *arg)
{
	struct timespec nap = { .tv_nsec = 100000000 };
	struct patience p = {};

	while (patient(&p, alarm_after, alarm_moved ? alarm_moved() : 0))
		nanosleep(&nap, NULL);
	kill(getpid(), SIGALRM);
	return NULL;
}

void patient_alarm(unsigned int seconds, uint64_t (*moved)(void))
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	alarm_after = seconds;
	alarm_moved = moved;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&thread, NULL, watch, NULL);
	if (err) {
		/* alarm() would count the time in which this machine stands still */
		fprintf(stderr, "no thread for the time limit: %s\n", strerror(err));
		_exit(1);
	}
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int patient_poll(struct pollfd *fds, nfds_t n, int ms)
{
	uint64_t begin, went = 0;
	char what[40];
	int ret;

	if (ms < LATE)
		return poll(fds, n, ms);
	begin = running_ms();
	do {
		ret = poll(fds, n, ms - went < SLICE ? ms - went : SLICE);
		if (ret)
			return ret;
		went = running_ms() - begin;
	} while (went < (uint64_t)ms);
	/* report events that arrived after the last slice */
	ret = poll(fds, n, 0);
	snprintf(what, sizeof(what), "no event within %d ms", ms);
	if (!ret)
		patient_late(what);
	return ret;
}
