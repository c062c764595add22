/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of a device, shown by `rdma statistic` and sysfs hw_counters. */
#ifndef IWT_STATS_H
#define IWT_STATS_H

#include <linux/cache.h>
/* linux/percpu.h needs this: on some architectures this_cpu_add() disables interrupts */
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct iwt_dev;
struct iwt_stats;
struct rdma_hw_stats;
struct ib_device;

/*
 * RDMA core adds each counter of the queue pairs (stats_qp.c) to the counter that has the same
 * index and belongs to the port. The kernel's answer to `rdma statistic show` must fit in a
 * netlink message of one page, which has room for about 90 counters.
 */
enum iwt_counter {
	/*
	 * counters of streams; those that the engines change in most runs are in the first two
	 * cache lines
	 */
	IWT_C_RX_FPDU,
	IWT_C_RX_BYTES,
	IWT_C_RX_SEGS,
	IWT_C_RX_ALIGNED,
	IWT_C_RX_SEND,
	IWT_C_RX_WRITE,
	IWT_C_RX_READ,
	IWT_C_RX_BUDGET,
	IWT_C_TX_FPDU,
	IWT_C_TX_BYTES,
	IWT_C_TX_SEGS,
	IWT_C_TX_ALIGNED,
	IWT_C_TX_BATCH,
	IWT_C_TX_SEND,
	IWT_C_TX_WRITE,
	IWT_C_TX_READ,
	IWT_C_TX_ZEROCOPY,
	IWT_C_TX_BLOCKED,
	IWT_C_TX_NO_MEM,
	IWT_C_TX_WAIT_ORD,
	IWT_C_TX_CONFIRM,
	IWT_C_RX_WAIT_RECV,
	IWT_C_RX_AHEAD,
	IWT_C_RX_AHEAD_KEPT,
	IWT_C_REPLY_SPIN_HIT,
	IWT_C_REPLY_SPIN_MISS,
	IWT_C_FLUSH_BUDGET,
	IWT_C_RX_CRC_ERR,
	IWT_C_RX_PROTO_ERR,
	IWT_C_RX_ACCESS_ERR,
	IWT_C_TERM_TX,
	IWT_C_TERM_RX,
	IWT_C_CONN_LOST,
	IWT_STREAM_COUNTERS,
	/* counters of the device only */
	IWT_C_DOORBELL = IWT_STREAM_COUNTERS,
	IWT_C_SQPOLL,
	IWT_C_CQ_FLUSH,
	IWT_C_MIGRATE,
	IWT_C_GATHER,
	IWT_C_ODP_FAULT,
	IWT_C_ODP_FAILED,
	IWT_C_ODP_INVALIDATE,
	IWT_C_WR_ERROR,
	IWT_C_WR_FLUSHED,
	IWT_C_CQ_OVERRUN,
	IWT_C_CONN_ACTIVE,
	IWT_C_CONN_PASSIVE,
	IWT_C_CONN_REJECTED,
	IWT_C_CONN_FAILED,
	IWT_C_CONN_TIMEOUT,
	IWT_C_CONN_RETRY_REV1,
	IWT_C_DIRECT_TRY,
	IWT_C_DIRECT_REFUSED,
	IWT_C_CONN_EVICTED,
	IWT_C_MPA_BAD,
	IWT_C_LINK_DOWN,
	IWT_COUNTERS,
	/* gauges: current amounts, which can also decrease */
	IWT_G_CONN_CURRENT = IWT_COUNTERS,
	IWT_G_MEM_PINNED,
	IWT_G_MEM_RINGS,
	IWT_G_MEM_PARTIAL_FPDU,
	IWT_G_MEM_TXBUF,
	IWT_G_END
};

#ifdef CONFIG_INFINIBAND_IW_TCP_COUNTERS
struct iwt_stats {
	u64 c[IWT_COUNTERS] ____cacheline_aligned;
};

/* Add @n to a counter. Any context. */
static inline void iwt_stats_add(struct iwt_stats __percpu *stats,
				 enum iwt_counter c, u64 n)
{
	this_cpu_add(stats->c[c], n);
}

void iwt_count_add(struct iwt_dev *dev, enum iwt_counter c, u64 n);
int iwt_stats_init(struct iwt_dev *dev);
void iwt_stats_free(struct iwt_dev *dev);
u64 iwt_stats_sum(struct iwt_stats __percpu *stats, enum iwt_counter c);
struct rdma_hw_stats *iwt_stats_alloc(void);
struct rdma_hw_stats *iwt_stats_alloc_hw(struct ib_device *ibdev, u32 port);
int iwt_stats_get_hw(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index);
#else
static inline void iwt_stats_add(struct iwt_stats __percpu *stats,
				 enum iwt_counter c, u64 n)
{
}

static inline void iwt_count_add(struct iwt_dev *dev, enum iwt_counter c, u64 n)
{
}

static inline int iwt_stats_init(struct iwt_dev *dev)
{
	return 0;
}

static inline void iwt_stats_free(struct iwt_dev *dev)
{
}
#endif

static inline void iwt_count(struct iwt_dev *dev, enum iwt_counter c)
{
	iwt_count_add(dev, c, 1);
}

#endif
