/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a region, as a list of extents of kernel memory. */
#ifndef IWT_MR_EXTENTS_H
#define IWT_MR_EXTENTS_H

#include <linux/types.h>

/* Bytes that are contiguous in the kernel's address space. */
struct iwt_extent {
	u64 off;	/* offset of the first byte from the start of the region */
	u8 *va;
	u64 len;
};

/* The memory of a region: extents in order of offset. */
struct iwt_extents {
	struct iwt_extent *ext;
	u32 n;		/* number of extents in use */
	u32 max;	/* number of allocated extents */
};

int iwt_extents_alloc(struct iwt_extents *e, u32 max, gfp_t gfp);
void iwt_extents_free(struct iwt_extents *e);
int iwt_extents_add(struct iwt_extents *e, u8 *va, u64 len);
/* Return: false if the list does not cover the bytes from @skip to @skip + @len. */
bool iwt_extents_trim(struct iwt_extents *e, u64 skip, u64 len);
/* Does an extent contain the byte at @off? If so, *@hint is set to the index of the extent. */
bool iwt_extents_find(const struct iwt_extents *e, u64 off, u32 *hint);

#endif
