// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the resize of completion queues. When the process reports that it has moved to the new
 * entries, the fake kernel overwrites the old entries. So a process that still reads the old
 * entries fails.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <ccan/array_size.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

#define FIRST		8u
#define ROUNDS		3000
#define MANY		200000u

static struct ibv_context *context;
static struct ibv_cq *cq;

static void setup(uint32_t first_index)
{
	context = fake_open();
	fake.first_index = first_index;
	cq = fake_make_cq(context, FIRST);
}

static void teardown(void)
{
	fake.ops.destroy_cq(cq);
	fake_close(context);
}

static void complete(uint64_t wr_id)
{
	struct iwt_cqe cqe = { .opcode = IWT_WC_SEND, .wr_id = wr_id };

	fake_complete(&cqe);
}

/* Return: number of completions that the kernel may put into the queue now */
static uint32_t room(void)
{
	uint32_t num = fake.cq.num;

	if (fake.cq_next.ctl && fake.cq_next.num < num)
		num = fake.cq_next.num;

	return num - (fake.cq.ctl->prod -
		      __atomic_load_n(&fake.cq.ctl->cons, __ATOMIC_ACQUIRE));
}

static uint64_t next_sent;

/*
 * Called between the resize command and the time when the process moves to the new entries. Adds
 * completions.
 */
static void meanwhile(void)
{
	int n = rand() % 4;

	while (n-- && room())
		complete(next_sent++);
}

/* Does random resizes, completions and polls, and compares the order of all completions. */
static void test_model(void)
{
	uint64_t seen = 0;
	struct ibv_wc wc[5];
	uint32_t used, size;
	bool good = true;
	int round, got, i, ret;

	setup(0xffffff00);
	srand(1);
	next_sent = 0;
	fake.on_resize = meanwhile;
	for (round = 0; round < ROUNDS && good; round++) {
		switch (rand() % 3) {
		case 0:
			for (i = rand() % 9; i && room(); i--)
				complete(next_sent++);
			break;
		case 1:
			got = fake.ops.poll_cq(cq, 1 + rand() % 5, wc);
			good &= got >= 0;
			for (i = 0; i < got; i++)
				good &= wc[i].wr_id == seen++;
			break;
		default:
			used = fake.cq.ctl->prod - fake.cq.ctl->cons;
			size = used + rand() % 100;
			ret = fake.ops.resize_cq(cq, size ? size : 1);
			good &= !ret && cq->cqe >= (int)size &&
				cq->cqe == (int)fake.cq.num && !fake.cq_next.ctl;
		}
		if (fake.used > 12u << 20)
			fake.used = 1 << 20;
	}
	while ((got = fake.ops.poll_cq(cq, 1, wc)) > 0)
		good &= wc->wr_id == seen++;
	ok(good && seen == next_sent && seen > ROUNDS,
	   "resize: in %d random steps, %llu completions arrive in order", round,
	   (unsigned long long)seen);
	teardown();
}

/* The control words of the ring, such as the index and the arm word, do not move. */
static void test_control_words(void)
{
	struct iwt_ring_ctl *ctl;
	struct ibv_wc wc;

	setup(0);
	ctl = fake.cq.ctl;
	fake.ops.req_notify_cq(cq, 0);
	is(fake.ops.resize_cq(cq, 100), 0, "resize: a larger size is accepted");
	ok(cq->cqe == 128 && fake.cq.num == 128 && fake.told == 1,
	   "resize: the size is a power of two, and the end is reported to the kernel");
	is(ctl->arm, IWT_CQ_ARM_ANY, "resize: the queue stays armed");
	complete(1);
	is(fake.ops.poll_cq(cq, 1, &wc), 1, "resize: a completion can be polled");
	is(ctl->cons, 1, "resize: the index cons is in the same place");
	is(fake.ops.resize_cq(cq, 65), 0, "resize: the present size is accepted");
	is(fake.told, 1, "resize: and no end is reported");
	is(fake.ops.resize_cq(cq, 2), 0, "resize: a smaller size is accepted");
	ok(cq->cqe == (int)FIRST && fake.cq.entries == fake.cq_first.entries,
	   "resize: the size does not become smaller than the first size");
	teardown();
}

/*
 * When a queue pair is destroyed after a resize, the provider removes the completions of the
 * queue pair from the new ring.
 */
static void test_cleaned(void)
{
	struct iwt_cqe cqe = { .opcode = IWT_WC_SEND };
	struct ibv_wc wc[8];
	struct ibv_qp *qp;
	int i;

	setup(0);
	qp = fake_make_qp(context, cq, 4, 0);
	is(fake.ops.resize_cq(cq, 30), 0, "resize: a queue that a queue pair uses grows");
	for (i = 0; i < 6; i++) {
		cqe.wr_id = i;
		cqe.qp_num = i % 2 ? qp->qp_num : 0;
		fake_complete(&cqe);
	}
	fake_drop_qp(qp);
	is(fake.ops.resize_cq(cq, 8), 0, "resize: it shrinks after the queue pair was destroyed");
	is(fake.ops.poll_cq(cq, 8, wc), 3,
	   "resize: the completions of other queue pairs are left");
	ok(wc[0].wr_id == 0 && wc[1].wr_id == 2 && wc[2].wr_id == 4,
	   "resize: they are in order");
	teardown();
}

static void spoil_entries(struct iwt_resize_cq_resp *resp)
{
	resp->entries = 33;
}

static void spoil_zero(struct iwt_resize_cq_resp *resp)
{
	resp->entries = 0;
}

static void spoil_length(struct iwt_resize_cq_resp *resp)
{
	resp->entries = 1024;
}

static void spoil_no_map(struct iwt_resize_cq_resp *resp)
{
	resp->mmap_length = 0;
}

