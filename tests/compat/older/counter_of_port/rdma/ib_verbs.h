/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
/* Adds a member with the older arguments to struct ib_device_ops, before the kernel's own member */
#define counter_bind_qp \
	counter_bind_qp)(struct rdma_counter *, struct ib_qp *); \
	int (*newer_counter_bind_qp
#define counter_unbind_qp \
	counter_unbind_qp)(struct ib_qp *); \
	int (*newer_counter_unbind_qp
#include_next <rdma/ib_verbs.h>
#undef counter_bind_qp
#undef counter_unbind_qp
#endif
