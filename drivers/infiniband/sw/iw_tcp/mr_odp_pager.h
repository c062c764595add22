/* SPDX-License-Identifier: GPL-2.0 */
/* Page faults of streams, resolved where it is possible to wait for them. */
#ifndef IWT_MR_ODP_PAGER_H
#define IWT_MR_ODP_PAGER_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/types.h>

#include "mr_odp_pages.h"

struct iwt_dev;
struct iwt_odp;
struct iwt_pager;
struct iwt_pager_worker;
struct iwt_stream;

/**
 * struct iwt_fault - memory that one direction of a stream waits for
 * @waits: it does; cleared under the lock of the pager
 * @how: what is done about it
 * @err: why the memory did not come; until it is asked for again, or was found after all
 * @pager: of the process whose memory it last was, with a reference, or NULL
 * @worker: takes the page fault, NULL until one does; guarded by the lock of the pager
 * @entry: place in the pager's list until then
 * @va: user address
 * @len: bytes
 * @around: bytes behind them of which those that are present are noted, too
 * @resume: called when the wait is over, with the lock of the pager held
 * @stream: stream, or NULL for a process that waits; the lock of the stream guards all of this
 *	where nothing else is said
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
 * struct iwt_fault_ask - memory that is asked for
 * @va: user address
 * @len: bytes that are needed at once, within the region
 * @behind: bytes of the region behind them
 * @how: what is done about those that are absent
 */
struct iwt_fault_ask {
	u64 va;
	u32 len;
	u64 behind;
	enum iwt_odp_how how;
};

/* Does the direction wait for memory? The lock of the stream is held. */
static inline bool iwt_fault_waits(const struct iwt_fault *f)
{
	return smp_load_acquire(&f->waits); /* pairs with answer() */
}

/* @f is zeroed. */
static inline void iwt_fault_init(struct iwt_fault *f,
				  void (*resume)(struct iwt_fault *f),
				  struct iwt_stream *st)
{
	f->resume = resume;
	f->stream = st;
}

int iwt_fault_raise(struct iwt_fault *f, struct iwt_pager *pager,
		    const struct iwt_fault_ask *ask);
void iwt_fault_cancel(struct iwt_fault *f);

/*
 * A whole FPDU has found its memory, and so what was last waited for, even if it had not come:
 * another stream may have brought it, or the process. The lock of the stream is held.
 */
static inline void iwt_fault_settle(struct iwt_fault *f)
{
	/* else the error is not about what is waited for now */
	if (unlikely(READ_ONCE(f->err)) && !iwt_fault_waits(f))
		f->err = 0;
}

struct iwt_pager *iwt_pager_join(struct iwt_dev *dev, gfp_t gfp);
void iwt_pager_leave(struct iwt_pager *pager);
struct iwt_odp *iwt_pager_odp(const struct iwt_pager *pager);
void iwt_pager_put(struct iwt_pager *pager);
int iwt_pager_init(void);
void iwt_pager_exit(void);

#endif
