// SPDX-License-Identifier: GPL-2.0
/*
 * Queues for the workers of pagers.
 *
 * A work that takes a page fault may wait for ever, and a queue runs only so many works at a
 * time. One queue for all processes would let those whose page faults do not end stop those of
 * all others. One for each process would let a user take memory that nobody is charged for. So a
 * queue is for as many pagers as it can run workers of, together.
 */
#include "mr_odp_queue.h"

#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

/* Works of one queue that run at a time: what every kernel allows. */
#define ACTIVE	512

/**
 * struct iwt_pager_queue - a queue of some pagers
 * @entry: place in the list of all
 * @wq: the queue
 * @users: pagers
 */
struct iwt_pager_queue {
	struct list_head entry;
	struct workqueue_struct *wq;
	unsigned int users;
};

static DEFINE_MUTEX(queues_lock);
static struct list_head queues __guarded_by(&queues_lock) = LIST_HEAD_INIT(queues);

/* The processors of each memory node have their part of what may run. */
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
 * iwt_pager_queue_get() - a queue for one more pager
 *
 * May sleep.
 *
 * Return: it, or NULL without memory.
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
 * iwt_pager_queue_put() - a pager needs no queue any more
 * @q: its queue, where no work of it waits or runs
 *
 * May sleep, but not for works of other pagers.
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
 * iwt_pager_queue_work() - have a work done
 * @q: queue
 * @work: of a pager that has the queue
 *
 * Any context.
 */
void iwt_pager_queue_work(struct iwt_pager_queue *q, struct work_struct *work)
{
	queue_work(q->wq, work);
}
