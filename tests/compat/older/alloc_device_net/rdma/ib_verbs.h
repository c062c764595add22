/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
#include_next <rdma/ib_verbs.h>
#undef ib_alloc_device_with_net
#define _ib_alloc_device(size)	_ib_alloc_device(size, &init_net)
#endif
