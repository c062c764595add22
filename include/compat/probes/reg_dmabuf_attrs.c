// SPDX-License-Identifier: GPL-2.0
/* With or without the argument of probes/reg_mr_dmah.c: that it is no udata. */
#include <rdma/ib_verbs.h>

struct ib_mr *probe_new(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
			int fd, int access, struct ib_dmah *dmah,
			struct uverbs_attr_bundle *attrs);
struct ib_mr *probe_old(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
			int fd, int access, struct uverbs_attr_bundle *attrs);

#define IS(fn)								\
	__builtin_types_compatible_p(					\
		typeof(((struct ib_device_ops *)0)->reg_user_mr_dmabuf), \
		typeof(&(fn)))

_Static_assert(IS(probe_new) || IS(probe_old), "udata");
