/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_COUNTER_OBJ_H
#define COMPAT_COUNTER_OBJ_H

/*
 * This RDMA core lacks the operation counter_init and the member size_rdma_counter of struct
 * ib_device_ops: the RDMA core allocates a struct rdma_counter, not a structure of the driver.
 * For this reason, too, iwt_counter_bind_qp() allocates the driver's part of a counter.
 */
#define COMPAT_COUNTER_OBJ

#include_next <compat/ib_ops.h>

#endif
