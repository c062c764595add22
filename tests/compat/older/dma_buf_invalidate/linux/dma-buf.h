/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_LINUX_DMA_BUF_H
#define OLDER_LINUX_DMA_BUF_H
#define invalidate_mappings move_notify
#include_next <linux/dma-buf.h>
#undef invalidate_mappings
#endif
