/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
/* Adds a member with the older arguments to struct ib_device_ops, before the kernel's own member */
#define create_cq \
	create_cq)(struct ib_cq *, const struct ib_cq_init_attr *, struct ib_udata *); \
	int (*newer_create_cq
#include_next <rdma/ib_verbs.h>
#undef create_cq
#endif
