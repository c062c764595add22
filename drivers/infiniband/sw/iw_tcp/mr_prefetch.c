// SPDX-License-Identifier: GPL-2.0
/*
 * A process says which memory will be accessed soon, and waits until it is there.
 *
 * Its page faults are the pager's, as those of streams are: they may take for ever, and a
 * system call on the device holds up the end of the device, and all that waits for that end,
 * until it returns. So the call waits for the pager, and no longer than until a signal comes, or
 * the end of the device.
 */
#include "mr_priv.h"

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/minmax.h>

#include "dev.h"

/* Bytes that are asked for at once; then others of the process get their turn. */
#define PIECE		(1024 << 10)

/**
 * struct prefetch - a call that waits
 * @fault: what it waits for
 * @entry: place in the list of all
 * @dev: its device
 * @over: the wait is
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

/* Return: false if the device is about to end. */
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

/* Ask for the first piece of @sge, which is in a region of the calling process. */
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

/* Return: 0, why the memory did not come, or why it is waited for no longer. */
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
 * iwt_mr_prefetch() - a process says what will be accessed soon
 * @dev: device
 * @pd: protection domain
 * @sge: a part of a region of the calling process that is not pinned
 * @how: what is done about pages that are absent
 *
 * Process context, may sleep.
 *
 * Return: 0, -EFAULT if it is no such part, or if it may not be written and is to be,
 * -ERESTARTSYS if a signal came first, -EIO if the device ends, or as iwt_odp_fill().
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
 * iwt_mr_prefetch_end() - nobody waits for memory any longer
 * @dev: device, which is about to end
 *
 * May sleep.
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
 * iwt_mr_prefetch_begin() - the device can be used, perhaps again
 * @dev: device
 *
 * May sleep.
 */
void iwt_mr_prefetch_begin(struct iwt_dev *dev)
{
	spin_lock(&prefetches_lock);
	dev->ends = false;
	spin_unlock(&prefetches_lock);
}
