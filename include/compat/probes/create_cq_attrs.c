// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

int probe_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);
static const struct ib_device_ops probe __maybe_unused = {
	.create_cq = probe_create_cq,
};
