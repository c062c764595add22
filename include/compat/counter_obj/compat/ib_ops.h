/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_COUNTER_OBJ_H
#define COMPAT_COUNTER_OBJ_H

/* This RDMA core allocates a struct rdma_counter itself, not a structure of the driver. */
#define COMPAT_COUNTER_OBJ

#include_next <compat/ib_ops.h>

#endif
