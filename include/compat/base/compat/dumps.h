/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dumps of queues while the driver destroys them (restrack.c, raw_dump.c).
 *
 * Before the newest kernel calls the driver to destroy a queue, it waits for the dumps of the
 * queue to end, and starts no other dump. In older kernels, including older point releases of
 * stable kernels, a dump finds a queue until the driver has destroyed the queue. No header shows
 * what a kernel does, so this file is for every kernel: when the memory of a ring is about to be
 * freed, the driver sets the pointer to this memory to NULL, and the dumps check the pointer.
 * Both hold the lock of the queue. The patches for the newest kernel do not contain these steps.
 */
#ifndef COMPAT_DUMPS_H
#define COMPAT_DUMPS_H

/* Do the dumps of a queue end before the driver destroys the queue? false: perhaps not. */
#define compat_dumps_end_first	false

/* The memory of the ring is about to be freed. */
#define compat_ring_gone(r)	((r)->ctl = NULL)

#define compat_ring_exists(r)	((r)->ctl)

/* The producer index, or @gone if the memory of the ring was freed. */
#define compat_ring_prod(r, gone)	((r)->ctl ? iwt_ring_prod(r) : (gone))

#endif
