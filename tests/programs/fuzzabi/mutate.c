// SPDX-License-Identifier: GPL-2.0
/* Random numbers, values that often cause errors, and counters. */
#include <string.h>

#include "fuzzabi.h"

struct tally *iwt_tally;

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t iwt_rnd(struct fuzz *f)
{
	f->rnd += 0x9e3779b97f4a7c15ull;
	return mix(f->rnd);
}

/* Sets the seed of a step, so that the step does not depend on the result of the step before. */
void iwt_op_seed(struct fuzz *f, uint64_t n)
{
	f->rnd = mix(f->seed ^ mix(n << 8 | f->thread));
}

uint32_t iwt_below(struct fuzz *f, uint32_t n)
{
	return n ? iwt_rnd(f) % n : 0;
}

bool iwt_chance(struct fuzz *f, int percent)
{
	return (int)iwt_below(f, 100) < percent;
}

uint64_t iwt_value(struct fuzz *f)
{
	static const uint64_t v[] = {
		0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 19, 20, 24, 31, 32, 33, 63, 64, 65,
		127, 128, 255, 256, 257, 511, 512, 532, 533, 4095, 4096, 4097, 16384,
		65535, 65536, 1 << 20, (1 << 20) + 1, 1 << 24, 0x7fffffff, 0x80000000,
		0xfffffff0, 0xffffffff, 1ull << 32, 0x7fffffffffffffff, 1ull << 63,
		~4095ull, ~0ull, 0xffff888000001000ull, 0x7ffffffff000ull,
	};

	return v[iwt_below(f, sizeof(v) / sizeof(v[0]))];
}

/*
 * Returns an address in memory that is writable, read-only, partly mapped, unmapped, or a ring.
 */
uint64_t iwt_pointer(struct fuzz *f)
{
	uint64_t off = iwt_chance(f, 50) ? 0 : iwt_below(f, PAGE);

	switch (iwt_below(f, 8)) {
	case 0:
	case 1:
		return DATA + iwt_below(f, DATA_BYTES / PAGE) * PAGE + off;
	case 2:
	case 3:
		return ODD + iwt_below(f, ODD_PAGES) * PAGE + off;
	case 4:
		/* across the end of a page, into the next page */
		return ODD + iwt_below(f, ODD_PAGES) * PAGE + PAGE - 1 - iwt_below(f, 40);
	case 5:
		return RINGS + iwt_below(f, RING_ROOMS) * RING_ROOM + off;
	case 6:
		return (uint64_t)(uintptr_t)f->out + off;
	default:
		return iwt_value(f);
	}
}

bool iwt_hot(struct fuzz *f)
{
	return iwt_chance(f, f->hot);
}

static uint64_t other_handle(struct fuzz *f)
{
	struct obj *o = &f->w->obj[iwt_below(f, KINDS)][iwt_below(f, PER_KIND)];

	return iwt_chance(f, 20) ? o->num : o->handle;
}

static uint64_t changed(struct fuzz *f, uint64_t was, size_t size)
{
	switch (iwt_below(f, 7)) {
	case 0:
	case 1:
		return iwt_value(f);
	case 2:
		return was ^ 1ull << iwt_below(f, size * 8);
	case 3:
		return was + 1;
	case 4:
		return was - 1;
	case 5:
		return size == 8 ? iwt_pointer(f) : other_handle(f);
	default:
		return other_handle(f);
	}
}

/* Changes one to three aligned fields of a structure. */
void iwt_mutate(struct fuzz *f, void *at, size_t len)
{
	int n = 1 + iwt_below(f, 3);

	while (n-- && len) {
		size_t size = 1u << iwt_below(f, 4), pos;
		uint64_t v = 0;

		if (size > len)
			size = 1;
		pos = iwt_below(f, len / size) * size;
		memcpy(&v, (char *)at + pos, size);
		v = changed(f, v, size);
		memcpy((char *)at + pos, &v, size);
	}
}

void iwt_count(enum method m, int err)
{
	if (err < 0 || err >= MOST_ERRNO)
		err = MOST_ERRNO - 1;
	__atomic_fetch_add(&iwt_tally->n[m][err], 1, __ATOMIC_RELAXED);
}
