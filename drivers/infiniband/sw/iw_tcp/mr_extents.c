// SPDX-License-Identifier: GPL-2.0
/* Runs of kernel memory. No locks: the owner of a list has them. */
#include "mr_extents.h"

#include <linux/slab.h>

/**
 * iwt_extents_alloc() - an empty list
 * @e: list
 * @max: room for as many runs
 * @gfp: GFP_KERNEL, or GFP_KERNEL_ACCOUNT to charge the process
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_extents_alloc(struct iwt_extents *e, u32 max, gfp_t gfp)
{
	e->ext = kvmalloc_objs(*e->ext, max, gfp);
	if (!e->ext)
		return -ENOMEM;
	e->max = max;
	e->n = 0;
	return 0;
}

/**
 * iwt_extents_free() - the end of a list
 * @e: list, or zeroes; empty and without room afterwards
 *
 * May sleep.
 */
void iwt_extents_free(struct iwt_extents *e)
{
	kvfree(e->ext);
	*e = (struct iwt_extents){};
}

/**
 * iwt_extents_add() - append bytes
 * @e: list
 * @va: the first of them; if they continue the last run, they become a part of it
 * @len: how many
 *
 * Any context.
 *
 * Return: 0, or -ENOMEM if there is no room.
 */
int iwt_extents_add(struct iwt_extents *e, u8 *va, u64 len)
{
	struct iwt_extent *last = e->n ? &e->ext[e->n - 1] : NULL;

	if (last && last->va + last->len == va) {
		last->len += len;
		return 0;
	}
	if (e->n == e->max)
		return -ENOMEM;
	e->ext[e->n++] = (struct iwt_extent){
		.off = last ? last->off + last->len : 0,
		.va = va,
		.len = len,
	};
	return 0;
}

/**
 * iwt_extents_trim() - cut a list to what was asked for
 * @e: list
 * @skip: bytes to cut off the front, which lie in the first run
 * @len: bytes to keep
 *
 * Any context.
 *
 * Return: false if there are fewer.
 */
bool iwt_extents_trim(struct iwt_extents *e, u64 skip, u64 len)
{
	u32 i;

	if (!e->n || e->ext[0].len <= skip)
		return false;
	e->ext[0].va += skip;
	e->ext[0].len -= skip;
	for (i = 1; i < e->n; i++)
		e->ext[i].off -= skip;
	for (i = 0; i < e->n; i++) {
		if (e->ext[i].len < len - e->ext[i].off)
			continue;
		e->ext[i].len = len - e->ext[i].off;
		e->n = i + 1;
		return true;
	}
	return false;
}

static bool holds(const struct iwt_extents *e, u32 i, u64 off)
{
	return i < e->n && off >= e->ext[i].off &&
		off - e->ext[i].off < e->ext[i].len;
}

/* Index of the last run that does not begin behind @off. */
static u32 search(const struct iwt_extents *e, u64 off)
{
	u32 lo = 0, hi = e->n;

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (e->ext[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/**
 * iwt_extents_find() - which run holds a byte?
 * @e: list
 * @off: offset of the byte from the start
 * @hint: run where the search begins, any number; set to the one that was found
 *
 * Any context.
 *
 * Return: false if there is none.
 */
bool iwt_extents_find(const struct iwt_extents *e, u64 off, u32 *hint)
{
	u32 i = *hint;

	if (!holds(e, i, off))
		i++;
	if (!holds(e, i, off))
		i = search(e, off);
	if (!holds(e, i, off))
		return false;
	*hint = i;
	return true;
}
