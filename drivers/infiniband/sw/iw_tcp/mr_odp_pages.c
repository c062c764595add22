// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: a table of the pages of a process that are present. The pages are not pinned.
 *
 * An address space has one table for each device. All regions in the address space share the
 * table, even if the regions overlap. So the cost of invalidating a page does not depend on the
 * number of regions.
 *
 * The table has no references to pages. The MMU notifier makes a page safe to use: before the
 * kernel unmaps a page, writes the page to disk, shares it with a child or write-protects it, the
 * kernel calls invalidate(). This function removes the page from the table, and waits for engines
 * that copy. The kernel continues when the function has returned. Afterwards the page is absent
 * from the table, even if the process still has the page, until iwt_odp_fill() requests it by
 * get_user_pages_fast(). The request has the same effects as a page fault of the process, for
 * instance copy on write.
 *
 * A page is entered into the table only if it was not invalidated since the request began.
 */
#include "mr_odp_pages.h"

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "dawdle.h"
#include "fair_lock.h"
#include "stats.h"

/* Maximum number of pages that one call of get_user_pages_fast() requests. */
#define FILL		16
/* Maximum number of attempts to get these pages, if the process changes its memory meanwhile. */
#define TRIES		8
/* Maximum number of pages that are removed together, while the lock of the table is held. */
#define FORGET		1024

/*
 * Of the pages that are removed together, engines may have written at most this number. The
 * written pages are marked dirty before more pages are removed.
 */
#define WRITTEN_MAX	16

/* Tags of an entry of the table. If its entry has no tag, engines must not write a page. */
#define WRITABLE	1UL
#define WRITTEN		3UL	/* writable, and an engine has written the page */

/**
 * struct iwt_odp - the pages of an address space that are present
 * @notifier: MMU notifier for the whole address space
 * @dev: device, for its counters; valid only while @notifier is registered
 * @mm: address space; used only for comparisons and for its size
 * @removing: held by a thread that removes pages, until no engine uses the pages and they are
 *	marked dirty. Process context, outermost
 * @lock: held for reading while an engine uses pages. A thread that has removed pages takes the
 *	lock for writing, to wait until no engine uses them
 * @pages: kernel addresses of pages that are present, by user page number. The lock of the
 *	xarray, BH off, also guards @asked, @ended and @parting, and nests inside @lock
 * @asked: requests for pages in progress (struct asked)
 * @ended: the table is being ended: no page may be entered any more
 * @parting: a thread holds @removing and has removed pages, which engines may still use
 * @gone: called with @arg when no process uses the address space any more
 * @arg: argument of @gone
 */
struct iwt_odp {
	struct mmu_interval_notifier notifier;
	struct iwt_dev *dev;
	struct mm_struct *mm;
	spinlock_t removing;
	struct iwt_fair_lock lock;
	struct xarray pages;
	struct list_head asked;
	bool ended;
	bool parting;
	void (*gone)(void *arg);
	void *arg;
};

/* A request in progress, for the user page numbers from @first to @last, both included. */
struct asked {
	struct list_head entry;
	unsigned long first;
	unsigned long last;
	bool stale;	/* a page of the request was invalidated meanwhile */
};

/* Requests in progress must not enter the pages @first to @last, which are being invalidated. */
static void mark_stale(struct iwt_odp *odp, unsigned long first,
		       unsigned long last)
{
	struct asked *a;

	list_for_each_entry(a, &odp->asked, entry)
		if (a->first <= last && a->last >= first)
			a->stale = true;
}

/* Pages that were removed from the table together. */
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
 * Remove a batch of pages from the table, from the page number *@next up to @last, and record
 * them in @f. This function sets *@next to the next page to remove, or to 0 if none is left.
 * Reserved entries stay.
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

/*
 * Mark a page dirty. If another thread holds the lock of the page, that thread either waits for
 * this invalidation, or is removing the page from the page's file. In both cases this function
 * may mark the page dirty without the lock.
 */
static void dirty(struct page *page)
{
	bool locked = trylock_page(page);

	if (!PageDirty(page))
		set_page_dirty(page);
	if (locked)
		unlock_page(page);
}

/*
 * Wait until no engine uses the removed pages. Then mark the pages dirty that engines have
 * written: engines use the kernel address of a page, so their writes do not set the dirty bit of
 * the process's page table entry. Some file systems have to be notified before the first write to
 * a page. They need no notice here: engines write only to pages whose page table entry was
 * writable, and the kernel has notified the file system before it made the entry writable.
 */
static void part_with(struct iwt_odp *odp, const struct forgotten *f)
{
	int i;

	iwt_fair_write_lock_bh(&odp->lock);
	iwt_fair_write_unlock_bh(&odp->lock);
	for (i = 0; i < f->n_written; i++)
		dirty(f->written[i]);
}

