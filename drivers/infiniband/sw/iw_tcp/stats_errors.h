/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of errors by cause, for the whole device, in sysfs. */
#ifndef IWT_STATS_ERRORS_H
#define IWT_STATS_ERRORS_H

#include <linux/atomic.h>
#include <linux/types.h>

struct ib_device;
struct ib_qp;
struct iwt_dev;
struct rdma_hw_stats;

/* Number of counters of Terminates by error; the last counter is for all other errors. */
#define IWT_CAUSE_TERMS		32
/* Number of counters of completions by status; the last counter is for all other statuses. */
#define IWT_CAUSE_STATUSES	9

/**
 * struct iwt_causes - counters of errors by cause
 * @term: Terminates, received and sent, by error
 * @status: completions with an error, by status
 */
struct iwt_causes {
	atomic64_t term[2][IWT_CAUSE_TERMS];
	atomic64_t status[IWT_CAUSE_STATUSES];
};

#ifdef CONFIG_INFINIBAND_IW_TCP_COUNTERS
void iwt_causes_load(void);
int iwt_causes_init(struct iwt_dev *dev);
void iwt_causes_free(struct iwt_dev *dev);
void iwt_cause_term(struct iwt_dev *dev, bool tx, u32 err);
void iwt_cause_wr(const struct ib_qp *qp, u64 wr_id, u8 opcode, u8 status);
struct rdma_hw_stats *iwt_causes_alloc_hw(struct ib_device *ibdev);
int iwt_causes_get_hw(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index);
#else
static inline void iwt_causes_load(void)
{
}

static inline int iwt_causes_init(struct iwt_dev *dev)
{
	return 0;
}

static inline void iwt_causes_free(struct iwt_dev *dev)
{
}

static inline void iwt_cause_term(struct iwt_dev *dev, bool tx, u32 err)
{
}

static inline void iwt_cause_wr(const struct ib_qp *qp, u64 wr_id, u8 opcode, u8 status)
{
}
#endif

#endif
