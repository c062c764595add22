// SPDX-License-Identifier: GPL-2.0
/* Faults of streams: raised and cancelled by the stream, resolved by the pager. */
#include "mr_odp_pager_priv.h"

#include <linux/minmax.h>

/*
 * Number of bytes behind the memory of a fault in which the pager also looks for present pages.
 */
#define AROUND		(256 << 10)

/* Return: error of the last fault, if the stream requests the same memory again; else 0. */
static int last_error(struct iwt_fault *f, const struct iwt_pager *p, u64 va)
{
	bool same = f->pager == p && va - f->va < f->len;
	int err = f->err;

	f->err = 0;
	return same ? err : 0;
}

static void change_pager(struct iwt_fault *f, struct iwt_pager *pager)
{
	if (f->pager == pager)
		return;
	if (pager)
		kref_get(&pager->ref);
	if (f->pager) {
		/*
		 * Wait for answer(), which calls resume() under this lock: after
		 * iwt_fault_cancel() the stream may be freed.
		 */
		spin_lock(&f->pager->lock);
		spin_unlock(&f->pager->lock);
		iwt_pager_put(f->pager);
	}
	f->pager = pager;
}

/* Return: 0, or -EFAULT if the process has exited. */
static int queue_fault(struct iwt_pager *p, struct iwt_fault *f)
{
	int err = -EFAULT;

	spin_lock(&p->lock);
	if (!p->gone) {
		f->waits = true;
		f->worker = NULL;
		list_add_tail(&f->entry, &p->faults);
		iwt_pager_start(p);
		err = 0;
	}
	spin_unlock(&p->lock);
	return err;
}

/**
 * iwt_fault_raise() - request memory for a direction of a stream, or for a prefetch call
 * @f: fault of the direction or call; the lock of the stream is held
 * @pager: pager of the region, which is held
 * @ask: requested memory
 *
 * BH off, never sleeps. If the direction is already waiting, its present request stays.
 *
 * Return: 0 if the direction is waiting now, or the error of its last request if that was for
 * the same memory.
 */
int iwt_fault_raise(struct iwt_fault *f, struct iwt_pager *pager,
		    const struct iwt_fault_ask *ask)
{
	int err;

	if (iwt_fault_waits(f))
		return 0;
	err = last_error(f, pager, ask->va);
	if (err)
		return err;
	change_pager(f, pager);
	f->va = ask->va;
	f->len = ask->len;
	f->around = min_t(u64, ask->behind, AROUND);
	f->how = ask->how;
	return queue_fault(pager, f);
}

/**
 * iwt_fault_cancel() - cancel the request of a direction of a stream
 * @f: fault of the direction; the lock of the stream is held
 *
 * BH off, never sleeps: does not wait for a page fault in progress, but interrupts it. After
 * this returns, the pager does not resume the stream.
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
		iwt_pager_interrupt(f->worker);
	} else if (waited) {
		list_del(&f->entry);
	}
	f->waits = false;
	spin_unlock(&p->lock);
	f->err = 0;
	change_pager(f, NULL);
}
