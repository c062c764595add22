// SPDX-License-Identifier: GPL-2.0
/*
 * Workqueues for the workers of pagers.
 *
 * A worker in a page fault may wait for ever, and a workqueue limits the number of running work
 * items. With one workqueue for all processes, page faults that do not end would block all other
 * processes. With one workqueue for each process, a user could allocate memory that is charged to
 * nobody. So pagers share a workqueue, but only so many pagers that the workqueue can run all
 * their workers at the same time.
 */
#include "mr_odp_queue.h"

#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

/*
 * max_active of a workqueue: on a machine with one NUMA node, 32 pagers share the workqueue. The
 * kernel would reduce a value above WQ_MAX_ACTIVE, and print a warning.
 */
#define ACTIVE	512
static_assert(ACTIVE <= WQ_MAX_ACTIVE);

/**
 * struct iwt_pager_queue - workqueue that some pagers share
 * @entry: place in the list of all queues
 * @wq: workqueue
 * @users: number of pagers
 */
struct iwt_pager_queue {
	struct list_head entry;
	struct workqueue_struct *wq;
	unsigned int users;
};

static DEFINE_MUTEX(queues_lock);
static struct list_head queues __guarded_by(&queues_lock) = LIST_HEAD_INIT(queues);

/*
 * Return: maximum number of pagers that share a queue. The kernel may divide max_active among the
 * NUMA nodes; then a node runs no more work items than its part.
 */
static unsigned int max_users(void)
{
	return max_t(unsigned int, ACTIVE / IWT_PAGER_WORKERS / num_possible_nodes(), 1);
}

static struct iwt_pager_queue *make(void)
{
	struct iwt_pager_queue *q = kzalloc_obj(*q, GFP_KERNEL);

	if (!q)
		return NULL;
	q->wq = alloc_workqueue("iw_tcp_fault", WQ_UNBOUND, ACTIVE);
	if (q->wq)
		return q;
	kfree(q);
	return NULL;
}

/**
 * iwt_pager_queue_get() - find or create a queue for a pager
 *
 * May sleep.
 *
 * Return: the queue, or NULL if there is not enough memory.
 */
struct iwt_pager_queue *iwt_pager_queue_get(void)
{
	struct iwt_pager_queue *q;

	mutex_lock(&queues_lock);
	list_for_each_entry(q, &queues, entry)
		if (q->users < max_users())
			goto found;
	q = make();
	if (q)
		list_add(&q->entry, &queues);
found:
	if (q)
		q->users++;
	mutex_unlock(&queues_lock);
	return q;
}

/**
 * iwt_pager_queue_put() - release the queue of a pager
 * @q: queue; no work item of the pager is queued, and a work item that still runs is about to
 *	return
 *
 * May sleep, but does not wait for work items of other pagers.
 */
void iwt_pager_queue_put(struct iwt_pager_queue *q)
{
	bool last;

	mutex_lock(&queues_lock);
	last = !--q->users;
	if (last)
		list_del(&q->entry);
	mutex_unlock(&queues_lock);
	if (!last)
		return;
	destroy_workqueue(q->wq);
	kfree(q);
}

/**
 * iwt_pager_queue_work() - queue the work item of a worker
 * @q: queue
 * @work: work item of a pager that uses the queue
 *
 * Any context.
 */
void iwt_pager_queue_work(struct iwt_pager_queue *q, struct work_struct *work)
{
	queue_work(q->wq, work);
}
