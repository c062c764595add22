/* SPDX-License-Identifier: GPL-2.0 */
/* Stub of qp.h: the members of a queue pair that stats_qp.c uses, for the build in user space. */
#ifndef UNIT_QP_H
#define UNIT_QP_H

#include <linux/spinlock.h>

#include "dev.h"

struct iwt_stream {
	spinlock_t lock;
	struct iwt_dev *dev;
	struct iwt_stats *stats;
};

struct iwt_qp {
	struct ib_qp ibqp;
	struct iwt_stream stream;
	bool ending;
};

static inline struct iwt_qp *to_iwt_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct iwt_qp, ibqp);
}

#endif
