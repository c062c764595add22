/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_SRQ_DETAILS_H
#define COMPAT_SRQ_DETAILS_H

#define COMPAT_SRQ_DETAILS	/* this RDMA core lacks the operations */

#include_next <compat/ib_ops.h>

#endif
