/* SPDX-License-Identifier: GPL-2.0 */
/* Pagers. Their workers, which may sleep, resolve page faults for streams and prefetch calls. */
#ifndef IWT_MR_ODP_PAGER_H
#define IWT_MR_ODP_PAGER_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/types.h>

#include "mr_odp_pages.h"

struct iwt_dev;
struct iwt_odp;
struct iwt_pager;
struct iwt_pager_worker;
struct iwt_stream;

/**
 * struct iwt_fault - absent memory that a direction of a stream, or a prefetch call, waits for
 * @waits: the direction, or the prefetch call, is waiting; cleared under the lock of the pager
 * @how: action for absent pages
 * @err: error of the last request; cleared by the next request, by a cancellation, or when the
 *	engine finds all memory of an FPDU
 * @pager: pager of the last request, with a reference, or NULL
 * @worker: worker that resolves the fault, NULL before a worker has dequeued the fault; guarded
 *	by the lock of the pager
 * @entry: place in the pager's list, before a worker has dequeued the fault
 * @va: user address
 * @len: length in bytes
 * @around: number of bytes after the requested memory in which the pager also looks for present
 *	pages
 * @resume: called with the lock of the pager held, when the wait is over, unless the fault was
 *	cancelled
 * @stream: stream, or NULL for a prefetch call
 *
 * If no other lock is given, the lock of the stream guards the member. A prefetch call is the
 * only user of its fault.
 */
struct iwt_fault {
	bool waits;
	enum iwt_odp_how how;
	int err;
	struct iwt_pager *pager;
	struct iwt_pager_worker *worker;
	struct list_head entry;
	u64 va;
	u32 len;
	u32 around;
	void (*resume)(struct iwt_fault *f);
	struct iwt_stream *stream;
};

/**
 * struct iwt_fault_ask - request for memory
 * @va: user address
 * @len: bytes that the requester needs; within the region
 * @behind: number of bytes between the end of the requested memory and the end of the region
 * @how: action for absent pages
 */
struct iwt_fault_ask {
	u64 va;
	u32 len;
	u64 behind;
	enum iwt_odp_how how;
};

/* Is the direction, or the prefetch call, waiting for memory? The lock of the stream is held. */
static inline bool iwt_fault_waits(const struct iwt_fault *f)
{
	return smp_load_acquire(&f->waits); /* pairs with answer() */
}

/* Initialise a fault. @f: fault, zeroed; @st: stream, or NULL for a prefetch call. */
static inline void iwt_fault_init(struct iwt_fault *f,
				  void (*resume)(struct iwt_fault *f),
				  struct iwt_stream *st)
{
	f->resume = resume;
	f->stream = st;
}

/*
 * The engine has found all memory of an FPDU, including the memory of its last request. If that
 * request failed, another stream or the process has made the memory present since then: clear the
 * error. The lock of the stream is held.
 */
static inline void iwt_fault_settle(struct iwt_fault *f)
{
	/* while the direction is waiting, a worker may set f->err for the present request */
	if (unlikely(READ_ONCE(f->err)) && !iwt_fault_waits(f))
		f->err = 0;
}

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
int iwt_fault_raise(struct iwt_fault *f, struct iwt_pager *pager,
		    const struct iwt_fault_ask *ask);
void iwt_fault_cancel(struct iwt_fault *f);

struct iwt_pager *iwt_pager_join(struct iwt_dev *dev, gfp_t gfp);
void iwt_pager_leave(struct iwt_pager *pager);
struct iwt_odp *iwt_pager_odp(const struct iwt_pager *pager);
void iwt_pager_put(struct iwt_pager *pager);
int iwt_pager_init(void);
void iwt_pager_exit(void);
#else
static inline int iwt_fault_raise(struct iwt_fault *f, struct iwt_pager *pager,
				  const struct iwt_fault_ask *ask)
{
	return -EOPNOTSUPP;
}

static inline void iwt_fault_cancel(struct iwt_fault *f)
{
}

static inline void iwt_pager_leave(struct iwt_pager *pager)
{
}

static inline int iwt_pager_init(void)
{
	return 0;
}

static inline void iwt_pager_exit(void)
{
}
#endif

#endif
