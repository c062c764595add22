// SPDX-License-Identifier: GPL-2.0
/*
 * The list of all pagers that refer to an address space. So pagers of the same address space find
 * each other, and the driver can limit the number of page faults that do not end.
 *
 * A signal to a worker does not end each page fault. For example, a request that a FUSE server
 * has already read ends only if the server answers or ends. Such a worker stays blocked after its
 * region was destroyed or its process has exited, and nobody is charged for the worker's thread.
 * So a process could begin such page faults again and again, each time with a new region, or in a
 * new child. To prevent this, a user who has left too many such workers gets no new pager.
 */
#include "mr_odp_pager_priv.h"

#include <linux/atomic.h>
#include <linux/mm_types.h>
#include <linux/slab.h>

#include "user.h"

/* Maximum number of blocked workers that a user may leave, before new pagers are refused. */
#define LEFT_MAX	256

static DEFINE_SPINLOCK(pagers_lock);
/* The pagers that refer to an address space, also those whose last region has ended. */
static struct list_head pagers __guarded_by(&pagers_lock) = LIST_HEAD_INIT(pagers);

static void free_workers(struct kref *ref)
{
	kfree(container_of(ref, struct iwt_mm_workers, ref));
}

/**
 * iwt_mm_workers_new() - allocate the count of the workers of an address space
 * @gfp: GFP flags
 *
 * Return: the count with one reference, or NULL.
 */
struct iwt_mm_workers *iwt_mm_workers_new(gfp_t gfp)
{
	struct iwt_mm_workers *w = kzalloc_obj(*w, gfp);

	if (!w)
		return NULL;
	kref_init(&w->ref);
	spin_lock_init(&w->lock);
	return w;
}

/* Drop a reference. Any context. */
void iwt_mm_workers_put(struct iwt_mm_workers *w)
{
	kref_put(&w->ref, free_workers);
}

/* Change the number of workers that use the address space. Any context but hard interrupts. */
void iwt_mm_workers_count(struct iwt_mm_workers *w, int n)
{
	spin_lock_bh(&w->lock);
	w->users += n;
	spin_unlock_bh(&w->lock);
}

/**
 * iwt_pager_only_workers() - do only workers of pagers use the address space of a pager?
 * @p: pager, in the list, or with a reference of the caller
 *
 * Any context but hard interrupts.
 */
bool iwt_pager_only_workers(struct iwt_pager *p)
{
	struct iwt_mm_workers *w = p->of_mm;
	bool only;

	spin_lock_bh(&w->lock);
	/*
	 * w->users is incremented after mm_users, and decremented before mm_users. So w->users is
	 * never too high, and the result is never true while another user of the address space
	 * exists. p->mm is NULL only after mm_users has become 0, and then w->users is 0.
	 */
	only = w->users && atomic_read(&p->mm->mm_users) <= w->users;
	spin_unlock_bh(&w->lock);
	return only;
}

static unsigned int busy_workers(struct iwt_pager *p)
{
	struct iwt_pager_worker *w;
	unsigned int n = 0;

	spin_lock_bh(&p->lock);
	for (w = p->workers; w < p->workers + IWT_PAGER_WORKERS; w++)
		n += w->busy;
	spin_unlock_bh(&p->lock);
	return n;
}

/**
 * iwt_pagers_may_add() - may the calling process create another pager?
 *
 * Workers of a user count if the regions of their pager were destroyed, or if the process has
 * exited. Process context, never sleeps.
 *
 * Return: true; false if too many such workers of the caller's user are blocked.
 */
bool iwt_pagers_may_add(void)
{
	uid_t user = iwt_user_of_caller();
	unsigned int left = 0;
	struct iwt_pager *p;

	spin_lock(&pagers_lock);
	list_for_each_entry(p, &pagers, all)
		if (p->user == user && (p->retired || iwt_pager_only_workers(p)))
			left += busy_workers(p);
	spin_unlock(&pagers_lock);
	return left < LEFT_MAX;
}

/* Add a new pager to the list. @same: a pager in the list with the same address space, or NULL */
static void pager_list(struct iwt_pager *new, struct iwt_pager *same)
	__must_hold(&pagers_lock)
{
	if (same) {
		iwt_mm_workers_put(new->of_mm);
		new->of_mm = same->of_mm;
		kref_get(&new->of_mm->ref);
	}
	list_add(&new->all, &pagers);
}

/**
 * iwt_pagers_find() - find the pager of an address space, and increment its number of regions
 * @dev: device of the regions
 * @mm: address space
 * @new: a pager of @mm that is added to the list if there is no other, or NULL
 *
 * Process context, never sleeps.
 *
 * Return: the pager, or NULL if there is none.
 */
struct iwt_pager *iwt_pagers_find(const struct iwt_dev *dev, const struct mm_struct *mm,
				  struct iwt_pager *new)
{
	struct iwt_pager *p, *same = NULL;

	spin_lock(&pagers_lock);
	list_for_each_entry(p, &pagers, all) {
		if (p->mm != mm)
			continue;
		if (p->dev == dev && !p->retired) {
			p->regions++;
			goto out;
		}
		same = p;
	}
	p = NULL;
	if (new)
		pager_list(new, same);
out:
	spin_unlock(&pagers_lock);
	return p;
}

/* From now on no new region uses the pager. */
static bool retire(struct iwt_pager *p)
	__must_hold(&pagers_lock)
{
	bool first = !p->retired;

	p->retired = true;
	return first;
}

/**
 * iwt_pagers_retire() - prevent that new regions use a pager
 * @p: pager whose process has exited
 *
 * Process context, never sleeps.
 *
 * Return: true only for the first caller, which then has to call iwt_odp_end().
 */
bool iwt_pagers_retire(struct iwt_pager *p)
{
	bool first;

	spin_lock(&pagers_lock);
	first = retire(p);
	spin_unlock(&pagers_lock);
	return first;
}

/**
 * iwt_pagers_leave() - decrement the number of regions of a pager
 * @p: pager
 * @first: receives the result of iwt_pagers_retire() if there is no region any more, else false
 *
 * Process context, never sleeps.
 *
 * Return: true if there is no region any more.
 */
bool iwt_pagers_leave(struct iwt_pager *p, bool *first)
{
	bool none;

	spin_lock(&pagers_lock);
	none = !--p->regions;
	*first = none && retire(p);
	spin_unlock(&pagers_lock);
	return none;
}

/**
 * iwt_pagers_remove() - remove a pager from the list, if it is in the list
 * @p: pager, which no worker uses any more
 *
 * Process context, never sleeps.
 *
 * Return: the address space, whose reference the caller has to drop; NULL after the first call.
 */
struct mm_struct *iwt_pagers_remove(struct iwt_pager *p)
{
	struct mm_struct *mm;

	spin_lock(&pagers_lock);
	list_del_init(&p->all);
	mm = p->mm;
	p->mm = NULL;
	spin_unlock(&pagers_lock);
	return mm;
}
