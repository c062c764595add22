// SPDX-License-Identifier: GPL-2.0
/* Buffers for framed FPDUs, kept per processor. */
#include "tx_buf.h"

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/shrinker.h>
#include <linux/workqueue.h>

/*
 * Each processor has LARGE large buffers and SMALL small buffers. A connection without work has
 * no buffer. A connection to this machine usually uses only the first NEAR large buffers, which
 * are enough for the bytes in flight within a host. Other connections use all large buffers:
 * together these have a quarter more memory than the default limit of TCP's send buffer
 * (tcp_wmem). When memory is short, the shrinker below frees the pages of buffers. The pages of
 * large buffers beyond the first NEAR are also freed soon after their last use.
 *
 * TCP accounts for the bytes to which it refers, not for the whole page. If short messages were
 * framed in large pages, together with bytes of other connections, a peer that acknowledges
 * nothing could keep a large page in use by each short message. So short messages have small
 * pages of their own.
 */
#define NEAR		32
#define LARGE		160
#define SMALL		32
/*
 * Number of buffers for which iwt_txbuf_get() tries to allocate a new page: more than one,
 * because the shrinker may be using one of the buffers.
 */
#define RENEWALS	2
/* Delay in jiffies before pages of unused buffers beyond NEAR are freed. */
#define TRIM_AFTER	(2 * HZ)

/*
 * @kept: the buffer; NULL while an engine or the shrinker uses the buffer. An engine acquires the
 *	buffer by xchg() with NULL; there is no other lock. If @kept is NULL, because an
 *	interrupted engine, or the shrinker on another processor, uses the buffer, the engine
 *	tries another buffer
 * @buf: the buffer
 */
struct slot {
	struct iwt_txbuf *kept;
	struct iwt_txbuf buf;
};

/*
 * @n: number of buffers
 * @last: index of the buffer that was used last
 * @mark: value of @last before the last jump(), which uses a buffer other than the next buffer
 * @high: highest index that was used since the last trim()
 * @slot: the buffers, in a circular order: the first buffer follows the last buffer
 */
struct txbufs {
	u32 n;
	u32 last;
	u32 mark;
	u32 high;
	struct slot slot[];
};

static struct txbufs __percpu *large_bufs;
static struct txbufs __percpu *small_bufs;

/* Number of pages of all buffers, without pages that only TCP refers to. */
static atomic_long_t all_pages;

static struct shrinker *shrinker;

static struct iwt_txbuf *txbuf_take(struct iwt_txbuf **home)
{
	return READ_ONCE(*home) ? xchg(home, NULL) : NULL;
}

static unsigned long pages_of(const struct iwt_txbuf *b)
{
	return READ_ONCE(b->page) ? READ_ONCE(b->size) >> PAGE_SHIFT : 0;
}

static unsigned long count_bufs(struct shrinker *s, struct shrink_control *sc)
{
	return atomic_long_read(&all_pages) ?: SHRINK_EMPTY;
}

/**
 * iwt_txbuf_bytes() - memory of all buffers, without pages that only TCP refers to; any context
 *
 * Return: number of bytes.
 */
u64 iwt_txbuf_bytes(void)
{
	return (u64)atomic_long_read(&all_pages) << PAGE_SHIFT;
}

/* Free the page of a buffer unless TCP refers to it. Return: number of freed pages. */
static unsigned long shrink_buf(struct iwt_txbuf **home)
{
	struct iwt_txbuf *b = txbuf_take(home);
	unsigned long pages = 0;

	if (!b)
		return 0;
	/* a count of 1: only this buffer refers to the page; no engine uses the buffer now */
	if (b->page && page_ref_count(b->page) == 1) {
		pages = pages_of(b);
		atomic_long_sub(pages, &all_pages);
		put_page(b->page);
		WRITE_ONCE(b->page, NULL);
	}
	iwt_txbuf_put(b);
	return pages;
}

