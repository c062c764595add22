// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of errors by cause: Terminates by layer, type and code, and completions by status.
 *
 * These are counters of the device, in /sys/class/infiniband/DEVICE/hw_counters: the netlink
 * message of `rdma statistic show`, with the counters of the port, has no room for them.
 */
#include "stats_errors.h"

#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "proto/wire.h"
#include "stats.h"
#include "trace.h"

/*
 * Each name contains the layer, the type and the code in hexadecimal digits, as tracepoints show
 * them, and then the meaning. The last entry is for all other errors.
 */
static const struct {
	u32 err;
	const char *name[2];
} terms[IWT_CAUSE_TERMS] = {
#define TERM(err, name)	{ err, { "term_rx_" name, "term_tx_" name } }
	TERM(IWT_ERR_LOCAL,		"0000_local"),
	TERM(IWT_ERR_PROT_STAG,		"0100_stag"),
	TERM(IWT_ERR_PROT_BOUNDS,	"0101_bounds"),
	TERM(IWT_ERR_PROT_ACCESS,	"0102_access"),
	TERM(IWT_ERR_PROT_ASSOC,	"0103_association"),
	TERM(IWT_ERR_PROT_WRAP,		"0104_wrap"),
	TERM(IWT_ERR_PROT_INVAL,	"0109_invalidate"),
	TERM(IWT_ERR_OP_VERSION,	"0205_version"),
	TERM(IWT_ERR_OP_OPCODE,		"0206_opcode"),
	TERM(IWT_ERR_OP_STREAM,		"0207_stream"),
	TERM(IWT_ERR_OP_INVAL,		"0209_invalidate"),
	TERM(IWT_ERR_OP_UNSPEC,		"02ff_unspecified"),
	TERM(IWT_ERR_DDP_LOCAL,		"1000_local"),
	TERM(IWT_ERR_TAG_STAG,		"1100_stag"),
	TERM(IWT_ERR_TAG_BOUNDS,	"1101_bounds"),
	TERM(IWT_ERR_TAG_ASSOC,		"1102_association"),
	TERM(IWT_ERR_TAG_WRAP,		"1103_wrap"),
	TERM(IWT_ERR_TAG_VERSION,	"1104_version"),
	TERM(IWT_ERR_UNT_QN,		"1201_queue"),
	TERM(IWT_ERR_UNT_NOBUF,		"1202_no_buffer"),
	TERM(IWT_ERR_UNT_MSN,		"1203_msn"),
	TERM(IWT_ERR_UNT_MO,		"1204_offset"),
	TERM(IWT_ERR_UNT_LONG,		"1205_too_long"),
	TERM(IWT_ERR_UNT_VERSION,	"1206_version"),
	TERM(IWT_ERR_MPA_CLOSED,	"2001_closed"),
	TERM(IWT_ERR_MPA_CRC,		"2002_crc"),
	TERM(IWT_ERR_MPA_MARKER,	"2003_marker"),
	TERM(IWT_ERR_MPA_FRAME,		"2004_frame"),
	TERM(IWT_ERR_MPA_LOCAL,		"2005_local"),
	TERM(IWT_ERR_MPA_IRD,		"2006_ird"),
	TERM(IWT_ERR_MPA_RTR,		"2007_rtr"),
	TERM(IWT_OK,			"other"),
};

static const struct {
	u8 status;
	const char *name;
} statuses[IWT_CAUSE_STATUSES] = {
#define STATUS(status, name)	{ status, name }
	STATUS(IB_WC_LOC_LEN_ERR,	"wr_loc_len_err"),
	STATUS(IB_WC_LOC_QP_OP_ERR,	"wr_loc_qp_op_err"),
	STATUS(IB_WC_LOC_PROT_ERR,	"wr_loc_prot_err"),
	STATUS(IB_WC_MW_BIND_ERR,	"wr_mw_bind_err"),
	STATUS(IB_WC_REM_INV_REQ_ERR,	"wr_rem_inv_req_err"),
	STATUS(IB_WC_REM_ACCESS_ERR,	"wr_rem_access_err"),
	STATUS(IB_WC_REM_OP_ERR,	"wr_rem_op_err"),
	STATUS(IB_WC_WR_FLUSH_ERR,	"wr_flush_err"),
	STATUS(IB_WC_GENERAL_ERR,	"wr_other_err"),
};

