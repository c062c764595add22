// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_memory: ibv_advise_mr() waits for a page fault that does not end. A signal must end the
 * call, and the removal of the device must end the call.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "odp.h"
#include "patience.h"

#define CALLS	20	/* more than the driver's workers for the page faults of a process */

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

void test_odp_advice(struct bench *b)
{
	if (!test_signals(b))
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
