/* SPDX-License-Identifier: GPL-2.0 */
/* In this kernel the name of ib_umem_get_va() is ib_umem_get(). */
#ifndef COMPAT_RDMA_UMEM_GET_VA_H
#define COMPAT_RDMA_UMEM_GET_VA_H

#include_next <rdma/ib_umem.h>

static inline struct ib_umem *ib_umem_get_va(struct ib_device *device,
					     unsigned long addr, size_t size,
					     int access)
{
	return ib_umem_get(device, addr, size, access);
}

#endif
