// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

static const struct ib_device_ops probe __maybe_unused = {
	.size_rdma_counter = sizeof(struct rdma_counter),
};
