/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CREATE_CQ_ATTRS_H
#define COMPAT_CREATE_CQ_ATTRS_H

#include <linux/container_of.h>
#include <rdma/uverbs_ioctl.h>

int iwt_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);

/*
 * In this kernel, create_cq has no argument attrs. The argument @udata points to the member
 * driver_udata of the attributes; for a kernel consumer @udata is NULL.
 */
static inline int compat_create_cq(struct ib_cq *cq,
				   const struct ib_cq_init_attr *attr,
				   struct ib_udata *udata)
{
	struct uverbs_attr_bundle *attrs = NULL;

	if (udata)
		attrs = container_of(udata, struct uverbs_attr_bundle,
				     driver_udata);
	return iwt_create_cq(cq, attr, attrs);
}

#define compat_create_cq	compat_create_cq

#include_next <compat/ib_ops.h>

#endif
