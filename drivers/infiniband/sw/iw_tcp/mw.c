// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows.
 *
 * A window is an STag for a part of a region of a process, with rights of its own. The process
 * binds the window by a work request, so rights are granted and withdrawn in the order of the
 * work requests. A window of type 1 can be used by all streams of its protection domain. A window
 * of type 2 can be used only by the stream that bound the window (RFC 5041 8.2), and the end of
 * the stream ends the binding. The driver also checks the protection domain; verbs call such
 * windows type 2B.
 *
 * For the engines a window is a region: it has bounds, a lock and an entry in the table of STags.
 * The window uses the extents of its region. The region counts its windows, and can be neither
 * changed nor destroyed while windows are bound to the region. A thread that ends a binding holds
 * the window's lock for writing. So no engine uses the memory through this window afterwards, and
 * the region may be destroyed.
 *
 * No thread holds the locks of a region and of a window at the same time. dev->windows_lock nests
 * inside the lock of a window.
 */
#include "mw.h"

#include <linux/sched.h>
#include <linux/slab.h>

#include "dev.h"
#include "mr_priv.h"

/*
 * Access flags of windows that the driver supports. Programs set IB_ACCESS_LOCAL_WRITE together
 * with IB_ACCESS_REMOTE_WRITE, as for a region. The driver ignores IB_ACCESS_LOCAL_WRITE: a
 * window has no local rights.
 */
#define ACCESS_KNOWN	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE | \
			 IB_ZERO_BASED)

/**
 * struct iwt_window - memory window
 * @mr: STag of the window; the first member. @mr.lock also guards @pd and @region
 * @type2: the window is for one stream only; does not change
 * @pd: protection domain; NULL once the window is being destroyed
 * @region: region that the window is bound to, or NULL; @mr is valid if @region is not NULL
 * @node: type 2: place in the list of the stream that bound the window; guarded by
 *	dev->windows_lock
 */
struct iwt_window {
	struct iwt_mr mr;
	bool type2;
	const struct ib_pd *pd;
	struct iwt_mr *region;
	struct list_head node;
};

static struct iwt_window *to_window(struct iwt_mr *mr)
{
	return container_of(mr, struct iwt_window, mr);
}

/**
 * iwt_mw_create() - create a window that is not bound
 * @pd: protection domain
 * @type2: the window is for one stream only
 *
 * Process context, may sleep.
 *
 * Return: the window, or the error pointer -ENOMEM, also when the device has %IWT_MAX_MW windows.
 */
struct iwt_window *iwt_mw_create(struct ib_pd *pd, bool type2)
{
	struct iwt_window *win = kzalloc_obj(*win, iwt_mr_gfp(pd));
	int ret;

	if (!win)
		return ERR_PTR(-ENOMEM);
	iwt_mr_init(&win->mr, pd, IWT_MR_WINDOW);
	win->type2 = type2;
	win->pd = pd;
	INIT_LIST_HEAD(&win->node);
	ret = iwt_mr_publish(&win->mr);
	if (ret) {
		kfree(win);
		return ERR_PTR(ret);
	}
	return win;
}

/* Return: the STag of a new window; a later binding may change its key. Any context. */
u32 iwt_mw_stag(const struct iwt_window *win)
{
	return win->mr.ibmr.rkey;
}

/*
 * Decrement the region's count of windows. When this function is called, no engine may use the
 * region through the window any more.
 */
static void leave_region(struct iwt_mr *region)
{
	/* pairs with iwt_mr_has_windows() */
	atomic_dec_return_release(&region->windows);
}

/* Unbind a window, if it is bound. Afterwards no engine uses the memory through this window. */
static void mw_unbind(struct iwt_window *win)
{
	struct iwt_dev *dev = win->mr.dev;
	struct iwt_mr *region = win->region;

	iwt_fair_assert_write(&win->mr.lock);
	if (!region)
		return;
	win->mr.region = (struct iwt_region){};
	win->mr.map = (struct iwt_extents){};
	win->region = NULL;
	if (win->type2) {
		spin_lock_bh(&dev->windows_lock);
		list_del_init(&win->node);
		spin_unlock_bh(&dev->windows_lock);
	}
	leave_region(region);
}

/**
 * iwt_mw_destroy() - destroy a window, bound or not
 * @win: window; freed after an RCU grace period
 *
 * Process context, may sleep. Waits for engines that copy.
 */
