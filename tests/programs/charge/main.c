// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that the memory of queues' rings is charged to the right user, and for how long. Prints
 * TAP.
 *
 *	iwt_charge DEVICE search STEPS [SEED]	the search that is described below; the user must
 *						have no other locked memory, no CAP_IPC_LOCK, and
 *						an infinite hard limit of locked memory
 *	iwt_charge DEVICE hold RINGS [UID]	creates RINGS completion queues, maps the ring of
 *						the last queue, reports this, waits for the end of
 *						its standard input, and uses the mapping; all this
 *						as user UID, with the capabilities of the caller
 *	iwt_charge DEVICE beside ROUNDS		processes of one user create and release rings at
 *						the same time; then one process releases a ring and
 *						registers memory; the user must meet the conditions
 *						of "search"
 *
 * In the search, worker processes share contexts and do random operations: they create queues,
 * map rings, unmap rings or parts of rings, put a page of a ring into a pipe, destroy queues,
 * fork, and exit or are killed. In the end the contexts are closed. A ring must be charged as
 * long as its queue exists, or any process or pipe refers to a page of the ring. The search
 * measures the charge with RLIMIT_MEMLOCK: one more queue can be created with the limit that the
 * search expects, but not with a lower limit.
 */
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "charge.h"
#include "patience.h"
#include "random.h"
#include "results.h"

#define WORKERS		6
#define RINGS		48
#define PATIENCE	60

/*
 * State of a ring, as the search expects it.
 * @object: the queue of the ring exists
 * @at: for each worker, the address at which the worker has mapped the ring, or NULL
 * @piped: for each worker, whether the worker's pipe contains a page of the ring
 */
static struct ring {
	bool object;
	int ctx;
	uint32_t handle;
	uint64_t offset;
	uint64_t len;
	void *at[WORKERS];
	bool piped[WORKERS];
} rings[RINGS];

static struct worker {
	pid_t pid;
	int pidfd;
	int ours;
} workers[WORKERS];

static int theirs[WORKERS];	/* the workers' ends of the socket pairs */
static int probe_fd;
static long page;
static uint64_t least;	/* bytes of the smallest ring */

static void wait_end(struct worker *w)
{
	struct pollfd pfd = { .fd = w->pidfd, .events = POLLIN };

	if (patient_poll(&pfd, 1, PATIENCE * 1000) != 1)
		die("a worker does not end");
	close(w->pidfd);
	w->pid = 0;
}

static struct answer tell(int slot, struct order o)
{
	struct worker *w = &workers[slot];
	struct pollfd pfd[2] = {
		{ .fd = w->ours, .events = POLLIN },
		{ .fd = w->pidfd, .events = POLLIN },
	};
	struct answer a;

	if (write(w->ours, &o, sizeof(o)) != sizeof(o) ||
	    patient_poll(pfd, 2, PATIENCE * 1000) < 1 || !(pfd[0].revents & POLLIN) ||
	    read(w->ours, &a, sizeof(a)) != sizeof(a))
		die("a worker does not answer");
	return a;
}

/*
 * Ends the workers when the program exits after an error. Otherwise their rings would stay charged,
 * and the next search would fail, too.
 */
static void end_workers(void)
{
	struct pollfd pfd = { .events = POLLIN };
	int i;

	for (i = 0; i < WORKERS; i++) {
		if (!workers[i].pid)
			continue;
		pfd.fd = workers[i].pidfd;
		syscall(SYS_pidfd_send_signal, pfd.fd, SIGKILL, NULL, 0);
		patient_poll(&pfd, 1, PATIENCE * 1000);
	}
}

static void must(struct answer a, const char *what)
{
	errno = a.err;
	if (a.err)
		die(what);
}

static void began(int slot, pid_t pid)
{
	struct worker *w = &workers[slot];

	w->pid = pid;
	w->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pid <= 0 || w->pidfd < 0)
		die("fork");
}

static bool in_use(const struct ring *r)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		if (r->at[i] || r->piped[i])
			return true;
	return r->object;
}

static uint64_t charged(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < RINGS; i++)
		if (in_use(&rings[i]))
			sum += rings[i].len;
	return sum;
}

