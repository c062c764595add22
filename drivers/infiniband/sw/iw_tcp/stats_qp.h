/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of queue pairs: `rdma statistic qp`. */
#ifndef IWT_STATS_QP_H
#define IWT_STATS_QP_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "stats.h"

struct iwt_dev;
struct iwt_qp;

/* No member is the driver's: the driver's part of a counter is a struct counter (stats_qp.c). */
struct iwt_qp_counter {
	struct rdma_counter counter;
};

#ifdef CONFIG_INFINIBAND_IW_TCP_COUNTERS
void iwt_counter_init(struct rdma_counter *counter);
struct rdma_hw_stats *iwt_counter_alloc_stats(struct rdma_counter *counter);
int iwt_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port);
int iwt_counter_unbind_qp(struct ib_qp *ibqp, u32 port);
int iwt_counter_dealloc(struct rdma_counter *counter);
int iwt_counter_update_stats(struct rdma_counter *counter);
u64 iwt_counters_sum(struct iwt_dev *dev, enum iwt_counter c);
void iwt_counter_leave(struct iwt_qp *qp);
void iwt_counters_end(struct iwt_dev *dev);
#else
static inline void iwt_counter_leave(struct iwt_qp *qp)
{
}

static inline void iwt_counters_end(struct iwt_dev *dev)
{
}
#endif

#endif
