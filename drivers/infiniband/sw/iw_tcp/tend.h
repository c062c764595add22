/* SPDX-License-Identifier: GPL-2.0 */
/* Send queues that a polling process tends (qp_tend.c). */
#ifndef IWT_TEND_H
#define IWT_TEND_H

#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct iwt_cq;
struct iwt_qp;

/* The bit of a queue pair that has none. */
#define IWT_NO_BIT	U32_MAX

/**
 * struct iwt_tend - what the process tends that polls a completion queue
 * @lock: guards all but the guesses and what is set up; BH off, outside qp->lock
 * @posted: a bit for each queue pair for which something may be new; shared with
 *	the process
 * @bits: how many there are, a multiple of 32
 * @top: end of those that any queue pair has had
 * @qps: struct iwt_tended of the queue pairs, by their bits
 * @on: the process knows that it is counted on
 * @visits: visits under way
 * @seen: end of the last sign of life, in nanoseconds
 * @missed: how often the timer has found none since the last one
 * @late: and there was work
 * @found: requests that the visits under way have found; a guess
 * @poor: visits in a row that were no better than doorbells
 * @quiet: when it may begin again, in nanoseconds
 * @wait: nanoseconds from an end with work that was late to @quiet
 * @timer: stands in for the process
 * @row: doorbells in quick succession; a guess
 * @last: end of the last one, in nanoseconds; a guess
 */
struct iwt_tend {
	spinlock_t lock;
	u32 *posted;
	u32 bits;
	u32 top;
	struct xarray qps;
	bool on;
	bool late;
	u32 visits;
	u32 missed;
	u32 found;
	u32 poor;
	u64 seen;
	u64 quiet;
	u64 wait;
	struct hrtimer timer;
	u32 row;
	u64 last;
};

/**
 * struct iwt_tended - a queue pair's place with one of its completion queues
 * @qp: whose it is
 * @bit: in iwt_tend.posted, or %IWT_NO_BIT
 * @on: the ring counts on whoever polls; guarded by the lock there
 */
struct iwt_tended {
	struct iwt_qp *qp;
	u32 bit;
	bool on;
};

/* Octets of the bits of a completion queue of so many entries, a power of two. */
static inline size_t iwt_tend_bytes(u32 entries)
{
	return max_t(u32, entries, 32) / 8;
}

void iwt_tend_setup(struct iwt_cq *cq);
void iwt_tend_allow(struct iwt_cq *cq, u32 entries);
void iwt_tend_end(struct iwt_cq *cq);
void iwt_tend_visit(struct iwt_cq *cq);
void iwt_tended_setup(struct iwt_qp *qp);
void iwt_tended_join(struct iwt_qp *qp);
void iwt_tended_end(struct iwt_qp *qp);
void iwt_tended_rang(struct iwt_qp *qp, bool streams, u64 before, u64 now);

#endif
