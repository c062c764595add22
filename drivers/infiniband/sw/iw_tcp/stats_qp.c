// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of queue pairs: an administrator binds queue pairs to a counter (`rdma statistic qp
 * bind`), or lets RDMA core bind all queue pairs of a type or of a process when the queue pairs
 * are created (auto mode).
 *
 * A struct rdma_counter has a set of counters like the set of the device. The stream of a queue
 * pair has a pointer to one set, and increments the counters of this set: the set of the device,
 * or the set of the rdma_counter to which the queue pair is bound. So counting is as fast for a
 * bound queue pair as for any other, and nothing is counted twice. For the port, RDMA core shows
 * the sum of all sets, including the final values of rdma_counters that no longer exist.
 */
#include "stats_qp.h"

#include <linux/bitmap.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "qp.h"
#include "stats.h"

/**
 * struct counter - the driver's part of a struct rdma_counter, found by rdma_counter.id
 * @stats: counters of the bound queue pairs
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
 * @counter: counter that is being created, zeroed
 *
 * This operation can't fail, so it does not create the driver's part of the counter:
 * iwt_counter_bind_qp() does.
 */
void iwt_counter_init(struct rdma_counter *counter)
{
}

/**
 * iwt_counter_alloc_stats() - ib_device operation counter_alloc_stats
 * @counter: counter that is being created
 *
 * Counters that streams do not have are disabled. May sleep.
 *
 * Return: the structure, or NULL if there is not enough memory.
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

/*
 * Create the driver's part of a counter. The memory is charged to the calling process, which in
 * auto mode is the creator of the queue pair. Return: the part, or NULL without enough memory.
 */
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

/* Return: 0, or -EINVAL if the queue pair is already bound, or is being destroyed. */
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
 * @counter: counter; if @counter->id is 0, the driver's part of the counter is created
 * @ibqp: queue pair
 * @port: 1
 *
 * RDMA core holds the lock of the counter, but other threads may bind the queue pair to another
 * counter, or destroy the queue pair. May sleep.
 *
 * Return: 0; -EINVAL if the queue pair is already bound, or is being destroyed; -ENOMEM.
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
		/* iwt_counters_sum() may be reading the counts */
		mutex_lock(&dev->past_mutex);
		xa_erase(&dev->counters, counter->id);
		mutex_unlock(&dev->past_mutex);
		counter->id = 0;
		free_counter(c);
	}
	return err;
}

/* Return: 0, or -EINVAL if the queue pair has no counter. */
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
 * @port: 1
 *
 * Process context.
 *
 * Return: 0, or -EINVAL if another thread has already unbound the queue pair.
 */
int iwt_counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	return counter_unbind(to_iwt_qp(ibqp));
}

/**
 * iwt_counter_leave() - unbind a queue pair that is being destroyed
 * @qp: queue pair after iwt_qp_end()
 *
 * RDMA core has already unbound the queue pair from its counter. But another thread may have
 * bound the queue pair to a counter again since then. RDMA core never frees this counter, and the
 * queue pair must not use the counter any more. Process context.
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
	struct iwt_dev *dev = to_iwt_dev(counter->device);
	struct counter *c;
	int i;

	mutex_lock(&dev->past_mutex);
	c = xa_erase(&dev->counters, counter->id);
	for (i = 0; c && i < IWT_STREAM_COUNTERS; i++)
		dev->past[i] += iwt_stats_sum(c->stats, i);
	mutex_unlock(&dev->past_mutex);
	if (c)
		free_counter(c);
	return 0;
}

/**
 * iwt_counters_sum() - sum a counter over all sets of a device
 * @dev: device
 * @c: counter
 *
 * RDMA core shows the same sum in hw_counters, but drivers cannot read that sum. The sum never
 * decreases. May sleep.
 *
 * Return: the sum.
 */
u64 iwt_counters_sum(struct iwt_dev *dev, enum iwt_counter c)
{
	u64 sum = iwt_stats_sum(dev->stats, c);
	struct counter *counter;
	unsigned long id;

	if (c >= IWT_STREAM_COUNTERS)
		return sum;
	mutex_lock(&dev->past_mutex);
	sum += dev->past[c];
	xa_for_each(&dev->counters, id, counter) {
		sum += iwt_stats_sum(counter->stats, c);
		cond_resched();
	}
	mutex_unlock(&dev->past_mutex);
	return sum;
}

/**
 * iwt_counter_update_stats() - ib_device operation counter_update_stats
 * @counter: counter; its lock is held
 *
 * Process context.
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
 * iwt_counters_end() - free counters that RDMA core has not freed, at the end of a device
 * @dev: device without queue pairs
 *
 * Process context.
 */
void iwt_counters_end(struct iwt_dev *dev)
{
	struct counter *c;
	unsigned long id;

	xa_for_each(&dev->counters, id, c)
		free_counter(c);
	xa_destroy(&dev->counters);
}
