/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CM_BY_NETDEV_H
#define COMPAT_CM_BY_NETDEV_H

#define compat_cm_by_netdev	false

#include_next <compat/ib_ops.h>

#endif