static unsigned long shrink_some(struct txbufs *c, unsigned long wanted)
{
	unsigned long pages = 0;
	u32 i;

	for (i = 0; i < c->n && pages < wanted; i++)
		pages += shrink_buf(&c->slot[i].kept);
	return pages;
}

/* Free pages of all processors. shrink_buf() acquires each buffer, so no lock is needed. */
static unsigned long shrink_bufs(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long pages = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (pages < sc->nr_to_scan)
			pages += shrink_some(per_cpu_ptr(large_bufs, cpu),
					     sc->nr_to_scan - pages);
		if (pages < sc->nr_to_scan)
			pages += shrink_some(per_cpu_ptr(small_bufs, cpu),
					     sc->nr_to_scan - pages);
	}
	return pages;
}

/*
 * Free the pages of the large buffers beyond NEAR that were not used since the last trim().
 * Return: true when some of the buffers beyond NEAR still have pages.
 */
static bool trim_some(struct txbufs *c)
{
	u32 i, used = max(xchg(&c->high, 0), NEAR - 1);
	unsigned long left = 0;

	for (i = NEAR; i < c->n; i++) {
		if (i > used)
			shrink_buf(&c->slot[i].kept);
		left += pages_of(&c->slot[i].buf);
	}
	return left;
}

static void trim(struct work_struct *work)
{
	bool left = false;
	int cpu;

	for_each_possible_cpu(cpu)
		left |= trim_some(per_cpu_ptr(large_bufs, cpu));
	if (left)
		schedule_delayed_work(to_delayed_work(work), TRIM_AFTER);
}

static DECLARE_DELAYED_WORK(trim_work, trim);

static struct txbufs __percpu *alloc_bufs(u32 n, u32 order)
{
	struct txbufs __percpu *bufs;
	struct txbufs *c;
	int cpu;
	u32 i;

	bufs = __alloc_percpu(struct_size(c, slot, n), __alignof__(struct txbufs));
	if (!bufs)
		return NULL;
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(bufs, cpu);
		c->n = n;
		for (i = 0; i < n; i++) {
			c->slot[i].buf.order = order;
			c->slot[i].buf.home = &c->slot[i].kept;
			c->slot[i].kept = &c->slot[i].buf;
		}
	}
	return bufs;
}

static void free_bufs(struct txbufs __percpu *bufs)
{
	struct txbufs *c;
	int cpu;
	u32 i;

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(bufs, cpu);
		for (i = 0; i < c->n; i++) {
			if (c->slot[i].buf.page)
				put_page(c->slot[i].buf.page);
		}
	}
	free_percpu(bufs);
}

/**
 * iwt_txbuf_init() - allocate the buffers, without pages, at module load; may sleep
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_txbuf_init(void)
{
	large_bufs = alloc_bufs(LARGE, get_order(IWT_TXBUF_SIZE));
	if (!large_bufs)
		return -ENOMEM;
	small_bufs = alloc_bufs(SMALL, 0);
	if (!small_bufs)
		goto free_large;
	shrinker = shrinker_alloc(0, "iw_tcp-txbuf");
	if (!shrinker)
		goto free_small;
	shrinker->count_objects = count_bufs;
	shrinker->scan_objects = shrink_bufs;
	shrinker_register(shrinker);
	return 0;

free_small:
	free_bufs(small_bufs);
free_large:
	free_bufs(large_bufs);
	return -ENOMEM;
}

/**
 * iwt_txbuf_exit() - free all pages; may sleep
 *
 * No engine exists any more, so all buffers are in their slots.
 */
void iwt_txbuf_exit(void)
{
	shrinker_free(shrinker);
	cancel_delayed_work_sync(&trim_work);
	free_bufs(large_bufs);
	free_bufs(small_bufs);
}

/* Is there room for @min bytes? A page that TCP no longer refers to is used from its start. */
static bool txbuf_has_room(struct iwt_txbuf *b, u32 min)
{
	if (!b->page)
		return false;
	/* a count of 1: only this buffer refers to the page; only the caller uses the buffer */
	if (page_ref_count(b->page) == 1) {
		/* reads of the page by TCP happen before the engine writes to the page again */
		smp_acquire__after_ctrl_dep();
		b->off = 0;
	}
	return min <= iwt_txbuf_room(b);
}

