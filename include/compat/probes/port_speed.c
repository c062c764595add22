// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

int probe_speed(struct ib_device *ibdev, u32 port, u64 *speed);
static const struct ib_device_ops probe __maybe_unused = {
	.query_port_speed = probe_speed,
};
