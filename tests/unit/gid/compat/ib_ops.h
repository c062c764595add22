/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_COMPAT_IB_OPS_H
#define UNIT_COMPAT_IB_OPS_H

#define compat_cm_by_netdev		true
#define compat_cm_copies		0
#define compat_cm_gid(netdev, gid)	((void)(netdev), (void)(gid))

#endif
