/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This kernel lacks dma_buf_vmap_unlocked() and dma_buf_vunmap_unlocked(). In this kernel
 * dma_buf_vmap() and dma_buf_vunmap() are called without the reservation lock.
 */
#ifndef COMPAT_DMA_BUF_UNLOCKED_H
#define COMPAT_DMA_BUF_UNLOCKED_H

#include_next <linux/dma-buf.h>

#define dma_buf_vmap_unlocked	dma_buf_vmap
#define dma_buf_vunmap_unlocked	dma_buf_vunmap

#endif
