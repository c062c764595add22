// SPDX-License-Identifier: GPL-2.0
/* A process of the fuzzer, from its start to its end. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fuzzabi.h"

#define NOBODY	65534

static struct world world;

static void on_fault(int sig)
{
	if (iwt_guarded)
		siglongjmp(iwt_guard, 1);
	_exit(3);
}

static void handle_faults(void)
{
	struct sigaction a = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	signal(SIGIO, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static bool make_arena(void)
{
	size_t len = RINGS + RING_ROOMS * RING_ROOM - ARENA;

	if (mmap((void *)ARENA, len, PROT_NONE, MAP_FIXED_NOREPLACE | MAP_NORESERVE |
		 MAP_ANONYMOUS | MAP_PRIVATE, -1, 0) != (void *)ARENA)
		return false;
	mprotect((void *)DATA, DATA_BYTES, PROT_READ | PROT_WRITE);
	mprotect((void *)OUT, ODD - OUT, PROT_READ | PROT_WRITE);
	mprotect((void *)JUDGED, JUDGED_BYTES, PROT_READ | PROT_WRITE);
	iwt_odd_pages();
	return true;
}

/* Sets limits that are easily reached, enters the control group @group, and drops privileges. */
static void give_up_rights(struct fuzz *f, const char *group)
{
	rlim_t locked = (rlim_t)1 << (16 + iwt_below(f, 6));
	struct rlimit l = { locked, locked }, n = { 64, 64 };
	char name[200], pid[20];
	int fd, len;

	if (group) {
		snprintf(name, sizeof(name), "%s/cgroup.procs", group);
		len = snprintf(pid, sizeof(pid), "%d", getpid());
		fd = open(name, O_WRONLY);
		if (fd < 0 || write(fd, pid, len) != len)
			_exit(4);
		close(fd);
	}
	n.rlim_cur = n.rlim_max = 20 + iwt_below(f, 40);
	if (setrlimit(RLIMIT_MEMLOCK, &l) || setrlimit(RLIMIT_NOFILE, &n) ||
	    setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(4);
	/* setresuid() has cleared the parent-death signal */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

struct thread {
	struct fuzz f;
	uint64_t ops;
};

static void *thread(void *arg)
{
	struct thread *t = arg;

	iwt_fuzz_thread(&t->f, t->ops);
	return NULL;
}

/* A thread that writes random values into rings, while other threads run their steps. */
static void *scribbler(void *arg)
{
	struct thread *t = arg;

	iwt_op_seed(&t->f, 0);
	while (!world.stop) {
		iwt_guarded_step(&t->f, iwt_op_scribble);
		usleep(iwt_below(&t->f, 3000));
	}
	return NULL;
}

static void run_threads(struct thread *t, int n)
{
	pthread_t id[THREADS];
	int i, made = 1;

	for (i = 1; i < n; i++, made++)
		if (pthread_create(&id[i], NULL, i == n - 1 ? scribbler : thread, &t[i]))
			break;
	thread(&t[0]);
	/* the scribbler is the last thread; it runs until all other threads have ended */
	for (i = 1; i < made - 1; i++)
		pthread_join(id[i], NULL);
	world.stop = true;
	if (made > 1)
		pthread_join(id[made - 1], NULL);
}

/* Destroys all objects. In most rounds the kernel does this when the process exits. */
static void tidy_up(struct fuzz *f)
{
	static const enum kind order[] = { CM_ID, SOCKET, MW, MR, QP, SRQ, CQ, PD, CHANNEL };
	_Static_assert(sizeof(order) / sizeof(*order) == KINDS, "each kind has a place");
	unsigned int i, j;

	f->hot = 0;
	for (i = 0; i < KINDS; i++)
		for (j = 0; j < PER_KIND; j++)
			iwt_destroy(f, order[i], &world.obj[order[i]][j]);
	for (i = 0; i < CONTEXTS; i++)
		close(world.ctx[i]);
}

void iwt_round(const char *device, struct in_addr address, const struct round *r,
	       const char *group)
{
	struct thread t[THREADS];
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	handle_faults();
	world.device = device;
	world.alone = r->threads == 1;
	world.steps = r->steps;
	world.address.sin_family = AF_INET;
	world.address.sin_addr = address;
	for (i = 0; i < THREADS; i++)
		t[i] = (struct thread) {
			.f = { .w = &world, .seed = r->seed, .thread = i,
			       .out = (uint8_t *)OUT + (size_t)i * OUT_ROOM },
			.ops = r->ops / r->threads,
		};
	if (!make_arena())
		_exit(4);
	iwt_op_seed(&t[0].f, 0);
	if (r->small)
		give_up_rights(&t[0].f, group);
	/* with small limits, even the creation of the first objects may fail */
	if (!iwt_begin(&t[0].f))
		_exit(r->small ? 0 : 5);
	run_threads(t, r->threads);
	iwt_op_seed(&t[0].f, ~0ull);
	if (iwt_chance(&t[0].f, 30))
		tidy_up(&t[0].f);
	_exit(0);
}
