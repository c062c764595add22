/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
#define ib_mark_name_assigned_by_user newer_ib_mark_name_assigned_by_user
#include_next <rdma/ib_verbs.h>
#undef ib_mark_name_assigned_by_user
#endif
