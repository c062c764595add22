// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a process that is not pinned: a table of the pages that are present, which follows
 * the page tables of the process.
 *
 * An address space has one table for each device, however many regions it has there, and however
 * they overlap: what the kernel does for a page that goes does not depend on their number.
 *
 * The table has no references to pages. What makes a page safe to use is the MMU notifier: before
 * the kernel takes a page away, writes it to disk, shares it with a child or protects it, it
 * calls invalidate(), and waits for it. That forgets the page, and waits for engines that copy.
 * Afterwards the page is absent here, whether or not the process still has it, until
 * iwt_odp_fill() asks for it as the process would: with all that a page fault of the process
 * does, a copy of a shared page included.
 *
 * A page goes into the table only if it was not invalidated since before it was asked for.
 */
#include "mr_odp_pages.h"

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "stats.h"

/* Pages asked for together. */
#define FILL		16
/* Attempts for these, while the process changes its memory; then others get their turn. */
#define TRIES		8
/* Pages forgotten before engines get their turn. */
#define FORGET		1024

/* Pages among these that engines wrote; they are made dirty before more are forgotten. */
#define WRITTEN_MAX	16

/* Tags of a page in the table; without one it may only be read. */
#define WRITABLE	1UL
#define WRITTEN		3UL	/* and was, by an engine */

/**
 * struct iwt_odp - the pages of an address space that are present
 * @notifier: tells what happens to the address space, from its first to its last byte
 * @dev: device, for its counters; only while @notifier is registered
 * @mm: address space; to be compared, and for its size
 * @lock: readers use pages; a writer waits until they have left those that are forgotten
 * @pages: kernel addresses of pages that are present, by user page number. Its lock, BH off,
 *	guards what follows, and is inside @lock
 * @asked: pages that are being asked for
 * @ended: nobody uses the table any more
 * @gone: called with @arg when the process has given up the address space
 * @arg: its argument
 */
struct iwt_odp {
	struct mmu_interval_notifier notifier;
	struct iwt_dev *dev;
	struct mm_struct *mm;
	rwlock_t lock;
	struct xarray pages;
	struct list_head asked;
	bool ended;
	void (*gone)(void *arg);
	void *arg;
};

/* Pages that somebody asks the process for, from @first to @last. */
struct asked {
	struct list_head entry;
	unsigned long first;
	unsigned long last;
	bool stale;	/* one of them was invalidated meanwhile */
};

/* What is being asked for may be what is going. */
static void mark_stale(struct iwt_odp *odp, unsigned long first,
		       unsigned long last)
{
	struct asked *a;

	list_for_each_entry(a, &odp->asked, entry)
		if (a->first <= last && a->last >= first)
			a->stale = true;
}

/* Pages that were forgotten together */
struct forgotten {
	unsigned long n;
	int n_written;
	struct page *written[WRITTEN_MAX];	/* with a reference */
};

static void note_forgotten(struct forgotten *f, void *entry)
{
	struct page *page;

	f->n++;
	if (xa_pointer_tag(entry) != WRITTEN)
		return;
	page = virt_to_page(xa_untag_pointer(entry));
	get_page(page);
	f->written[f->n_written++] = page;
}

/*
 * Some pages from @next on, which is moved behind them, or becomes 0 if none is left. Places that
 * are reserved stay.
 */
static void forget(struct iwt_odp *odp, unsigned long *next, unsigned long last,
		   struct forgotten *f)
{
	XA_STATE(xas, &odp->pages, *next);
	void *entry;

	*next = 0;
	xas_for_each(&xas, entry, last) {
		if (f->n == FORGET || f->n_written == WRITTEN_MAX) {
			*next = xas.xa_index;
			break;
		}
		if (xa_is_zero(entry))
			continue;
		note_forgotten(f, entry);
		xas_store(&xas, NULL);
	}
}

/* Whoever has the page locked waits for this, or takes the page out of its file. */
static void dirty(struct page *page)
{
	bool locked = trylock_page(page);

	if (!PageDirty(page))
		set_page_dirty(page);
	if (locked)
		unlock_page(page);
}

/*
 * Engines that have found what is forgotten by now leave it. What they wrote is dirty then: by a
 * page table that may be written the process could have written it, and need not have. A file
 * system that wants to know has a page dirty before a page table may be written.
 */
