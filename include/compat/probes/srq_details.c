// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

int probe_srq(struct sk_buff *msg, struct ib_srq *srq);
static const struct ib_device_ops probe __maybe_unused = {
	.fill_res_srq_entry = probe_srq,
	.fill_res_srq_entry_raw = probe_srq,
};
