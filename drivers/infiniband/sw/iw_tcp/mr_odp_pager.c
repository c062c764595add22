// SPDX-License-Identifier: GPL-2.0
/*
 * Pagers. The workers of a pager resolve page faults for streams and for prefetch calls
 * (mr_prefetch.c), in a context that may sleep.
 *
 * An engine that finds memory absent describes the memory in its struct iwt_fault, queues the
 * fault with the pager of the process, and stops. A worker resolves the page faults in the
 * address space of the process, and resumes the engine. The engine then looks up region and
 * memory again, without any state of the first attempt: the region may have changed, or may no
 * longer exist.
 *
 * A page fault may never end: the memory may be a file on a server that does not answer, or the
 * process may serve page faults itself (userfaultfd). So each process has its own workers for
 * each device. While some of these workers are blocked, the other streams of the process use the
 * other workers. The end of a stream does not wait for a page fault: the stream cancels its
 * fault, and a signal to the worker interrupts the page fault.
 *
 * A worker in a page fault holds a reference to the address space. The address space contains the
 * mappings of the rings. As long as the mappings exist, the uverbs file stays open, and the queue
 * pairs are not destroyed. So after the process has exited, nobody would cancel its faults. So a
 * work item of each pager checks periodically whether only workers use the address space: workers
 * of this pager, and of the pagers that the process has for other devices. If so, the work item
 * interrupts the page faults of the workers of its pager.
 *
 * A signal does not end each page fault. While a worker is busy, the worker holds a reference to
 * the module: so "modprobe -r" fails with EBUSY, and does not wait for a page fault that never
 * ends. Processes hold no such reference. So once the module is being unloaded, no worker starts.
 */
#include "mr_odp_pager_priv.h"

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "mr_odp_pages.h"
#include "user.h"

/* Interval of the check whether the process has exited, in jiffies. */
#define WATCH		HZ

/* Number of pagers, including those that are not in the list any more. */
static atomic_t n_pagers;
static DECLARE_WAIT_QUEUE_HEAD(pagers_gone);
static struct workqueue_struct *free_wq;

/* Copy of the request of a fault: the fault may be freed while the worker uses the copy. */
struct request {
	u64 va;
	u32 len;
	u32 around;
	enum iwt_odp_how how;
};

/*
 * Dequeue the next fault, and copy its request to @r. Return: false if no fault is queued; then
 * the worker is not busy any more.
 */
static bool next_request(struct iwt_pager_worker *w, struct request *r)
{
	struct iwt_pager *p = w->pager;
	struct iwt_fault *f;

	spin_lock_bh(&p->lock);
	/* discard a signal if it arrived after the page fault of the last request had ended */
	flush_signals(current);
	f = list_first_entry_or_null(&p->faults, struct iwt_fault, entry);
	w->fault = f;
	w->busy = f;
	w->task = f ? current : NULL;
	if (f) {
		list_del(&f->entry);
		f->worker = w;
		*r = (struct request){ f->va, f->len, f->around, f->how };
	}
	spin_unlock_bh(&p->lock);
	return f;
}

/*
 * Store the result of the request in its fault, and resume the stream or the prefetch call,
 * unless the fault was cancelled. iwt_fault_cancel() takes the same lock, so the fault is not
 * freed meanwhile. @err: 0 or -errno.
 */
static void answer(struct iwt_pager_worker *w, int err)
{
	struct iwt_pager *p = w->pager;
	struct iwt_fault *f;

	spin_lock_bh(&p->lock);
	f = w->fault;
	w->fault = NULL;
	if (f) {
		WRITE_ONCE(f->err, err);
		/* pairs with iwt_fault_waits() */
		smp_store_release(&f->waits, false);
		f->resume(f);
	}
	spin_unlock_bh(&p->lock);
}

/* The calling thread uses the address space of the process. Return: 0 or -errno. */
static int resolve(struct iwt_odp *odp, const struct request *r)
{
	int err = iwt_odp_fill(odp, r->va, r->len, r->how);

	if (!err && r->around)
		iwt_odp_fill(odp, r->va + r->len, r->around, IWT_ODP_NO_FAULT);
	return err;
}

/*
 * Resolve a request in the address space of the process. Return: 0 or -errno; -EFAULT if the
 * process has exited.
 */
static int resolve_for(struct iwt_pager *p, const struct request *r)
{
	struct mem_cgroup *memcg, *was;
	int err;

	if (!mmget_not_zero(p->mm))
		return -EFAULT;
	iwt_mm_workers_count(p->of_mm, 1);
	memcg = get_mem_cgroup_from_mm(p->mm);
	was = set_active_memcg(memcg);
	kthread_use_mm(p->mm);
	err = resolve(p->odp, r);
	kthread_unuse_mm(p->mm);
	set_active_memcg(was);
	mem_cgroup_put(memcg);
	iwt_mm_workers_count(p->of_mm, -1);
	mmput(p->mm);
	return err;
}

