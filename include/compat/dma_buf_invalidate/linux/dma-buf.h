/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This kernel lacks the callback invalidate_mappings of struct dma_buf_attach_ops: its old name
 * is move_notify. Exporters that revoke memory call it, too.
 */
#ifndef COMPAT_DMA_BUF_INVALIDATE_H
#define COMPAT_DMA_BUF_INVALIDATE_H

#include_next <linux/dma-buf.h>

#define invalidate_mappings	move_notify

#endif
