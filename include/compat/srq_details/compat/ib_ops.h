/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_SRQ_DETAILS_H
#define COMPAT_SRQ_DETAILS_H

#define COMPAT_SRQ_DETAILS	/* this RDMA core has no fill_res_srq_entry */

#include_next <compat/ib_ops.h>

#endif
