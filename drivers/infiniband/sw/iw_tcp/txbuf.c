// SPDX-License-Identifier: GPL-2.0
/* Buffers that FPDUs are framed in, kept for each processor. */
#include "txbuf.h"

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/shrinker.h>

/*
 * Buffers of each processor, of each of the two kinds. A connection without work has none.
 * There are enough for what is under way within a host; over longer paths pages have to be
 * allocated. When memory is short, the kernel takes the pages (the shrinker below).
 *
 * TCP counts the octets of a page that it refers to, and not the page. A peer that acknowledges
 * nothing would keep a large page for each of its short answers, whose rest is filled with
 * octets of other connections. So short messages have small pages of their own.
 */
#define TXBUFS		32

/*
 * @kept: buffers that no engine is framing in. To take one is to exchange its place for
 *	NULL, and that is all the locking: an engine that is interrupted, or that the shrinker
 *	on another processor gets ahead of, takes another buffer.
 * @last: index of the one that was used last
 */
struct txbufs {
	u32 last;
	struct iwt_txbuf *kept[TXBUFS];
	struct iwt_txbuf buf[TXBUFS];
};

static DEFINE_PER_CPU(struct txbufs, large_bufs);
static DEFINE_PER_CPU(struct txbufs, small_bufs);

static struct shrinker *shrinker;

static struct iwt_txbuf *take(struct iwt_txbuf **home)
{
	return READ_ONCE(*home) ? xchg(home, NULL) : NULL;
}

static unsigned long pages_of(const struct iwt_txbuf *b)
{
	return READ_ONCE(b->page) ? READ_ONCE(b->size) >> PAGE_SHIFT : 0;
}

static unsigned long count_pages(const struct txbufs *c)
{
	unsigned long pages = 0;
	u32 i;

	for (i = 0; i < TXBUFS; i++)
		pages += pages_of(&c->buf[i]);
	return pages;
}

static unsigned long count_all(void)
{
	unsigned long pages = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		pages += count_pages(per_cpu_ptr(&large_bufs, cpu)) +
			 count_pages(per_cpu_ptr(&small_bufs, cpu));
	return pages;
}

static unsigned long count_bufs(struct shrinker *s, struct shrink_control *sc)
{
	return count_all() ?: SHRINK_EMPTY;
}

/**
 * iwt_txbuf_bytes() - memory of all buffers, without what only TCP refers to; in any context
 *
 * Return: octets.
 */
u64 iwt_txbuf_bytes(void)
{
	return (u64)count_all() << PAGE_SHIFT;
}

/* Return: pages that were freed. The page of a buffer that TCP still refers to stays. */
static unsigned long shrink_buf(struct iwt_txbuf **home)
{
	struct iwt_txbuf *b = take(home);
	unsigned long pages = 0;

	if (!b)
		return 0;
	/* this is the only reference, and nobody can take another one */
	if (b->page && page_ref_count(b->page) == 1) {
		pages = pages_of(b);
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

	for (i = 0; i < TXBUFS && pages < wanted; i++)
		pages += shrink_buf(&c->kept[i]);
	return pages;
}

/* Takes from all processors; see struct txbufs for why that needs no lock. */
static unsigned long shrink_bufs(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long pages = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (pages < sc->nr_to_scan)
			pages += shrink_some(per_cpu_ptr(&large_bufs, cpu),
					     sc->nr_to_scan - pages);
		if (pages < sc->nr_to_scan)
			pages += shrink_some(per_cpu_ptr(&small_bufs, cpu),
					     sc->nr_to_scan - pages);
	}
	return pages;
}

static void setup(struct txbufs *c, u32 order)
{
	u32 i;

	for (i = 0; i < TXBUFS; i++) {
		c->buf[i].order = order;
		c->buf[i].home = &c->kept[i];
		c->kept[i] = &c->buf[i];
	}
}

static void drop_pages(struct txbufs *c)
{
	u32 i;

	for (i = 0; i < TXBUFS; i++) {
		if (c->buf[i].page)
			put_page(c->buf[i].page);
		c->buf[i].page = NULL;
	}
}

/**
 * iwt_txbuf_init() - at module load; pages are allocated when they are used. May sleep
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_txbuf_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		setup(per_cpu_ptr(&large_bufs, cpu), get_order(IWT_TXBUF_SIZE));
		setup(per_cpu_ptr(&small_bufs, cpu), 0);
	}
	shrinker = shrinker_alloc(0, "iw_tcp-txbuf");
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count_bufs;
	shrinker->scan_objects = shrink_bufs;
	shrinker_register(shrinker);
	return 0;
}

/**
 * iwt_txbuf_exit() - free all pages; may sleep
 *
 * There are no engines any more, so all buffers are in their places.
 */
void iwt_txbuf_exit(void)
{
	int cpu;

	shrinker_free(shrinker);
	for_each_possible_cpu(cpu) {
		drop_pages(per_cpu_ptr(&large_bufs, cpu));
		drop_pages(per_cpu_ptr(&small_bufs, cpu));
	}
}

/* Is there room for @min octets? If nobody else has the page, from its beginning. */
static bool has_room(struct iwt_txbuf *b, u32 min)
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
	return true;
}

/* The buffer @i if it has room for @min octets; with @other a new page may give it room. */
static struct iwt_txbuf *use(struct txbufs *c, u32 i, u32 min, bool other)
{
	struct iwt_txbuf *b = take(&c->kept[i]);

	if (!b)
		return NULL;
	if (has_room(b, min) || (other && renew(b))) {
		WRITE_ONCE(c->last, i);
		return b;
	}
	iwt_txbuf_put(b);
	return NULL;
}

/**
 * iwt_txbuf_get() - memory to frame in
 * @min: octets wanted in one piece, at most IWT_TXBUF_SIZE; of @small, IWT_TXBUF_SMALL
 * @small: there is no more than that
 *
 * The buffer that was used last, as long as it has room; then the first one, so that no more
 * are in use than are needed; then the next, which was used the longest ago. When memory is
 * short there may be less room than @min, but at least a page's. Bottom halves are off; never
 * sleeps.
 *
 * Return: the buffer, which is the caller's until iwt_txbuf_put(), or NULL without memory.
 */
struct iwt_txbuf *iwt_txbuf_get(u32 min, bool small)
{
	struct txbufs *c = small ? raw_cpu_ptr(&small_bufs) :
				       raw_cpu_ptr(&large_bufs);
	u32 i, last = READ_ONCE(c->last);
	struct iwt_txbuf *b;

	b = use(c, last, min, false);
	if (!b)
		b = use(c, 0, min, false);
	for (i = 1; !b && i < TXBUFS; i++)
		b = use(c, (last + i) % TXBUFS, min, true);
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
