// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mapping a ring that the kernel has allocated, and checking the kernel's response. */

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "ring.h"

/* Maximum number of entries; a response with more entries is invalid. */
#define IWT_RING_MAX_ENTRIES	(1u << 24)

/* Is the kernel's description of a queue valid? @head: number of bytes before the entries */
static bool iwt_ring_desc_ok(const struct iwt_ring_desc *desc, uint32_t head)
{
	if (!desc->num || desc->num > IWT_RING_MAX_ENTRIES ||
	    desc->num & (desc->num - 1))
		return false;
	if (desc->stride < desc->min_stride ||
	    desc->stride > IWT_RING_MAX_STRIDE || desc->stride % 8)
		return false;
	if (desc->length > SIZE_MAX)
		return false;

	return desc->length >= head + (uint64_t)desc->num * desc->stride + desc->tail;
}

/*
 * Maps the queue that @desc describes. Returns 0 or an errno value; EPROTO if the kernel's
 * response is invalid.
 */
int iwt_ring_map(struct iwt_ring *ring, int fd,
		 const struct iwt_ring_desc *desc)
{
	void *map;

	static_assert(sizeof(struct iwt_ring_ctl) <= IWT_RING_CTL_SIZE,
		      "the control words do not fit in front of the entries");

	if (!iwt_ring_desc_ok(desc, IWT_RING_CTL_SIZE))
		return EPROTO;

	map = mmap(NULL, desc->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   desc->offset);
	if (map == MAP_FAILED)
		return errno;

	ring->ctl = map;
	ring->entries = (uint8_t *)map + IWT_RING_CTL_SIZE;
	ring->length = desc->length;
	ring->num = desc->num;
	ring->stride = desc->stride;

	return 0;
}

void iwt_ring_unmap(struct iwt_ring *ring)
{
	if (!ring->ctl)
		return;

	munmap(ring->ctl, ring->length);
	ring->ctl = NULL;
}

/*
 * As iwt_ring_map(), but maps only entries: @ring keeps its control words. Sets @map to the new
 * mapping.
 */
int iwt_ring_map_entries(struct iwt_ring *ring, struct iwt_map *map, int fd,
			 const struct iwt_ring_desc *desc)
{
	void *addr;

	if (!iwt_ring_desc_ok(desc, 0))
		return EPROTO;

	addr = mmap(NULL, desc->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    desc->offset);
	if (addr == MAP_FAILED)
		return errno;

	map->addr = addr;
	map->length = desc->length;
	ring->entries = addr;
	ring->num = desc->num;

	return 0;
}

void iwt_unmap(struct iwt_map *map)
{
	if (!map->addr)
		return;

	munmap(map->addr, map->length);
	map->addr = NULL;
}
