// SPDX-License-Identifier: GPL-2.0
/* A stream or a prefetch call raises and cancels faults. The pager resolves the faults. */
#include "mr_odp_pager_priv.h"

#include <linux/minmax.h>

/*
 * Maximum number of bytes after the requested memory in which the pager also looks for present
 * pages. The pager enters these pages into the table, so that the engine need not request them
 * later.
 */
#define AROUND		(256 << 10)

/*
 * Return: the error of the last request of @f, if that request was to @p and included the address
 * @va; else 0. This function clears the error.
 */
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

/* Return: 0, or -EFAULT if the process has exited, or if the module is being unloaded. */
static int queue_fault(struct iwt_pager *p, struct iwt_fault *f)
{
	int err = -EFAULT;

	spin_lock(&p->lock);
	if (!p->gone && iwt_pager_start(p)) {
		f->waits = true;
		f->worker = NULL;
		list_add_tail(&f->entry, &p->faults);
		err = 0;
	}
	spin_unlock(&p->lock);
	return err;
}

/**
 * iwt_fault_raise() - request memory for a direction of a stream, or for a prefetch call
 * @f: fault of the direction or of the call; the stream of the direction is locked
 * @pager: pager of the region; the caller holds the lock of the region
 * @ask: requested memory
 *
 * BH off, never sleeps. If the direction is already waiting, its request does not change. After
 * an error, @f has no reference to a pager, so a prefetch call need not cancel the request.
 *
 * Return: 0 if the direction or the call is waiting now; the error of the last request, if that
 * request included the address of @ask; -EFAULT if the process has exited, or if the module is
 * being unloaded.
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
	err = queue_fault(pager, f);
	if (err)
		change_pager(f, NULL);
	return err;
}

/**
 * iwt_fault_cancel() - cancel the request of a direction of a stream, or of a prefetch call
 * @f: fault of the direction or of the call; the stream of the direction is locked
 *
 * BH off, never sleeps: this function interrupts a page fault in progress, and does not wait for
 * its end. After this function has returned, the pager does not call @f->resume().
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