static void limit(rlim_t soft)
{
	struct rlimit l = { .rlim_cur = soft, .rlim_max = RLIM_INFINITY };

	if (setrlimit(RLIMIT_MEMLOCK, &l))
		die("setrlimit");
}

/* Return: true if a queue with the smallest ring can be created with a limit of @octets bytes. */
static bool can(rlim_t octets)
{
	struct answer a;
	int err;

	limit(octets);
	err = iwt_create(probe_fd, 1, &a);
	limit(RLIM_INFINITY);
	if (!err)
		err = iwt_destroy(probe_fd, a.handle);
	if (err && err != ENOMEM) {
		errno = err;
		die("a queue");
	}
	return !err;
}

static bool agrees(void)
{
	uint64_t sum = charged();

	if (!can(sum + least)) {
		printf("# the kernel charges more than %llu pages\n",
		       (unsigned long long)sum / page);
		return false;
	}
	if (can(sum + least - 1)) {
		printf("# the kernel charges less than %llu pages\n",
		       (unsigned long long)sum / page);
		return false;
	}
	return true;
}

static int some_worker(void)
{
	int slot = below(WORKERS);

	while (!workers[slot].pid)
		slot = (slot + 1) % WORKERS;
	return slot;
}

static int n_workers(void)
{
	int i, n = 0;

	for (i = 0; i < WORKERS; i++)
		n += !!workers[i].pid;
	return n;
}

static void gone(int slot)
{
	int i;

	wait_end(&workers[slot]);
	for (i = 0; i < RINGS; i++) {
		rings[i].at[slot] = NULL;
		rings[i].piped[slot] = false;
	}
}

static void end_worker(int slot)
{
	struct order o = { .op = EXIT };

	if (chance(50))
		kill(workers[slot].pid, SIGKILL);
	else if (write(workers[slot].ours, &o, sizeof(o)) != sizeof(o))
		die("exit");
	gone(slot);
}

static const char *try_create(struct ring *r, int slot)
{
	struct order o = { .op = CREATE, .ctx = below(CONTEXTS), .cqe = 1u << below(12) };
	struct answer a;

	if (in_use(r) || iwt_ctx[o.ctx] < 0)
		return NULL;
	a = tell(slot, o);
	must(a, "create");
	*r = (struct ring) {
		.object = true, .ctx = o.ctx, .handle = a.handle, .offset = a.offset, .len = a.len,
	};
	return "create";
}

static const char *try_destroy(struct ring *r, int slot)
{
	struct order o = { .op = DESTROY, .ctx = r->ctx, .handle = r->handle };

	if (!r->object)
		return NULL;
	must(tell(slot, o), "destroy");
	r->object = false;
	return "destroy";
}

static const char *try_map(struct ring *r, int slot)
{
	struct order o = { .op = MAP, .ctx = r->ctx, .offset = r->offset, .len = r->len };
	struct answer a;

	if (!r->object || r->at[slot])
		return NULL;
	a = tell(slot, o);
	must(a, "mmap");
	r->at[slot] = a.at;
	return "map";
}

/* Unmaps all of a ring, or all but the last page. */
static const char *try_unmap(struct ring *r, int slot)
{
	struct order o = { .op = UNMAP, .at = r->at[slot], .len = r->len };
	bool all = chance(70) || r->len == (uint64_t)page;

	if (!r->at[slot])
		return NULL;
	if (!all) {
		o.op = UNMAP_PART;
		o.len -= page;
	}
	must(tell(slot, o), "munmap");
	if (all)
		r->at[slot] = NULL;
	return all ? "unmap" : "unmap a part";
}

static const char *try_fork(int slot)
{
	struct order o = { .op = FORK };
	int i;

	while (o.slot < WORKERS && workers[o.slot].pid)
		o.slot++;
	if (o.slot == WORKERS)
		return NULL;
	began(o.slot, tell(slot, o).pid);
	for (i = 0; i < RINGS; i++)
		rings[i].at[o.slot] = rings[i].at[slot];
	return "fork";
}

/*
 * Puts the last page of a ring into the worker's pipe. If the pipe already contains a page, reads
 * the pipe instead.
 */
