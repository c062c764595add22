// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: ibv_advise_mr() waits for a page fault that does not end. A signal must end the
 * call, and the removal of the device must end the call. A user must not be able to block any
 * number of the driver's workers with such page faults.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "odp.h"
#include "patience.h"

#define CALLS	20	/* more than the driver's workers for the page faults of a process */
#define WORKERS	16	/* the driver's workers for the page faults of a process */
#define LEFT	256	/* workers that a user may leave blocked */
/*
 * Regions that one process registers one after the other. Far more than LEFT, because some page
 * faults end when the call is interrupted.
 */
#define TRIES	(4 * LEFT)

struct call {
	struct bench *b;
	struct ibv_mr *mr;
	uint8_t *at;
	pthread_t thread;
	int ret;
};

static void *advise(void *arg)
{
	struct call *c = arg;
	struct ibv_sge sge = { (uintptr_t)c->at, PAGE, c->mr->lkey };

	c->ret = ibv_advise_mr(c->b->pd[0], IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	return NULL;
}

static void begin(struct call *c, struct bench *b, struct ibv_mr *mr, uint8_t *at)
{
	*c = (struct call){ .b = b, .mr = mr, .at = at };
	if (pthread_create(&c->thread, NULL, advise, c))
		die("pthread_create");
}

static void on_signal(int sig)
{
}

static void handle(int flags)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = flags };

	if (sigaction(SIGUSR1, &act, NULL))
		die("sigaction");
}

/*
 * Sends signals until the call ends, because one signal may arrive before the call waits. Return:
 * the errno of the call or 0; -1 if the call does not end.
 */
static int interrupt(struct call *c)
{
	struct patience p = {};

	while (patient(&p, PATIENCE, 0)) {
		pthread_kill(c->thread, SIGUSR1);
		usleep(10000);
		if (!pthread_tryjoin_np(c->thread, NULL))
			return c->ret;
	}
	return -1;
}

/* Return: false if the kernel has no userfaultfd */
static bool test_signals(struct bench *b)
{
	struct call calls[CALLS];
	struct ibv_mr *mr;
	bool good = true;
	uint8_t *at;
	int fd, i;

	at = odp_guarded(CALLS * PAGE, &fd);
	if (!at)
		return false;
	mr = reg(b, at, CALLS * PAGE, ALL_ACCESS);
	handle(0);
	for (i = 0; i < CALLS; i++)
		begin(&calls[i], b, mr, at + i * PAGE);
	odp_next_fault(fd);
	for (i = CALLS - 1; i >= 0 && good; i--)
		must(&good, interrupt(&calls[i]) == EINTR, "a call ends by a signal");
	if (!report(good, "ibv_advise_mr waits for memory: a signal ends the call"))
		return true;

	handle(SA_RESTART);
	begin(&calls[0], b, mr, at);
	odp_next_fault(fd);
	for (i = 0; i < 20; i++) {
		pthread_kill(calls[0].thread, SIGUSR1);
		usleep(1000);
	}
	must(&good, pthread_tryjoin_np(calls[0].thread, NULL) == EBUSY, "the call waits");
	odp_serve(fd, at, 0x33);
	if (pthread_join(calls[0].thread, NULL))
		die("pthread_join");
	must(&good, !calls[0].ret && *at == 0x33, "the call succeeds when the memory is present");
	must(&good, !bench_do(b, IBV_WR_RDMA_WRITE, 8, (uintptr_t)at, mr->rkey), "a Write");
	report(good,
	       "ibv_advise_mr waits for memory: it continues after a signal with SA_RESTART");
	conn_drop(&b->pair);
	ibv_dereg_mr(mr);
	munmap(at, CALLS * PAGE);
	close(fd);
	return true;
}

/* Return: true if the process can register an on-demand region (again) */
static bool registers(struct bench *b, uint8_t *at)
{
	struct patience p = {};
	struct ibv_mr *mr;

	while (patient(&p, PATIENCE, 0)) {
		mr = ibv_reg_mr(b->pd[0], at, PAGE, ALL_ACCESS | ODP);
		if (mr)
			return !ibv_dereg_mr(mr);
		if (errno != EAGAIN)
			die("ibv_reg_mr");
		usleep(10000);
	}
	return false;
}

