// SPDX-License-Identifier: GPL-2.0
/* Counters of a device: one set per CPU, summed when they are read. */
#include "stats.h"

#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "sock.h"
#include "tx_buf.h"

static const struct rdma_stat_desc descs[IWT_G_END] = {
	[IWT_C_RX_FPDU].name	= "rx_fpdu",
	[IWT_C_RX_BYTES].name	= "rx_bytes",
	[IWT_C_RX_SEGS].name	= "rx_segs",
	[IWT_C_RX_ALIGNED].name	= "rx_aligned",
	[IWT_C_RX_SEND].name	= "rx_send",
	[IWT_C_RX_WRITE].name	= "rx_write",
	[IWT_C_RX_READ].name	= "rx_read",
	[IWT_C_RX_BUDGET].name	= "rx_budget",
	[IWT_C_TX_FPDU].name	= "tx_fpdu",
	[IWT_C_TX_BYTES].name	= "tx_bytes",
	[IWT_C_TX_SEGS].name	= "tx_segs",
	[IWT_C_TX_ALIGNED].name	= "tx_aligned",
	[IWT_C_TX_BATCH].name	= "tx_batch",
	[IWT_C_TX_SEND].name	= "tx_send",
	[IWT_C_TX_WRITE].name	= "tx_write",
	[IWT_C_TX_READ].name	= "tx_read",
	[IWT_C_TX_ZEROCOPY].name	= "tx_zerocopy",
	[IWT_C_TX_BLOCKED].name	= "tx_blocked",
	[IWT_C_TX_NO_MEM].name	= "tx_no_mem",
	[IWT_C_TX_WAIT_ORD].name	= "tx_wait_ord",
	[IWT_C_TX_CONFIRM].name		= "tx_confirm",
	[IWT_C_RX_WAIT_RECV].name	= "rx_wait_recv",
	[IWT_C_RX_AHEAD].name	= "rx_ahead",
	[IWT_C_RX_AHEAD_KEPT].name	= "rx_ahead_kept",
	[IWT_C_REPLY_SPIN_HIT].name	= "reply_spin_hit",
	[IWT_C_REPLY_SPIN_MISS].name	= "reply_spin_miss",
	[IWT_C_FLUSH_BUDGET].name	= "flush_budget",
	[IWT_C_RX_CRC_ERR].name	= "rx_crc_err",
	[IWT_C_RX_PROTO_ERR].name	= "rx_proto_err",
	[IWT_C_RX_ACCESS_ERR].name	= "rx_access_err",
	[IWT_C_TERM_TX].name	= "term_tx",
	[IWT_C_TERM_RX].name	= "term_rx",
	[IWT_C_CONN_LOST].name	= "conn_lost",
	[IWT_C_DOORBELL].name	= "doorbell",
	[IWT_C_SQPOLL].name	= "sqpoll",
	[IWT_C_CQ_FLUSH].name	= "cq_flush",
	[IWT_C_MIGRATE].name	= "migrate",
	[IWT_C_GATHER].name	= "gather",
	[IWT_C_ODP_FAULT].name	= "odp_fault",
	[IWT_C_ODP_FAILED].name	= "odp_failed",
	[IWT_C_ODP_INVALIDATE].name	= "odp_invalidate",
	[IWT_C_WR_ERROR].name	= "wr_error",
	[IWT_C_WR_FLUSHED].name	= "wr_flushed",
	[IWT_C_CQ_OVERRUN].name	= "cq_overrun",
	[IWT_C_CONN_ACTIVE].name	= "conn_active",
	[IWT_C_CONN_PASSIVE].name	= "conn_passive",
	[IWT_C_CONN_REJECTED].name	= "conn_rejected",
	[IWT_C_CONN_FAILED].name	= "conn_failed",
	[IWT_C_CONN_TIMEOUT].name	= "conn_timeout",
	[IWT_C_CONN_RETRY_REV1].name	= "conn_retry_rev1",
	[IWT_C_DIRECT_TRY].name		= "direct_try",
	[IWT_C_DIRECT_REFUSED].name	= "direct_refused",
	[IWT_C_CONN_EVICTED].name	= "conn_evicted",
	[IWT_C_MPA_BAD].name	= "mpa_bad",
	[IWT_C_LINK_DOWN].name	= "link_down",
	[IWT_G_CONN_CURRENT].name	= "conn_current",
	[IWT_G_MEM_PINNED].name	= "mem_pinned",
	[IWT_G_MEM_RINGS].name	= "mem_rings",
	[IWT_G_MEM_PARTIAL_FPDU].name	= "mem_partial_fpdu",
	[IWT_G_MEM_TXBUF].name	= "mem_txbuf",
};

