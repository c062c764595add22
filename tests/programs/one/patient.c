// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_patient [-m FILE] SECONDS COMMAND...: runs COMMAND, and ends it with status 124 if it makes
 * no progress for SECONDS (0: never). Otherwise the exit status is the status of COMMAND, or 128
 * plus the number of the signal that ended COMMAND, or 125 for wrong arguments. A command makes
 * progress when its output grows (if the output is a regular file). Only the time in which this
 * machine runs counts. Before iwt_patient ends COMMAND, it runs $IWT_LOOK in a shell. COMMAND has
 * a process group of its own: the whole group receives SIGTERM, and SIGKILL if COMMAND has not
 * ended five seconds later.
 * -m: COMMAND makes progress also when FILE grows. The processes of COMMAND read the name of FILE
 * from IWT_MOVED, and append to FILE when they make progress: lib/ktap.sh appends a line for each
 * result, and another iwt_patient appends a line when the output of its command grows.
 *
 * iwt_patient -c FILE: a clock. Runs in the background until its parent process ends, and writes
 * into FILE for how many milliseconds this machine has run. While a processor stands still, the
 * clock stands still, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

#define TICK	100	/* milliseconds */
#define MOST	1024	/* processors */
#define GRACE	5	/* seconds between SIGTERM and SIGKILL */

/* ---- the clock ---- */

static uint64_t ran[MOST];	/* milliseconds that each processor has run in this round */
static uint64_t sum;		/* milliseconds of all complete rounds */
static int processors, file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* guards the variables above */
static pid_t caller;

static void write_sum(void)
{
	char text[24];
	int n = sprintf(text, "%012llu\n", (unsigned long long)sum);

	if (pwrite(file, text, n, 0) != n)
		exit(1);
}

/*
 * A round is over when each processor has run. The time of the processor that has run for the
 * shortest time is added to @sum.
 */
static void end_round(void)
{
	uint64_t least = UINT64_MAX;
	int i;

	for (i = 0; i < processors; i++)
		least = ran[i] < least ? ran[i] : least;
	if (!processors || !least)
		return;
	memset(ran, 0, sizeof(ran));
	sum += least;
	write_sum();
}

/* A thread on each processor. Each nap counts as TICK, although a busy machine needs longer. */
static void *tick(void *arg)
{
	struct timespec nap = { .tv_nsec = TICK * 1000000 };
	uint64_t *mine = arg;

	while (!kill(caller, 0)) {
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&lock);
		*mine += TICK;
		end_round();
		pthread_mutex_unlock(&lock);
	}
	exit(0);
}

static int begin_tick(int cpu, uint64_t *mine)
{
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	return pthread_create(&thread, &attr, tick, mine);
}

static int run_clock(const char *path)
{
	int null = open("/dev/null", O_RDWR), cpu, n = 0;
	cpu_set_t set;
	pid_t child;

	caller = getppid();
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0 || null < 0 || sched_getaffinity(0, sizeof(set), &set)) {
		perror("iwt_patient");
		return 1;
	}
	write_sum();
	child = fork();
	if (child)
		return child < 0;
	/* close the caller's output: its reader must not wait until this process ends */
	for (cpu = 0; cpu < 3; cpu++)
		dup2(null, cpu);
	setsid();
	for (cpu = 0; cpu < MOST && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && !begin_tick(cpu, &ran[n]))
			n++;
	pthread_mutex_lock(&lock);
	processors = n;
	pthread_mutex_unlock(&lock);
	while (n)
		pause();
	return 1;
}

/* ---- a command ---- */

static const char *moved_file;

static off_t written(void)
{
	static off_t before;
	const char *tell = getenv("IWT_MOVED");
	off_t sum = 0;
	struct stat s;
	int fd;

	for (fd = 1; fd <= 2; fd++)
		if (!fstat(fd, &s) && S_ISREG(s.st_mode))
			sum += s.st_size;
	if (moved_file)
		return sum + (stat(moved_file, &s) ? 0 : s.st_size);
	fd = sum != before && tell ? open(tell, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (fd >= 0) {
		/* if this write fails, the outer iwt_patient only gives up earlier */
		if (write(fd, "\n", 1) != 1)
			perror(tell);
		close(fd);
	}
	before = sum;
	return sum;
}

/* Runs $IWT_LOOK, which shows where the command hangs. Called before the command is ended. */
static void look(void)
{
	const char *what = getenv("IWT_LOOK");

	if (what && *what && system(what) == -1)
		perror("IWT_LOOK");
}

/* Sends a signal to the process group of the command, and lets stopped processes continue */
static void end_all(pid_t child, int signal)
{
	kill(-child, signal);
	kill(-child, SIGCONT);
}

/*
 * Waits for the command. Return: its exit status, 128 plus the number of the signal that ended
 * it, or 124 if it made no progress for @seconds
 */
static int watch(pid_t child, const sigset_t *set, unsigned int seconds)
{
	struct timespec nap = { .tv_nsec = TICK * 1000000 };
	struct patience p = {}, grace = { .over = true };
	bool over = false;
	int status, got;

	for (;;) {
		got = sigtimedwait(set, NULL, &nap);
		if (waitpid(child, &status, WNOHANG) == child)
			break;
		if (got == SIGTERM || got == SIGINT || got == SIGHUP) {
			end_all(child, got);
		} else if (!over && seconds && !patient(&p, seconds, written())) {
			over = true;
			look();
			end_all(child, SIGTERM);
		} else if (over && !patient(&grace, GRACE, 0)) {
			end_all(child, SIGKILL);
		}
	}
	if (over)
		return 124;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	sigset_t set, before;
	char *end = "x";
	long seconds;
	pid_t child;

	if (argc == 3 && !strcmp(argv[1], "-c"))
		return run_clock(argv[2]);
	if (argc > 3 && !strcmp(argv[1], "-m")) {
		moved_file = argv[2];
		setenv("IWT_MOVED", moved_file, 1);
		argc -= 2;
		argv += 2;
	}
	seconds = argc > 2 ? strtol(argv[1], &end, 10) : -1;
	if (*end || seconds < 0) {
		fprintf(stderr, "usage: iwt_patient [-m FILE] SECONDS COMMAND... | -c FILE\n");
		return 125;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &before);
	child = fork();
	if (!child) {
		setpgid(0, 0);
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(argv[2], argv + 2);
		fprintf(stderr, "iwt_patient: failed to run %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (child < 0)
		return 125;
	setpgid(child, child);
	return watch(child, &set, seconds);
}