/* Makes all workers of a new region wait, then ends the region. The calls continue to wait. */
static void leave(struct bench *b, struct call *calls, uint8_t *at, int fd)
{
	struct ibv_mr *mr = reg(b, at, WORKERS * PAGE, ALL_ACCESS);
	int i;

	for (i = 0; i < WORKERS; i++)
		begin(&calls[i], b, mr, at + i * PAGE);
	for (i = 0; i < WORKERS; i++)
		odp_next_fault(fd);
	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr");
}

static void test_left(struct bench *b)
{
	static struct call calls[LEFT];
	uint8_t *at, *free_page = anonymous(PAGE);
	struct ibv_mr *mr;
	bool good = true;
	int fd, i;

	at = odp_guarded(LEFT * PAGE, &fd);
	for (i = 0; i < LEFT; i += WORKERS)
		leave(b, &calls[i], at + i * PAGE, fd);
	errno = 0;
	mr = ibv_reg_mr(b->pd[0], free_page, PAGE, ALL_ACCESS | ODP);
	must(&good, !mr && errno == EAGAIN, "another region is refused");
	if (mr)
		ibv_dereg_mr(mr);
	/* the page faults end */
	close(fd);
	for (i = 0; i < LEFT; i++)
		if (pthread_join(calls[i].thread, NULL))
			die("pthread_join");
	must(&good, registers(b, free_page), "a region is accepted again");
	munmap(at, LEFT * PAGE);
	munmap(free_page, PAGE);
	report(good, "page faults of regions that have ended: the number is limited");
}

/* Interrupts a call for page number @i of a file whose pages never arrive. Return: as ibv_reg_mr() */
static int abandon(struct bench *b, uint8_t *at, int i)
{
	struct ibv_mr *mr = ibv_reg_mr(b->pd[0], at + i * PAGE, PAGE, IBV_ACCESS_LOCAL_WRITE | ODP);
	struct call c;
	bool good = true;

	if (!mr)
		return errno;
	begin(&c, b, mr, at + i * PAGE);
	/* mostly long enough for the file's server to read the request */
	usleep(5000);
	must(&good, interrupt(&c) == EINTR && !ibv_dereg_mr(mr), "a call ends by a signal");
	return good ? 0 : EIO;
}

void test_odp_file(struct bench *b, const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), i, err = 0;
	uint8_t *at = map(TRIES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);

	if (madvise(at, TRIES * PAGE, MADV_RANDOM))
		die("madvise");
	handle(0);
	for (i = 0; i < TRIES && !err; i++)
		err = abandon(b, at, i);
	printf("# regions: %d\n", i);
	report(err == EAGAIN, "page faults that no signal ends: the number is limited");
	if (err != EAGAIN)
		printf("# the last result was: %s\n", strerror(err));
	/* the memory stays mapped: after the exit only the workers use it */
}

void test_odp_advice(struct bench *b)
{
	if (test_signals(b))
		test_left(b);
	else
		skip("ibv_advise_mr waits for memory", "this kernel has no userfaultfd");
}

/*
 * Waits in ibv_advise_mr() until a script removes the link, and then prints the result of the
 * call.
 */
void test_odp_advise(struct bench *b)
{
	struct call c;
	uint8_t *at;
	int fd;

	at = odp_guarded(PAGE, &fd);
	if (!at) {
		printf("# no userfaultfd\n");
		return;
	}
	begin(&c, b, reg(b, at, PAGE, ALL_ACCESS), at);
	odp_next_fault(fd);
	odp_keep(fd);
	printf("# waits\n");
	fflush(stdout);
	if (pthread_join(c.thread, NULL))
		die("pthread_join");
	printf("# advised: %s\n", strerror(c.ret));
	fflush(stdout);
	pause();
}