void iwt_mw_destroy(struct iwt_window *win)
{
	iwt_fair_write_lock_bh(&win->mr.lock);
	mw_unbind(win);
	/* a late work request must not bind the window again */
	win->pd = NULL;
	iwt_fair_write_unlock_bh(&win->mr.lock);
	iwt_mr_retract(&win->mr);
	kfree_rcu(win, mr.rcu);
}

/*
 * Is the region fully created? While uverbs creates, changes or destroys an MR, uverbs holds the
 * uobject for writing: usecnt is negative. If the creation fails, uverbs destroys the MR, and the
 * destruction must not fail. So no window may be bound before the MR is fully created.
 */
static bool mw_is_settled(const struct iwt_mr *region)
{
	const struct ib_uobject *uobj = READ_ONCE(region->ibmr.uobject);

	return uobj && atomic_read(&uobj->usecnt) >= 0;
}

/*
 * Check whether the region allows the binding. If so, increment its count of windows. Return: the
 * region, which can be neither changed nor destroyed before leave_region(); NULL if there is no
 * such region, or if the region does not allow the binding.
 */
static struct iwt_mr *enter_region(struct iwt_dev *dev,
				   const struct iwt_mw_bind *b,
				   const struct iwt_party *party)
{
	struct iwt_mr *region = iwt_mr_get(dev, b->lkey);
	u32 need = IWT_BIND_WINDOWS;
	bool ok;

	if (!region)
		return NULL;
	/* verbs allow remote writes and atomic operations only together with local writes */
	if (b->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		need |= IWT_LOCAL_WRITE;
	ok = mw_is_settled(region) &&
	     iwt_access_check(&region->region, party, b->addr, b->len,
			      need) == IWT_ACCESS_OK;
	if (ok)
		atomic_inc(&region->windows);
	iwt_mr_put(region);
	return ok ? region : NULL;
}

/*
 * May the work request bind or unbind this window? A window of type 1 can be bound again without
 * being unbound first, and is unbound by the length 0, but can't be zero based. A window of type
 * 2 can be bound only while the window is not bound.
 */
static bool may_bind(const struct iwt_window *win, const struct iwt_mw_bind *b,
		     const struct iwt_party *party)
{
	if (win->pd != party->pd)
		return false;
	if (win->type2)
		return b->len && !win->region;
	return !(b->access & IB_ZERO_BASED);
}

/* Bind a window that is not bound. */
static void mw_bind(struct iwt_window *win, struct iwt_mr *region,
		    const struct iwt_mw_bind *b, const struct iwt_party *party,
		    struct list_head *list)
{
	u64 base = b->access & IB_ZERO_BASED ? 0 : b->addr;

	iwt_fair_assert_write(&win->mr.lock);
	win->region = region;
	win->mr.map = region->map;
	win->mr.origin = region->origin + base - b->addr;
	win->mr.region = (struct iwt_region){
		.base = base,
		.len = b->len,
		.rights = iwt_remote_rights(b->access),
		.valid = true,
		.owner = win->type2 ? party : party->pd,
	};
	if (!win->type2)
		return;
	spin_lock_bh(&win->mr.dev->windows_lock);
	list_add(&win->node, list);
	spin_unlock_bh(&win->mr.dev->windows_lock);
}

/**
 * iwt_mw_bind() - work request BIND_MW
 * @dev: device
 * @b: private copy of the parameters
 * @party: PD and stream for which the window is bound
 * @list: list of the bound windows of type 2 of the stream of @party
 *
 * Waits for engines that use the window; never sleeps. If this function returns an error, the
 * window does not change.
 *
 * Return: IWT_OK, or IWT_ERR_LOCAL: the window or the region does not exist; the window, the
 * region and the queue pair are not in the same domain; a window of type 2 is already bound, or
 * would be unbound by the length 0; a window of type 1 would be zero based; the region is too
 * short, does not have a right that the binding needs, or is not a pinned region that is fully
 * created; or an access flag is not supported.
 */
u32 iwt_mw_bind(struct iwt_dev *dev, const struct iwt_mw_bind *b,
		const struct iwt_party *party, struct list_head *list)
{
	struct iwt_mr *region = NULL, *mr;
	u32 err = IWT_ERR_LOCAL;

	if (b->access & ~ACCESS_KNOWN)
		return IWT_ERR_LOCAL;
	if (b->len) {
		region = enter_region(dev, b, party);
		if (!region)
			return IWT_ERR_LOCAL;
	}
	mr = iwt_mr_get_for_change(dev, b->stag);
	if (mr && mr->kind == IWT_MR_WINDOW &&
	    may_bind(to_window(mr), b, party)) {
		mw_unbind(to_window(mr));
		mr->stag = b->stag;
		if (region)
			mw_bind(to_window(mr), region, b, party, list);
		region = NULL;
		err = IWT_OK;
	}
	if (mr)
		iwt_mr_put_changed(mr);
	if (region)
		leave_region(region);
	return err;
}

/*
 * A consumer may invalidate a window that is not bound; then the key is not compared, as with a
 * region. A window of type 1 can't be invalidated. Return: IWT_OK or IWT_ERR_*.
 */
static u32 check_mw_invalidate(const struct iwt_window *win, u32 stag,
			       const struct iwt_party *party, bool remote)
{
	const struct iwt_region *r = &win->mr.region;

	if (remote && (win->mr.stag != stag || !r->valid))
		return IWT_ERR_OP_INVAL;
	if (win->pd != party->pd || (win->type2 && r->valid && r->owner != party))
		return remote ? IWT_ERR_PROT_INVAL : IWT_ERR_LOCAL;
	if (!win->type2)
		return remote ? IWT_ERR_OP_INVAL : IWT_ERR_LOCAL;
	return r->valid && win->mr.stag != stag ? IWT_ERR_LOCAL : IWT_OK;
}

/**
 * iwt_mw_invalidate() - end the binding of a window
 * @mr: region of kind IWT_MR_WINDOW, from iwt_mr_get_for_change()
 * @stag: STag; its key is ignored if a consumer invalidates a window that is not bound
 * @party: PD and stream for which the window is invalidated; while a window of type 2 is bound,
 *	only the stream that bound the window may invalidate it
 * @remote: true if the peer invalidates the window, false if a consumer does
 *
 * Never sleeps; the caller holds the lock of the window for writing.
 *
 * Return: IWT_OK; or, if @remote, the error for a Terminate (RFC 5040 4.8), otherwise
 * IWT_ERR_LOCAL.
 */
u32 iwt_mw_invalidate(struct iwt_mr *mr, u32 stag, const struct iwt_party *party,
		      bool remote)
{
	u32 err = check_mw_invalidate(to_window(mr), stag, party, remote);

	if (!err)
		mw_unbind(to_window(mr));
	return err;
}

static struct iwt_window *first_of(struct iwt_dev *dev, struct list_head *list)
{
	struct iwt_window *win;

	spin_lock_bh(&dev->windows_lock);
	win = list_first_entry_or_null(list, struct iwt_window, node);
	spin_unlock_bh(&dev->windows_lock);
	return win;
}

/**
 * iwt_mw_any() - check whether a stream has a bound window of type 2
 * @dev: device
 * @list: list of the bound windows of type 2 of the stream
 *
 * Any context but hard interrupts; the lock of the stream may be held.
 *
 * Return: true if a window is bound now.
 */
bool iwt_mw_any(struct iwt_dev *dev, struct list_head *list)
{
	bool any;

	spin_lock_bh(&dev->windows_lock);
	any = !list_empty(list);
	spin_unlock_bh(&dev->windows_lock);
	return any;
}

/**
 * iwt_mw_end() - unbind all windows of type 2 of a stream that ends
 * @dev: device
 * @party: party of the stream
 * @list: list of the bound windows of type 2 of the stream, which binds no window any more
 *
 * Process context, may sleep. Waits for engines that use the windows.
 */
void iwt_mw_end(struct iwt_dev *dev, const struct iwt_party *party,
		struct list_head *list)
{
	struct iwt_window *win;

	do {
		/* another thread may destroy the window: RCU delays the release of its memory */
		rcu_read_lock();
		win = first_of(dev, list);
		if (win) {
			iwt_fair_write_lock_bh(&win->mr.lock);
			/*
			 * before the lock was acquired, the window may have been unbound, and
			 * then bound by another stream
			 */
			if (win->mr.region.owner == party)
				mw_unbind(win);
			iwt_fair_write_unlock_bh(&win->mr.lock);
		}
		rcu_read_unlock();
		cond_resched();
	} while (win);
}