static const char *try_pipe(struct ring *r, int slot)
{
	struct order o = { .op = SPLICE, .at = (char *)r->at[slot] + r->len - page };
	int i;

	for (i = 0; i < RINGS; i++) {
		if (!rings[i].piped[slot])
			continue;
		o.op = DRAIN;
		must(tell(slot, o), "read");
		rings[i].piped[slot] = false;
		return "drain";
	}
	if (!r->at[slot])
		return NULL;
	must(tell(slot, o), "vmsplice");
	r->piped[slot] = true;
	return "splice";
}

/* Runs one random step. Return: the name of the step, or NULL if the step was not possible. */
static const char *step(void)
{
	struct ring *r = &rings[below(RINGS)];
	int slot = some_worker();

	switch (below(20)) {
	case 0 ... 5:
		return try_create(r, slot);
	case 6 ... 8:
		return try_destroy(r, slot);
	case 9 ... 11:
		return try_map(r, slot);
	case 12 ... 14:
		return try_unmap(r, slot);
	case 15:
		return try_pipe(r, slot);
	case 16 ... 17:
		return try_fork(slot);
	default:
		if (n_workers() == 1)
			return NULL;
		end_worker(slot);
		return "exit";
	}
}

static void close_ctx(int ctx)
{
	struct order o = { .op = CLOSE, .ctx = ctx };
	int i;

	for (i = 0; i < WORKERS; i++)
		if (workers[i].pid)
			tell(i, o);
	close(iwt_ctx[ctx]);
	iwt_ctx[ctx] = -1;
}

/*
 * Called when all workers have closed the descriptor of context @ctx. While any ring of the
 * context is mapped, the context stays open, and all its queues exist. Without a mapping, no
 * queue exists any more.
 */
static void closed(int ctx)
{
	bool kept = false;
	int i, j;

	for (i = 0; i < RINGS; i++)
		for (j = 0; j < WORKERS; j++)
			kept |= rings[i].ctx == ctx && rings[i].at[j];
	for (i = 0; i < RINGS && !kept; i++)
		if (rings[i].ctx == ctx)
			rings[i].object = false;
}

/*
 * Closes context 0, ends all workers but one, closes context 1, and ends the last worker. Return:
 * false if the charge was wrong after any of these steps.
 */
static bool wind_up(void)
{
	bool good = true;
	int slot;

	close_ctx(0);
	closed(0);
	good &= agrees();
	while (n_workers() > 1 && good) {
		slot = some_worker();
		end_worker(slot);
		closed(0);
		good &= agrees();
	}
	slot = some_worker();
	close_ctx(1);
	closed(1);
	good &= agrees();
	end_worker(slot);
	closed(0);
	closed(1);
	return good && agrees();
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		die(name);
	return ctx;
}

static void begin_search(const char *name)
{
	struct answer a;
	int fds[2], i;

	for (i = 0; i < CONTEXTS; i++)
		iwt_ctx[i] = open_device(name)->cmd_fd;
	probe_fd = open_device(name)->cmd_fd;
	for (i = 0; i < WORKERS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
			die("socketpair");
		workers[i].ours = fds[0];
		theirs[i] = fds[1];
	}
	limit(RLIM_INFINITY);
	a.err = iwt_create(probe_fd, 1, &a);
	must(a, "the smallest queue");
	least = a.len;
	errno = iwt_destroy(probe_fd, a.handle);
	if (errno)
		die("destroy");
}

static void search(const char *name, int steps, const char *seed)
{
	const char *what = "the beginning";
	bool good;
	pid_t pid;
	int i;

	random_begin(seed);
	begin_search(name);
	atexit(end_workers);
	good = report(agrees(), "at the beginning nothing is charged");
	pid = fork();
	if (!pid) {
		close(probe_fd);
		iwt_serve(theirs, 0);
	}
	began(0, pid);
	for (i = 0; i < steps && good; i++) {
		what = step();
		if (what)
			good = agrees();
	}
	if (!good)
		printf("# step %d: %s\n", i, what);
	report(good, "%d random steps: the kernel charges exactly the rings that exist", steps);
	report(good && wind_up(), "the charge is right while contexts and workers end");
	report(!charged() && can(least) && !can(least - 1), "at the end nothing is charged");
}

