// SPDX-License-Identifier: GPL-2.0
/* In older kernels the last argument of reg_user_mr_dmabuf is udata: then compilation fails. */
#include <linux/build_bug.h>
#include <rdma/ib_verbs.h>

struct ib_mr *probe_old(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
			int fd, int access, struct ib_udata *udata);
static const struct ib_device_ops probe __maybe_unused;

static_assert(!__builtin_types_compatible_p(typeof(probe.reg_user_mr_dmabuf),
					    typeof(probe_old) *));
