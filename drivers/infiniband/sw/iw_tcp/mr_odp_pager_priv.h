/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of page faults share. */
#ifndef IWT_MR_ODP_PAGER_PRIV_H
#define IWT_MR_ODP_PAGER_PRIV_H

#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "mr_odp_pager.h"
#include "mr_odp_queue.h"

/**
 * struct iwt_pager_worker - takes one page fault after the other
 * @work: is queued and runs while it is @busy
 * @pager: its pager, with a reference while it is @busy
 * @fault: the one under way, NULL if it was cancelled; guarded by the lock of @pager
 * @task: resolves a fault, cancelled or not; gets no signal otherwise; guarded by the lock of
 *	@pager
 * @busy: it takes faults; guarded by the lock of @pager
 */
struct iwt_pager_worker {
	struct work_struct work;
	struct iwt_pager *pager;
	struct iwt_fault *fault;
	struct task_struct *task;
	bool busy;
};

/**
 * struct iwt_pager - page faults of one process in memory that one device uses
 * @ref: the regions together, streams that wait or did, workers that are busy, and each of the
 *	works below while it is queued
 * @all: place in the list of all pagers, while there are regions and a process
 * @regions: how many there are; guarded by the lock of the list
 * @dev: their device; to be compared
 * @mm: the address space; NULL some time after @gone
 * @odp: the pages of it that are present
 * @lock: guards what follows, and the faults that wait here; BH off, inside the lock of a
 *	stream and those of a region
 * @gone: no process has @mm any more
 * @queue: of its workers; NULL some time after @gone
 * @faults: those that wait for a worker
 * @workers: resolve them
 * @users: how many of them use @mm
 * @watch: looks whether others do
 * @gone_work: lets go of @mm, @queue and the pages in @odp
 * @free_work: the end; the last reference may be gone where nothing may sleep, or in a worker
 */
struct iwt_pager {
	struct kref ref;
	struct list_head all;
	unsigned int regions;
	struct iwt_dev *dev;
	struct mm_struct *mm;
	struct iwt_odp *odp;
	spinlock_t lock; /* guards what follows */
	bool gone;
	struct iwt_pager_queue *queue;
	struct list_head faults;
	struct iwt_pager_worker workers[IWT_PAGER_WORKERS];
	int users;
	struct delayed_work watch;
	struct work_struct gone_work;
	struct work_struct free_work;
};

void iwt_pager_interrupt(struct iwt_pager_worker *w);
void iwt_pager_start(struct iwt_pager *p) __must_hold(&p->lock);

#endif
