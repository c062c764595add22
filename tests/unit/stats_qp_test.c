// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the counters of queue pairs (stats_qp.c): whether they free all that they allocate, and
 * the case that an administrator binds a queue pair to a counter while the queue pair is being
 * destroyed. Newer kernels hide a queue pair from the administrator before they destroy the queue
 * pair; older kernels do not.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>

#include "stats_qp/qp.h"
#include "stats_qp.h"
#include "unit.h"

static struct iwt_dev dev;

int xa_alloc_cyclic(struct xarray *xa, u32 *id, void *entry, u32 min, u32 max, u32 *next, int gfp)
{
	(void)max;
	(void)gfp;
	if (!unit_get)
		return -ENOMEM;
	for (*id = *next > min ? *next : min; *id < UNIT_SLOTS && xa->at[*id]; (*id)++)
		;
	CHECK(*id < UNIT_SLOTS);
	*next = (*id + 1) % UNIT_SLOTS;
	xa->at[*id] = entry;
	return 0;
}

/* A counter may be freed only if iwt_counters_sum(), which holds the mutex, cannot find it. */
void *xa_erase(struct xarray *xa, unsigned long id)
{
	void *entry = xa->at[id];

	CHECK(dev.past_mutex.lock.held);
	xa->at[id] = NULL;
	return entry;
}

void *xa_load(struct xarray *xa, unsigned long id)
{
	return xa->at[id];
}

struct rdma_hw_stats *iwt_stats_alloc(void)
{
	return unit_alloc(sizeof(struct rdma_hw_stats));
}

u64 iwt_stats_sum(struct iwt_stats *stats, enum iwt_counter c)
{
	return stats->c[c];
}

static struct iwt_stats of_device;
static u64 past[IWT_STREAM_COUNTERS];
static struct iwt_qp qp[2];

static void begin(void)
{
	u32 i;

	of_device = (struct iwt_stats){};
	memset(past, 0, sizeof(past));
	dev = (struct iwt_dev){ .stats = &of_device, .past = past };
	for (i = 0; i < ARRAY_SIZE(qp); i++)
		qp[i] = (struct iwt_qp){
			.ibqp.device = &dev.ibdev,
			.stream = { .dev = &dev, .stats = &of_device },
		};
	unit_get = ~0u;
	unit_between = NULL;
}

static bool is_free(const struct iwt_qp *q)
{
	return !q->ibqp.counter && q->stream.stats == &of_device;
}

static u32 numbers(void)
{
	u32 i, n = 0;

	for (i = 0; i < UNIT_SLOTS; i++)
		n += !!dev.counters.at[i];
	return n;
}

static void test_shown(void)
{
	struct rdma_counter counter = { .device = &dev.ibdev };
	u32 i;

	tap_begin("counter: only the counters of a stream are shown");
	begin();
	iwt_counter_init(&counter);
	counter.stats = iwt_counter_alloc_stats(&counter);
	for (i = 0; i < IWT_G_END; i++)
		CHECK_EQ(test_bit(i, counter.stats->is_disabled), i >= IWT_STREAM_COUNTERS);
	CHECK(!test_bit(IWT_G_END, counter.stats->is_disabled));
	CHECK(!iwt_counter_bind_qp(&counter, &qp[0].ibqp, 1));
	qp[0].stream.stats->c[0] = 3;
	qp[0].stream.stats->c[IWT_STREAM_COUNTERS - 1] = 5;
	qp[0].stream.stats->c[IWT_STREAM_COUNTERS] = 7;
	CHECK(!iwt_counter_update_stats(&counter));
	CHECK_EQ(counter.stats->value[0], 3);
	CHECK_EQ(counter.stats->value[IWT_STREAM_COUNTERS - 1], 5);
	CHECK_EQ(counter.stats->value[IWT_STREAM_COUNTERS], 0);
	CHECK(!iwt_counter_unbind_qp(&qp[0].ibqp, 1));
	CHECK(!iwt_counter_dealloc(&counter));
	unit_free(counter.stats);
	unit_get = 0;
	CHECK(!iwt_counter_alloc_stats(&counter));
	CHECK_EQ(unit_held, 0);
	tap_end();
}

static void test_bind(void)
{
	struct rdma_counter counter = { .device = &dev.ibdev }, other = counter;

	tap_begin("counter: queue pairs are bound to a counter, and unbound");
	begin();
	CHECK(!iwt_counter_bind_qp(&counter, &qp[0].ibqp, 1));
	CHECK(counter.id && qp[0].ibqp.counter == &counter);
	CHECK(!iwt_counter_bind_qp(&counter, &qp[1].ibqp, 1));
	CHECK(qp[1].stream.stats != &of_device && qp[1].stream.stats == qp[0].stream.stats);
	CHECK_EQ(iwt_counter_bind_qp(&other, &qp[1].ibqp, 1), -EINVAL);
	CHECK(!other.id && qp[1].ibqp.counter == &counter);
	CHECK_EQ(numbers(), 1);
	CHECK(!iwt_counter_unbind_qp(&qp[0].ibqp, 1));
	CHECK(is_free(&qp[0]) && !is_free(&qp[1]));
	CHECK_EQ(iwt_counter_unbind_qp(&qp[0].ibqp, 1), -EINVAL);
	CHECK(!iwt_counter_unbind_qp(&qp[1].ibqp, 1));
	CHECK(!iwt_counter_dealloc(&counter));
	CHECK_EQ(unit_held, 0);
	CHECK_EQ(numbers(), 0);
	/* iwt_counter_dealloc() has freed the counter's ID; a second call is allowed */
	CHECK(!iwt_counter_dealloc(&counter));
	CHECK(!iwt_counter_update_stats(&counter));
	CHECK_EQ(iwt_counter_bind_qp(&counter, &qp[0].ibqp, 1), -ENOMEM);
	tap_end();
}

