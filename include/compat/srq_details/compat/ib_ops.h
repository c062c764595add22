/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_SRQ_DETAILS_H
#define COMPAT_SRQ_DETAILS_H

/* This RDMA core lacks the operations fill_res_srq_entry and fill_res_srq_entry_raw. */
#define COMPAT_SRQ_DETAILS

#include_next <compat/ib_ops.h>

#endif
