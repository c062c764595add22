/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_COMPAT_IB_OPS_H
#define UNIT_COMPAT_IB_OPS_H

#include <stdbool.h>
#include <string.h>

/* the test sets this variable to false to build the table of an older kernel */
extern bool unit_cm_by_netdev;

#define compat_cm_by_netdev		unit_cm_by_netdev
#define compat_cm_copies		(unit_cm_by_netdev ? 0 : 1)
/* The GID that the rdma_cm of older kernels looks for contains only the address. */
#define compat_cm_gid(netdev, gid)	((void)(netdev), memset((gid)->raw + 6, 0x5a, 10))

#endif
