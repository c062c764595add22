// SPDX-License-Identifier: GPL-2.0
/* Memory regions of dma-bufs: memory of another driver. */
#include "mr_priv.h"

#include "dev.h"
#include "mr_dmabuf_map.h"

/*
 * The exporter revokes the memory: make the region invalid for ever, so that accesses by peers
 * and by work requests fail. This function waits for engines that copy.
 */
static void revoke(void *ctx)
{
	struct iwt_mr *mr = ctx;

	iwt_fair_write_lock_bh(&mr->lock);
	mr->revoked = true;
	mr->region.valid = false;
	iwt_fair_write_unlock_bh(&mr->lock);
}

/*
 * Set the bounds and the rights, and make the region valid. Return: 0, or -ENODEV if the exporter
 * has already revoked the memory.
 */
static int validate(struct iwt_mr *mr, u64 len, u64 iova, u32 rights)
{
	bool revoked;

	iwt_fair_write_lock_bh(&mr->lock);
	revoked = mr->revoked;
	iwt_mr_cover(mr, iova, len, rights, !revoked);
	iwt_fair_write_unlock_bh(&mr->lock);
	return revoked ? -ENODEV : 0;
}

static int take_memory(struct iwt_mr *mr, const struct ib_pd *pd,
		       const struct iwt_dmabuf_wish *wish)
{
	struct iwt_dmabuf *d;
	u8 *va;
	int ret;

	ret = iwt_extents_alloc(&mr->map, 1, iwt_mr_gfp(pd));
	if (ret)
		return ret;
	d = iwt_dmabuf_get(&mr->dev->ibdev.dev, wish, &va);
	if (IS_ERR(d))
		return PTR_ERR(d);
	mr->dmabuf = d;
	return iwt_extents_add(&mr->map, va, wish->len);
}

/**
 * iwt_mr_create_dmabuf() - register memory of another driver
 * @pd: protection domain of a process
 * @fd: descriptor of a dma-buf
 * @off: offset of the region in the dma-buf
 * @len: length in bytes, not 0
 * @iova: tagged offset of the first byte
 * @access: enum ib_access_flags
 *
 * Process context, may sleep.
 *
 * Return: the region, or an error pointer: -EINVAL for impossible bounds, -EOPNOTSUPP for access
 * flags that the device does not support, or not for a dma-buf, -ENOMEM, an error of
 * iwt_dmabuf_get(), or -ENODEV if the exporter revoked the memory meanwhile.
 */
struct iwt_mr *iwt_mr_create_dmabuf(struct ib_pd *pd, int fd, u64 off, u64 len,
				    u64 iova, int access)
{
	struct iwt_dmabuf_wish wish = {
		.fd = fd,
		.off = off,
		.len = len,
		.write = ib_access_writable(access),
		.gone = revoke,
	};
	struct iwt_mr *mr;
	u32 rights;
	int ret;

	ret = iwt_mr_check_bounds(off, len, iova);
	if (ret)
		return ERR_PTR(ret);
	ret = iwt_mr_rights(access, &rights);
	if (ret)
		return ERR_PTR(ret);
	if (!iwt_dmabuf_may_have(access))
		return ERR_PTR(-EOPNOTSUPP);
	mr = iwt_mr_alloc(pd, IWT_MR_DMABUF);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access;
	wish.ctx = mr;
	ret = take_memory(mr, pd, &wish);
	if (ret)
		goto err_free;
	ret = validate(mr, len, iova, rights);
	if (ret)
		goto err_free;
	ret = iwt_mr_publish(mr);
	if (ret)
		goto err_free;
	return mr;

err_free:
	iwt_mr_free(mr);
	return ERR_PTR(ret);
}
