// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a process that is not pinned: a table of the pages that are present, which follows
 * the page tables of the process.
 *
 * The table has no references to pages. What makes a page safe to use is the MMU notifier: before
 * the kernel takes a page away, writes it to disk, shares it with a child or protects it, it
 * calls invalidate(), and waits for it. That takes the lock of the region for writing, and so
 * waits for engines that copy, and forgets the page. Afterwards the page is absent here, whether
 * or not the process still has it, until iwt_odp_fill() asks for it as the process would: with
 * all that a page fault of the process does, a copy of a shared page included.
 *
 * A page goes into the table only if nothing was invalidated since before it was asked for
 * (mmu_interval_read_retry()).
 */
#include "odp.h"

#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "stats.h"

/* Pages asked for together. */
#define FILL		16
/* Attempts for these, while the process changes its memory; then others get their turn. */
#define TRIES		8
/* Pages forgotten before engines get their turn. */
#define FORGET		1024

#define WRITABLE	1UL	/* tag of a page in the table */

/**
 * struct iwt_odp - the pages of a region that are present
 * @ref: the region, and whoever fills the table
 * @notifier: tells what happens to the memory
 * @dev: device, for its counters; only while @notifier is registered
 * @start: user address of the region's first octet
 * @len: octets of the region
 * @mm: address space; to be compared, and for its size
 * @lock: that of the region; readers use pages, writers change @pages. Only while it is not
 *	@ended
 * @life: guards @ended; taken before @lock, BH off
 * @ended: the region is gone
 * @pages: kernel addresses of pages that are present, by user page number
 */
struct iwt_odp {
	struct kref ref;
	struct mmu_interval_notifier notifier;
	struct iwt_dev *dev;
	u64 start;
	u64 len;
	struct mm_struct *mm;
	rwlock_t *lock;
	spinlock_t life;
	bool ended;
	struct xarray pages;
};

/* Some pages from @first on. Return: the page to go on with, or 0 if none is left. */
static unsigned long forget(struct iwt_odp *odp, unsigned long first,
			    unsigned long last)
{
	XA_STATE(xas, &odp->pages, first);
	unsigned long n = 0, next = 0;
	void *entry;

	xas_lock(&xas);
	xas_for_each(&xas, entry, last) {
		if (n++ == FORGET) {
			next = xas.xa_index;
			break;
		}
		xas_store(&xas, NULL);
	}
	xas_unlock(&xas);
	return next;
}

/* Called before page tables change; what is forgotten when this returns is not used any more. */
static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct iwt_odp *odp = container_of(notifier, struct iwt_odp, notifier);
	unsigned long next = range->start >> PAGE_SHIFT;

	/* there the lock may sleep */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !mmu_notifier_range_blockable(range))
		return false;
	iwt_count(odp->dev, IWT_C_ODP_INVALIDATE);
	do {
		write_lock_bh(odp->lock);
		mmu_interval_set_seq(notifier, seq);
		next = forget(odp, next, (range->end - 1) >> PAGE_SHIFT);
		write_unlock_bh(odp->lock);
		if (mmu_notifier_range_blockable(range))
			cond_resched();
	} while (next);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

/**
 * iwt_odp_new() - a table for memory of the calling process
 * @dev: device
 * @start: user address
 * @len: octets, not 0; they need not be mapped
 * @lock: that of the region; it lives until iwt_odp_end() returns
 * @gfp: how the memory is allocated
 *
 * May sleep.
 *
 * Return: the table, without pages, or an error pointer.
 */
