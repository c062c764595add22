// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_cmorder DEVICE ADDRESS [--time SECONDS] [--seed SEED] [--private-data]
 *
 * Worker processes give commands to rdma_cm in random orders. Each round has a seed, which is
 * also written to the kernel's log, so that the seed is known even if the kernel crashes in this
 * round. The program runs for at least SECONDS (5). SEED is the seed of the first round. With
 * --private-data, most requests and answers have private data. Results in TAP.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmorder.h"
#include "patience.h"
#include "results.h"

#define STEPS	400	/* steps of a worker in a round */
#define PATIENCE 60	/* seconds; gives up after SECONDS + PATIENCE without a new order */

uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

/* Gives the command that a normal program would give next. */
static int next_step(struct worker *w, struct slot *s)
{
	switch (s->kind) {
	case NEW:
		return has_listener(w) ? resolve_it(w, s) : bind_it(w, s);
	case BOUND:
		return listen_it(w, s);
	case RESOLVED:
		return route_it(w, s);
	case ROUTED:
		return connect_it(w, s);
	case REQUEST:
		return draw(&w->seed, 4) ? accept_it(w, s) : reject_it(w, s);
	case CONNECTED:
		return draw(&w->seed, 3) ? disconnect_it(w, s) : destroy_it(w, s);
	case OVER:
		return destroy_it(w, s);
	default:
		return 0;
	}
}

static int any_step(struct worker *w, struct slot *s)
{
	static int (*const steps[])(struct worker *, struct slot *) = {
		bind_it, listen_it, resolve_it, route_it, connect_it, accept_it, reject_it,
		disconnect_it, destroy_it, migrate_it, migrate_it, attributes_of,
	};

	/* mostly keep listeners, because a connect needs a peer */
	if (s->kind == LISTENING && draw(&w->seed, 20))
		return 0;
	return steps[draw(&w->seed, sizeof(steps) / sizeof(*steps))](w, s);
}

/*
 * Gives commands immediately after a connect or an accept, before iw_cm knows the result of the
 * connect or accept.
 */
static void disturb(struct worker *w, struct slot *s)
{
	int n = draw(&w->seed, 3);

	while (n-- && s->kind != FREE) {
		switch (draw(&w->seed, 8)) {
		case 0: case 1: case 2:
			reject_it(w, s);
			break;
		case 3: case 4:
			accept_it(w, s);
			break;
		case 5:
			disconnect_it(w, s);
			break;
		case 6:
			migrate_it(w, s);
			break;
		default:
			destroy_it(w, s);
		}
	}
}

static void step(struct worker *w)
{
	struct slot *s = &w->slots[draw(&w->seed, SLOTS)];
	enum kind was = s->kind;

	if (draw(&w->seed, 4))
		read_events(w);
	if (s->kind == FREE) {
		if (draw(&w->seed, 2))
			create_id(w);
		return;
	}
	if (draw(&w->seed, 10) < 8)
		next_step(w, s);
	else
		any_step(w, s);
	if (was != s->kind && (s->kind == CONNECTING || s->kind == ACCEPTED))
		disturb(w, s);
	if (!draw(&w->seed, 8))
		usleep(draw(&w->seed, 400));
}

static void open_device(struct worker *w)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), w->all->device))
			w->verbs = ibv_open_device(list[i]);
	if (!w->verbs)
		die("no such device");
	w->pd = ibv_alloc_pd(w->verbs);
	w->cq = ibv_create_cq(w->verbs, 64, NULL, NULL, 0);
	if (!w->pd || !w->cq)
		die("the device's objects");
	for (i = 0; i < 2; i++) {
		w->fd[i] = open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK);
		if (w->fd[i] < 0)
			die("/dev/infiniband/rdma_cm");
	}
}

/*
 * The code of a worker. If @destroys is set, the worker destroys its rdma_cm_ids before it exits,
 * listeners first; otherwise the kernel destroys them after the exit.
 */
static void work(struct shared *all, int number, uint64_t seed, bool destroys)
{
	static struct worker w;
	pthread_t thread;
	int i;

	w = (struct worker) { .all = all, .number = number, .seed = seed + number };
	open_device(&w);
	if (pthread_create(&thread, NULL, rival, &w))
		die("a thread");
	for (i = 0; i < STEPS; i++)
		step(&w);
	for (i = 0; i < SLOTS && destroys; i++)
		if (w.slots[i].kind == LISTENING)
			destroy_it(&w, &w.slots[i]);
	for (i = 0; i < SLOTS && destroys; i++)
		if (w.slots[i].kind != FREE)
			destroy_it(&w, &w.slots[i]);
	_exit(0);
}

