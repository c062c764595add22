/* SPDX-License-Identifier: GPL-2.0 */
/* Page faults of streams, resolved where it is possible to wait for them. */
#ifndef IWT_PAGER_H
#define IWT_PAGER_H

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/types.h>

struct iwt_odp;
struct iwt_pager;
struct iwt_pager_worker;
struct iwt_stream;

/**
 * struct iwt_fault - memory that one direction of a stream waits for
 * @waits: it does; cleared under the lock of the pager
 * @write: the octets are to be written
 * @err: why the memory did not come; until it is asked for again, or was found after all
 * @pager: of the process whose memory it last was, with a reference, or NULL
 * @worker: takes the page fault, NULL until one does; guarded by the lock of the pager
 * @entry: place in the pager's list until then
 * @odp: pages of the region, with a reference, while it waits and as long as @err is set
 * @off: octet of the region
 * @len: octets
 * @resume: called with @stream when the wait is over, with the lock of the pager held
 * @stream: stream; its lock guards all of this where nothing else is said
 */
struct iwt_fault {
	bool waits;
	bool write;
	int err;
	struct iwt_pager *pager;
	struct iwt_pager_worker *worker;
	struct list_head entry;
	struct iwt_odp *odp;
	u64 off;
	u32 len;
	void (*resume)(struct iwt_stream *st);
	struct iwt_stream *stream;
};

/* Does the direction wait for memory? The lock of the stream is held. */
static inline bool iwt_fault_waits(const struct iwt_fault *f)
{
	return smp_load_acquire(&f->waits); /* pairs with answer() */
}

/* @f is zeroed. */
static inline void iwt_fault_init(struct iwt_fault *f,
				  void (*resume)(struct iwt_stream *st),
				  struct iwt_stream *st)
{
	f->resume = resume;
	f->stream = st;
}

int iwt_fault_raise(struct iwt_fault *f, struct iwt_pager *pager,
		    struct iwt_odp *odp, u64 off, u32 len, bool write);
void iwt_fault_cancel(struct iwt_fault *f);
void iwt_fault_forget(struct iwt_fault *f);

/*
 * A whole FPDU has found its memory, and so what was last waited for. The lock of the stream is
 * held.
 */
static inline void iwt_fault_settle(struct iwt_fault *f)
{
	if (unlikely(READ_ONCE(f->err)))
		iwt_fault_forget(f);
}

struct iwt_pager *iwt_pager_get(gfp_t gfp);
void iwt_pager_put(struct iwt_pager *pager);
int iwt_pager_init(void);
void iwt_pager_exit(void);

#endif