/* Add @n to a counter of a device. Any context. */
void iwt_count_add(struct iwt_dev *dev, enum iwt_counter c, u64 n)
{
	this_cpu_add(dev->stats->c[c], n);
}

/**
 * iwt_stats_init() - allocate the counters of a device
 * @dev: device
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM; the caller calls iwt_stats_free() in either case.
 */
int iwt_stats_init(struct iwt_dev *dev)
{
	dev->stats = alloc_percpu(struct iwt_stats);
	dev->past = kcalloc(IWT_STREAM_COUNTERS, sizeof(*dev->past), GFP_KERNEL);
	return dev->stats && dev->past ? 0 : -ENOMEM;
}

/**
 * iwt_stats_free() - free the counters of a device
 * @dev: device; nobody uses its counters any more
 *
 * Process context.
 */
void iwt_stats_free(struct iwt_dev *dev)
{
	kfree(dev->past);
	free_percpu(dev->stats);
	dev->past = NULL;
	dev->stats = NULL;
}

/**
 * iwt_stats_sum() - sum a counter over all CPUs
 * @stats: counters
 * @c: counter
 *
 * Any context; the sum may or may not include concurrent changes.
 *
 * Return: the sum.
 */
u64 iwt_stats_sum(struct iwt_stats __percpu *stats, enum iwt_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->c[c]);
	return sum;
}

/**
 * iwt_stats_alloc() - allocate the structure by which RDMA core shows counters
 *
 * May sleep.
 *
 * Return: the structure, or NULL if there is not enough memory.
 */
struct rdma_hw_stats *iwt_stats_alloc(void)
{
	/*
	 * The counters of the port and of queue pairs have the same names in the same order:
	 * RDMA core adds the counters of queue pairs to the counters of the port by index, for
	 * all counters of the port.
	 */
	return rdma_alloc_hw_stats_struct(descs, IWT_G_END,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * iwt_stats_alloc_hw() - ib_device operation alloc_hw_port_stats
 * @ibdev: device
 * @port: 1
 *
 * May sleep.
 *
 * Return: the structure, or NULL if there is not enough memory.
 */
struct rdma_hw_stats *iwt_stats_alloc_hw(struct ib_device *ibdev, u32 port)
{
	return iwt_stats_alloc();
}

/*
 * Get the gauges. mem_partial_fpdu and mem_txbuf count the memory of all devices together, so
 * they are the same for each device.
 */
static void get_gauges(struct iwt_dev *dev, u64 *value)
{
	value[IWT_G_CONN_CURRENT] = atomic_read(&dev->n_conns);
	value[IWT_G_MEM_PINNED] = atomic64_read(&dev->pinned);
	value[IWT_G_MEM_RINGS] = atomic64_read(&dev->rings);
	value[IWT_G_MEM_PARTIAL_FPDU] = iwt_sock_bytes_aside();
	value[IWT_G_MEM_TXBUF] = iwt_txbuf_bytes();
}

/**
 * iwt_stats_get_hw() - ib_device operation get_hw_stats, for the port
 * @ibdev: device
 * @stats: all counters are filled in
 * @port: 1
 * @index: requested counter; ignored
 *
 * RDMA core then adds the sets of counters to which queue pairs are bound (stats_qp.c). Any
 * context.
 *
 * Return: number of counters, or -EINVAL for another port.
 */
int iwt_stats_get_hw(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index)
{
	struct iwt_dev *dev = to_iwt_dev(ibdev);
	int i;

	if (port != 1)
		return -EINVAL;
	for (i = 0; i < IWT_COUNTERS; i++)
		stats->value[i] = iwt_stats_sum(dev->stats, i);
	get_gauges(dev, stats->value);
	return IWT_G_END;
}
