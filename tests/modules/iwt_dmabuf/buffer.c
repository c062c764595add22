// SPDX-License-Identifier: GPL-2.0
/*
 * Exports memory as dma-bufs. The exporter counts the attachments, pins, mappings and accesses of
 * the importers. Real exporters may move or revoke buffers at any time. So the first pin of a
 * buffer with IWT_DMABUF_MOVES reports to the importers that the buffer moves (although its
 * memory does not move), and a test can revoke a buffer.
 */
#include "buffer.h"

#include <linux/atomic.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fcntl.h>
#include <linux/gfp.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

/* Value of every byte of a revoked buffer */
#define POISON		0xee
#define MOST		(64 << 20)
#define MOST_LINEAR	(256 << 10)

/*
 * Like MODULE_IMPORT_NS(DMA_BUF). Newer kernels require a string as the argument of that macro.
 */
MODULE_INFO(import_ns, "DMA_BUF");

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define dma_buf_invalidate_mappings	dma_buf_move_notify
#endif

struct buffer {
	u8 *mem;
	size_t size;
	u32 flags;
	bool moved;	/* pin() has reported a move; protected by the reservation lock */
	bool revoked;	/* protected by the reservation lock */
	atomic_t attached, pinned, mapped, accessed;
};

static int attach(struct dma_buf *buf, struct dma_buf_attachment *a)
{
	struct buffer *b = buf->priv;

	atomic_inc(&b->attached);
	return 0;
}

static void detach(struct dma_buf *buf, struct dma_buf_attachment *a)
{
	struct buffer *b = buf->priv;

	atomic_dec(&b->attached);
}

/* Called with the reservation locked. The first pin reports a move to the importers. */
static int pin(struct dma_buf_attachment *a)
{
	struct buffer *b = a->dmabuf->priv;

	if (!b->moved)
		dma_buf_invalidate_mappings(a->dmabuf);
	b->moved = true;
	atomic_inc(&b->pinned);
	return 0;
}

static void unpin(struct dma_buf_attachment *a)
{
	struct buffer *b = a->dmabuf->priv;

	atomic_dec(&b->pinned);
}

/* No test does DMA: importers must access the buffer by the CPU. */
static struct sg_table *map_dma(struct dma_buf_attachment *a, enum dma_data_direction dir)
{
	WARN(1, "an importer wants to do DMA\n");
	return ERR_PTR(-EIO);
}

static void unmap_dma(struct dma_buf_attachment *a, struct sg_table *sgt,
		      enum dma_data_direction dir)
{
}

static int begin(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct buffer *b = buf->priv;

	if (b->flags & IWT_DMABUF_BUSY)
		return -EBUSY;
	atomic_inc(&b->accessed);
	return 0;
}

static int end(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct buffer *b = buf->priv;

	atomic_dec(&b->accessed);
	return 0;
}

static int vmap_buffer(struct dma_buf *buf, struct iosys_map *map)
{
	struct buffer *b = buf->priv;

	if (b->flags & IWT_DMABUF_IOMEM)
		iosys_map_set_vaddr_iomem(map, (void __iomem __force *)b->mem);
	else
		iosys_map_set_vaddr(map, b->mem);
	atomic_inc(&b->mapped);
	return 0;
}

static void vunmap_buffer(struct dma_buf *buf, struct iosys_map *map)
{
	struct buffer *b = buf->priv;

	atomic_dec(&b->mapped);
}

static int mmap_buffer(struct dma_buf *buf, struct vm_area_struct *vma)
{
	struct buffer *b = buf->priv;

	if (b->flags & IWT_DMABUF_LINEAR)
		return remap_pfn_range(vma, vma->vm_start,
				       (virt_to_phys(b->mem) >> PAGE_SHIFT) + vma->vm_pgoff,
				       vma->vm_end - vma->vm_start, vma->vm_page_prot);
	return remap_vmalloc_range(vma, b->mem, vma->vm_pgoff);
}

static void free_buffer(struct buffer *b)
{
	if (b->flags & IWT_DMABUF_LINEAR)
		free_pages_exact(b->mem, b->size);
	else
		vfree(b->mem);
	kfree(b);
}

