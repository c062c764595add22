// SPDX-License-Identifier: GPL-2.0
/* Counters of a device: one set for each processor, added up when they are read. */
#include "stats.h"

#include <rdma/ib_verbs.h>

#include "dev.h"

static const struct rdma_stat_desc descs[IWT_C_COUNT] = {
	[IWT_C_RX_FPDU].name		= "rx_fpdu",
	[IWT_C_RX_BYTES].name		= "rx_bytes",
	[IWT_C_RX_SEGS].name		= "rx_segs",
	[IWT_C_RX_ALIGNED].name		= "rx_aligned",
	[IWT_C_RX_MORE].name		= "rx_more",
	[IWT_C_RX_CRC_ERR].name		= "rx_crc_err",
	[IWT_C_RX_PROTO_ERR].name	= "rx_proto_err",
	[IWT_C_RX_ACCESS_ERR].name	= "rx_access_err",
	[IWT_C_TX_FPDU].name		= "tx_fpdu",
	[IWT_C_TX_BYTES].name		= "tx_bytes",
	[IWT_C_TX_SEGS].name		= "tx_segs",
	[IWT_C_TX_ALIGNED].name		= "tx_aligned",
	[IWT_C_TX_BATCH].name		= "tx_batch",
	[IWT_C_TX_BLOCKED].name		= "tx_blocked",
	[IWT_C_TX_ZEROCOPY].name	= "tx_zerocopy",
	[IWT_C_TERM_TX].name		= "term_tx",
	[IWT_C_TERM_RX].name		= "term_rx",
	[IWT_C_DOORBELL].name		= "doorbell",
	[IWT_C_SQPOLL].name		= "sqpoll",
	[IWT_C_CQ_FLUSH].name		= "cq_flush",
	[IWT_C_MIGRATE].name		= "migrate",
	[IWT_C_REPLY_HIT].name		= "reply_hit",
	[IWT_C_FLUSH_MORE].name		= "flush_more",
	[IWT_C_CQ_OVERRUN].name		= "cq_overrun",
	[IWT_C_CONN_ACTIVE].name	= "conn_active",
	[IWT_C_CONN_PASSIVE].name	= "conn_passive",
	[IWT_C_CONN_REJECTED].name	= "conn_rejected",
	[IWT_C_CONN_FAILED].name	= "conn_failed",
	[IWT_C_CONN_TIMEOUT].name	= "conn_timeout",
	[IWT_C_CONN_AGAIN].name		= "conn_again",
	[IWT_C_CONN_EVICTED].name	= "conn_evicted",
	[IWT_C_MPA_BAD].name		= "mpa_bad",
};

/**
 * iwt_count_add() - add to a counter
 * @dev: device
 * @c: which
 * @n: how much
 *
 * Any context.
 */
void iwt_count_add(struct iwt_dev *dev, enum iwt_counter c, u64 n)
{
	this_cpu_add(dev->stats->c[c], n);
}

/**
 * iwt_stats_init() - allocate the counters of a device
 * @dev: device
 *
 * Process context, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_stats_init(struct iwt_dev *dev)
{
	dev->stats = alloc_percpu(struct iwt_stats);
	return dev->stats ? 0 : -ENOMEM;
}

/**
 * iwt_stats_free() - free the counters of a device
 * @dev: device, which nothing counts for any more
 */
void iwt_stats_free(struct iwt_dev *dev)
{
	free_percpu(dev->stats);
	dev->stats = NULL;
}

/**
 * iwt_stats_alloc_hw() - ib_device operation alloc_hw_port_stats
 * @ibdev: device
 * @port: its only one
 *
 * Return: the structure, or NULL without memory.
 */
struct rdma_hw_stats *iwt_stats_alloc_hw(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, IWT_C_COUNT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * iwt_stats_get_hw() - ib_device operation get_hw_stats
 * @ibdev: device
 * @stats: all counters are filled in
 * @port: the only one; the device as a whole has none
 * @index: the one that is wanted
 *
 * Return: number of counters, or -EINVAL.
 */
int iwt_stats_get_hw(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index)
{
	struct iwt_dev *dev = to_iwt_dev(ibdev);
	int cpu, i;

	if (port != 1)
		return -EINVAL;
	for (i = 0; i < IWT_C_COUNT; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->c[i]);
		stats->value[i] = sum;
	}
	return IWT_C_COUNT;
}
