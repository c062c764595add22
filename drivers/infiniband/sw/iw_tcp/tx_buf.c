// SPDX-License-Identifier: GPL-2.0
/* Buffers that FPDUs are framed in, kept for each processor. */
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
 * Buffers of each processor, of each of the two sizes. A connection without work has none.
 * NEAR are enough for what is under way within a host. Over a network, LARGE of them are a
 * quarter more than TCP keeps at most by default (tcp_wmem). When memory is short, the kernel
 * takes the pages (the shrinker below), and those beyond NEAR are freed soon after nothing needs
 * them.
 *
 * TCP counts the octets of a page that it refers to, and not the page. A peer that acknowledges
 * nothing would keep a large page for each of its short answers, whose rest is filled with
 * octets of other connections. So short messages have small pages of their own.
 */
#define NEAR		32
#define LARGE		160
#define SMALL		32
/* Attempts to give a buffer a new page, of which the shrinker may spoil one. */
#define RENEWALS	2
/* Jiffies after which buffers beyond NEAR that were not used are freed. */
#define TRIM_AFTER	(2 * HZ)

/*
 * @kept: the buffer while no engine is framing in it. To take it is to exchange its place for
 *	NULL, and that is all the locking: an engine that is interrupted, or that the shrinker
 *	on another processor gets ahead of, takes another buffer.
 */
struct slot {
	struct iwt_txbuf *kept;
	struct iwt_txbuf buf;
};

/*
 * @n: how many
 * @last: index of the one that was used last
 * @mark: index of the one that was used before @last went elsewhere than to the next one
 * @high: the highest index that was used since trim() looked
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

/* Pages of all buffers, without what only TCP refers to. */
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
 * iwt_txbuf_bytes() - memory of all buffers, without what only TCP refers to; in any context
 *
 * Return: octets.
 */
u64 iwt_txbuf_bytes(void)
{
	return (u64)atomic_long_read(&all_pages) << PAGE_SHIFT;
}

/* Return: pages that were freed. The page of a buffer that TCP still refers to stays. */
static unsigned long shrink_buf(struct iwt_txbuf **home)
{
	struct iwt_txbuf *b = txbuf_take(home);
	unsigned long pages = 0;

	if (!b)
		return 0;
	/* this is the only reference, and nobody can take another one */
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

/* Takes from all processors; see struct txbufs for why that needs no lock. */
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
 * Free what lies beyond the buffers that were used of late. Return: is anything left beyond NEAR?
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
 * iwt_txbuf_init() - at module load; pages are allocated when they are used. May sleep
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
 * There are no engines any more, so all buffers are in their places.
 */
void iwt_txbuf_exit(void)
{
	shrinker_free(shrinker);
	cancel_delayed_work_sync(&trim_work);
	free_bufs(large_bufs);
	free_bufs(small_bufs);
}

/* Is there room for @min octets? If nobody else has the page, from its beginning. */
static bool txbuf_has_room(struct iwt_txbuf *b, u32 min)
{
	if (!b->page)
		return false;
	/* this is the only reference, and nobody can take another one */
	if (page_ref_count(b->page) == 1) {
		/* reads by the last one who had it come before what is written now */
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

/* The buffer @i if it has room for @min octets; with @other a new page may give it room. */
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

/* As txbuf_use(), for one that is not the next one. */
static struct iwt_txbuf *jump(struct txbufs *c, u32 i, u32 min)
{
	u32 last = READ_ONCE(c->last);
	struct iwt_txbuf *b = txbuf_use(c, i, min, false);

	if (b)
		WRITE_ONCE(c->mark, last);
	return b;
}

/**
 * iwt_txbuf_get() - memory to frame in
 * @min: octets wanted in one piece, at most IWT_TXBUF_SIZE; of IWT_TXBUF_SHORT, IWT_TXBUF_SMALL
 * @kind: what for
 *
 * The buffer that was used last, as long as it has room; then the first one, so that no more
 * are in use than are needed; then the next, which was used the longest ago; if TCP still has
 * that, the one behind those that were used before the last jump. If TCP has all of these, the
 * next one gets a new page. When memory is short there may be less room than @min, but at least
 * a page's; or any that has room. Bottom halves are off; never sleeps.
 *
 * Return: the buffer, which is the caller's until iwt_txbuf_put(), or NULL without memory.
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

/**
 * iwt_txbuf_put() - framing is done for now
 * @b: buffer from iwt_txbuf_get()
 */
void iwt_txbuf_put(struct iwt_txbuf *b)
{
	/* the caller's stores come before those of the next one who takes it */
	smp_store_release(b->home, b);
}
