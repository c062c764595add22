/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_RDMA_NAME_ASSIGN_TYPE_H
#define COMPAT_RDMA_NAME_ASSIGN_TYPE_H

#include_next <rdma/ib_verbs.h>

/* Cannot be told to udev on this kernel. */
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}

#endif
