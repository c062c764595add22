// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of extents of kernel memory (struct iwt_extent). The functions take no locks: the caller
 * holds the lock of the region that has the list, if other contexts can access the list.
 */
#include "mr_extents.h"

#include <linux/slab.h>

/**
 * iwt_extents_alloc() - allocate an empty list
 * @e: list
 * @max: maximum number of extents
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

/* Free a list, and zero it; @e may be all zeroes. May sleep. */
void iwt_extents_free(struct iwt_extents *e)
{
	kvfree(e->ext);
	*e = (struct iwt_extents){};
}

/**
 * iwt_extents_add() - append memory
 * @e: list
 * @va: address of the memory; memory that begins at the end of the last extent makes that extent
 *	longer
 * @len: length in bytes
 *
 * Any context.
 *
 * Return: 0, or -ENOMEM if the list is full.
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
 * iwt_extents_trim() - cut a list of whole pages to the bounds of a region
 * @e: list
 * @skip: number of bytes to cut off the front, all in the first extent
 * @len: number of bytes to keep after the skipped bytes
 *
 * Any context.
 *
 * Return: true; false if the first extent has no more than @skip bytes, or if the list has fewer
 * than @skip + @len bytes: then the list can't be used any more.
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

/* Return: index of the last extent that begins at or before @off. */
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
 * iwt_extents_find() - find the extent that contains a byte
 * @e: list
 * @off: offset of the byte from the start of the list
 * @hint: index where the search begins, any number; set to the index of the extent
 *
 * Any context.
 *
 * Return: true; false if no extent contains the byte.
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
