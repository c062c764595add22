// SPDX-License-Identifier: GPL-2.0
/*
 * Posts through a small ring to a fake kernel that sleeps whenever the ring is empty. If the
 * provider does not ring a necessary doorbell, the kernel sleeps until a later post wakes it. If
 * no post follows, or if the ring is full, the kernel sleeps for ever, and the test fails after
 * PATIENCE seconds.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

#define POSTERS		2
#define POSTS		20000
#define POLLERS		3
#define PATIENCE	20	/* seconds; then the test assumes that the kernel never wakes */

static struct ibv_qp *qp;
static sem_t doorbell;
static unsigned int sleeps;
static int lost;

static void on_doorbell(void)
{
	sem_post(&doorbell);
}

static bool wait_doorbell(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	while (sem_timedwait(&doorbell, &until))
		if (errno != EINTR)
			return false;

	return true;
}

static void complete_room(const struct iwt_cqe *cqe)
{
	uint32_t prod = fake.cq.ctl->prod;

	while (prod - __atomic_load_n(&fake.cq.ctl->cons, __ATOMIC_ACQUIRE) >=
	       fake.cq.num)
		sched_yield();
	fake_complete(cqe);
}

/* Before the fake kernel sleeps, it reads the ring for a random time. */
static void linger(uint32_t cons)
{
	static uint32_t random = 1;
	uint32_t left;

	random = random * 1103515245 + 12345;
	for (left = random >> 22; left; left--)
		if (cons != __atomic_load_n(&fake.sq.ctl->prod,
					    __ATOMIC_RELAXED))
			return;
}

/*
 * The fake kernel: consumes requests of the send ring and completes them, until it has completed
 * @arg requests.
 */
static void *kernel(void *arg)
{
	struct iwt_ring_ctl *ctl = fake.sq.ctl;
	uint32_t cons = ctl->cons, left = (uintptr_t)arg;
	struct iwt_cqe cqe = { .opcode = IWT_WC_SEND };
	const struct iwt_send_wqe *wqe;

	while (left) {
		if (cons != __atomic_load_n(&ctl->prod, __ATOMIC_ACQUIRE)) {
			wqe = fake_entry(&fake.sq, cons++);
			cqe.wr_id = wqe->wr_id;
			__atomic_store_n(&ctl->cons, cons, __ATOMIC_RELEASE);
			complete_room(&cqe);
			left--;
			continue;
		}
		linger(cons);
		__atomic_store_n(&ctl->flags, IWT_RING_NEED_WAKEUP,
				 __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (cons == __atomic_load_n(&ctl->prod, __ATOMIC_ACQUIRE)) {
			sleeps++;
			if (!wait_doorbell()) {
				__atomic_store_n(&lost, 1, __ATOMIC_SEQ_CST);
				return NULL;
			}
		}
		__atomic_store_n(&ctl->flags, 0, __ATOMIC_SEQ_CST);
	}

	return arg;
}

static int post_extended(uint64_t wr_id)
{
	struct ibv_qp_ex *ex = &((struct verbs_qp *)qp)->qp_ex;

	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ibv_wr_send(ex);

	return ibv_wr_complete(ex);
}

/* Every second thread posts with the extended interface. */
static int try_post(uint64_t wr_id)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .wr_id = wr_id };
	struct ibv_send_wr *bad;

	return wr_id >> 32 & 1 ? post_extended(wr_id) :
				 fake.ops.post_send(qp, &wr, &bad);
}

static bool post(uint64_t wr_id)
{
	int ret;

	while ((ret = try_post(wr_id)) == ENOMEM) {
		if (__atomic_load_n(&lost, __ATOMIC_SEQ_CST))
			return false;
		sched_yield();
	}

	return !ret;
}

static void *poster(void *arg)
{
	uint64_t me = (uintptr_t)arg;
	uint32_t i;

	for (i = 0; i < POSTS; i++)
		if (!post(me << 32 | i))
			return NULL;

	return arg;
}

/*
 * Polls until @total completions have arrived. Return: true if each request of each poster has
 * completed once, and in order.
 */
static bool collect(struct ibv_cq *cq, uint32_t total)
{
	uint32_t next[POSTERS] = {}, who;
	struct ibv_wc wc[3];
	bool good = true;
	int got, i;

	while (total) {
		got = fake.ops.poll_cq(cq, 3, wc);
		if (got < 0 || __atomic_load_n(&lost, __ATOMIC_SEQ_CST))
			return false;
		for (i = 0; i < got; i++) {
			who = ((wc[i].wr_id >> 32) - 1) % POSTERS;
			good &= (uint32_t)wc[i].wr_id == next[who]++;
		}
		total -= got;
	}

	return good;
}