struct iwt_odp *iwt_odp_new(struct iwt_dev *dev, u64 start, u64 len,
			    rwlock_t *lock, gfp_t gfp)
{
	struct iwt_odp *odp;
	int ret;

	if (start > ULONG_MAX || len > ULONG_MAX)
		return ERR_PTR(-EINVAL);
	/* notifiers know no tags */
	start = untagged_addr((unsigned long)start);
	odp = kzalloc_obj(*odp, gfp);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	kref_init(&odp->ref);
	odp->dev = dev;
	odp->start = start;
	odp->len = len;
	odp->mm = current->mm;
	odp->lock = lock;
	spin_lock_init(&odp->life);
	xa_init_flags(&odp->pages, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	ret = mmu_interval_notifier_insert(&odp->notifier, current->mm, start,
					   len, &notifier_ops);
	if (!ret)
		return odp;
	kfree(odp);
	return ERR_PTR(ret);
}

static void free_odp(struct kref *ref)
{
	kfree(container_of(ref, struct iwt_odp, ref));
}

/**
 * iwt_odp_get() - take a reference
 * @odp: table
 *
 * Any context.
 */
void iwt_odp_get(struct iwt_odp *odp)
{
	kref_get(&odp->ref);
}

/**
 * iwt_odp_put() - drop a reference
 * @odp: table
 *
 * Any context.
 */
void iwt_odp_put(struct iwt_odp *odp)
{
	kref_put(&odp->ref, free_odp);
}

/**
 * iwt_odp_end() - the region ends
 * @odp: table; nobody looks anything up in it any more. The reference of its maker is gone
 *	afterwards
 *
 * Does not wait for a page fault under way. May sleep: it waits for invalidations.
 */
void iwt_odp_end(struct iwt_odp *odp)
{
	spin_lock_bh(&odp->life);
	WRITE_ONCE(odp->ended, true);
	spin_unlock_bh(&odp->life);
	mmu_interval_notifier_remove(&odp->notifier);
	xa_destroy(&odp->pages);
	iwt_odp_put(odp);
}

/**
 * iwt_odp_piece() - octets that are present
 * @odp: table; the lock of the region is held, for reading at least
 * @off: octet of the region
 * @max: octets wanted, which are within the region
 * @len: takes how many there are in one piece
 * @write: they are to be written
 *
 * Any context but hard interrupts.
 *
 * Return: the memory, which stays as long as the lock is held, or NULL if it is absent.
 */
u8 *iwt_odp_piece(const struct iwt_odp *odp, u64 off, u32 max, u32 *len,
		  bool write)
{
	u64 va = odp->start + off;
	void *page = xa_load((struct xarray *)&odp->pages, va >> PAGE_SHIFT);

	if (!page || (write && xa_pointer_tag(page) != WRITABLE)) {
		*len = 0;
		return NULL;
	}
	*len = min_t(u32, max, PAGE_SIZE - offset_in_page(va));
	return (u8 *)xa_untag_pointer(page) + offset_in_page(va);
}

/**
 * iwt_odp_va() - where the process has an octet
 * @odp: table
 * @off: octet of the region
 *
 * Any context.
 *
 * Return: the user address.
 */
u64 iwt_odp_va(const struct iwt_odp *odp, u64 off)
{
	return odp->start + off;
}

/**
 * iwt_odp_is_of() - is this memory of that address space?
 * @odp: table
 * @mm: address space
 *
 * Any context.
 *
 * Return: true if so.
 */
bool iwt_odp_is_of(const struct iwt_odp *odp, const struct mm_struct *mm)
{
	return odp->mm == mm;
}

/* What is noted for reading only must not replace what may be written. */
static void note(struct iwt_odp *odp, unsigned long index, struct page *page,
		 bool write)
{
	void *was = xa_load(&odp->pages, index);

	if (was && (!write || xa_pointer_tag(was) == WRITABLE))
		return;
	/* its place is reserved; if not, it stays absent */
	xa_store(&odp->pages, index,
		 xa_tag_pointer(page_address(page), write ? WRITABLE : 0), 0);
}

/* Return: false if something was invalidated meanwhile. */
static bool note_all(struct iwt_odp *odp, unsigned long index,
		     struct page **pages, int n, bool write, unsigned long seq)
{
	bool good = false;
	int i;

	spin_lock_bh(&odp->life);
	if (!odp->ended) {
		write_lock(odp->lock);
		good = !mmu_interval_read_retry(&odp->notifier, seq);
		for (i = 0; good && i < n; i++)
			note(odp, index + i, pages[i], write);
		write_unlock(odp->lock);
	}
	spin_unlock_bh(&odp->life);
	return good;
}

/* Places in the table, so that it needs no memory while it is locked. */
static int reserve(struct iwt_odp *odp, unsigned long index, int n)
{
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = xa_reserve_bh(&odp->pages, index + i, GFP_KERNEL);
	return ret;
}

static void unreserve(struct iwt_odp *odp, unsigned long index, int n)
{
	int i;

	local_bh_disable();
	for (i = 0; i < n; i++)
		xa_release(&odp->pages, index + i);
	local_bh_enable();
}

/* @write is cleared if they may only be read. */
static int get_present(unsigned long va, int n, struct page **pages, bool *write)
{
	int got = get_user_pages_fast_only(va, n, FOLL_WRITE, pages);

	if (got > 0)
		return got;
	*write = false;
	return get_user_pages_fast_only(va, n, 0, pages);
}

static int get_pages(unsigned long index, int n, enum iwt_odp_how how,
		     struct page **pages, bool *write)
{
	unsigned long va = index << PAGE_SHIFT;
	int got;

	*write = how != IWT_ODP_READ;
	if (how == IWT_ODP_NO_FAULT)
		return get_present(va, n, pages, write);
	got = get_user_pages_fast(va, n, *write ? FOLL_WRITE : 0, pages);
	return got ?: -EFAULT;
}

static void give_back(struct page **pages, int n)
{
	while (n--)
		put_page(pages[n]);
}

/*
 * Engines may write the page as long as it is in the table, and nobody learns when. So it is
 * dirty from the beginning. Before it is cleaned, it is invalidated.
 */
static void dirty(struct page **pages, int n)
{
	while (n--)
		if (!PageDirty(pages[n]))
			set_page_dirty_lock(pages[n]);
}

/* Return: how many were found, of which none may have been noted; or -errno. */
static int try_pages(struct iwt_odp *odp, unsigned long index, int n,
		     enum iwt_odp_how how, bool *noted)
{
	struct page *pages[FILL];
	unsigned long seq;
	bool write;
	int got, ret;

	seq = mmu_interval_read_begin(&odp->notifier);
	got = get_pages(index, n, how, pages, &write);
	if (got <= 0)
		return got;
	ret = reserve(odp, index, got);
	if (!ret && write)
		dirty(pages, got);
	*noted = !ret && note_all(odp, index, pages, got, write, seq);
	if (!*noted)
		unreserve(odp, index, got);
	give_back(pages, got);
	return ret ?: got;
}

static int fill_some(struct iwt_odp *odp, unsigned long index, int n,
		     enum iwt_odp_how how)
{
	int tries, got = 0;
	bool noted = false;

	for (tries = 0; tries < TRIES && !noted; tries++) {
		if (READ_ONCE(odp->ended))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		got = try_pages(odp, index, n, how, &noted);
		if (got <= 0)
			break;
		cond_resched();
	}
	return got;
}

/**
 * iwt_odp_fill() - take note of pages that are present, or make them present
 * @odp: table, to which the caller has a reference
 * @off: octet of the region
 * @len: octets, not 0; those behind the region do not count
 * @how: what is done about pages that are absent; with IWT_ODP_NO_FAULT it ends at the first of
 *	them
 *
 * While the process goes on changing its memory, pages may be absent afterwards. The caller is
 * the process, or a thread that uses its address space. May sleep, as long as a page fault may
 * take: the memory may be a file on a server, or the process may serve page faults itself.
 *
 * Return: 0, -EFAULT if there is no such memory or the region has ended, -EINTR if the process
 * is being killed, or -ENOMEM.
 */
int iwt_odp_fill(struct iwt_odp *odp, u64 off, u64 len, enum iwt_odp_how how)
{
	unsigned long index, last;
	int got;

	if (off >= odp->len)
		return 0;
	len = min(len, odp->len - off);
	index = (odp->start + off) >> PAGE_SHIFT;
	last = (odp->start + off + len - 1) >> PAGE_SHIFT;
	while (index <= last) {
		int n = min_t(unsigned long, last - index + 1, FILL);

		/* a tagged address finds pages, too, but would not be invalidated */
		if (index >= odp->mm->task_size >> PAGE_SHIFT)
			return -EFAULT;
		got = fill_some(odp, index, n, how);
		if (got <= 0)
			return got;
		index += got;
	}
	return 0;
}
