/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
/* In the structure of operations, a member with the older arguments comes before the newer one */
#define create_cq \
	create_cq)(struct ib_cq *, const struct ib_cq_init_attr *, struct ib_udata *); \
	int (*newer_create_cq
#include_next <rdma/ib_verbs.h>
#undef create_cq
#endif