static void release(struct dma_buf *buf)
{
	free_buffer(buf->priv);
}

#define COMMON					\
	.attach = attach,			\
	.detach = detach,			\
	.map_dma_buf = map_dma,			\
	.unmap_dma_buf = unmap_dma,		\
	.release = release,			\
	.mmap = mmap_buffer

#define ACCESS					\
	.begin_cpu_access = begin,		\
	.end_cpu_access = end,			\
	.vmap = vmap_buffer,			\
	.vunmap = vunmap_buffer

static const struct dma_buf_ops still_ops = { COMMON, ACCESS };
static const struct dma_buf_ops moving_ops = { COMMON, ACCESS, .pin = pin, .unpin = unpin };
static const struct dma_buf_ops no_vmap_ops = { COMMON };

static struct buffer *alloc_buffer(const struct iwt_dmabuf_make *make)
{
	bool linear = make->flags & IWT_DMABUF_LINEAR;
	struct buffer *b;

	if (!make->size || make->size & ~PAGE_MASK || make->size > (linear ? MOST_LINEAR : MOST))
		return ERR_PTR(-EINVAL);
	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return ERR_PTR(-ENOMEM);
	b->size = make->size;
	b->flags = make->flags;
	b->mem = linear ? alloc_pages_exact(b->size, GFP_KERNEL | __GFP_ZERO) : vmalloc_user(b->size);
	if (b->mem)
		return b;
	kfree(b);
	return ERR_PTR(-ENOMEM);
}

int iwt_dmabuf_make(struct iwt_dmabuf_make *make)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct buffer *b = alloc_buffer(make);
	struct dma_buf *buf;
	int fd;

	if (IS_ERR(b))
		return PTR_ERR(b);
	info.ops = make->flags & IWT_DMABUF_NO_VMAP ? &no_vmap_ops :
		   make->flags & IWT_DMABUF_MOVES ? &moving_ops : &still_ops;
	info.size = b->size;
	info.flags = make->flags & IWT_DMABUF_READ_ONLY ? O_RDONLY : O_RDWR;
	info.priv = b;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf)) {
		free_buffer(b);
		return PTR_ERR(buf);
	}
	fd = dma_buf_fd(buf, O_CLOEXEC);
	if (fd < 0) {
		dma_buf_put(buf);
		return fd;
	}
	make->fd = fd;
	return 0;
}

/* Return: the dma-buf of the descriptor @fd, if this module exported it, or an error */
static struct dma_buf *find(int fd)
{
	struct dma_buf *buf = dma_buf_get(fd);

	if (IS_ERR(buf) || buf->ops == &still_ops || buf->ops == &moving_ops ||
	    buf->ops == &no_vmap_ops)
		return buf;
	dma_buf_put(buf);
	return ERR_PTR(-EINVAL);
}

int iwt_dmabuf_look(struct iwt_dmabuf_use *use)
{
	struct dma_buf *buf = find(use->fd);
	struct buffer *b;
	size_t i;

	if (IS_ERR(buf))
		return PTR_ERR(buf);
	b = buf->priv;
	use->attached = atomic_read(&b->attached);
	use->pinned = atomic_read(&b->pinned);
	use->mapped = atomic_read(&b->mapped);
	use->accessed = atomic_read(&b->accessed);
	use->touched = 0;
	dma_resv_lock(buf->resv, NULL);
	for (i = 0; b->revoked && i < b->size; i++)
		use->touched += b->mem[i] != POISON;
	dma_resv_unlock(buf->resv);
	dma_buf_put(buf);
	return 0;
}

int iwt_dmabuf_revoke(int fd)
{
	struct dma_buf *buf = find(fd);
	struct buffer *b;

	if (IS_ERR(buf))
		return PTR_ERR(buf);
	b = buf->priv;
	dma_resv_lock(buf->resv, NULL);
	dma_buf_invalidate_mappings(buf);
	memset(b->mem, POISON, b->size);
	b->revoked = true;
	dma_resv_unlock(buf->resv);
	dma_buf_put(buf);
	return 0;
}
