/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In this kernel the callback invalidate_mappings of struct dma_buf_attach_ops has its old name,
 * move_notify. Exporters call move_notify, too, when they revoke memory.
 *
 * On some of these kernels, an attach to a buffer that its exporter never moves maps the buffer
 * for the importer's device. The driver's device can't do DMA, so the driver does not attach to
 * such a buffer (mr_dmabuf_map.c).
 */
#ifndef COMPAT_DMA_BUF_INVALIDATE_H
#define COMPAT_DMA_BUF_INVALIDATE_H

#include_next <linux/dma-buf.h>

#define invalidate_mappings	move_notify

#endif
