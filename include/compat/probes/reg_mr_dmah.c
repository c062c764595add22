// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

struct ib_mr *probe_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				u64 virt_addr, int access,
				struct ib_dmah *dmah, struct ib_udata *udata);
static const struct ib_device_ops probe __maybe_unused = {
	.reg_user_mr = probe_reg_user_mr,
};
