/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of another driver: a dma-buf that a processor reads and writes. */
#ifndef IWT_MR_DMABUF_MAP_H
#define IWT_MR_DMABUF_MAP_H

#include <linux/err.h>
#include <linux/kconfig.h>
#include <linux/types.h>

struct device;
struct iwt_dmabuf;

/**
 * struct iwt_dmabuf_wish - what is wanted of a dma-buf
 * @fd: descriptor of the calling process
 * @off: first octet
 * @len: octets, not 0
 * @write: they will be written
 * @gone: called at most once for each time that the exporter moves or revokes the memory:
 *	when it returns, nothing may be accessed any more. Process context; the lock of the
 *	reservation is held, so it must not wait for another dma-buf
 * @ctx: its argument
 */
struct iwt_dmabuf_wish {
	int fd;
	u64 off;
	u64 len;
	bool write;
	void (*gone)(void *ctx);
	void *ctx;
};

#if IS_ENABLED(CONFIG_DMA_SHARED_BUFFER)

struct iwt_dmabuf *iwt_dmabuf_get(struct device *dev,
				  const struct iwt_dmabuf_wish *wish, u8 **va);
bool iwt_dmabuf_may_write(const struct iwt_dmabuf *d);
void iwt_dmabuf_put(struct iwt_dmabuf *d);

#else

static inline struct iwt_dmabuf *
iwt_dmabuf_get(struct device *dev, const struct iwt_dmabuf_wish *wish, u8 **va)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline bool iwt_dmabuf_may_write(const struct iwt_dmabuf *d)
{
	return false;
}

static inline void iwt_dmabuf_put(struct iwt_dmabuf *d)
{
}

#endif

#endif