/*
 * Remove a batch of pages (forget()), and part with them. The kernel may invalidate a page by two
 * threads at the same time. Only one of them finds the page in the table, but neither may return
 * before the page is parted with; so the other thread sees @parting and waits for @removing.
 * Return: number of pages.
 */
static unsigned long remove_some(struct iwt_odp *odp, unsigned long *next,
				 unsigned long last)
{
	struct forgotten f = {};
	int i;

	spin_lock(&odp->removing);
	xa_lock_bh(&odp->pages);
	forget(odp, next, last, &f);
	odp->parting = f.n;
	xa_unlock_bh(&odp->pages);
	if (f.n) {
		part_with(odp, &f);
		xa_lock_bh(&odp->pages);
		odp->parting = false;
		xa_unlock_bh(&odp->pages);
	}
	spin_unlock(&odp->removing);
	for (i = 0; i < f.n_written; i++)
		put_page(f.written[i]);
	return f.n;
}

/* Has the table pages from the page number @first to @last? The table is locked. */
static bool has_pages(struct iwt_odp *odp, unsigned long first, unsigned long last)
{
	XA_STATE(xas, &odp->pages, first);
	void *entry;

	xas_for_each(&xas, entry, last)
		if (!xa_is_zero(entry))
			return true;
	return false;
}

/*
 * Begin an invalidation: requests in progress must not enter its pages. Return: false if the
 * table has none of the pages, and no other thread is parting with pages.
 */
static bool begin(struct iwt_odp *odp, unsigned long first, unsigned long last,
		  unsigned long seq)
{
	bool busy;

	xa_lock_bh(&odp->pages);
	mmu_interval_set_seq(&odp->notifier, seq);
	mark_stale(odp, first, last);
	busy = odp->parting || has_pages(odp, first, last);
	xa_unlock_bh(&odp->pages);
	return busy;
}

/*
 * Callback of the MMU notifier, called before page tables change. After it has returned true, no
 * engine uses the pages of the range. Return: false if the caller must not sleep, and this
 * function would have to.
 */
static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct iwt_odp *odp = container_of(notifier, struct iwt_odp, notifier);
	unsigned long next = range->start >> PAGE_SHIFT;
	unsigned long last = (range->end - 1) >> PAGE_SHIFT;
	bool more, any = false;

	/* on PREEMPT_RT, acquiring the locks may sleep */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !mmu_notifier_range_blockable(range))
		return false;
	more = begin(odp, next, last, seq);
	while (more) {
		any |= remove_some(odp, &next, last);
		more = next;
		if (more && mmu_notifier_range_blockable(range))
			cond_resched();
	}
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
 * iwt_odp_new() - create a table for the address space of the calling process
 * @dev: device
 * @gone: called when no process uses the address space any more; must not sleep
 * @arg: argument of @gone
 * @gfp: GFP flags for the data structures
 *
 * May sleep.
 *
 * Return: the table, without pages, or an error pointer: -ENOMEM, or another error of
 * mmu_interval_notifier_insert().
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
	spin_lock_init(&odp->removing);
	iwt_fair_lock_init(&odp->lock);
	xa_init_flags(&odp->pages, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&odp->asked);
	odp->gone = gone;
	odp->arg = arg;
	ret = mmu_interval_notifier_insert(&odp->notifier, current->mm, 0,
					   ULONG_MAX, &notifier_ops);
	if (ret) {
		kfree(odp);
		return ERR_PTR(ret);
	}
	return odp;
}

/* Free a table. @odp: table, after iwt_odp_end(); nobody is in iwt_odp_fill(). Any context. */
void iwt_odp_free(struct iwt_odp *odp)
{
	kfree(odp);
}

/**
 * iwt_odp_end() - empty a table after its last region was destroyed, or the process has exited
 * @odp: table; from now on no page is entered. Engines may still look up pages, but find none
 *
 * This function does not wait for iwt_odp_fill(), which may be in a page fault. So the structure
 * exists until iwt_odp_free(). May sleep: waits for invalidations.
 */
void iwt_odp_end(struct iwt_odp *odp)
{
	unsigned long next = 0;

	/*
	 * The table has no references to pages: a page in the table certainly exists only while
	 * the notifier is registered. So note_forgotten() calls get_page() before the notifier is
	 * removed.
	 */
	xa_lock_bh(&odp->pages);
	WRITE_ONCE(odp->ended, true);
	xa_unlock_bh(&odp->pages);
	do {
		remove_some(odp, &next, ULONG_MAX);
		cond_resched();
	} while (next);
	mmu_interval_notifier_remove(&odp->notifier);
	xa_destroy(&odp->pages);
}

