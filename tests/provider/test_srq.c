// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues: creating, posting, changing the size, and several threads. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <ccan/array_size.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void setup(void)
{
	context = fake_open();
	pd = fake.ops.alloc_pd(context);
	cq = fake_make_cq(context, 16);
}

static void teardown(void)
{
	fake.ops.destroy_cq(cq);
	fake.ops.dealloc_pd(pd);
	is(fake.srqs + fake.qps + fake.cqs + fake.pds, 0, "srq: no object is left in the kernel");
	fake_close(context);
}

static struct ibv_srq *make(uint32_t max_wr)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = max_wr, .max_sge = FAKE_MAX_SGE },
	};

	errno = 0;

	return fake.ops.create_srq(pd, &attr);
}

static void no_entries(struct iwt_create_srq_resp *resp)
{
	resp->entries = 0;
}

static void odd_entries(struct iwt_create_srq_resp *resp)
{
	resp->entries = 3;
}

static void short_stride(struct iwt_create_srq_resp *resp)
{
	resp->stride = sizeof(struct iwt_recv_wqe) +
		       (FAKE_MAX_SGE - 1) * sizeof(struct iwt_sge);
}

static void short_map(struct iwt_create_srq_resp *resp)
{
	resp->mmap_length = IWT_RING_CTL_SIZE + resp->entries * resp->stride - 1;
}

static void wrong_place(struct iwt_create_srq_resp *resp)
{
	resp->mmap_offset++;
}

static const struct {
	void (*spoil)(struct iwt_create_srq_resp *resp);
	int err;
	const char *what;
} bad_answers[] = {
	{ no_entries, EPROTO, "no entries" },
	{ odd_entries, EPROTO, "a number of entries that is no power of two" },
	{ short_stride, EPROTO, "entries too short for the lists" },
	{ short_map, EPROTO, "a mapping shorter than the entries" },
	{ wrong_place, EINVAL, "an offset that can't be mapped" },
};

static void test_bad_answers(void)
{
	struct ibv_srq_attr attr = { .max_wr = 8 };
	struct ibv_srq *srq;
	unsigned int i;

	setup();
	for (i = 0; i < ARRAY_SIZE(bad_answers); i++) {
		fake.spoil_srq = bad_answers[i].spoil;
		srq = make(4);
		ok(!srq && errno == bad_answers[i].err, "srq: an answer is refused: %s",
		   bad_answers[i].what);
		is(fake.srqs, 0, "srq: then the kernel's queue is destroyed");
		fake.spoil_srq = NULL;
		srq = make(4);
		fake.spoil_srq = bad_answers[i].spoil;
		is(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR),
		   bad_answers[i].err, "srq: the same answer to a resize is refused");
		is(fake.srq_modified, 0, "srq: then the size does not change");
		fake.ops.destroy_srq(srq);
	}
	teardown();
}

/*
 * Posts a list of @n receives with @num_sge elements each. The wr_id of the first receive is
 * @first, and each next wr_id is 1 larger. Sets *@ret to the result of the post. Return: number
 * of receives that were posted
 */
static int post(struct ibv_srq *srq, uint64_t first, int n, int num_sge, int *ret)
{
	struct ibv_sge sge[FAKE_MAX_SGE + 1] = { { 0x1000, 100, 7 }, { 0x2000, 50, 8 } };
	struct ibv_recv_wr wr[16], *bad = NULL;
	int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_recv_wr) {
			.wr_id = first + i, .sg_list = sge, .num_sge = num_sge,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
		};
	*ret = fake.ops.post_srq_recv(srq, wr, &bad);

	return *ret ? bad - wr : n;
}

static bool is_recv(uint32_t index, uint64_t wr_id, uint32_t num_sge)
{
	const struct iwt_recv_wqe *wqe = fake_entry(&fake.srq, index);
	const struct iwt_sge *sge = (const struct iwt_sge *)(wqe + 1);

	return wqe->wr_id == wr_id && wqe->num_sge == num_sge && !wqe->reserved &&
	       (num_sge < 2 || (sge[1].addr == 0x2000 && sge[1].length == 50 &&
				sge[1].lkey == 8));
}

