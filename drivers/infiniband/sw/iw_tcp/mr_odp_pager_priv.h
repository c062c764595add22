/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by mr_odp_pager.c, mr_odp_list.c and mr_odp_fault.c. */
#ifndef IWT_MR_ODP_PAGER_PRIV_H
#define IWT_MR_ODP_PAGER_PRIV_H

#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "mr_odp_pager.h"
#include "mr_odp_queue.h"

/**
 * struct iwt_pager_worker - resolves one fault after the other
 * @work: work item; queued or running while the worker is @busy
 * @pager: pager, with a reference while the worker is @busy
 * @fault: fault in progress, NULL if the fault was cancelled; guarded by the lock of @pager
 * @task: thread of the worker while the worker resolves a fault, cancelled or not, else NULL:
 *	signals are sent only to a thread in a fault; guarded by the lock of @pager
 * @busy: the work item is queued or running; guarded by the lock of @pager
 */
struct iwt_pager_worker {
	struct work_struct work;
	struct iwt_pager *pager;
	struct iwt_fault *fault;
	struct task_struct *task;
	bool busy;
};

/**
 * struct iwt_mm_workers - the workers that use one address space, of the pagers of all devices
 * @ref: one reference for each pager of the address space
 * @lock: guards @users; BH off, innermost
 * @users: number of workers that use the address space
 */
struct iwt_mm_workers {
	struct kref ref;
	spinlock_t lock; /* guards the member below */
	int users;
};

/**
 * struct iwt_pager - resolves faults in the memory of one process, for one device
 * @ref: references: one for all regions together; one for each fault that sent its last request
 *	to this pager; one for each busy worker; one each for @watch and @gone_work, while queued
 * @all: place in the list of all pagers, while @mm is not NULL
 * @regions: number of regions; guarded by the lock of the list
 * @retired: no new region uses the pager; guarded by the lock of the list
 * @dev: device of the regions; used only for comparisons
 * @user: user that the workers count for (mr_odp_list.c)
 * @mm: address space; NULL after @gone_work
 * @of_mm: counts the workers that use @mm; pagers in the list that have the same @mm share it
 * @odp: table of the pages of @mm that are present
 * @lock: guards the following members, and the queued faults; BH off; nests inside the locks of
 *	a stream and of a region
 * @gone: no process uses @mm any more
 * @queue: workqueue of the workers; NULL after @gone_work
 * @faults: faults that no worker has dequeued yet
 * @workers: workers
 * @watch: checks periodically whether only workers use @mm
 * @gone_work: releases @mm, @queue and the pages in @odp
 * @free_work: frees the pager; the last reference may be dropped in atomic context, or by a
 *	worker
 */
struct iwt_pager {
	struct kref ref;
	struct list_head all;
	unsigned int regions;
	bool retired;
	struct iwt_dev *dev;
	uid_t user;
	struct mm_struct *mm;
	struct iwt_mm_workers *of_mm;
	struct iwt_odp *odp;
	spinlock_t lock; /* guards the members below */
	bool gone;
	struct iwt_pager_queue *queue;
	struct list_head faults;
	struct iwt_pager_worker workers[IWT_PAGER_WORKERS];
	struct delayed_work watch;
	struct work_struct gone_work;
	struct work_struct free_work;
};

/* mr_odp_list.c */
struct iwt_mm_workers *iwt_mm_workers_new(gfp_t gfp);
void iwt_mm_workers_put(struct iwt_mm_workers *w);
void iwt_mm_workers_count(struct iwt_mm_workers *w, int n);
bool iwt_pager_only_workers(struct iwt_pager *p);
bool iwt_pagers_may_add(void);
struct iwt_pager *iwt_pagers_find(const struct iwt_dev *dev, const struct mm_struct *mm,
				  struct iwt_pager *new);
bool iwt_pagers_retire(struct iwt_pager *p);
bool iwt_pagers_leave(struct iwt_pager *p, bool *first);
struct mm_struct *iwt_pagers_remove(struct iwt_pager *p);

/* mr_odp_pager.c */
void iwt_pager_interrupt(struct iwt_pager_worker *w);
bool iwt_pager_start(struct iwt_pager *p) __must_hold(&p->lock);

#endif