/**
 * iwt_odp_use() - begin to use pages of a table
 * @odp: table
 *
 * BH off, never sleeps. Pages that iwt_odp_piece() returns are valid until iwt_odp_leave().
 */
void iwt_odp_use(struct iwt_odp *odp)
{
	iwt_fair_read_lock_bh(&odp->lock);
}

/* End the use of pages of a table that iwt_odp_use() has begun. BH off, never sleeps. */
void iwt_odp_leave(struct iwt_odp *odp)
{
	iwt_fair_read_unlock_bh(&odp->lock);
}

/*
 * An engine is about to write a page: tag the entry as written. Return: true; false if the page
 * may not be written, or is not in the table any more.
 */
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
 * iwt_odp_piece() - find memory that is present
 * @odp: table, between iwt_odp_use() and iwt_odp_leave()
 * @va: user address
 * @max: maximum number of bytes
 * @len: set to the number of contiguous bytes, at most @max
 * @write: the caller will write the bytes
 *
 * BH off, never sleeps.
 *
 * Return: kernel address of the memory, or NULL if the page is absent or may not be written.
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
	/* the kernel may remove the page now: then it must wait for iwt_odp_leave() */
	iwt_dawdle();
	*len = min_t(u32, max, PAGE_SIZE - offset_in_page(va));
	return (u8 *)xa_untag_pointer(page) + offset_in_page(va);
}

/* Is @odp a table of the address space @mm? Any context. */
bool iwt_odp_is_of(const struct iwt_odp *odp, const struct mm_struct *mm)
{
	return odp->mm == mm;
}

/*
 * Enter a page into the table. An entry that only allows reading must not replace a writable
 * entry.
 */
static void note(struct iwt_odp *odp, unsigned long index, struct page *page,
		 bool write)
{
	void *was = xa_load(&odp->pages, index);

	if (was && (!write || xa_pointer_tag(was)))
		return;
	/* normally the entry is reserved; if not, the store may fail and the page stays absent */
	__xa_store(&odp->pages, index,
		   xa_tag_pointer(page_address(page), write ? WRITABLE : 0), 0);
}

/*
 * Begin a request. When this function returns, all calls of invalidate() that did not see the
 * request have finished, and all later calls see the request.
 */
static void ask(struct iwt_odp *odp, struct asked *a)
{
	xa_lock_bh(&odp->pages);
	list_add(&a->entry, &odp->asked);
	xa_unlock_bh(&odp->pages);
	mmu_interval_read_begin(&odp->notifier);
}

/*
 * End a request, and enter its pages into the table. Return: true; false, and no page is entered,
 * if a page of the request was invalidated meanwhile, or if the table has ended.
 */
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

/*
 * Reserve @n entries in the table, so that note_all() allocates no memory while the table is
 * locked. Return: 0 or -errno.
 */
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

/*
 * Get up to @n pages that are present, without page faults. This function sets *@write to false
 * if the pages may only be read. Return: number of pages, or 0 or -errno if there is no page.
 */
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

/*
 * Make one attempt to get pages and to enter them into the table. Return: number of pages that
 * get_pages() has got, from @index on; 0 or -errno if there is no page, or if the table can't be
 * enlarged. This function sets *@noted to false if a page of the request was invalidated
 * meanwhile, or if the table has ended. Then the pages are not entered, whatever number is
 * returned, and the caller may try again.
 */
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
 * iwt_odp_fill() - make pages present, and enter them into the table
 * @odp: table; must not be freed meanwhile
 * @va: user address
 * @len: length in bytes, not 0; @va + @len must not wrap
 * @how: action for absent pages; with IWT_ODP_NO_FAULT the function stops at the first absent
 *	page
 *
 * If the process changes its memory meanwhile, pages may be absent afterwards. The caller is a
 * kernel thread that uses the address space of the process. May sleep as long as a page fault
 * takes: the memory may be a file on a server, or the process may serve page faults itself.
 *
 * Return: 0; -EFAULT if the process has no such memory or the table has ended; -EINTR if the
 * caller has a fatal signal; -ENOMEM; or another error of get_user_pages_fast().
 */
int iwt_odp_fill(struct iwt_odp *odp, u64 va, u64 len, enum iwt_odp_how how)
{
	unsigned long index = va >> PAGE_SHIFT, last = (va + len - 1) >> PAGE_SHIFT;
	int got;

	while (index <= last) {
		int n = min_t(unsigned long, last - index + 1, FILL);

		/*
		 * get_user_pages() accepts addresses with tag bits, but invalidate() gets
		 * addresses without tag bits: refuse addresses with tag bits
		 */
		if (index >= odp->mm->task_size >> PAGE_SHIFT)
			return -EFAULT;
		got = fill_some(odp, index, n, how);
		if (got <= 0)
			return got;
		index += got;
	}
	return 0;
}
