/* SPDX-License-Identifier: GPL-2.0 */
/* The callback was called "move_notify"; it is also how memory is revoked. */
#ifndef COMPAT_DMA_BUF_INVALIDATE_H
#define COMPAT_DMA_BUF_INVALIDATE_H

#include_next <linux/dma-buf.h>

#define invalidate_mappings	move_notify

#endif
