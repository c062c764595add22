// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults of streams, resolved where it is possible to wait for them.
 *
 * An engine that meets absent memory takes note of what it needs in its struct iwt_fault, queues
 * that with the pager of the process, and stops. A worker takes the page faults in the address
 * space of the process, and lets the engine run again. The engine then looks everything up anew,
 * as if it had never been there: the region may be gone, or other.
 *
 * A page fault may take for ever: the memory may be a file whose server does not answer, or the
 * process may serve page faults itself. So each process has workers of its own, and the other
 * streams of the process have the workers that are left. Whatever ends a stream goes on at once:
 * the stream cancels its fault, and the worker gets a signal that ends its page fault.
 *
 * A worker keeps the address space, whose mappings keep the rings, and so the queue pairs: then
 * nobody would cancel the faults of a process that has gone. So a work looks now and then whether
 * only workers use the address space, and ends their page faults if so.
 */
#include "pager.h"

#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "odp.h"

/* Octets behind those that are wanted: of these, what the process has is noted with them. */
#define AROUND		(256 << 10)
/* Page faults of one process that may be under way together. */
#define WORKERS		16
/* How often it is looked whether the process has gone, in jiffies. */
#define WATCH		HZ

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
 * struct iwt_pager - page faults of one process
 * @ref: regions, streams that wait or did, workers that are busy, and @watch while it is queued
 * @all: place in the list of all pagers
 * @mm: its address space
 * @wq: for its workers alone: those of other processes may be stuck
 * @lock: guards what follows, and the faults that wait here; BH off, inside the lock of a
 *	stream and that of a region
 * @faults: those that wait for a worker
 * @workers: resolve them
 * @users: how many of them use @mm
 * @watch: looks whether others do
 * @free_work: the end; the last reference may be gone where nothing may sleep, or in a worker
 */
struct iwt_pager {
	struct kref ref;
	struct list_head all;
	struct mm_struct *mm;
	struct workqueue_struct *wq;
	spinlock_t lock;
	struct list_head faults;
	struct iwt_pager_worker workers[WORKERS];
	int users;
	struct delayed_work watch;
	struct work_struct free_work;
};

static LIST_HEAD(pagers);
static DEFINE_SPINLOCK(pagers_lock);
static DECLARE_WAIT_QUEUE_HEAD(pagers_gone);
static struct workqueue_struct *free_wq;

/* What is asked for, and copied, so that the stream may go. */
struct request {
	struct iwt_odp *odp;
	u64 off;
	u32 len;
	bool write;
};

/* Return: false if there is none; then the worker is not busy any more. */
static bool next_request(struct iwt_pager_worker *w, struct request *r)
{
	struct iwt_pager *p = w->pager;
	struct iwt_fault *f;

	spin_lock_bh(&p->lock);
	/* one may have come too late for the last request */
	flush_signals(current);
	f = list_first_entry_or_null(&p->faults, struct iwt_fault, entry);
	w->fault = f;
	w->busy = f;
	w->task = f ? current : NULL;
	if (f) {
		list_del(&f->entry);
		f->worker = w;
		iwt_odp_get(f->odp);
		*r = (struct request){ f->odp, f->off, f->len, f->write };
	}
	spin_unlock_bh(&p->lock);
	return f;
}

/*
 * Of the request under way, if its stream still waits. When the stream cancels, it takes the
 * lock, too, so it is still there.
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
		if (!err)
			iwt_odp_put(f->odp);
		/* pairs with iwt_fault_waits() */
		smp_store_release(&f->waits, false);
		f->resume(f->stream);
	}
	spin_unlock_bh(&p->lock);
}

/* In the address space of the process */
static int resolve(const struct request *r)
{
	int err = iwt_odp_fill(r->odp, r->off, r->len,
			       r->write ? IWT_ODP_WRITE : IWT_ODP_READ);

	if (!err)
		iwt_odp_fill(r->odp, r->off + r->len, AROUND, IWT_ODP_NO_FAULT);
	return err;
}

static void count_users(struct iwt_pager *p, int n)
{
	spin_lock_bh(&p->lock);
	p->users += n;
	spin_unlock_bh(&p->lock);
}

