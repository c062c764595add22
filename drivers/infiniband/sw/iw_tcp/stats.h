/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of a device, shown by `rdma statistic` and sysfs hw_counters. */
#ifndef IWT_STATS_H
#define IWT_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct iwt_dev;
struct rdma_hw_stats;
struct ib_device;

enum iwt_counter {
	IWT_C_RX_FPDU,
	IWT_C_RX_BYTES,
	IWT_C_RX_SEGS,
	IWT_C_RX_ALIGNED,
	IWT_C_RX_MORE,
	IWT_C_RX_CRC_ERR,
	IWT_C_RX_PROTO_ERR,
	IWT_C_RX_ACCESS_ERR,
	IWT_C_TX_FPDU,
	IWT_C_TX_BYTES,
	IWT_C_TX_SEGS,
	IWT_C_TX_ALIGNED,
	IWT_C_TX_BATCH,
	IWT_C_TX_BLOCKED,
	IWT_C_TX_ZEROCOPY,
	IWT_C_TERM_TX,
	IWT_C_TERM_RX,
	IWT_C_DOORBELL,
	IWT_C_SQPOLL,
	IWT_C_CQ_FLUSH,
	IWT_C_MIGRATE,
	IWT_C_REPLY_HIT,
	IWT_C_FLUSH_MORE,
	IWT_C_CQ_OVERRUN,
	IWT_C_CONN_ACTIVE,
	IWT_C_CONN_PASSIVE,
	IWT_C_CONN_REJECTED,
	IWT_C_CONN_FAILED,
	IWT_C_CONN_TIMEOUT,
	IWT_C_CONN_AGAIN,
	IWT_C_CONN_EVICTED,
	IWT_C_MPA_BAD,
	IWT_C_COUNT
};

struct iwt_stats {
	u64 c[IWT_C_COUNT];
};

void iwt_count_add(struct iwt_dev *dev, enum iwt_counter c, u64 n);

static inline void iwt_count(struct iwt_dev *dev, enum iwt_counter c)
{
	iwt_count_add(dev, c, 1);
}

int iwt_stats_init(struct iwt_dev *dev);
void iwt_stats_free(struct iwt_dev *dev);
struct rdma_hw_stats *iwt_stats_alloc_hw(struct ib_device *ibdev, u32 port);
int iwt_stats_get_hw(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index);

#endif