static void test_posting(void)
{
	struct ibv_srq *srq;
	int ret;

	setup();
	fake.first_index = 0xfffffffe;
	srq = make(3);
	is(post(srq, 10, 3, 2, &ret), 3, "srq: a list of three receives can be posted");
	is(fake.srq.ctl->prod, 1, "srq: the kernel gets them");
	ok(is_recv(0xfffffffe, 10, 2) && is_recv(0, 12, 2), "srq: their entries are right");
	is(post(srq, 20, 3, 0, &ret), 1, "srq: a list is posted until the queue is full");
	is(ret, ENOMEM, "srq: the error is returned");
	is(fake.srq.ctl->prod, 2, "srq: no more receives are posted");
	fake.srq.ctl->cons = 0;
	is(post(srq, 30, 2, FAKE_MAX_SGE + 1, &ret), 0,
	   "srq: a receive with too many elements is not posted");
	is(ret, EINVAL, "srq: the error is returned");
	is(post(srq, 30, 2, -1, &ret), 0,
	   "srq: a receive with a negative number of elements is not posted");
	is(fake.srq.ctl->prod, 2, "srq: the index does not change");
	is(post(srq, 40, 2, FAKE_MAX_SGE, &ret), 2,
	   "srq: receives can be posted after the kernel has consumed some");
	is(fake.srq_doorbells, 0, "srq: the doorbell is not rung");
	fake.srq.ctl->flags = IWT_RING_NEED_WAKEUP;
	fake.srq.ctl->cons = 2;
	is(post(srq, 50, 2, 1, &ret), 2, "srq: receives can be posted while a message waits");
	is(fake.srq_doorbells, 1, "srq: then the doorbell is rung once");
	is(post(srq, 60, 1, FAKE_MAX_SGE + 1, &ret), 0, "srq: a bad receive is not posted");
	is(fake.srq_doorbells, 1, "srq: for this receive the doorbell is not rung");
	fake.srq.ctl->cons = 4;
	fake.doorbell_err = EIO;
	is(post(srq, 70, 1, 1, &ret), 0, "srq: if the doorbell fails, no receive counts as posted");
	is(ret, EIO, "srq: the error of the doorbell is returned");
	fake.doorbell_err = 0;
	is(fake.doorbells, 0, "srq: the doorbell of a queue pair is never rung");
	fake.ops.destroy_srq(srq);
	teardown();
}

/* A queue pair with a shared receive queue has no receive queue of its own. */
static void test_users(void)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { 4, 100, 1, 100, 0 },
	};
	struct ibv_qp *qp;

	setup();
	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.srq = make(4);
	qp = fake.ops.create_qp(pd, &attr);
	if (ok(qp, "srq: a queue pair that uses it is created")) {
		is(attr.cap.max_recv_wr, 0, "srq: this queue pair has no receive queue");
		is(fake.ops.post_recv(qp, &wr, &bad), EINVAL,
		   "srq: a receive for this queue pair is refused");
		ok(bad == &wr, "srq: and reported as the first that was not posted");
		fake.ops.destroy_qp(qp);
	}
	fake.ops.destroy_srq(attr.srq);
	teardown();
}

static void test_resize(void)
{
	struct ibv_srq_attr attr = { .max_wr = 16, .srq_limit = 5 };
	struct iwt_ring_ctl *old;
	struct ibv_srq *srq;
	int ret, i;
	bool good = true;

	setup();
	fake.first_index = 0xfffffffd;
	srq = make(4);
	post(srq, 100, 4, 2, &ret);
	old = fake.srq.ctl;
	fake.srq_modify_err = EINVAL;
	is(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL,
	   "srq: the kernel's refusal of a size is returned");
	is(post(srq, 0, 1, 0, &ret), 0, "srq: the queue is still full");
	fake.srq_modify_err = 0;
	/* the kernel has consumed one receive, and the provider has not read the index since */
	old->cons++;
	is(fake.ops.modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0,
	   "srq: a larger size and a limit are accepted");
	is(fake.srq_limit, 5, "srq: the kernel gets the limit");
	is(post(srq, 104, 13, 2, &ret), 13, "srq: the new ring has room for more receives");
	is(post(srq, 0, 1, 2, &ret), 0, "srq: it has no room for one more");
	for (i = 1; i < 17; i++)
		good &= is_recv(0xfffffffd + i, 100 + i, 2);
	ok(good, "srq: all receives are in the new ring, in order");
	is(old->prod, 1, "srq: the old ring does not change");
	is(fake.ops.modify_srq(srq, &(struct ibv_srq_attr) { .srq_limit = 2 },
			       IBV_SRQ_LIMIT), 0, "srq: a limit without a size is accepted");
	is(fake.srq_limit, 2, "srq: the kernel gets that limit");
	is(fake.ops.query_srq(srq, &attr), 0, "srq: the query succeeds");
	is(attr.max_wr, 16, "srq: the query returns the size");
	fake.ops.destroy_srq(srq);
	teardown();
}

