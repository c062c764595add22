/* SPDX-License-Identifier: GPL-2.0 */
/* The shared ring: index arithmetic and the wake-up protocol. */
#ifndef IWT_RING_H
#define IWT_RING_H

#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>
#include <rdma/iw_tcp-abi.h>

#include <asm/barrier.h>

#include "proto/first.h"

/**
 * struct iwt_ring - a queue that the kernel may share with userspace
 * @ctl: shared indices; a process may change every field at any time
 * @ent: first entry
 * @mask: number of entries minus one
 * @stride: size of an entry in bytes
 *
 * The files verbs_*.c allocate and free the memory of the ring. After a resize of a completion
 * queue, its entries may be in separate memory (cq_resize.c).
 */
struct iwt_ring {
	struct iwt_ring_ctl *ctl;
	u8 *ent;
	u32 mask;
	u32 stride;
};

static inline size_t iwt_ring_bytes(u32 entries, u32 stride)
{
	return IWT_RING_CTL_SIZE + (size_t)entries * stride;
}

static inline void iwt_ring_init(struct iwt_ring *r, void *mem, u32 entries,
				 u32 stride)
{
	r->ctl = mem;
	r->ent = (u8 *)mem + IWT_RING_CTL_SIZE;
	r->mask = entries - 1;
	r->stride = stride;
	/* no process has mapped the ring yet */
	r->ctl->prod = IWT_FIRST;
	r->ctl->cons = IWT_FIRST;
}

static inline void *iwt_ring_at(const struct iwt_ring *r, u32 idx)
{
	return r->ent + (size_t)(idx & r->mask) * r->stride;
}

/* Return: the producer index. The contents of all entries before this index are visible. */
static inline u32 iwt_ring_prod(const struct iwt_ring *r)
{
	/* pairs with the producer's release */
	return smp_load_acquire(&r->ctl->prod);
}

/*
 * Make a private copy of data in a ring that a process may change at any time. Only the copy is
 * checked and used. Because of barrier(), the compiler does not read the ring again instead of
 * the copy.
 */
static inline void iwt_ring_read(void *copy, const void *shared, size_t size)
{
	memcpy(copy, shared, size);
	barrier();
}

static inline void iwt_ring_set_prod(struct iwt_ring *r, u32 idx)
{
	/* the entry must be visible before the index */
	smp_store_release(&r->ctl->prod, idx);
}

static inline void iwt_ring_set_cons(struct iwt_ring *r, u32 idx)
{
	/* the entry must be read before its slot is freed */
	smp_store_release(&r->ctl->cons, idx);
}

/*
 * The reader of the ring calls this function before it stops reading the ring. The producer
 * stores prod, executes a full barrier and reads the flag. The reader sets the flag, executes a
 * full barrier and reads prod. At least one side sees the store of the other side, so no entry is
 * missed (wake_doorbell.c describes the whole protocol). Return: true if the ring has no entry at
 * the index @cons, so that the reader may stop.
 */
static inline bool iwt_ring_sleep(struct iwt_ring *r, u32 cons)
{
	WRITE_ONCE(r->ctl->flags, IWT_RING_NEED_WAKEUP);
	/* the barrier of the reader; pairs with iwt_ring_needs_wakeup() and the provider */
	smp_mb();
	return READ_ONCE(r->ctl->prod) == cons;
}

/* Is IWT_RING_NEED_WAKEUP set? A process may overwrite the flag, and harms only itself. */
static inline bool iwt_ring_asleep(const struct iwt_ring *r)
{
	return READ_ONCE(r->ctl->flags) & IWT_RING_NEED_WAKEUP;
}

static inline void iwt_ring_awake(struct iwt_ring *r)
{
	WRITE_ONCE(r->ctl->flags, 0);
}

/* For a kernel producer, after iwt_ring_set_prod(): must the reader of the ring be woken? */
static inline bool iwt_ring_needs_wakeup(const struct iwt_ring *r)
{
	/* the barrier of the producer; pairs with iwt_ring_sleep() */
	smp_mb();
	return iwt_ring_asleep(r);
}

/* The opcode of a receive in tracepoints; other requests have an enum iwt_wr_opcode. */
#define IWT_TRACE_RECV	255

#endif