static void part_with(struct iwt_odp *odp, struct forgotten *f)
{
	write_lock_bh(&odp->lock);
	write_unlock_bh(&odp->lock);
	while (f->n_written--) {
		dirty(f->written[f->n_written]);
		put_page(f->written[f->n_written]);
	}
}

/* Called before page tables change; what is forgotten when this returns is not used any more. */
static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct iwt_odp *odp = container_of(notifier, struct iwt_odp, notifier);
	unsigned long next = range->start >> PAGE_SHIFT;
	unsigned long last = (range->end - 1) >> PAGE_SHIFT;
	bool any = false;

	/* there the lock may sleep */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !mmu_notifier_range_blockable(range))
		return false;
	do {
		struct forgotten f = {};

		xa_lock_bh(&odp->pages);
		mmu_interval_set_seq(notifier, seq);
		mark_stale(odp, next, last);
		forget(odp, &next, last, &f);
		xa_unlock_bh(&odp->pages);
		any |= f.n;
		if (f.n)
			part_with(odp, &f);
		if (mmu_notifier_range_blockable(range))
			cond_resched();
	} while (next);
	if (any)
		iwt_count(odp->dev, IWT_C_ODP_INVALIDATE);
	if (range->event == MMU_NOTIFY_RELEASE)
		odp->gone(odp->arg);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

/**
 * iwt_odp_new() - a table for the address space of the calling process
 * @dev: device
 * @gone: called when no process has the address space any more; does not sleep
 * @arg: its argument
 * @gfp: how the memory is allocated
 *
 * May sleep.
 *
 * Return: the table, without pages, or an error pointer.
 */
struct iwt_odp *iwt_odp_new(struct iwt_dev *dev, void (*gone)(void *arg),
			    void *arg, gfp_t gfp)
{
	struct iwt_odp *odp = kzalloc_obj(*odp, gfp);
	int ret;

	if (!odp)
		return ERR_PTR(-ENOMEM);
	odp->dev = dev;
	odp->mm = current->mm;
	rwlock_init(&odp->lock);
	xa_init_flags(&odp->pages, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&odp->asked);
	odp->gone = gone;
	odp->arg = arg;
	ret = mmu_interval_notifier_insert(&odp->notifier, current->mm, 0,
					   ULONG_MAX, &notifier_ops);
	if (!ret)
		return odp;
	kfree(odp);
	return ERR_PTR(ret);
}

/**
 * iwt_odp_free() - the end
 * @odp: table, behind iwt_odp_end(); nobody fills it any more
 *
 * Any context.
 */
void iwt_odp_free(struct iwt_odp *odp)
{
	kfree(odp);
}

/**
 * iwt_odp_end() - the last region has ended
 * @odp: table; nobody looks anything up in it any more
 *
 * Does not wait for a page fault under way, so the table stays until iwt_odp_free(). May sleep:
 * it waits for invalidations.
 */
void iwt_odp_end(struct iwt_odp *odp)
{
	unsigned long next = 0;

	/* what was written is known to be there only as long as there is the notifier */
	do {
		struct forgotten f = {};

		xa_lock_bh(&odp->pages);
		WRITE_ONCE(odp->ended, true);
		forget(odp, &next, ULONG_MAX, &f);
		xa_unlock_bh(&odp->pages);
		part_with(odp, &f);
		cond_resched();
	} while (next);
	mmu_interval_notifier_remove(&odp->notifier);
	xa_destroy(&odp->pages);
}

/* Neither sparse nor clang can follow the lock into the callers. */

/**
 * iwt_odp_use() - pages of the table will be used
 * @odp: table
 *
 * BH off, never sleeps. Pages that iwt_odp_piece() finds stay until iwt_odp_leave().
 */
void iwt_odp_use(struct iwt_odp *odp)
	__no_context_analysis
{
	read_lock(&odp->lock);
	__release(&odp->lock);
}

/**
 * iwt_odp_leave() - they are used no longer
 * @odp: table
 */
void iwt_odp_leave(struct iwt_odp *odp)
	__no_context_analysis
{
	__acquire(&odp->lock);
	read_unlock(&odp->lock);
}

