/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_RESIZE_USER_CQ_H
#define COMPAT_RESIZE_USER_CQ_H

#include <rdma/ib_verbs.h>

int iwt_resize_cq(struct ib_cq *cq, unsigned int cqe, struct ib_udata *udata);

/*
 * Instead of the operation resize_user_cq, this kernel has resize_cq, which kernel consumers can
 * also call by ib_resize_cq(); then @udata is NULL. A negative @cqe becomes a large unsigned
 * number, which iwt_resize_cq() rejects.
 */
static inline int compat_resize_user_cq(struct ib_cq *cq, int cqe,
					struct ib_udata *udata)
{
	return iwt_resize_cq(cq, cqe, udata);
}

#define compat_resize_user_cq	compat_resize_user_cq
#define compat_op_resize_user_cq	resize_cq

/*
 * The entries of a kernel consumer's queue move in one step: a kernel consumer polls with the
 * lock of the queue held, so nobody reads the entries while they move. The argument uc of
 * iwt_cq_resize() is NULL. If the entries are in separate memory, the member compat_mem of struct
 * iwt_cq_part points to this memory, and the member map is NULL.
 */
#define compat_cq_user_resize	false

#include_next <compat/ib_ops.h>

#endif
