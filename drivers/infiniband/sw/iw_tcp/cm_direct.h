/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Direct connections, without rdma_cm: a process moves its queue pair to RTR, and passes the GID
 * and the number of the peer's queue pair (cm_direct.c).
 */
#ifndef IWT_CM_DIRECT_H
#define IWT_CM_DIRECT_H

#include <linux/errno.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

/* Attributes of a queue pair that only direct connections have. */
#define IWT_DIRECT_ATTRS	(IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |	\
				 IB_QP_SQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |			\
				 IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MIN_RNR_TIMER | IB_QP_TIMEOUT |	\
				 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY)

#ifdef CONFIG_INFINIBAND_IW_TCP_DIRECT
int iwt_direct_modify(struct iwt_qp *qp, const struct ib_qp_attr *attr, int mask,
		      struct iwt_qp_change *c);
void iwt_direct_query(struct iwt_qp *qp, struct ib_qp_attr *attr);
void iwt_direct_end(struct iwt_qp *qp);
int iwt_direct_init(void);
void iwt_direct_exit(void);
#else
static inline int iwt_direct_modify(struct iwt_qp *qp, const struct ib_qp_attr *attr,
				    int mask, struct iwt_qp_change *c)
{
	return mask & IWT_DIRECT_ATTRS ? -EOPNOTSUPP : iwt_qp_modify(qp, c);
}

static inline void iwt_direct_query(struct iwt_qp *qp, struct ib_qp_attr *attr) {}
static inline void iwt_direct_end(struct iwt_qp *qp) {}
static inline int iwt_direct_init(void) { return 0; }
static inline void iwt_direct_exit(void) {}
#endif

#endif
