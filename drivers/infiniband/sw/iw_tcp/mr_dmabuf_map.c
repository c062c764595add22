// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of another driver: a dma-buf that the CPU reads and writes.
 *
 * The driver does no DMA, so it can't use a DMA mapping of the exporter: a DMA mapping contains
 * bus addresses, and pages that an importer must not touch. For CPU access the kernel has
 * dma_buf_vmap(): the exporter maps the whole buffer into the kernel's address space, and does
 * not move the buffer before dma_buf_vunmap(). If an exporter has no vmap operation, the CPU
 * cannot or must not access its memory (peer to peer memory of a device): the driver refuses such
 * a dma-buf.
 *
 * If an exporter moves buffers, the driver attaches to the buffer dynamically and pins the
 * buffer. If the exporter revokes the memory nevertheless, the exporter calls
 * invalidate_mappings(), and the driver stops using the memory before the exporter continues. If
 * an exporter never moves its buffers, the driver does not attach to the buffer: an attachment is
 * for DMA, which the driver's device can't do, or for invalidate_mappings().
 *
 * CPU access begins in iwt_dmabuf_get() and ends in iwt_dmabuf_put(). If DMA of other devices is
 * not coherent with the CPU caches, a process has to call DMA_BUF_IOCTL_SYNC before and after
 * each phase in which this driver uses the buffer, as if the process accessed the buffer itself.
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
 * @buf: dma-buf, with a reference
 * @attach: dynamic attachment, or NULL if the exporter never moves the memory
 * @map: kernel mapping
 * @dir: direction of the CPU's accesses
 * @settled: the buffer is pinned, so an invalidation is a revocation; guarded by the reservation
 *	lock of @buf
 * @gone: called when the exporter revokes the memory, as in struct iwt_dmabuf_wish
 * @ctx: argument of @gone
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

/*
 * Callback of the exporter, which holds the reservation lock of the dma-buf. The exporter also
 * calls this function if dma_buf_pin() moves the buffer; then d->settled is false, and the memory
 * is not revoked.
 */
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

/* If the exporter moves buffers, attach to and pin the dma-buf. Return: 0 or -errno. */
static int listen(struct iwt_dmabuf *d, struct device *dev)
{
	int ret;

	if (!dma_buf_is_dynamic(d->buf))
		return 0;
	d->attach = dma_buf_dynamic_attach(d->buf, dev, &listener, d);
	if (IS_ERR(d->attach))
		return PTR_ERR(d->attach);
	dma_resv_lock(d->buf->resv, NULL);
	ret = dma_buf_pin(d->attach);
	d->settled = !ret;
	dma_resv_unlock(d->buf->resv);
	if (ret)
		dma_buf_detach(d->buf, d->attach);
	return ret;
}

static void unlisten(struct iwt_dmabuf *d)
{
	if (!d->attach)
		return;
	dma_resv_lock(d->buf->resv, NULL);
	dma_buf_unpin(d->attach);
	d->settled = false;
	dma_resv_unlock(d->buf->resv);
	dma_buf_detach(d->buf, d->attach);
}

/* I/O memory is refused: only functions such as readl() may access I/O memory. */
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
	/* as for mmap(): a dma-buf that was opened for reading only must not be written */
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
	if (ret)
		goto err_free;
	ret = map(d);
	if (ret)
		goto err_unlisten;
	return d;

err_unlisten:
	unlisten(d);
err_free:
	kfree(d);
	return ERR_PTR(ret);
}

/**
 * iwt_dmabuf_get() - map a dma-buf for the CPU
 * @dev: importing device
 * @wish: requested part of the dma-buf
 * @va: set to the kernel address of the first byte
 *
 * Process context, may sleep: the exporter may have to wait for a device.
 *
 * Return: the dma-buf, to be released by iwt_dmabuf_put(), or an error pointer: -EBADF or
 * -EINVAL if @wish->fd is not a descriptor of a dma-buf, -EINVAL if the dma-buf is too short,
 * -EACCES if the CPU will write but the dma-buf may only be read, -EOPNOTSUPP if the CPU cannot
 * access the dma-buf, -ENOMEM, or an error of the exporter.
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
	if (ret)
		goto err_put;
	d = dmabuf_use(buf, dev, wish);
	if (IS_ERR(d)) {
		ret = PTR_ERR(d);
		goto err_put;
	}
	*va = (u8 *)d->map.vaddr + wish->off;
	return d;

err_put:
	dma_buf_put(buf);
	return ERR_PTR(ret);
}

/* Did iwt_dmabuf_get() map the dma-buf for writing? Any context. */
bool iwt_dmabuf_may_write(const struct iwt_dmabuf *d)
{
	return d->dir == DMA_BIDIRECTIONAL;
}

/**
 * iwt_dmabuf_put() - unmap and release a dma-buf
 * @d: dma-buf, which nobody accesses any more; freed
 *
 * Process context, may sleep. When this function returns, the callback iwt_dmabuf_wish.gone is
 * not running and will not be called again.
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