/* Without a process that could take the page fault, there is no memory, either. */
static int resolve_for(struct iwt_pager *p, const struct request *r)
{
	struct mem_cgroup *memcg, *was;
	int err;

	if (!mmget_not_zero(p->mm))
		return -EFAULT;
	count_users(p, 1);
	memcg = get_mem_cgroup_from_mm(p->mm);
	was = set_active_memcg(memcg);
	kthread_use_mm(p->mm);
	err = resolve(r);
	kthread_unuse_mm(p->mm);
	set_active_memcg(was);
	mem_cgroup_put(memcg);
	count_users(p, -1);
	mmput(p->mm);
	return err;
}

/* End its page fault. */
static void interrupt(struct iwt_pager_worker *w)
{
	if (w->task)
		send_sig(SIGKILL, w->task, 1);
}

/* Return: whether any worker is busy. */
static bool look_at_users(struct iwt_pager *p)
{
	struct iwt_pager_worker *w;
	bool alone, busy = false;

	spin_lock_bh(&p->lock);
	/* what others use is more than what is counted: it counts up late, and down early */
	alone = p->users && atomic_read(&p->mm->mm_users) <= p->users;
	for (w = p->workers; w < p->workers + WORKERS; w++) {
		busy |= w->busy;
		if (alone)
			interrupt(w);
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

static void do_work(struct work_struct *work)
{
	struct iwt_pager_worker *w = container_of(work, struct iwt_pager_worker,
						  work);
	struct iwt_pager *p = w->pager;
	struct request r;

	allow_signal(SIGKILL);
	while (next_request(w, &r)) {
		answer(w, resolve_for(p, &r));
		iwt_odp_put(r.odp);
		cond_resched();
	}
	disallow_signal(SIGKILL);
	/* another work of this worker, if there is one, has a reference of its own */
	iwt_pager_put(p);
}

/* Has the memory that was waited for not come, and is it asked for again? */
static int last_error(struct iwt_fault *f, const struct iwt_odp *odp, u64 off)
{
	bool same = f->odp == odp && off - f->off < f->len;
	int err = f->err;

	if (!err)
		return 0;
	f->err = 0;
	iwt_odp_put(f->odp);
	return same ? err : 0;
}

static void change_pager(struct iwt_fault *f, struct iwt_pager *pager)
{
	if (f->pager == pager)
		return;
	if (pager)
		kref_get(&pager->ref);
	if (f->pager) {
		/* answer() may not have resumed the stream yet, which could go after a cancel */
		spin_lock(&f->pager->lock);
		spin_unlock(&f->pager->lock);
		iwt_pager_put(f->pager);
	}
	f->pager = pager;
}

/* Queue @f, and have it looked at. */
static void queue_fault(struct iwt_pager *p, struct iwt_fault *f)
{
	struct iwt_pager_worker *w;

	spin_lock(&p->lock);
	f->waits = true;
	f->worker = NULL;
	list_add_tail(&f->entry, &p->faults);
	for (w = p->workers; w < p->workers + WORKERS; w++)
		if (!w->busy) {
			w->busy = true;
			kref_get(&p->ref);
			queue_work(p->wq, &w->work);
			break;
		}
	if (queue_delayed_work(free_wq, &p->watch, WATCH))
		kref_get(&p->ref);
	spin_unlock(&p->lock);
}

/**
 * iwt_fault_raise() - a direction of a stream waits for memory
 * @f: its fault; the lock of the stream is held
 * @pager: of the region; that is held
 * @odp: the region's pages
 * @off: octet of the region that is absent
 * @len: octets that are needed at once, which are within the region
 * @write: they are to be written
 *
 * BH off, never sleeps. If the direction waits already, it goes on waiting for what it waits for.
 *
 * Return: 0 if it waits now, or why the memory did not come when it waited for it.
 */
int iwt_fault_raise(struct iwt_fault *f, struct iwt_pager *pager,
		    struct iwt_odp *odp, u64 off, u32 len, bool write)
{
	int err;

	if (iwt_fault_waits(f))
		return 0;
	err = last_error(f, odp, off);
	if (err)
		return err;
	change_pager(f, pager);
	iwt_odp_get(odp);
	f->odp = odp;
	f->off = off;
	f->len = len;
	f->write = write;
	queue_fault(pager, f);
	return 0;
}

/**
 * iwt_fault_cancel() - a direction of a stream waits no longer
 * @f: its fault; the lock of the stream is held
 *
 * BH off, never sleeps; does not wait for a page fault, which ends soon. The stream is not
 * resumed any more when this returns.
 */
void iwt_fault_cancel(struct iwt_fault *f)
{
	struct iwt_pager *p = f->pager;
	bool waited;

	if (!p)
		return;
	spin_lock(&p->lock);
	waited = f->waits;
	if (waited && f->worker) {
		f->worker->fault = NULL;
		interrupt(f->worker);
	} else if (waited) {
		list_del(&f->entry);
	}
	f->waits = false;
	spin_unlock(&p->lock);
	if (waited || f->err)
		iwt_odp_put(f->odp);
	f->err = 0;
	change_pager(f, NULL);
}

/**
 * iwt_fault_forget() - what a direction of a stream waited for is there, though it had not come
 * @f: its fault, with an error; the lock of the stream is held
 *
 * Any context. Another stream may have brought it, or the process.
 */
void iwt_fault_forget(struct iwt_fault *f)
{
	/* else the error is not about what is waited for now */
	if (iwt_fault_waits(f))
		return;
	f->err = 0;
	iwt_odp_put(f->odp);
}

static void free_pager(struct iwt_pager *p)
{
	destroy_workqueue(p->wq);
	mmdrop(p->mm);
	kfree(p);
}

static void do_free_work(struct work_struct *work)
{
	struct iwt_pager *p = container_of(work, struct iwt_pager, free_work);

	free_pager(p);
}

static void end_pager(struct kref *ref)
{
	struct iwt_pager *p = container_of(ref, struct iwt_pager, ref);

	spin_lock_bh(&pagers_lock);
	list_del(&p->all);
	queue_work(free_wq, &p->free_work);
	wake_up(&pagers_gone);
	spin_unlock_bh(&pagers_lock);
}

/* The pager of this address space, or NULL; then @new, if it is not NULL, is the pager now. */
static struct iwt_pager *find(const struct mm_struct *mm, struct iwt_pager *new)
{
	struct iwt_pager *p;

	spin_lock_bh(&pagers_lock);
	list_for_each_entry(p, &pagers, all)
		if (p->mm == mm && kref_get_unless_zero(&p->ref))
			goto out;
	p = NULL;
	if (new)
		list_add(&new->all, &pagers);
out:
	spin_unlock_bh(&pagers_lock);
	return p;
}

/* For the calling process. Return: it, known to nobody, or NULL without memory. */
static struct iwt_pager *alloc_pager(gfp_t gfp)
{
	struct iwt_pager *p = kzalloc_obj(*p, gfp);
	struct iwt_pager_worker *w;

	if (!p)
		return NULL;
	p->wq = alloc_workqueue("iw_tcp_fault", WQ_UNBOUND, WORKERS);
	if (!p->wq) {
		kfree(p);
		return NULL;
	}
	kref_init(&p->ref);
	p->mm = current->mm;
	mmgrab(p->mm);
	spin_lock_init(&p->lock);
	INIT_LIST_HEAD(&p->faults);
	for (w = p->workers; w < p->workers + WORKERS; w++) {
		w->pager = p;
		INIT_WORK(&w->work, do_work);
	}
	INIT_DELAYED_WORK(&p->watch, do_watch);
	INIT_WORK(&p->free_work, do_free_work);
	return p;
}

/**
 * iwt_pager_get() - the pager of the calling process
 * @gfp: how the memory is allocated
 *
 * May sleep.
 *
 * Return: it, with a reference, or NULL without memory.
 */
struct iwt_pager *iwt_pager_get(gfp_t gfp)
{
	struct iwt_pager *p = find(current->mm, NULL), *new;

	if (p)
		return p;
	new = alloc_pager(gfp);
	if (!new)
		return NULL;
	p = find(new->mm, new);
	if (!p)
		return new;
	free_pager(new);
	return p;
}

/**
 * iwt_pager_put() - drop a reference
 * @pager: pager
 *
 * Any context but hard interrupts.
 */
void iwt_pager_put(struct iwt_pager *pager)
{
	kref_put(&pager->ref, end_pager);
}

/**
 * iwt_pager_init() - at module load; may sleep
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_pager_init(void)
{
	free_wq = alloc_workqueue("iw_tcp_pagers", WQ_UNBOUND, 0);
	return free_wq ? 0 : -ENOMEM;
}

static bool all_gone(void)
{
	bool gone;

	spin_lock_bh(&pagers_lock);
	gone = list_empty(&pagers);
	spin_unlock_bh(&pagers_lock);
	return gone;
}

/**
 * iwt_pager_exit() - at module unload, when no region is left; may sleep
 *
 * Waits for workers whose page faults end.
 */
void iwt_pager_exit(void)
{
	wait_event(pagers_gone, all_gone());
	destroy_workqueue(free_wq);
}
