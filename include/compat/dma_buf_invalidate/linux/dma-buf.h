/* SPDX-License-Identifier: GPL-2.0 */
/* The old name of the callback is move_notify. Exporters that revoke memory call it, too. */
#ifndef COMPAT_DMA_BUF_INVALIDATE_H
#define COMPAT_DMA_BUF_INVALIDATE_H

#include_next <linux/dma-buf.h>

#define invalidate_mappings	move_notify

#endif
