/* SPDX-License-Identifier: GPL-2.0 */
/* This kernel lacks ib_virt_dma_to_ptr(). */
#ifndef COMPAT_RDMA_VIRT_DMA_TO_PTR_H
#define COMPAT_RDMA_VIRT_DMA_TO_PTR_H

#include_next <rdma/ib_verbs.h>

static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}

#endif
