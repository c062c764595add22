/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_RESIZE_USER_CQ_H
#define COMPAT_RESIZE_USER_CQ_H

#include <rdma/ib_verbs.h>

int iwt_resize_cq(struct ib_cq *cq, unsigned int cqe, struct ib_udata *udata);

/*
 * Kernel consumers also call this operation, without udata. A negative @cqe becomes a large
 * unsigned number, which is rejected.
 */
static inline int compat_resize_user_cq(struct ib_cq *cq, int cqe,
					struct ib_udata *udata)
{
	return iwt_resize_cq(cq, cqe, udata);
}

#define compat_resize_user_cq	compat_resize_user_cq
#define compat_op_resize_user_cq	resize_cq

#include_next <compat/ib_ops.h>

#endif