static bool renew(struct iwt_txbuf *b)
{
	const gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	long more = -pages_of(b);
	struct page *page;

	page = alloc_pages(gfp | __GFP_COMP | __GFP_NORETRY, b->order);
	if (!page && b->order)
		page = alloc_page(gfp);
	if (!page)
		return false;
	if (b->page)
		put_page(b->page);
	WRITE_ONCE(b->size, page_size(page));
	WRITE_ONCE(b->page, page);
	b->off = 0;
	more += pages_of(b);
	if (more)
		atomic_long_add(more, &all_pages);
	return true;
}

/*
 * Acquire buffer @i if it has room for @min bytes. @other: if the buffer has no room, replace its
 * page by a new page, which may be smaller than @min. Return: the buffer or NULL.
 */
static struct iwt_txbuf *txbuf_use(struct txbufs *c, u32 i, u32 min, bool other)
{
	struct iwt_txbuf *b = txbuf_take(&c->slot[i].kept);

	if (!b)
		return NULL;
	if (txbuf_has_room(b, min) || (other && renew(b))) {
		WRITE_ONCE(c->last, i);
		if (i > READ_ONCE(c->high))
			WRITE_ONCE(c->high, i);
		return b;
	}
	iwt_txbuf_put(b);
	return NULL;
}

/*
 * As txbuf_use(), but for a buffer other than the next buffer, and without a new page. Stores the
 * former @last in @mark.
 */
static struct iwt_txbuf *jump(struct txbufs *c, u32 i, u32 min)
{
	u32 last = READ_ONCE(c->last);
	struct iwt_txbuf *b = txbuf_use(c, i, min, false);

	if (b)
		WRITE_ONCE(c->mark, last);
	return b;
}

/**
 * iwt_txbuf_get() - acquire a buffer for framing
 * @min: number of contiguous bytes that are needed: at most IWT_TXBUF_SMALL for IWT_TXBUF_SHORT,
 *	else at most IWT_TXBUF_SIZE
 * @kind: kind of the batch
 *
 * The function tries, in this order: the buffer that was used last; the first buffer, so that no
 * more buffers are in use than necessary; the next buffer, which was used the longest time ago;
 * and the buffer that follows the buffers that were used before the last jump(). If none of these
 * buffers has room, because TCP still refers to their pages, the next buffer gets a new page.
 * When memory is short, a new page may be smaller than @min; if no page can be allocated, any
 * other buffer with room is used. Bottom halves are off; never sleeps.
 *
 * Return: the buffer, which the caller owns until iwt_txbuf_put(); NULL if memory is missing.
 */
struct iwt_txbuf *iwt_txbuf_get(u32 min, enum iwt_txbuf_kind kind)
{
	struct txbufs *c = raw_cpu_ptr(kind == IWT_TXBUF_SHORT ? small_bufs : large_bufs);
	u32 i, last = READ_ONCE(c->last), n = kind == IWT_TXBUF_NEAR ? NEAR : c->n;
	struct iwt_txbuf *b;

	b = txbuf_use(c, last, min, false);
	if (!b)
		b = jump(c, 0, min);
	if (!b)
		b = txbuf_use(c, (last + 1) % n, min, false);
	if (!b)
		b = jump(c, (READ_ONCE(c->mark) + 1) % n, min);
	for (i = 1; !b && i < n; i++)
		b = txbuf_use(c, (last + i) % n, min, i <= RENEWALS);
	if (b && READ_ONCE(c->last) >= NEAR)
		schedule_delayed_work(&trim_work, TRIM_AFTER);
	return b;
}

/* Release a buffer after framing. @b: buffer from iwt_txbuf_get(). Never sleeps. */
void iwt_txbuf_put(struct iwt_txbuf *b)
{
	/* the caller's stores to the buffer are visible to the next engine that acquires it */
	smp_store_release(b->home, b);
}
