// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of queue pairs: an administrator binds some to one (`rdma statistic qp bind`), or has
 * all queue pairs of a type or of a process bound when they are made (auto mode).
 *
 * A counter is one more set of the counters that a device has. The stream of a queue pair refers
 * to the set that it counts in: that of the device or that of its counter. So binding costs
 * nothing where something is counted, and nothing is counted twice: the core shows the sum of
 * both sets, and of what counters that have ended had, as the port's.
 */
#include "stats_qp.h"

#include <linux/bitmap.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "qp.h"
#include "stats.h"

/**
 * struct counter - what the driver has of a struct rdma_counter; found by its number
 * @stats: what its queue pairs have counted
 */
struct counter {
	struct iwt_stats __percpu *stats;
};

static struct counter *of(const struct rdma_counter *counter)
{
	return xa_load(&to_iwt_dev(counter->device)->counters, counter->id);
}

/**
 * iwt_counter_init() - ib_device operation counter_init
 * @counter: counter that is being made, zeroed
 *
 * What the driver has of it is made when it is bound, as older kernels know no other moment.
 */
void iwt_counter_init(struct rdma_counter *counter)
{
}

/**
 * iwt_counter_alloc_stats() - ib_device operation counter_alloc_stats
 * @counter: counter that is being made
 *
 * What a stream does not count is not shown. May sleep.
 *
 * Return: the structure, or NULL without memory.
 */
struct rdma_hw_stats *iwt_counter_alloc_stats(struct rdma_counter *counter)
{
	struct rdma_hw_stats *stats = iwt_stats_alloc();

	if (stats)
		bitmap_set(stats->is_disabled, IWT_STREAM_COUNTERS,
			   IWT_G_END - IWT_STREAM_COUNTERS);
	return stats;
}

static void free_counter(struct counter *c)
{
	free_percpu(c->stats);
	kfree(c);
}

/* Whose work it is pays for it: in auto mode, the process that makes a queue pair. */
static struct counter *make_counter(struct rdma_counter *counter)
{
	struct iwt_dev *dev = to_iwt_dev(counter->device);
	struct counter *c = kzalloc_obj(*c, GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	c->stats = alloc_percpu_gfp(struct iwt_stats, GFP_KERNEL_ACCOUNT);
	if (!c->stats ||
	    xa_alloc_cyclic(&dev->counters, &counter->id, c, XA_LIMIT(1, INT_MAX),
			    &dev->next_counter, GFP_KERNEL_ACCOUNT) < 0) {
		free_counter(c);
		return NULL;
	}
	return c;
}

/* Return: 0, or -EINVAL if it has a counter, or is being destroyed. */
static int counter_bind(struct iwt_qp *qp, struct rdma_counter *counter,
			const struct counter *c)
{
	int err = -EINVAL;

	spin_lock_bh(&qp->stream.lock);
	if (!qp->ibqp.counter && !qp->ending) {
		qp->ibqp.counter = counter;
		qp->stream.stats = c->stats;
		err = 0;
	}
	spin_unlock_bh(&qp->stream.lock);
	return err;
}

/**
 * iwt_counter_bind_qp() - ib_device operation counter_bind_qp
 * @counter: counter; new if it has no number
 * @ibqp: queue pair
 * @port: the only one
 *
 * The core's lock of the counter is held, but other threads may bind the queue pair elsewhere,
 * or be about to destroy it. May sleep.
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int iwt_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	struct iwt_dev *dev = to_iwt_dev(counter->device);
	bool is_new = !counter->id;
	struct counter *c;
	int err;

	c = is_new ? make_counter(counter) : of(counter);
	if (!c)
		return -ENOMEM;
	err = counter_bind(to_iwt_qp(ibqp), counter, c);
	if (err && is_new) {
		xa_erase(&dev->counters, counter->id);
		counter->id = 0;
		free_counter(c);
	}
	return err;
}

/* Return: 0, or -EINVAL if it has no counter. */
static int counter_unbind(struct iwt_qp *qp)
{
	int err = -EINVAL;

	spin_lock_bh(&qp->stream.lock);
	if (qp->ibqp.counter) {
		qp->ibqp.counter = NULL;
		qp->stream.stats = qp->stream.dev->stats;
		err = 0;
	}
	spin_unlock_bh(&qp->stream.lock);
	return err;
}

/**
 * iwt_counter_unbind_qp() - ib_device operation counter_unbind_qp
 * @ibqp: queue pair
 * @port: the only one
 *
 * May sleep.
 *
 * Return: 0, or -EINVAL if another thread has been faster.
 */
int iwt_counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	return counter_unbind(to_iwt_qp(ibqp));
}

/**
 * iwt_counter_leave() - a queue pair is being destroyed
 * @qp: queue pair after iwt_qp_end()
 *
 * The core has taken it from its counter before. If a thread has bound it again since, the core
 * keeps the counter for ever; the queue pair must not.
 */
void iwt_counter_leave(struct iwt_qp *qp)
{
	counter_unbind(qp);
}

/**
 * iwt_counter_dealloc() - ib_device operation counter_dealloc
 * @counter: counter without queue pairs
 *
 * May sleep.
 *
 * Return: 0.
 */
int iwt_counter_dealloc(struct rdma_counter *counter)
{
	struct counter *c = xa_erase(&to_iwt_dev(counter->device)->counters, counter->id);

	if (c)
		free_counter(c);
	return 0;
}

/**
 * iwt_counter_update_stats() - ib_device operation counter_update_stats
 * @counter: counter; its lock is held
 *
 * May sleep.
 *
 * Return: 0.
 */
int iwt_counter_update_stats(struct rdma_counter *counter)
{
	const struct counter *c = of(counter);
	int i;

	for (i = 0; c && i < IWT_STREAM_COUNTERS; i++)
		counter->stats->value[i] = iwt_stats_sum(c->stats, i);
	return 0;
}

/**
 * iwt_counters_end() - the end of a device: free what the core has kept
 * @dev: device without queue pairs
 */
void iwt_counters_end(struct iwt_dev *dev)
{
	struct counter *c;
	unsigned long id;

	xa_for_each(&dev->counters, id, c)
		free_counter(c);
	xa_destroy(&dev->counters);
}
