// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-buf.h>

static inline int probe(struct dma_buf *buf, struct iosys_map *map)
{
	return dma_buf_vmap_unlocked(buf, map);
}
