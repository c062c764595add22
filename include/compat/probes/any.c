// SPDX-License-Identifier: GPL-2.0
/* Uses no feature: compiles unless the headers or the compiler are broken. */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>