static void test_sum(void)
{
	struct rdma_counter counter = { .device = &dev.ibdev }, other = counter;

	tap_begin("counter: the sum of a device includes each count once");
	begin();
	of_device.c[0] = 1;
	of_device.c[IWT_STREAM_COUNTERS] = 50;
	CHECK(!iwt_counter_bind_qp(&counter, &qp[0].ibqp, 1));
	CHECK(!iwt_counter_bind_qp(&other, &qp[1].ibqp, 1));
	qp[0].stream.stats->c[0] = 10;
	qp[1].stream.stats->c[0] = 100;
	qp[1].stream.stats->c[IWT_STREAM_COUNTERS] = 7;
	CHECK_EQ(iwt_counters_sum(&dev, 0), 111);
	CHECK(!iwt_counter_unbind_qp(&qp[0].ibqp, 1));
	CHECK_EQ(iwt_counters_sum(&dev, 0), 111);
	CHECK(!iwt_counter_dealloc(&counter));
	CHECK_EQ(iwt_counters_sum(&dev, 0), 111);
	CHECK_EQ(iwt_counters_sum(&dev, 1), 0);
	CHECK_EQ(iwt_counters_sum(&dev, IWT_STREAM_COUNTERS), 50);
	CHECK(!iwt_counter_dealloc(&counter));
	CHECK_EQ(iwt_counters_sum(&dev, 0), 111);
	iwt_counters_end(&dev);
	CHECK_EQ(unit_held, 0);
	tap_end();
}

static void test_no_memory(void)
{
	struct rdma_counter counter = { .device = &dev.ibdev };
	u32 n;

	tap_begin("counter: a bind fails without memory");
	begin();
	for (n = 0; n < 3; n++) {
		unit_get = n;
		CHECK_EQ(iwt_counter_bind_qp(&counter, &qp[0].ibqp, 1), -ENOMEM);
		CHECK(is_free(&qp[0]));
		CHECK_EQ(unit_held, 0);
	}
	tap_end();
}

/*
 * The administrator, played by the other thread of kernel.h. The administrator has found the
 * queue pair before RDMA core begins to destroy it.
 */
static struct {
	struct rdma_counter counter;
	u32 wait;	/* number of opportunities (moment()) that the administrator skips first */
	bool acts;	/* the administrator has not acted yet */
	bool bound;	/* the administrator has bound the queue pair */
} admin;

static void admin_binds(void)
{
	if (!admin.acts || admin.wait--)
		return;
	admin.acts = false;
	admin.bound = !iwt_counter_bind_qp(&admin.counter, &qp[0].ibqp, 1);
}

static struct rdma_counter *core_unbind(struct iwt_qp *q)
{
	struct rdma_counter *counter = q->ibqp.counter;

	if (counter && !iwt_counter_unbind_qp(&q->ibqp, 1))
		iwt_counter_dealloc(counter);
	return counter;
}

/*
 * Destroys a queue pair by the steps of RDMA core and of iwt_destroy_qp(), while the
 * administrator tries to bind the queue pair, after @wait other opportunities. Return: true
 * if the administrator has not acted, because there were at most @wait opportunities.
 */
static bool destroy(struct iwt_qp *q, u32 wait)
{
	admin = (typeof(admin)){ .counter.device = &dev.ibdev, .wait = wait, .acts = true };
	unit_between = admin_binds;
	core_unbind(q);
	moment();
	/* the next three lines are the part of iwt_qp_end() that stats_qp.c depends on */
	spin_lock_bh(&q->stream.lock);
	q->ending = true;
	spin_unlock_bh(&q->stream.lock);
	iwt_counter_leave(q);
	/* from now on the queue pair counts for the device only */
	CHECK(is_free(q));
	moment();
	CHECK(is_free(q));
	unit_between = NULL;
	return admin.acts;
}

static void test_destroy(void)
{
	u32 wait, bound = 0, refused = 0;
	bool past;

	tap_begin("counter: a queue pair is bound while it is destroyed");
	for (wait = 0, past = false; !past; wait++) {
		struct rdma_counter first = { .device = &dev.ibdev };

		begin();
		tap_about("after %u moments", wait);
		CHECK(!iwt_counter_bind_qp(&first, &qp[0].ibqp, 1));
		past = destroy(&qp[0], wait);
		bound += admin.bound;
		refused += !past && !admin.bound;
		/*
		 * If the administrator could not bind, the counter has no ID. A bound counter
		 * keeps its ID and its memory until the device ends.
		 */
		CHECK_EQ(numbers(), admin.bound);
		CHECK_EQ(unit_held, 2 * numbers());
		CHECK_EQ(!!admin.counter.id, admin.bound);
		iwt_counters_end(&dev);
		CHECK_EQ(unit_held, 0);
	}
	/* in some runs the administrator acted before the queue pair's end, in others later */
	CHECK(bound > 1);
	CHECK(refused > 1);
	tap_end();
}

void test_counter(void)
{
	test_shown();
	test_bind();
	test_sum();
	test_no_memory();
	test_destroy();
}
