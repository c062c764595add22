/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_UMEM_H
#define OLDER_RDMA_IB_UMEM_H
#define ib_umem_get_va newer_ib_umem_get_va
#include_next <rdma/ib_umem.h>
#undef ib_umem_get_va
struct ib_umem *ib_umem_get(struct ib_device *device, unsigned long addr, size_t size, int access);
#endif
