// SPDX-License-Identifier: GPL-2.0
#include "stage.h"

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/shrinker.h>

/*
 * Stages of a processor, of each kind. A connection without work has none, and there
 * are enough for what is on its way in a host; over longer ways pages have to be
 * allocated. When memory is short, the kernel takes the pages.
 *
 * TCP counts the octets of a page that it refers to, and not the page. A peer that
 * acknowledges nothing keeps the whole page for each of its short answers, while
 * others' octets fill the rest of it: so what is short has small pages of its own.
 */
#define IWT_STAGES		32

/*
 * @kept: stages that nobody is framing in; who takes one out leaves NULL.
 * That is all the locking there is: whoever comes from another processor or
 * from within takes another one.
 * @last: which was in use last
 */
struct iwt_stages {
	u32 last;
	struct iwt_stage *kept[IWT_STAGES];
	struct iwt_stage stage[IWT_STAGES];
};

static DEFINE_PER_CPU(struct iwt_stages, large_stages);
static DEFINE_PER_CPU(struct iwt_stages, small_stages);

static struct shrinker *shrinker;

static struct iwt_stage *take(struct iwt_stage **home)
{
	return READ_ONCE(*home) ? xchg(home, NULL) : NULL;
}

static unsigned long pages_of(const struct iwt_stage *st)
{
	return READ_ONCE(st->page) ? READ_ONCE(st->size) >> PAGE_SHIFT : 0;
}

static unsigned long count_pages(const struct iwt_stages *c)
{
	unsigned long pages = 0;
	u32 i;

	for (i = 0; i < IWT_STAGES; i++)
		pages += pages_of(&c->stage[i]);
	return pages;
}

static unsigned long count_stages(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long pages = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		pages += count_pages(per_cpu_ptr(&large_stages, cpu)) +
			 count_pages(per_cpu_ptr(&small_stages, cpu));
	return pages ?: SHRINK_EMPTY;
}

/*
 * Pages that a stage gave back. Of one that is being read from, or is with TCP
 * still, there would be nothing to have yet: it stays.
 */
static unsigned long shrink_stage(struct iwt_stage **home)
{
	struct iwt_stage *st = take(home);
	unsigned long pages = 0;

	if (!st)
		return 0;
	/* ours is the only reference, and nobody can take another one */
	if (st->page && page_ref_count(st->page) == 1) {
		pages = pages_of(st);
		put_page(st->page);
		WRITE_ONCE(st->page, NULL);
	}
	iwt_stage_put(st);
	return pages;
}

static unsigned long shrink_some(struct iwt_stages *c, unsigned long wanted)
{
	unsigned long pages = 0;
	u32 i;

	for (i = 0; i < IWT_STAGES && pages < wanted; i++)
		pages += shrink_stage(&c->kept[i]);
	return pages;
}

/*
 * Any processor's: who takes a stage out has it for himself, and whoever is
 * about to frame meanwhile takes another one.
 */
static unsigned long shrink_stages(struct shrinker *s,
				   struct shrink_control *sc)
{
	unsigned long pages = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (pages < sc->nr_to_scan)
			pages += shrink_some(per_cpu_ptr(&large_stages, cpu),
					     sc->nr_to_scan - pages);
		if (pages < sc->nr_to_scan)
			pages += shrink_some(per_cpu_ptr(&small_stages, cpu),
					     sc->nr_to_scan - pages);
	}
	return pages;
}

static void setup(struct iwt_stages *c, u32 order)
{
	u32 i;

	for (i = 0; i < IWT_STAGES; i++) {
		c->stage[i].order = order;
		c->stage[i].home = &c->kept[i];
		c->kept[i] = &c->stage[i];
	}
}

static void drop_pages(struct iwt_stages *c)
{
	u32 i;

	for (i = 0; i < IWT_STAGES; i++) {
		if (c->stage[i].page)
			put_page(c->stage[i].page);
		c->stage[i].page = NULL;
	}
}

/**
 * iwt_stage_init() - make it ready, without memory yet; may sleep
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_stage_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		setup(per_cpu_ptr(&large_stages, cpu), get_order(IWT_STAGE_SIZE));
		setup(per_cpu_ptr(&small_stages, cpu), 0);
	}
	shrinker = shrinker_alloc(0, "iw_tcp-stage");
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count_stages;
	shrinker->scan_objects = shrink_stages;
	shrinker_register(shrinker);
	return 0;
}

/**
 * iwt_stage_exit() - free what is kept; may sleep
 *
 * All are at home: there are no engines any more.
 */
void iwt_stage_exit(void)
{
	int cpu;

	shrinker_free(shrinker);
	for_each_possible_cpu(cpu) {
		drop_pages(per_cpu_ptr(&large_stages, cpu));
		drop_pages(per_cpu_ptr(&small_stages, cpu));
	}
}

/* Is there room for @min octets, if need be from the start? */
static bool has_room(struct iwt_stage *st, u32 min)
{
	if (!st->page)
		return false;
	/* ours is the only reference, and nobody can take another one */
	if (page_ref_count(st->page) == 1) {
		/* what the last reader read was read before it let go */
		smp_acquire__after_ctrl_dep();
		st->off = 0;
	}
	return min <= iwt_stage_room(st);
}

static bool renew(struct iwt_stage *st)
{
	const gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	struct page *page;

	page = alloc_pages(gfp | __GFP_COMP | __GFP_NORETRY, st->order);
	if (!page && st->order)
		page = alloc_page(gfp);
	if (!page)
		return false;
	if (st->page)
		put_page(st->page);
	WRITE_ONCE(st->size, page_size(page));
	WRITE_ONCE(st->page, page);
	st->off = 0;
	return true;
}

/* The stage @i, with @min octets of room; if need be with another page. */
static struct iwt_stage *use(struct iwt_stages *c, u32 i, u32 min, bool other)
{
	struct iwt_stage *st = take(&c->kept[i]);

	if (!st)
		return NULL;
	if (has_room(st, min) || (other && renew(st))) {
		WRITE_ONCE(c->last, i);
		return st;
	}
	iwt_stage_put(st);
	return NULL;
}

/**
 * iwt_stage_get() - memory to frame in
 * @min: octets wanted in one piece, at most IWT_STAGE_SIZE; of @small, IWT_STAGE_SMALL
 * @small: there is no more than that
 *
 * The one used last as long as there is room in it; then the first one, so that
 * no more go round than are needed; then the next, which was used the longest
 * ago. There may be less room than @min when memory is short, but a page.
 * Bottom halves are off; never sleeps. Return: the stage, which is the caller's
 * until iwt_stage_put(), or NULL without memory.
 */
struct iwt_stage *iwt_stage_get(u32 min, bool small)
{
	struct iwt_stages *c = small ? raw_cpu_ptr(&small_stages) :
				       raw_cpu_ptr(&large_stages);
	u32 i, last = READ_ONCE(c->last);
	struct iwt_stage *st;

	st = use(c, last, min, false);
	if (!st)
		st = use(c, 0, min, false);
	for (i = 1; !st && i < IWT_STAGES; i++)
		st = use(c, (last + i) % IWT_STAGES, min, true);
	return st;
}

/**
 * iwt_stage_put() - framing is done for now
 * @st: stage from iwt_stage_get()
 */
void iwt_stage_put(struct iwt_stage *st)
{
	/* what was done to it is done before another one takes it */
	smp_store_release(st->home, st);
}
