// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes everything that a process can do with a device: commands, methods, rings, mappings and
 * descriptors, also in child processes. The program makes correct calls and changes a few of
 * their fields, so that the calls reach deep code of the kernel. Each round is a process; three
 * processes run at a time. A round has one thread or several threads. Some rounds have no
 * privileges and small limits, and some rounds are killed early. The kernel's checkers report
 * faults. One kind of step, the judge (judge.h), looks for requests that the kernel fulfils but
 * should refuse. This program reports how often each call succeeded and failed, and it fails if a
 * necessary call never succeeded.
 *
 *	iwt_fuzzabi DEVICE ADDRESS [--time SECONDS] [--seed SEED] [--group DIR] [--ops STEPS]
 *		TAP on standard output; the seed of each round is in the kernel's log
 *	iwt_fuzzabi DEVICE ADDRESS --round SEED [--threads THREADS] [--small] [--group DIR]
 *		[--ops STEPS]
 *		runs one round with the seed SEED; with one thread (the default) its steps are
 *		always the same as long as the kernel returns the same results
 *
 * SECONDS is 20 by default; the program runs for up to 120 seconds more until each necessary call
 * has succeeded. STEPS is the number of steps of a round (2000), which its threads
 * share. With --small the round has no privileges and small limits. Rounds with small limits join
 * the control group DIR (a directory).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzzabi.h"
#include "patience.h"

#define PATIENCE	90	/* seconds without a step until a round that hangs is killed */
#define LONGER		120	/* most seconds after SECONDS, until necessary calls succeed */

static const struct { const char *name, *when; } methods[] = {
#define X(id, name, when) { name, when },
	FUZZABI_LIST(X)
#undef X
};

static const char *device, *group;
static struct in_addr address;
static uint64_t seed, ops = 2000;
static int seconds = 20, kmsg = -1, n_bad;
static int n_late;		/* how many of the n_bad failures a time limit caused */

/*
 * The wait for calls that must succeed. All struct patience of this file begin with @over,
 * because report() prints the time-outs: each time-out must be printed just before its result.
 */
static struct patience longer = { .over = true };
static bool gave_up;		/* this wait has timed out */

struct worker {
	pid_t pid;
	struct round round;
	struct patience wait;
	bool dying;
};

