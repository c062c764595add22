// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetch (ibv_advise_mr()): a process requests that pages of its regions become present, and
 * waits until the pages are present.
 *
 * The pager resolves the page faults, as it does for streams. A page fault may never end, and the
 * device cannot be removed while a system call uses it. So the system call does not resolve page
 * faults itself: it waits for the pager, and the wait ends early if a signal arrives, or if the
 * device is being removed.
 */
#include "mr_priv.h"

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/minmax.h>

#include "dev.h"

/*
 * Maximum number of bytes of one request. Between two requests of a call the pager can resolve
 * other faults of the process.
 */
#define PIECE		(1024 << 10)

/**
 * struct prefetch - a prefetch call that is waiting
 * @fault: requested memory
 * @entry: place in the list of all waiting calls
 * @dev: device
 * @over: completed when the wait is over
 */
struct prefetch {
	struct iwt_fault fault;
	struct list_head entry;
	struct iwt_dev *dev;
	struct completion over;
};

static DEFINE_SPINLOCK(prefetches_lock);
static struct list_head prefetches __guarded_by(&prefetches_lock) = LIST_HEAD_INIT(prefetches);

static void prefetch_resume(struct iwt_fault *f)
{
	complete(&container_of(f, struct prefetch, fault)->over);
}

/* Return: true; false, and the call is not in the list, if iwt_mr_prefetch_end() was called. */
static bool enlist(struct prefetch *p)
{
	bool ends;

	spin_lock(&prefetches_lock);
	ends = p->dev->ends;
	if (!ends)
		list_add(&p->entry, &prefetches);
	spin_unlock(&prefetches_lock);
	return !ends;
}

static void prefetch_delist(struct prefetch *p)
{
	spin_lock(&prefetches_lock);
	list_del(&p->entry);
	spin_unlock(&prefetches_lock);
}

/*
 * Request the first piece of @sge. Return: 0; -EFAULT if @sge is not in an on-demand region of
 * the calling process that allows the access; or an error of iwt_fault_raise().
 */
static int prefetch_raise(struct prefetch *p, const struct ib_pd *pd,
			  const struct ib_sge *sge, enum iwt_odp_how how)
{
	u32 need = how == IWT_ODP_WRITE ? IWT_LOCAL_WRITE : 0;
	const struct iwt_party party = { .pd = pd };
	struct iwt_mr *mr = iwt_mr_get(p->dev, sge->lkey);
	struct iwt_fault_ask ask = { .how = how };
	int ret = -EFAULT;

	if (!mr)
		return ret;
	if (mr->kind == IWT_MR_ODP && iwt_odp_is_of(mr->odp, current->mm) &&
	    iwt_access_check(&mr->region, &party, sge->addr, sge->length,
			     need) == IWT_ACCESS_OK) {
		ask.va = iwt_mr_user_va(mr, sge->addr);
		ask.len = min_t(u32, sge->length, PIECE);
		ret = sge->length ? iwt_fault_raise(&p->fault, mr->pager, &ask) : 0;
	}
	iwt_mr_put(mr);
	return ret;
}

/*
 * Wait for the end of the request. Return: 0, the error of the request, -ERESTARTSYS on a signal,
 * or -EIO if the device is being removed or moved.
 */
static int await(struct prefetch *p)
{
	int ret = wait_for_completion_interruptible(&p->over);

	local_bh_disable();
	if (!ret && iwt_fault_waits(&p->fault))
		ret = -EIO;
	if (!ret)
		ret = p->fault.err;
	iwt_fault_cancel(&p->fault);
	local_bh_enable();
	return ret;
}

static int fetch_piece(struct iwt_dev *dev, const struct ib_pd *pd,
		       const struct ib_sge *sge, enum iwt_odp_how how)
{
	struct prefetch p = { .dev = dev };
	int ret = -EIO;

	iwt_fault_init(&p.fault, prefetch_resume, NULL);
	init_completion(&p.over);
	if (!enlist(&p))
		return ret;
	ret = prefetch_raise(&p, pd, sge, how);
	if (!ret && sge->length)
		ret = await(&p);
	prefetch_delist(&p);
	return ret;
}

/**
 * iwt_mr_prefetch() - make pages of an on-demand region present
 * @dev: device
 * @pd: protection domain
 * @sge: part of an on-demand region of the calling process
 * @how: action for absent pages
 *
 * Process context, may sleep.
 *
 * Return: 0; -EFAULT if @sge is not a part of such a region, or if @how requires writing and the
 * region does not allow local writes; -ERESTARTSYS on a signal; -EIO if the device is being
 * removed or moved; or an error of iwt_odp_fill().
 */
int iwt_mr_prefetch(struct iwt_dev *dev, const struct ib_pd *pd,
		    const struct ib_sge *sge, enum iwt_odp_how how)
{
	struct ib_sge rest = *sge;
	int ret;

	do {
		u32 n = min_t(u32, rest.length, PIECE);

		ret = fetch_piece(dev, pd, &rest, how);
		rest.addr += n;
		rest.length -= n;
	} while (!ret && rest.length);
	return ret;
}

/**
 * iwt_mr_prefetch_end() - end the prefetch calls that wait, and refuse new calls
 * @dev: device that is about to be removed, or to move to another network namespace
 *
 * This function does not wait until the calls have returned. Process context, never sleeps.
 */
void iwt_mr_prefetch_end(struct iwt_dev *dev)
{
	struct prefetch *p;

	spin_lock(&prefetches_lock);
	dev->ends = true;
	list_for_each_entry(p, &prefetches, entry)
		if (p->dev == dev)
			complete(&p->over);
	spin_unlock(&prefetches_lock);
}

/**
 * iwt_mr_prefetch_begin() - allow prefetch calls
 * @dev: device that is new, or has moved to another network namespace
 *
 * Process context, never sleeps.
 */
void iwt_mr_prefetch_begin(struct iwt_dev *dev)
{
	spin_lock(&prefetches_lock);
	dev->ends = false;
	spin_unlock(&prefetches_lock);
}
