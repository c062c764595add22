/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_REG_MR_DMAH_H
#define COMPAT_REG_MR_DMAH_H

#include <rdma/ib_verbs.h>

struct ib_dmah;
struct uverbs_attr_bundle;

struct ib_mr *iwt_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			      u64 virt_addr, int access, struct ib_dmah *dmah,
			      struct ib_udata *udata);

/* In this kernel, reg_user_mr and reg_user_mr_dmabuf have no argument dmah. */
static inline struct ib_mr *compat_reg_user_mr(struct ib_pd *pd, u64 start,
					       u64 length, u64 virt_addr,
					       int access,
					       struct ib_udata *udata)
{
	return iwt_reg_user_mr(pd, start, length, virt_addr, access, NULL,
			       udata);
}

#define compat_reg_user_mr	compat_reg_user_mr

/*
 * In still older kernels the arguments of reg_user_mr_dmabuf differ again: then reg_dmabuf_attrs/
 * has the wrapper.
 */
#ifndef compat_reg_user_mr_dmabuf

struct ib_mr *iwt_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				     u64 iova, int fd, int access,
				     struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs);

static inline struct ib_mr *
compat_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
			  int fd, int access,
			  struct uverbs_attr_bundle *attrs)
{
	return iwt_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access,
				      NULL, attrs);
}

#define compat_reg_user_mr_dmabuf	compat_reg_user_mr_dmabuf

#endif

#include_next <compat/ib_ops.h>

#endif
