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
 * @ctl: shared indices; everything in it may change at any time; NULL when the memory is gone
 * @ent: first entry
 * @mask: number of entries less one
 * @stride: octets of an entry
 *
 * The memory belongs to the verbs layer.
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
	/* nobody maps it yet */
	r->ctl->prod = IWT_FIRST;
	r->ctl->cons = IWT_FIRST;
}

static inline void *iwt_ring_at(const struct iwt_ring *r, u32 idx)
{
	return r->ent + (size_t)(idx & r->mask) * r->stride;
}

/* Entries up to the returned index are complete in memory. */
static inline u32 iwt_ring_prod(const struct iwt_ring *r)
{
	/* pairs with the producer's release */
	return smp_load_acquire(&r->ctl->prod);
}

/*
 * The memory is about to go, and nobody posts, takes or completes any more. But what shows queues
 * (restrack.c, raw_dump.c) may still look: older kernels hide an object only when it has been
 * destroyed. With the lock that they look under.
 */
static inline void iwt_ring_gone(struct iwt_ring *r)
{
	r->ctl = NULL;
}

/* For those: the producer's index, or @gone without memory. */
static inline u32 iwt_ring_shown(const struct iwt_ring *r, u32 gone)
{
	return r->ctl ? iwt_ring_prod(r) : gone;
}

/*
 * A private copy of something in a ring that a process may change at any time. Only the copy is
 * checked and used. barrier(): the compiler must not read the ring again instead of the copy.
 */
static inline void iwt_ring_read(void *copy, const void *shared, size_t size)
{
	memcpy(copy, shared, size);
	barrier();
}

static inline void iwt_ring_set_prod(struct iwt_ring *r, u32 idx)
{
	/* the entry before the index */
	smp_store_release(&r->ctl->prod, idx);
}

static inline void iwt_ring_set_cons(struct iwt_ring *r, u32 idx)
{
	/* the entry was read before its slot is given back */
	smp_store_release(&r->ctl->cons, idx);
}

/*
 * The producer stores prod, executes a full barrier and reads the flag. The consumer sets the
 * flag, executes a full barrier and reads prod. One of the two sees the other's store, so no
 * entry is left unnoticed (wake_doorbell.c has the whole story).
 */
static inline bool iwt_ring_sleep(struct iwt_ring *r, u32 cons)
{
	WRITE_ONCE(r->ctl->flags, IWT_RING_NEED_WAKEUP);
	/* the consumer's half, see above */
	smp_mb();
	return READ_ONCE(r->ctl->prod) == cons;
}

/* Was it put to sleep? A process can overwrite the flag, at its own cost. */
static inline bool iwt_ring_asleep(const struct iwt_ring *r)
{
	return READ_ONCE(r->ctl->flags) & IWT_RING_NEED_WAKEUP;
}

static inline void iwt_ring_awake(struct iwt_ring *r)
{
	WRITE_ONCE(r->ctl->flags, 0);
}

/* Kernel producer: after iwt_ring_set_prod(). */
static inline bool iwt_ring_needs_wakeup(const struct iwt_ring *r)
{
	/* the producer's half, see above */
	smp_mb();
	return iwt_ring_asleep(r);
}

#endif
