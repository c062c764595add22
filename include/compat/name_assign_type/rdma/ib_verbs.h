/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_RDMA_NAME_ASSIGN_TYPE_H
#define COMPAT_RDMA_NAME_ASSIGN_TYPE_H

#include_next <rdma/ib_verbs.h>

/*
 * This kernel lacks ib_mark_name_assigned_by_user(): it can't report to udev that a user chose
 * the name.
 */
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}

#endif
