/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_LINUX_IN_H
#define COMPAT_LINUX_IN_H

#include_next <linux/in.h>

/* This kernel lacks IP_LOCAL_PORT_RANGE, and refuses the option with -ENOPROTOOPT. */
#define IP_LOCAL_PORT_RANGE	51

#endif
