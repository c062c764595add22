// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

int probe_resize_user_cq(struct ib_cq *cq, unsigned int cqe,
			 struct ib_udata *udata);
static const struct ib_device_ops probe __maybe_unused = {
	.resize_user_cq = probe_resize_user_cq,
};
