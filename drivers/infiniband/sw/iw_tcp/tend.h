/* SPDX-License-Identifier: GPL-2.0 */
/* Send queues that a polling process tends (qp_tend.c). */
#ifndef IWT_TEND_H
#define IWT_TEND_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct iwt_cq;
struct iwt_qp;

/**
 * struct iwt_tend - what the process tends that polls a completion queue
 * @lock: guards all but the guesses; BH off, outside qp->lock
 * @qps: queue pairs, by struct iwt_tended
 * @on: the process knows that it is counted on
 * @visits: visits under way
 * @seen: end of the last sign of life, in nanoseconds
 * @missed: how often the timer has found none since the last one
 * @late: and there was work
 * @quiet: when it may begin again, in nanoseconds
 * @wait: nanoseconds from an end with work that was late to @quiet
 * @timer: stands in for the process
 * @row: doorbells in quick succession; a guess
 * @last: end of the last one, in nanoseconds; a guess
 */
struct iwt_tend {
	spinlock_t lock;
	struct list_head qps;
	bool on;
	bool late;
	u32 visits;
	u32 missed;
	u64 seen;
	u64 quiet;
	u64 wait;
	struct hrtimer timer;
	u32 row;
	u64 last;
};

/**
 * struct iwt_tended - a queue pair's place with one of its completion queues
 * @node: in iwt_tend.qps, or empty; guarded by the lock there
 * @qp: whose it is
 */
struct iwt_tended {
	struct list_head node;
	struct iwt_qp *qp;
};

void iwt_tend_setup(struct iwt_cq *cq);
void iwt_tend_end(struct iwt_cq *cq);
void iwt_tend_visit(struct iwt_cq *cq);
void iwt_tended_setup(struct iwt_qp *qp);
void iwt_tended_end(struct iwt_qp *qp);
void iwt_tended_rang(struct iwt_qp *qp, bool streams, u64 before, u64 now);

#endif