/* Changes the user, and keeps all capabilities. */
static void become(uid_t uid)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	if (prctl(PR_SET_KEEPCAPS, 1) || setresuid(uid, uid, uid) ||
	    syscall(SYS_capget, &head, caps))
		die("setresuid");
	caps[0].effective = caps[0].permitted;
	caps[1].effective = caps[1].permitted;
	if (syscall(SYS_capset, &head, caps))
		die("capset");
}

static void hold(const char *name, int rings_wanted)
{
	int fd = open_device(name)->cmd_fd;
	struct answer a;
	char octet, *at;
	int i;

	for (i = 0; i < rings_wanted; i++) {
		errno = iwt_create(fd, 1, &a);
		if (errno)
			die("a queue");
	}
	at = mmap(NULL, a.len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, a.offset);
	if (at == MAP_FAILED)
		die("mmap");
	report(true, "%d rings are made", rings_wanted);
	while (read(0, &octet, 1) > 0)
		;
	memset(at, 1, a.len);
	report(at[a.len - 1] == 1, "the mapped ring can still be used");
}

/*
 * Creates a ring, which must not fail, and releases it: first the queue, then the mapping. So the
 * driver keeps the ring, and looks for it when a process creates another ring. Return: 0 or an
 * errno value.
 */
static int one_ring(int fd)
{
	struct answer a;
	void *at;
	int err;

	err = iwt_create(fd, 1, &a);
	if (err)
		return err;
	at = mmap(NULL, a.len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, a.offset);
	if (at == MAP_FAILED)
		return errno;
	err = iwt_destroy(fd, a.handle);
	munmap(at, a.len);
	return err;
}

/* A region of one page fits into the limit of one ring as soon as the ring has been released. */
static void region(const char *name, int rounds)
{
	struct ibv_context *ctx = open_device(name);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	void *at = aligned_alloc(page, page);
	struct ibv_mr *mr;
	int i, err = 0;

	if (!pd || !at)
		die("a region");
	limit(least);
	for (i = 0; i < rounds && !err; i++) {
		err = one_ring(ctx->cmd_fd);
		mr = err ? NULL : ibv_reg_mr(pd, at, page, 0);
		if (!mr)
			err = err ?: errno;
		else
			err = ibv_dereg_mr(mr);
	}
	if (err)
		printf("# round %d: %s\n", i, strerror(err));
	report(!err, "a region fits as soon as a ring has been released");
}

/* Runs one process of the mode "beside", after @start has been closed. Does not return. */
static void run_beside(int fd, int start, int rounds)
{
	char octet;
	int i, err = 0;

	if (read(start, &octet, 1))
		_exit(1);
	for (i = 0; i < rounds && !err; i++)
		err = one_ring(fd);
	if (err)
		printf("# round %d: %s\n", i, strerror(err));
	fflush(stdout);
	_exit(!!err);
}

/*
 * Each of WORKERS processes has at most one ring at a time, so a limit of WORKERS rings refuses
 * none. This is also true while another process ends the charge of released rings.
 */
static void beside(const char *name, int rounds)
{
	int status, start[2], failed = 0, i;

	begin_search(name);
	if (pipe(start))
		die("pipe");
	limit(WORKERS * least);
	fflush(stdout);
	for (i = 0; i < WORKERS; i++) {
		if (fork())
			continue;
		close(start[1]);
		run_beside(probe_fd, start[0], rounds);
	}
	close(start[1]);
	while (wait(&status) > 0)
		failed += !!status;
	report(!failed, "%d processes, %d rounds: no ring within the limit is refused", WORKERS, rounds);
	region(name, rounds / 20);
}

int main(int argc, char **argv)
{
	page = sysconf(_SC_PAGESIZE);
	if (argc > 3 && !strcmp(argv[2], "search")) {
		search(argv[1], atoi(argv[3]), argc > 4 ? argv[4] : NULL);
	} else if (argc > 3 && !strcmp(argv[2], "hold")) {
		if (argc > 4)
			become(atoi(argv[4]));
		hold(argv[1], atoi(argv[3]));
	} else if (argc > 3 && !strcmp(argv[2], "beside")) {
		beside(argv[1], atoi(argv[3]));
	} else {
		fprintf(stderr, "usage: see %s\n", __FILE__);
		return 1;
	}
	return results_end();
}