static void spoil_offset(struct iwt_resize_cq_resp *resp)
{
	resp->mmap_offset++;
}

/* A process that cannot move to the new entries continues with the old entries. */
static void test_bad_answers(void)
{
	static const struct {
		const char *name;
		void (*spoil)(struct iwt_resize_cq_resp *resp);
		int err;
	} bad[] = {
		{ "the number of entries is no power of two", spoil_entries, EPROTO },
		{ "there are no entries", spoil_zero, EPROTO },
		{ "the mapping is too short", spoil_length, EPROTO },
		{ "there is no mapping", spoil_no_map, EPROTO },
		{ "the mapping is refused", spoil_offset, EINVAL },
	};
	unsigned int i;
	struct ibv_wc wc;

	setup(0);
	complete(77);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fake.spoil_resize = bad[i].spoil;
		ok(fake.ops.resize_cq(cq, 30) == bad[i].err &&
		   cq->cqe == (int)FIRST && !fake.cq_next.ctl,
		   "resize answer: %s: the queue does not change", bad[i].name);
	}
	fake.spoil_resize = NULL;
	fake.resize_err = EINVAL;
	is(fake.ops.resize_cq(cq, 30), EINVAL, "resize: the kernel's refusal is returned");
	fake.resize_err = 0;
	ok(fake.ops.poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 77,
	   "resize: then the completion is still in the queue");
	teardown();
}

/* If the call that reports the end of a resize fails, the next resize first repeats this call. */
static void test_untold(void)
{
	struct ibv_wc wc;

	setup(0);
	fake.tell_err = ENOMEM;
	is(fake.ops.resize_cq(cq, 30), ENOMEM,
	   "resize: the error of the report of the end is returned");
	is(cq->cqe, FIRST, "resize: the reported size is the old size");
	complete(5);
	ok(fake.ops.poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 5,
	   "resize: a completion can be polled after that");
	is(fake.ops.resize_cq(cq, 100), ENOMEM,
	   "resize: the next resize repeats the report, which fails again");
	fake.tell_err = 0;
	is(fake.ops.resize_cq(cq, 100), 0,
	   "resize: the next resize repeats the report, which succeeds");
	is(cq->cqe, 128, "resize: and then changes the size");
	teardown();
}

/* In a queue without a lock, no entry may move while the program reads it. */
static void test_between(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = FIRST,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_poll_cq_attr poll_attr = {};
	struct ibv_cq_ex *ex;

	context = fake_open();
	ex = fake.ops.create_cq_ex(context, &attr);
	cq = ibv_cq_ex_to_cq(ex);
	complete(1);
	is(ibv_start_poll(ex, &poll_attr), 0, "resize: start_poll succeeds");
	is(fake.ops.resize_cq(cq, 30), EBUSY, "resize: a resize before end_poll returns EBUSY");
	ibv_end_poll(ex);
	is(fake.ops.resize_cq(cq, 30), 0, "resize: a resize after end_poll succeeds");
	teardown();
}

static pthread_mutex_t kernel_lock = PTHREAD_MUTEX_INITIALIZER;
static bool all_seen;

/*
 * Adds completions under the kernel's lock of the queue, which both calls of a resize take, too.
 */
static void *completer(void *arg)
{
	uint32_t left = MANY;

	while (left && !__atomic_load_n(&all_seen, __ATOMIC_SEQ_CST)) {
		pthread_mutex_lock(&kernel_lock);
		if (room())
			complete(MANY - left--);
		pthread_mutex_unlock(&kernel_lock);
		if (!room())
			sched_yield();
	}

	return arg;
}

/* There is one polling thread, since only one thread can check the order of completions. */
static void *poller(void *arg)
{
	struct ibv_wc wc[7];
	uint64_t seen = 0;
	int got, i;

	while (seen < MANY) {
		got = fake.ops.poll_cq(cq, 7, wc);
		if (!got)
			sched_yield();
		for (i = 0; i < got; i++)
			if (wc[i].wr_id != seen++)
				arg = NULL;
		if (got < 0)
			arg = NULL;
		if (!arg)
			break;
	}
	__atomic_store_n(&all_seen, true, __ATOMIC_SEQ_CST);

	return arg;
}

static void kernel_begins(void)
{
	pthread_mutex_lock(&kernel_lock);
}

static void kernel_goes_on(void)
{
	pthread_mutex_unlock(&kernel_lock);
}

static void test_threads_resize(void)
{
	pthread_t threads[2];
	void *good = NULL;
	unsigned int n = 0;
	bool fine = true;
	int ret;

	setup(0xfffffff0);
	all_seen = false;
	fake.before_step = kernel_begins;
	fake.after_step = kernel_goes_on;
	pthread_create(&threads[0], NULL, poller, &threads);
	pthread_create(&threads[1], NULL, completer, &threads);
	while (!__atomic_load_n(&all_seen, __ATOMIC_SEQ_CST) && fine && n < 1000000) {
		/* reuse the memory of old mappings, which no thread reads any more */
		if (fake.used > 8u << 20)
			fake.used = 1 << 20;
		ret = fake.ops.resize_cq(cq, n++ % 3 ? FIRST << n % 5 : FIRST);
		/* EINVAL: the new size is smaller than the number of completions in the queue */
		fine = !ret || ret == EINVAL;
		sched_yield();
	}
	pthread_join(threads[0], &good);
	pthread_join(threads[1], NULL);
	ok(good && fine && n > 10, "resize: %u resizes succeed while another thread polls", n);
	teardown();
}

void test_cq_resize(void)
{
	test_model();
	test_control_words();
	test_cleaned();
	test_bad_answers();
	test_untold();
	test_between();
	test_threads_resize();
}