/**
 * iwt_pager_interrupt() - interrupt the page fault that a worker resolves, if any
 * @w: worker; the lock of its pager is held
 *
 * Bottom halves off, never sleeps.
 */
void iwt_pager_interrupt(struct iwt_pager_worker *w)
{
	lockdep_assert_held(&w->pager->lock);
	if (w->task)
		send_sig(SIGKILL, w->task, 1);
}

/*
 * Interrupt the workers of @p if only workers use the address space. Return: true if a worker of
 * @p is busy.
 */
static bool look_at_users(struct iwt_pager *p)
{
	bool alone = iwt_pager_only_workers(p), busy = false;
	struct iwt_pager_worker *w;

	spin_lock_bh(&p->lock);
	for (w = p->workers; w < p->workers + IWT_PAGER_WORKERS; w++) {
		busy |= w->busy;
		if (alone)
			iwt_pager_interrupt(w);
	}
	spin_unlock_bh(&p->lock);
	return busy;
}

static void do_watch(struct work_struct *work)
{
	struct iwt_pager *p = container_of(to_delayed_work(work),
					   struct iwt_pager, watch);

	if (!look_at_users(p) || !queue_delayed_work(free_wq, &p->watch, WATCH))
		iwt_pager_put(p);
}

static void do_pager_work(struct work_struct *work)
{
	struct iwt_pager_worker *w = container_of(work, struct iwt_pager_worker,
						  work);
	struct iwt_pager *p = w->pager;
	struct request r;

	allow_signal(SIGKILL);
	while (next_request(w, &r)) {
		answer(w, resolve_for(p, &r));
		cond_resched();
	}
	disallow_signal(SIGKILL);
	module_put(THIS_MODULE);
	/* if the work item was queued again, iwt_pager_start() took another reference */
	iwt_pager_put(p);
}

/**
 * iwt_pager_start() - start a worker for a new fault, if not all workers are busy
 * @p: pager; the lock of the pager is held
 *
 * The caller adds the fault to the list of the pager before it releases the lock. Bottom halves
 * off, never sleeps.
 *
 * Return: true; false if the module is being unloaded: then no worker resolves the fault.
 */
bool iwt_pager_start(struct iwt_pager *p)
	__must_hold(&p->lock)
{
	struct iwt_pager_worker *w;

	lockdep_assert_held(&p->lock);
	for (w = p->workers; w < p->workers + IWT_PAGER_WORKERS; w++)
		if (!w->busy) {
			if (!try_module_get(THIS_MODULE))
				return false;
			w->busy = true;
			kref_get(&p->ref);
			iwt_pager_queue_work(p->queue, &w->work);
			break;
		}
	if (queue_delayed_work(free_wq, &p->watch, WATCH))
		kref_get(&p->ref);
	return true;
}

/*
 * Release the queue and the address space of a pager, which no worker uses any more. Until then
 * the pager stays in the list, because a worker may be in a page fault, and newer pagers of the
 * same address space must share the count of workers.
 */
static void let_go(struct iwt_pager *p)
{
	struct mm_struct *mm;

	if (p->queue)
		iwt_pager_queue_put(p->queue);
	p->queue = NULL;
	mm = iwt_pagers_remove(p);
	if (mm)
		mmdrop(mm);
}

static void free_pager(struct iwt_pager *p)
{
	let_go(p);
	iwt_mm_workers_put(p->of_mm);
	iwt_odp_free(p->odp);
	kfree(p);
	if (atomic_dec_and_test(&n_pagers))
		wake_up(&pagers_gone);
}

static void do_free_work(struct work_struct *work)
{
	struct iwt_pager *p = container_of(work, struct iwt_pager, free_work);

	free_pager(p);
}

static void end_pager(struct kref *ref)
{
	struct iwt_pager *p = container_of(ref, struct iwt_pager, ref);

	queue_work(free_wq, &p->free_work);
}

/*
 * The process has exited, and p->gone prevents new faults. Wait for page faults in progress,
 * which use the mm, and then release the mm.
 */
static void do_gone_work(struct work_struct *work)
{
	struct iwt_pager *p = container_of(work, struct iwt_pager, gone_work);
	struct iwt_pager_worker *w;

	for (w = p->workers; w < p->workers + IWT_PAGER_WORKERS; w++)
		flush_work(&w->work);
	if (iwt_pagers_retire(p))
		iwt_odp_end(p->odp);
	let_go(p);
	iwt_pager_put(p);
}

/*
 * No process uses the address space any more. If another process has the uverbs descriptor, the
 * regions continue to exist, but the pager empties the table, and releases the address space and
 * the queue.
 */
static void process_gone(void *arg)
{
	struct iwt_pager *p = arg;

	spin_lock_bh(&p->lock);
	p->gone = true;
	spin_unlock_bh(&p->lock);
	kref_get(&p->ref);
	queue_work(free_wq, &p->gone_work);
}

