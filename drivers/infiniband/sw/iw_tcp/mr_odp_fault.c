// SPDX-License-Identifier: GPL-2.0
/* What is waited for: faults are raised, cancelled, and looked at again. */
#include "mr_odp_pager_priv.h"

#include <linux/minmax.h>

/* Bytes behind those that are wanted: of these, what the process has is noted with them. */
#define AROUND		(256 << 10)

/* Has the memory that was waited for not come, and is it asked for again? */
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
		/* answer() may not have resumed the stream yet, which could go after a cancel */
		spin_lock(&f->pager->lock);
		spin_unlock(&f->pager->lock);
		iwt_pager_put(f->pager);
	}
	f->pager = pager;
}

/* Return: 0, or -EFAULT without a process. */
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
 * iwt_fault_raise() - a direction of a stream, or a process, waits for memory
 * @f: its fault; the lock of the stream is held
 * @pager: of the region; that is held
 * @ask: the memory
 *
 * BH off, never sleeps. If the direction waits already, it goes on waiting for what it waits for.
 *
 * Return: 0 if it waits now, or why the memory did not come when it waited for it.
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
		iwt_pager_interrupt(f->worker);
	} else if (waited) {
		list_del(&f->entry);
	}
	f->waits = false;
	spin_unlock(&p->lock);
	f->err = 0;
	change_pager(f, NULL);
}