/* ---- threads ---- */

static struct ibv_srq *shared;
static uint32_t told;

/* Another thread posts a receive during the resize. This receive must be in the new ring. */
static void *post_meanwhile(void *arg)
{
	int ret;

	post(shared, 77, 1, 1, &ret);

	return ret ? NULL : arg;
}

static pthread_t other;

static void begin_other(void)
{
	uint32_t prod = fake.srq.ctl->prod;
	int i;

	pthread_create(&other, NULL, post_meanwhile, context);
	for (i = 0; i < 2000; i++)
		sched_yield();
	told = fake.srq.ctl->prod - prod;
}

static void test_meanwhile(void)
{
	struct ibv_srq_attr attr = { .max_wr = 32 };
	void *posted;
	int ret;

	setup();
	shared = make(4);
	post(shared, 76, 1, 1, &ret);
	fake.on_srq_modify = begin_other;
	is(fake.ops.modify_srq(shared, &attr, IBV_SRQ_MAX_WR), 0,
	   "srq: a resize succeeds while another thread posts");
	pthread_join(other, &posted);
	ok(posted && !told, "srq: the other thread posts only after the move");
	is(fake.srq.ctl->prod, 2, "srq: its receive is posted");
	ok(is_recv(0, 76, 1) && is_recv(1, 77, 1), "srq: it is in the new ring");
	fake.ops.destroy_srq(shared);
	teardown();
}

#define THREADS	4
#define POSTS	20000

static void *post_many(void *arg)
{
	uint64_t me = (uintptr_t)arg;
	uint32_t i = 0;
	int ret;

	while (i < POSTS) {
		i += post(shared, me << 32 | i, i + 3 < POSTS ? 3 : 1, 1, &ret);
		if (ret)
			sched_yield();
	}

	return NULL;
}

/*
 * Consumes the receives that several threads post. The receives of each thread must arrive in the
 * order in which the thread posted them.
 */
static void test_threads_post(void)
{
	uint32_t want[THREADS] = {}, cons = 0, changes = 0;
	struct ibv_srq_attr attr = {};
	pthread_t threads[THREADS];
	bool good = true;
	uintptr_t i;

	setup();
	shared = make(64);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, post_many, (void *)i);
	while (good && cons != THREADS * POSTS) {
		const struct iwt_recv_wqe *wqe = fake_entry(&fake.srq, cons);

		if (__atomic_load_n(&fake.srq.ctl->prod, __ATOMIC_ACQUIRE) == cons) {
			sched_yield();
			continue;
		}
		good = wqe->wr_id >> 32 < THREADS &&
		       (uint32_t)wqe->wr_id == want[wqe->wr_id >> 32]++;
		__atomic_store_n(&fake.srq.ctl->cons, ++cons, __ATOMIC_RELEASE);
		if (cons % 8000 == 0) {
			attr.max_wr = 64 << changes % 3;
			/* the kernel refuses a size that is too small for the posted receives */
			good &= !fake.ops.modify_srq(shared, &attr, IBV_SRQ_MAX_WR) ||
				attr.max_wr < 256;
			changes++;
		}
	}
	ok(good, "srq: threads post each receive once, and in order");
	for (i = 0; good && i < THREADS; i++)
		pthread_join(threads[i], NULL);
	fake.ops.destroy_srq(shared);
	teardown();
}

void test_srq(void)
{
	test_bad_answers();
	test_posting();
	test_users();
	test_resize();
	test_meanwhile();
	test_threads_post();
}