/* An engine is about to write a page. Return: false if it may not, or if the page has gone. */
static bool note_written(struct iwt_odp *odp, unsigned long index)
{
	bool may = false;
	void *page;

	xa_lock(&odp->pages);
	page = xa_load(&odp->pages, index);
	if (page && xa_pointer_tag(page)) {
		may = true;
		__xa_store(&odp->pages, index,
			   xa_tag_pointer(xa_untag_pointer(page), WRITTEN), 0);
	}
	xa_unlock(&odp->pages);
	return may;
}

/**
 * iwt_odp_piece() - bytes that are present
 * @odp: table, between iwt_odp_use() and iwt_odp_leave()
 * @va: user address
 * @max: bytes wanted
 * @len: takes how many there are in one piece
 * @write: they are to be written
 *
 * BH off, never sleeps.
 *
 * Return: the memory, or NULL if it is absent.
 */
u8 *iwt_odp_piece(struct iwt_odp *odp, u64 va, u32 max, u32 *len, bool write)
{
	void *page = xa_load(&odp->pages, va >> PAGE_SHIFT);

	if (page && write && xa_pointer_tag(page) != WRITTEN &&
	    !note_written(odp, va >> PAGE_SHIFT))
		page = NULL;
	if (!page) {
		*len = 0;
		return NULL;
	}
	*len = min_t(u32, max, PAGE_SIZE - offset_in_page(va));
	return (u8 *)xa_untag_pointer(page) + offset_in_page(va);
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

	if (was && (!write || xa_pointer_tag(was)))
		return;
	/* its place is reserved; if not, it stays absent */
	__xa_store(&odp->pages, index,
		   xa_tag_pointer(page_address(page), write ? WRITABLE : 0), 0);
}

/* What is asked for from now on is seen by invalidate(), and what it has seen is over. */
static void ask(struct iwt_odp *odp, struct asked *a)
{
	xa_lock_bh(&odp->pages);
	list_add(&a->entry, &odp->asked);
	xa_unlock_bh(&odp->pages);
	mmu_interval_read_begin(&odp->notifier);
}

/* Return: false if something was invalidated meanwhile, and then nothing is noted. */
static bool note_all(struct iwt_odp *odp, struct asked *a, struct page **pages,
		     int n, bool write)
{
	bool good;
	int i;

	xa_lock_bh(&odp->pages);
	list_del(&a->entry);
	good = !odp->ended && !a->stale;
	for (i = 0; good && i < n; i++)
		note(odp, a->first + i, pages[i], write);
	xa_unlock_bh(&odp->pages);
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

static void give_back_pages(struct page **pages, int n)
{
	while (n--)
		put_page(pages[n]);
}

/* Return: how many were found, of which none may have been noted; or -errno. */
static int try_pages(struct iwt_odp *odp, unsigned long index, int n,
		     enum iwt_odp_how how, bool *noted)
{
	struct asked a = { .first = index, .last = index + n - 1 };
	struct page *pages[FILL];
	bool write;
	int got, ret = 0;

	ask(odp, &a);
	got = get_pages(index, n, how, pages, &write);
	if (got > 0)
		ret = reserve(odp, index, got);
	*noted = note_all(odp, &a, pages, ret ? 0 : max(got, 0), write);
	if (got <= 0)
		return got;
	if (ret || !*noted)
		unreserve(odp, index, got);
	give_back_pages(pages, got);
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
 * @odp: table, which stays
 * @va: user address
 * @len: bytes, not 0; no address behind them is 0
 * @how: what is done about pages that are absent; with IWT_ODP_NO_FAULT it ends at the first of
 *	them
 *
 * While the process goes on changing its memory, pages may be absent afterwards. The caller is
 * the process, or a thread that uses its address space. May sleep, as long as a page fault may
 * take: the memory may be a file on a server, or the process may serve page faults itself.
 *
 * Return: 0, -EFAULT if there is no such memory or the table has ended, -EINTR if the process
 * is being killed, or -ENOMEM.
 */
int iwt_odp_fill(struct iwt_odp *odp, u64 va, u64 len, enum iwt_odp_how how)
{
	unsigned long index = va >> PAGE_SHIFT, last = (va + len - 1) >> PAGE_SHIFT;
	int got;

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