/* Return: a new pager for the calling process, not in the list yet, or an error pointer. */
static struct iwt_pager *alloc_pager(struct iwt_dev *dev, gfp_t gfp)
{
	struct iwt_pager *p = kzalloc_obj(*p, gfp);
	struct iwt_pager_worker *w;

	if (!p)
		return ERR_PTR(-ENOMEM);
	kref_init(&p->ref);
	p->regions = 1;
	p->dev = dev;
	p->mm = current->mm;
	p->user = iwt_user_of_caller();
	spin_lock_init(&p->lock);
	INIT_LIST_HEAD(&p->all);
	INIT_LIST_HEAD(&p->faults);
	for (w = p->workers; w < p->workers + IWT_PAGER_WORKERS; w++) {
		w->pager = p;
		INIT_WORK(&w->work, do_pager_work);
	}
	INIT_DELAYED_WORK(&p->watch, do_watch);
	INIT_WORK(&p->gone_work, do_gone_work);
	INIT_WORK(&p->free_work, do_free_work);
	return p;
}

/* Get the queue and the table of a new pager. Return: 0 or -errno; on error @p is freed. */
static int pager_begin(struct iwt_pager *p, gfp_t gfp)
{
	int ret = -ENOMEM;

	p->of_mm = iwt_mm_workers_new(gfp);
	if (!p->of_mm)
		goto no_workers;
	p->queue = iwt_pager_queue_get();
	if (!p->queue)
		goto no_queue;
	p->odp = iwt_odp_new(p->dev, process_gone, p, gfp);
	if (IS_ERR(p->odp)) {
		ret = PTR_ERR(p->odp);
		goto no_odp;
	}
	mmgrab(p->mm);
	atomic_inc(&n_pagers);
	return 0;

no_odp:
	iwt_pager_queue_put(p->queue);
no_queue:
	iwt_mm_workers_put(p->of_mm);
no_workers:
	kfree(p);
	return ret;
}

static struct iwt_pager *new_pager(struct iwt_dev *dev, gfp_t gfp)
{
	struct iwt_pager *p = alloc_pager(dev, gfp);
	int ret;

	if (IS_ERR(p))
		return p;
	ret = pager_begin(p, gfp);
	return ret ? ERR_PTR(ret) : p;
}

/**
 * iwt_pager_join() - find or create the pager of the calling process, for a new region
 * @dev: device of the region
 * @gfp: GFP flags for the data structures
 *
 * May sleep.
 *
 * Return: the pager, to be released by iwt_pager_leave(), or an error pointer: -EAGAIN if too
 * many page faults of the caller's user do not end; -ENOMEM; or an error of iwt_odp_new().
 */
struct iwt_pager *iwt_pager_join(struct iwt_dev *dev, gfp_t gfp)
{
	struct iwt_pager *p = iwt_pagers_find(dev, current->mm, NULL), *new;

	if (p)
		return p;
	if (!iwt_pagers_may_add())
		return ERR_PTR(-EAGAIN);
	new = new_pager(dev, gfp);
	if (IS_ERR(new))
		return new;
	p = iwt_pagers_find(dev, new->mm, new);
	if (!p)
		return new;
	/* the address space exists, and @new is not in the list: nobody else retires @new */
	iwt_odp_end(new->odp);
	iwt_pager_put(new);
	return p;
}

/**
 * iwt_pager_leave() - release the pager of a region that is being destroyed
 * @pager: pager of the region; streams may still be waiting for its workers
 *
 * May sleep, but does not wait for page faults. After the last region is destroyed, no
 * invalidation uses the device any more.
 */
void iwt_pager_leave(struct iwt_pager *pager)
{
	bool first;

	if (!iwt_pagers_leave(pager, &first))
		return;
	/*
	 * If the process has exited, do_gone_work() ends the table. (Its workers are in no page
	 * fault then: a page fault would keep the process's memory.)
	 */
	if (first)
		iwt_odp_end(pager->odp);
	else
		flush_work(&pager->gone_work);
	iwt_pager_put(pager);
}

/**
 * iwt_pager_odp() - get the table of the pages that are present
 * @pager: pager
 *
 * Any context.
 *
 * Return: the table, valid until iwt_pager_leave().
 */
struct iwt_odp *iwt_pager_odp(const struct iwt_pager *pager)
{
	return pager->odp;
}

/* Drop a reference. Any context but hard interrupts. */
void iwt_pager_put(struct iwt_pager *pager)
{
	kref_put(&pager->ref, end_pager);
}

/* Allocate the workqueue at module load; may sleep. Return: 0 or -ENOMEM. */
int iwt_pager_init(void)
{
	free_wq = alloc_workqueue("iw_tcp_pagers", WQ_UNBOUND, 0);
	return free_wq ? 0 : -ENOMEM;
}

/**
 * iwt_pager_exit() - clean up at module unload, when no region is left; may sleep
 *
 * Waits until all pagers are freed, and so for workers that are about to return.
 */
void iwt_pager_exit(void)
{
	wait_event(pagers_gone, !atomic_read(&n_pagers));
	destroy_workqueue(free_wq);
}
