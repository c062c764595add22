/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_COUNTER_OBJ_H
#define COMPAT_COUNTER_OBJ_H

/* This core allocates struct rdma_counter itself, without a driver's structure. */
#define COMPAT_COUNTER_OBJ

#include_next <compat/ib_ops.h>

#endif
