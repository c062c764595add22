/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
/* Adds a member with the older arguments to struct ib_device_ops, before the kernel's own member */
#define resize_user_cq \
	resize_cq)(struct ib_cq *, int, struct ib_udata *); \
	int (*newer_resize_user_cq
#include_next <rdma/ib_verbs.h>
#undef resize_user_cq
#endif
