/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_REG_DMABUF_ATTRS_H
#define COMPAT_REG_DMABUF_ATTRS_H

#include <rdma/ib_verbs.h>

struct ib_dmah;
struct uverbs_attr_bundle;

struct ib_mr *iwt_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				     u64 iova, int fd, int access,
				     struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs);

/* In this kernel, reg_user_mr_dmabuf has no argument dmah, and gets udata instead of attrs. */
static inline struct ib_mr *
compat_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
			  int fd, int access, struct ib_udata *udata)
{
	return iwt_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access,
				      NULL, NULL);
}

#define compat_reg_user_mr_dmabuf	compat_reg_user_mr_dmabuf

#include_next <compat/ib_ops.h>

#endif