static uint64_t next_seed(void)
{
	/* xorshift; the seed of a round determines the seed of the next round */
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static struct round next_round(void)
{
	struct round r = { .seed = next_seed(), .ops = ops, .threads = 1 };

	if (r.seed % 3 == 0)
		r.threads = 2 + r.seed / 3 % (THREADS - 1);
	r.small = r.seed / 16 % 4 == 0;
	r.killed = r.seed / 64 % 5 == 0;
	return r;
}

static const char *text(const struct round *r)
{
	static char t[200];

	snprintf(t, sizeof(t), "--round %#llx --threads %d --ops %llu%s%s",
		 (unsigned long long)r->seed, r->threads, (unsigned long long)r->ops,
		 r->small ? " --small" : "", r->killed ? " (killed)" : "");
	return t;
}

/* Writes the round's seed to the kernel's log, which survives a crash of the kernel. */
static void note(const struct worker *w)
{
	char line[300];
	int n = snprintf(line, sizeof(line), "iwt_fuzzabi: %s, process %d\n", text(&w->round),
			 w->pid);

	if (kmsg >= 0 && write(kmsg, line, n) != n)
		kmsg = -1;
}

static void start(struct worker *w, struct round r, uint64_t *steps)
{
	*w = (struct worker) { .round = r, .wait.over = true };
	w->round.steps = steps;
	w->pid = fork();
	if (!w->pid)
		iwt_round(device, address, &w->round, group);
	if (w->pid < 0) {
		perror("fork");
		exit(1);
	}
	note(w);
}

static void bad(const char *what, const struct worker *w, int status)
{
	printf("# %s (%x): %s\n", what, status, text(&w->round));
	fflush(stdout);
	n_bad++;
}

/* Reports a round that did not end in time. */
static void late(const char *what, const struct worker *w)
{
	bad(what, w, 0);
	n_late++;
}

/*
 * Checks how a round ended. A status of 3 is no error: SIGSEGV or SIGBUS has ended the
 * round outside a step.
 */
static void judge(const struct worker *w, int status)
{
	iwt_tally->rounds++;
	if (WIFSIGNALED(status)) {
		iwt_tally->killed++;
		/* SIGKILL comes from watch(), or from the OOM killer of the control group */
		if (WTERMSIG(status) != SIGKILL)
			bad("a round died", w, status);
	} else if (WEXITSTATUS(status) > 3) {
		bad("a round did not begin", w, status);
	}
}

static void watch(struct worker *w)
{
	bool more = patient(&w->wait, PATIENCE, *w->round.steps);
	int status;

	if (waitpid(w->pid, &status, WNOHANG) == w->pid) {
		judge(w, status);
		w->pid = 0;
	} else if (!more && w->dying) {
		late("a round does not end even if it is killed", w);
		w->pid = 0;
	} else if (!more) {
		late("a round does not end", w);
		kill(w->pid, SIGKILL);
		w->dying = true;
		w->wait = (struct patience) { .over = true };
	} else if (w->round.killed && (w->round.seed >> 20) % 60 == 0) {
		kill(w->pid, SIGKILL);
	} else if (w->round.killed) {
		w->round.seed += 1 << 20;
	}
}

/*
 * Return: true if at least one call of this kind must succeed. The environment variable
 * IWT_WITHOUT lists the features without which the driver was built.
 */
static bool must(enum method m)
{
	const char *when = methods[m].when, *at = getenv("IWT_WITHOUT");
	size_t len;

	if (!when || !*when)
		return when;
	len = strlen(when);
	for (at = at ? strstr(at, when) : NULL; at; at = strstr(at + 1, when))
		if (!at[len] || at[len] == ',')
			return false;
	return true;
}

/* Return: true if a necessary call has not succeeded yet, and there is still time. */
static bool lacking(void)
{
	int m;

	for (m = 0; m < METHODS; m++)
		if (must(m) && !iwt_tally->n[m][0]) {
			gave_up = !patient(&longer, LONGER, 0);
			return !gave_up;
		}
	return false;
}

static void run(void)
{
	struct worker w[WORKERS] = {};
	time_t end = time(NULL) + seconds;
	int i, busy = 1;

	while (busy) {
		bool more = time(NULL) < end || lacking();

		for (i = busy = 0; i < WORKERS; i++) {
			if (w[i].pid)
				watch(&w[i]);
			else if (more)
				start(&w[i], next_round(), &iwt_tally->steps[i]);
			busy += more || w[i].pid;
		}
		usleep(10000);
	}
}

static void report_one(enum method m)
{
	const uint32_t *n = iwt_tally->n[m];
	int e;

	printf("# %-34s", methods[m].name);
	for (e = 0; e < MOST_ERRNO; e++)
		if (n[e] && m >= WC_SEND)
			printf(" %u*%d", n[e], e);
		else if (n[e])
			printf(" %u*%s", n[e], e ? strerrorname_np(e) ?: "?" : "ok");
	printf("\n");
}

static void report_counts(void)
{
	uint64_t steps = 0;
	int i;

	for (i = 0; i < WORKERS; i++)
		steps += iwt_tally->steps[i];
	printf("# %llu rounds, %llu killed, %llu steps, %llu of them accessed unmapped rings\n",
	       (unsigned long long)iwt_tally->rounds, (unsigned long long)iwt_tally->killed,
	       (unsigned long long)steps, (unsigned long long)iwt_tally->faults);
	for (i = 0; i < METHODS; i++)
		report_one(i);
}

static void report(void)
{
	int m, n = 0;

	report_counts();
	for (m = 0; m < METHODS; m++) {
		if (!must(m))
			continue;
		if (gave_up && !iwt_tally->n[m][0]) {
			patient_late("the call has never succeeded");
			n_late++;
		}
		printf("%sok %d - %s succeeds sometimes\n", iwt_tally->n[m][0] ? "" : "not ", ++n,
		       methods[m].name);
		n_bad += !iwt_tally->n[m][0];
	}
	printf("%sok %d - no mistake of a judge has an effect%s%s\n",
	       iwt_tally->wrongs ? "not " : "", ++n,
	       iwt_tally->wrongs ? ": " : "", iwt_tally->wrong);
	if (n_late && n_late == n_bad)
		patient_late("a round or a call");
	printf("%sok %d - all rounds end in time and without an error\n1..%d\n",
	       n_bad ? "not " : "", n + 1,
	       n + 1);
	n_bad += !!iwt_tally->wrongs;
}

static bool option(const char *name, const char *value, struct round *one)
{
	uint64_t v = value ? strtoull(value, NULL, 0) : 0;

	if (!strcmp(name, "--small"))
		return one->small = true;
	if (!value)
		return false;
	if (!strcmp(name, "--time"))
		seconds = v;
	else if (!strcmp(name, "--seed"))
		seed = v;
	else if (!strcmp(name, "--group"))
		group = value;
	else if (!strcmp(name, "--ops"))
		ops = v;
	else if (!strcmp(name, "--round"))
		one->seed = v;
	else if (!strcmp(name, "--threads"))
		one->threads = v < 1 ? 1 : v > THREADS ? THREADS : v;
	else
		return false;
	return true;
}

static int alone(struct round *one)
{
	struct worker w = {};
	int status = 0;

	one->ops = ops;
	start(&w, *one, iwt_tally->steps);
	waitpid(w.pid, &status, 0);
	judge(&w, status);
	report();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct round one = { .threads = 1 };
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	seed = (uint64_t)time(NULL) << 20 ^ getpid();
	if (argc < 3 || !inet_aton(argv[2], &address))
		return 2;
	device = argv[1];
	for (i = 3; i < argc; i++) {
		bool alone_stands = !strcmp(argv[i], "--small");

		if (!option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, &one))
			return 2;
		i += !alone_stands;
	}
	iwt_tally = mmap(NULL, sizeof(*iwt_tally), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (iwt_tally == MAP_FAILED)
		return 1;
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (one.seed)
		return alone(&one);
	if (!seed)
		seed = 1;
	printf("TAP version 13\n# seed %#llx\n", (unsigned long long)seed);
	run();
	report();
	return !!n_bad;
}