/* Number of completions of each request, and number of completions that must still arrive */
static unsigned char times[POSTERS][POSTS];
static uint32_t uncollected;

static void collected(uint64_t wr_id)
{
	__atomic_add_fetch(&times[((wr_id >> 32) - 1) % POSTERS]
				 [(uint32_t)wr_id % POSTS], 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&uncollected, 1, __ATOMIC_RELAXED);
}

/* One of several threads that poll the same queue, with poll_cq and with start_poll in turn */
static void *poller(void *arg)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *ex = arg;
	struct ibv_wc wc[3];
	int got, i;

	while (__atomic_load_n(&uncollected, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&lost, __ATOMIC_SEQ_CST)) {
		got = fake.ops.poll_cq(ibv_cq_ex_to_cq(ex), 3, wc);
		for (i = 0; i < got; i++)
			collected(wc[i].wr_id);
		if (ibv_start_poll(ex, &attr))
			continue;
		do {
			collected(ex->wr_id);
		} while (!ibv_next_poll(ex));
		ibv_end_poll(ex);
	}

	return arg;
}

static struct ibv_cq *make_cq(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };

	return ibv_cq_ex_to_cq(fake.ops.create_cq_ex(context, &attr));
}

static struct ibv_cq *setup(uint32_t posts, pthread_t *thread)
{
	struct ibv_context *context = fake_open();
	struct ibv_cq *cq;

	sem_init(&doorbell, 0, 0);
	lost = 0;
	sleeps = 0;
	fake.on_doorbell = on_doorbell;
	cq = make_cq(context);
	qp = fake_make_qp(context, cq, 8, IBV_QP_EX_WITH_SEND);
	pthread_create(thread, NULL, kernel, (void *)(uintptr_t)posts);

	return cq;
}

static void teardown(struct ibv_cq *cq)
{
	struct ibv_context *context = cq->context;

	fake_drop_qp(qp);
	fake.ops.destroy_cq(cq);
	fake_close(context);
	sem_destroy(&doorbell);
}

static void test_one_by_one(void)
{
	pthread_t thread;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	bool good = true;
	uint64_t i;

	cq = setup(POSTS, &thread);
	for (i = 0; good && i < POSTS; i++) {
		good &= post(i);
		while (good && !fake.ops.poll_cq(cq, 1, &wc))
			good &= !__atomic_load_n(&lost, __ATOMIC_SEQ_CST);
		good &= wc.wr_id == i;
	}
	pthread_join(thread, NULL);
	ok(good, "one by one: each request completes");
	ok(!lost, "one by one: no doorbell is lost");
	ok(sleeps, "one by one: the kernel has slept in between");
	ok(fake.doorbells <= POSTS, "one by one: %u doorbells for %u posts",
	   fake.doorbells, POSTS);
	teardown(cq);
}

static void test_crowd(void)
{
	pthread_t threads[POSTERS + 1];
	struct ibv_cq *cq;
	bool good = true;
	uintptr_t i;
	void *ret;

	cq = setup(POSTERS * POSTS, &threads[0]);
	for (i = 1; i <= POSTERS; i++)
		pthread_create(&threads[i], NULL, poster, (void *)i);
	ok(collect(cq, POSTERS * POSTS),
	   "crowd: each request completes once, and in order");
	for (i = 0; i <= POSTERS; i++) {
		pthread_join(threads[i], &ret);
		good &= !!ret;
	}
	ok(good && !lost, "crowd: no doorbell is lost");
	ok(fake.doorbells <= POSTERS * POSTS, "crowd: %u doorbells for %u posts",
	   fake.doorbells, POSTERS * POSTS);
	teardown(cq);
}

static void test_pollers(void)
{
	pthread_t threads[1 + POSTERS + POLLERS];
	struct ibv_cq *cq;
	bool good = true;
	uintptr_t i;
	uint32_t j;

	/*
	 * If a completion is polled twice or never, threads may run for ever. Then the alarm ends
	 * this program.
	 */
	alarm(PATIENCE * 6);
	uncollected = POSTERS * POSTS;
	cq = setup(POSTERS * POSTS, &threads[0]);
	for (i = 1; i <= POSTERS; i++)
		pthread_create(&threads[i], NULL, poster, (void *)i);
	for (; i <= POSTERS + POLLERS; i++)
		pthread_create(&threads[i], NULL, poller, cq);
	for (i = 0; i <= POSTERS + POLLERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < POSTERS; i++)
		for (j = 0; j < POSTS; j++)
			good &= times[i][j] == 1;
	ok(good && !lost, "pollers: each request completes once");
	is(fake.cq.ctl->cons, fake.cq.ctl->prod, "pollers: no completion is left");
	alarm(0);
	teardown(cq);
}

void test_threads(void)
{
	test_one_by_one();
	test_crowd();
	test_pollers();
}
