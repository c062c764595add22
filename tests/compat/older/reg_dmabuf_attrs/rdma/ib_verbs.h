/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
/* Adds a member with the older arguments to struct ib_device_ops, before the kernel's own member */
#define reg_user_mr_dmabuf \
	reg_user_mr_dmabuf)(struct ib_pd *, u64, u64, u64, int, int, struct ib_udata *); \
	struct ib_mr *(*newer_reg_user_mr_dmabuf
#include_next <rdma/ib_verbs.h>
#undef reg_user_mr_dmabuf
#endif