#define CAUSES	(2 * IWT_CAUSE_TERMS + IWT_CAUSE_STATUSES)

/* In the order of struct iwt_causes: Terminates received, Terminates sent, statuses. */
static struct rdma_stat_desc descs[CAUSES];

/**
 * iwt_causes_load() - fill in the list of names at module load
 */
void iwt_causes_load(void)
{
	struct rdma_stat_desc *desc = descs;
	int tx, i;

	for (tx = 0; tx < 2; tx++)
		for (i = 0; i < IWT_CAUSE_TERMS; i++)
			(desc++)->name = terms[i].name[tx];
	for (i = 0; i < IWT_CAUSE_STATUSES; i++)
		(desc++)->name = statuses[i].name;
}

/* Allocate the counters of a device. Process context, may sleep. Return: 0 or -ENOMEM. */
int iwt_causes_init(struct iwt_dev *dev)
{
	dev->causes = kzalloc_obj(*dev->causes, GFP_KERNEL);
	return dev->causes ? 0 : -ENOMEM;
}

/* Free the counters of a device. @dev: device; nobody uses its counters any more. */
void iwt_causes_free(struct iwt_dev *dev)
{
	kfree(dev->causes);
	dev->causes = NULL;
}

/**
 * iwt_cause_term() - count a Terminate
 * @dev: device
 * @tx: true for a Terminate that this end sends, false for a Terminate of the peer
 * @err: error in the Terminate, IWT_ERR_*
 *
 * Any context.
 */
void iwt_cause_term(struct iwt_dev *dev, bool tx, u32 err)
{
	int i = 0;

	while (i < IWT_CAUSE_TERMS - 1 && terms[i].err != err)
		i++;
	atomic64_inc(&dev->causes->term[tx][i]);
}

/**
 * iwt_cause_wr() - count and trace a work request that completes with an error
 * @qp: queue pair
 * @wr_id: the consumer's identifier of the work request
 * @opcode: enum iwt_wr_opcode, or %IWT_TRACE_RECV
 * @status: enum ib_wc_status
 *
 * Any context.
 */
void iwt_cause_wr(const struct ib_qp *qp, u64 wr_id, u8 opcode, u8 status)
{
	struct iwt_dev *dev = to_iwt_dev(qp->device);
	int i = 0;

	while (i < IWT_CAUSE_STATUSES - 1 && statuses[i].status != status)
		i++;
	atomic64_inc(&dev->causes->status[i]);
	if (status == IB_WC_WR_FLUSH_ERR) {
		iwt_count(dev, IWT_C_WR_FLUSHED);
		return;
	}
	iwt_count(dev, IWT_C_WR_ERROR);
	trace_iwt_wr_error(qp, wr_id, opcode, status);
}

/* ib_device operation alloc_hw_device_stats. May sleep. Return: the structure, or NULL. */
struct rdma_hw_stats *iwt_causes_alloc_hw(struct ib_device *ibdev)
{
	return rdma_alloc_hw_stats_struct(descs, CAUSES,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * iwt_causes_get_hw() - ib_device operation get_hw_stats
 * @ibdev: device
 * @stats: all counters are filled in
 * @port: 0 for the counters of the device; 1 for the counters of the port (stats.c)
 * @index: requested counter; ignored
 *
 * Any context.
 *
 * Return: number of counters, or -EINVAL for another port.
 */
int iwt_causes_get_hw(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	const struct iwt_causes *causes = to_iwt_dev(ibdev)->causes;
	u64 *value = stats->value;
	int tx, i;

	if (port)
		return iwt_stats_get_hw(ibdev, stats, port, index);
	for (tx = 0; tx < 2; tx++)
		for (i = 0; i < IWT_CAUSE_TERMS; i++)
			*value++ = atomic64_read(&causes->term[tx][i]);
	for (i = 0; i < IWT_CAUSE_STATUSES; i++)
		*value++ = atomic64_read(&causes->status[i]);
	return CAUSES;
}