/* Thread that accepts TCP connections, and closes each of them after a moment without sending. */
static void *silence(void *arg)
{
	int sock = *(int *)arg, fd;
	uint64_t seed = 1;

	while ((fd = accept(sock, NULL, NULL)) >= 0) {
		usleep(draw(&seed, 4000));
		close(fd);
	}
	return NULL;
}

static void begin_silence(struct shared *all)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = all->address };
	socklen_t len = sizeof(a);
	static int sock;
	pthread_t thread;

	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (sock < 0 || bind(sock, (void *)&a, len) || listen(sock, 64) ||
	    getsockname(sock, (void *)&a, &len) || pthread_create(&thread, NULL, silence, &sock))
		die("a TCP socket");
	all->silent = a.sin_port;
}

static void tell_kernel(uint64_t seed)
{
	char said[64];
	int fd = open("/dev/kmsg", O_WRONLY);
	int n = snprintf(said, sizeof(said), "iwt_cmorder: --seed %#llx\n", (unsigned long long)seed);

	if (fd >= 0 && write(fd, said, n) == n)
		close(fd);
}

/* Runs one round. Return: true if all workers have ended without an error, or were killed. */
static bool round_of(struct shared *all, uint64_t seed)
{
	uint64_t dice = seed;
	bool destroys = draw(&dice, 4), kills = draw(&dice, 3) == 0;
	pid_t pids[WORKERS];
	bool good = true;
	int i, status;

	tell_kernel(seed);
	memset(all->listening, 0, sizeof(all->listening));
	fflush(stdout);
	for (i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (!pids[i])
			work(all, i, seed, destroys);
	}
	/* the first worker may be killed in the middle of a command */
	if (kills) {
		usleep(draw(&dice, 200000));
		kill(pids[0], SIGKILL);
	}
	for (i = 0; i < WORKERS; i++)
		if (waitpid(pids[i], &status, 0) != pids[i] ||
		    (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : status))
			good = false;
	if (!good)
		printf("# seed %#llx\n", (unsigned long long)seed);
	return good;
}

/* Return: how many of the orders (enum count) have happened at least once. */
static int orders(const struct shared *all)
{
	int i, n = 0;

	for (i = 0; i < N_TAKEN_TWICE; i++)
		n += !!all->counts[i];
	return n;
}

/* Reports the results. @late: the search for the orders timed out */
static void report_all(const struct shared *all, bool late)
{
	static const char * const names[] = {
		[N_ESTABLISHED] = "established", [N_REJECTED] = "rejected",
		[N_ANSWERED_AGAIN] = "a request answered again before ESTABLISHED was read",
		[N_ANSWERED_CONNECTING] = "an identifier answered while it was connecting",
		[N_LEFT_CONNECTING] = "an identifier left while it was connecting",
		[N_LEFT_REQUEST] = "a request destroyed before an answer",
		[N_MIGRATED] = "migrated",
		[N_FAILED_CONNECT] = "connects that failed",
	};
	int i;

	for (i = 0; i < N_TAKEN_TWICE; i++) {
		printf("# %s: %u\n", names[i], all->counts[i]);
		if (late && !all->counts[i])
			patient_late(names[i]);
		report(all->counts[i], "%s", names[i]);
	}
	report(!all->counts[N_TAKEN_TWICE], "no request is answered twice (%u)",
	       all->counts[N_TAKEN_TWICE]);
	report(!all->counts[N_TAKEN_CONNECTING],
	       "an identifier that connects has no request to answer (%u)",
	       all->counts[N_TAKEN_CONNECTING]);
}

int main(int argc, char **argv)
{
	uint64_t seed = (uint64_t)time(NULL) << 16 ^ getpid();
	unsigned int rounds = 0, seconds = 5;
	struct patience wait = {};
	struct shared *all;
	bool good = true;
	time_t end;
	int i;

	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 3 || all == MAP_FAILED || !inet_aton(argv[2], &all->address))
		die("usage: iwt_cmorder DEVICE ADDRESS [--time S] [--seed N] [--private-data]");
	all->device = argv[1];
	for (i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "--private-data"))
			all->private_data = true;
		else if (!strcmp(argv[i], "--time") && argv[i + 1])
			seconds = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--seed") && argv[i + 1])
			seed = strtoull(argv[++i], NULL, 0);
	}
	printf("# seed %#llx\n", (unsigned long long)seed);
	begin_silence(all);
	/* a slow machine needs more rounds until each order has happened */
	for (end = time(NULL) + seconds; good && (time(NULL) < end || orders(all) < N_TAKEN_TWICE);
	     rounds++) {
		if (!patient(&wait, seconds + PATIENCE, orders(all)))
			break;
		good = round_of(all, seed + WORKERS * rounds);
	}
	report(good, "all workers end without an error (%u rounds)", rounds);
	report_all(all, wait.over);
	return results_end();
}
