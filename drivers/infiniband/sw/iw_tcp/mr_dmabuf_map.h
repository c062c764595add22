/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of another driver: a dma-buf that the CPU reads and writes. */
#ifndef IWT_MR_DMABUF_MAP_H
#define IWT_MR_DMABUF_MAP_H

#include <linux/types.h>

struct device;
struct iwt_dmabuf;

/**
 * struct iwt_dmabuf_wish - requested part of a dma-buf
 * @fd: file descriptor of the dma-buf, in the calling process
 * @off: offset of the first byte
 * @len: length in bytes, not 0
 * @write: the CPU will write to the memory
 * @gone: called when the exporter revokes the memory, perhaps more than once; after @gone has
 *	returned, nobody may access the memory any more. Process context; the reservation lock of
 *	the dma-buf is held, so @gone must not wait for another dma-buf
 * @ctx: argument of @gone
 */
struct iwt_dmabuf_wish {
	int fd;
	u64 off;
	u64 len;
	bool write;
	void (*gone)(void *ctx);
	void *ctx;
};

#ifdef CONFIG_DMA_SHARED_BUFFER

struct iwt_dmabuf *iwt_dmabuf_get(struct device *dev,
				  const struct iwt_dmabuf_wish *wish, u8 **va);
/* Did iwt_dmabuf_get() map the dma-buf for writing? */
bool iwt_dmabuf_may_write(const struct iwt_dmabuf *d);
void iwt_dmabuf_put(struct iwt_dmabuf *d);

#else

static inline bool iwt_dmabuf_may_write(const struct iwt_dmabuf *d)
{
	return false;
}

static inline void iwt_dmabuf_put(struct iwt_dmabuf *d)
{
}

#endif

#endif
