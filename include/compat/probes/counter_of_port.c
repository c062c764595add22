// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

int probe_bind_qp(struct rdma_counter *counter, struct ib_qp *qp, u32 port);
static const struct ib_device_ops probe __maybe_unused = {
	.counter_bind_qp = probe_bind_qp,
};
