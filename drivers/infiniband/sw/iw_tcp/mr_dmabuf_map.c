// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of another driver: a dma-buf that a processor reads and writes.
 *
 * There is no DMA here, and so no use for what an exporter maps for a device: addresses on a bus,
 * and pages that are not the importer's business. What the kernel offers a processor is
 * dma_buf_vmap(): the exporter maps the whole buffer into the kernel's address space, and leaves
 * it where it is until dma_buf_vunmap(). An exporter without vmap has memory that no processor
 * reads, or must not (peer to peer memory of a device): it is refused.
 *
 * An exporter that moves buffers is also asked to pin this one, and is listened to: should it
 * take the memory away nevertheless (revoke it), it says so, and the consumer of this file ends
 * its use before the exporter goes on. Exporters that never move buffers must not be listened to:
 * for these, older kernels map the buffer for the importer's device, which can't do DMA.
 *
 * The processor's access begins when the buffer is taken and ends when it is given back. Where
 * DMA of other devices is not coherent with the caches of processors, a process brackets its
 * phases of use with DMA_BUF_IOCTL_SYNC, as it does if it maps the buffer itself.
 */
#include "mr_dmabuf_map.h"

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/slab.h>

MODULE_IMPORT_NS("DMA_BUF");

/**
 * struct iwt_dmabuf - a dma-buf in use
 * @buf: itself
 * @attach: what is listened by, or NULL if the exporter never moves the memory
 * @map: its memory
 * @dir: what the processor does to it
 * @settled: it is pinned, so what moves now is taken away; guarded by the reservation
 * @gone: see struct iwt_dmabuf_wish
 * @ctx: its argument
 */
struct iwt_dmabuf {
	struct dma_buf *buf;
	struct dma_buf_attachment *attach;
	struct iosys_map map;
	enum dma_data_direction dir;
	bool settled;
	void (*gone)(void *ctx);
	void *ctx;
};

/* The lock of the reservation is held. To be pinned, the buffer may have to move first. */
static void on_invalidate(struct dma_buf_attachment *attach)
{
	struct iwt_dmabuf *d = attach->importer_priv;

	dma_resv_assert_held(d->buf->resv);
	if (d->settled)
		d->gone(d->ctx);
}

static const struct dma_buf_attach_ops listener = {
	.invalidate_mappings = on_invalidate,
};

/* Stay where you are, and tell if you don't. */
static int listen(struct iwt_dmabuf *d, struct device *dev)
{
	int ret;

	if (!dma_buf_is_dynamic(d->buf))
		return 0;
	d->attach = dma_buf_dynamic_attach(d->buf, dev, &listener, d);
	if (IS_ERR(d->attach)) {
		ret = PTR_ERR(d->attach);
		d->attach = NULL;
		return ret;
	}
	dma_resv_lock(d->buf->resv, NULL);
	ret = dma_buf_pin(d->attach);
	d->settled = !ret;
	dma_resv_unlock(d->buf->resv);
	return ret;
}

static void unlisten(struct iwt_dmabuf *d)
{
	if (!d->attach)
		return;
	dma_resv_lock(d->buf->resv, NULL);
	if (d->settled)
		dma_buf_unpin(d->attach);
	d->settled = false;
	dma_resv_unlock(d->buf->resv);
	dma_buf_detach(d->buf, d->attach);
}

/* Memory that is not the processor's has an address for readl() and the like only. */
static int map(struct iwt_dmabuf *d)
{
	int ret = dma_buf_vmap_unlocked(d->buf, &d->map);

	if (ret)
		return ret;
	ret = d->map.is_iomem ? -EOPNOTSUPP :
				dma_buf_begin_cpu_access(d->buf, d->dir);
	if (ret)
		dma_buf_vunmap_unlocked(d->buf, &d->map);
	return ret;
}

static int check(const struct dma_buf *buf, const struct iwt_dmabuf_wish *w)
{
	if (w->off > buf->size || w->len > buf->size - w->off)
		return -EINVAL;
	/* as for a process that maps it */
	if (w->write && !(buf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	return buf->ops->vmap ? 0 : -EOPNOTSUPP;
}

static struct iwt_dmabuf *dmabuf_use(struct dma_buf *buf, struct device *dev,
				     const struct iwt_dmabuf_wish *w)
{
	struct iwt_dmabuf *d = kzalloc_obj(*d, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!d)
		return ERR_PTR(-ENOMEM);
	d->buf = buf;
	d->dir = w->write ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
	d->gone = w->gone;
	d->ctx = w->ctx;
	ret = listen(d, dev);
	if (!ret)
		ret = map(d);
	if (!ret)
		return d;
	unlisten(d);
	kfree(d);
	return ERR_PTR(ret);
}

/**
 * iwt_dmabuf_get() - take memory of another driver
 * @dev: in whose name
 * @wish: what is wanted
 * @va: takes the kernel's address of the first octet
 *
 * Process context, may sleep: the exporter may have to wait for a device.
 *
 * Return: the dma-buf, to be given back by iwt_dmabuf_put(), or an error pointer: -EBADF or
 * -EINVAL if the descriptor is not that of a dma-buf, -EINVAL if it has fewer octets, -EACCES if
 * it may only be read, -EOPNOTSUPP if no processor can access it, or the exporter's.
 */
struct iwt_dmabuf *iwt_dmabuf_get(struct device *dev,
				  const struct iwt_dmabuf_wish *wish, u8 **va)
{
	struct dma_buf *buf = dma_buf_get(wish->fd);
	struct iwt_dmabuf *d;
	int ret;

	if (IS_ERR(buf))
		return ERR_CAST(buf);
	ret = check(buf, wish);
	d = ret ? ERR_PTR(ret) : dmabuf_use(buf, dev, wish);
	if (IS_ERR(d))
		dma_buf_put(buf);
	else
		*va = (u8 *)d->map.vaddr + wish->off;
	return d;
}

/**
 * iwt_dmabuf_may_write() - was it taken to be written?
 * @d: dma-buf
 *
 * Any context.
 *
 * Return: true if so.
 */
bool iwt_dmabuf_may_write(const struct iwt_dmabuf *d)
{
	return d->dir == DMA_BIDIRECTIONAL;
}

/**
 * iwt_dmabuf_put() - give memory back
 * @d: dma-buf, which nobody accesses any more; gone afterwards
 *
 * Process context, may sleep. The callback is not called any more when this returns.
 */
void iwt_dmabuf_put(struct iwt_dmabuf *d)
{
	struct dma_buf *buf = d->buf;

	dma_buf_end_cpu_access(buf, d->dir);
	dma_buf_vunmap_unlocked(buf, &d->map);
	unlisten(d);
	kfree(d);
	dma_buf_put(buf);
}
