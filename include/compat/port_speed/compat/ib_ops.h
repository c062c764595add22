/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_PORT_SPEED_H
#define COMPAT_PORT_SPEED_H

#define COMPAT_PORT_SPEED	/* this RDMA core lacks the operation query_port_speed */

#include_next <compat/ib_ops.h>

#endif
