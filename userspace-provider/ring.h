/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef IW_TCP_RING_H
#define IW_TCP_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/iw_tcp-abi.h>

/* Maximum size of an entry; a response with a larger stride is invalid. */
#define IWT_RING_MAX_STRIDE	65536u

/* A queue that is shared with the kernel. ctl is NULL if the queue does not exist. */
struct iwt_ring {
	struct iwt_ring_ctl *ctl;
	uint8_t *entries;
	size_t length;
	uint32_t num;
	uint32_t stride;
};

/* The kernel's description of a queue that it has allocated. */
struct iwt_ring_desc {
	uint64_t offset;
	uint64_t length;
	uint32_t num;
	uint32_t stride;
	/* minimum valid stride */
	uint32_t min_stride;
	/* number of bytes after the entries */
	uint32_t tail;
};

/* A mapping; addr is NULL if nothing is mapped. */
struct iwt_map {
	void *addr;
	size_t length;
};

int iwt_ring_map(struct iwt_ring *ring, int fd,
		 const struct iwt_ring_desc *desc);
void iwt_ring_unmap(struct iwt_ring *ring);
int iwt_ring_map_entries(struct iwt_ring *ring, struct iwt_map *map, int fd,
			 const struct iwt_ring_desc *desc);
void iwt_unmap(struct iwt_map *map);

/* Returns the address of the bytes after the entries. */
static inline void *iwt_ring_tail(const struct iwt_ring *ring)
{
	return ring->entries + (size_t)ring->num * ring->stride;
}

static inline void *iwt_ring_entry(const struct iwt_ring *ring, uint32_t index)
{
	return ring->entries + (size_t)(index & (ring->num - 1)) * ring->stride;
}

/* Loads *word. Later loads see all data that the other side wrote before it stored *word. */
static inline uint32_t iwt_load(const __u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Stores @value. A side that loads @value also sees all data written before this store. */
static inline void iwt_store(__u32 *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

#endif
