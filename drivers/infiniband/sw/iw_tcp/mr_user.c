// SPDX-License-Identifier: GPL-2.0
/* Memory regions of processes: pinned memory. */
#include "mr_priv.h"

#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <rdma/ib_umem.h>

/* Memory of a process, pinned. */
struct pinned {
	struct ib_umem *umem;
	struct iwt_extents map;
};

static int map_umem(struct pinned *p, const struct ib_pd *pd, u64 len)
{
	struct sg_table *sgt = &p->umem->sgt_append.sgt;
	struct scatterlist *sg;
	int ret, i;

	ret = iwt_extents_alloc(&p->map, sgt->nents, iwt_mr_gfp(pd));
	if (ret)
		return ret;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		ret = iwt_extents_add(&p->map,
				      ib_virt_dma_to_ptr(sg_dma_address(sg)),
				      sg_dma_len(sg));
		if (ret)
			return ret;
	}
	if (!iwt_extents_trim(&p->map, ib_umem_offset(p->umem), len))
		return -EFAULT;
	return 0;
}

static void unpin(struct pinned *p)
{
	iwt_extents_free(&p->map);
	if (p->umem)
		ib_umem_release(p->umem);
}

/* On error nothing is pinned. */
static int pin(struct pinned *p, struct ib_pd *pd, u64 start, u64 len,
	       int access)
{
	int ret;

	*p = (struct pinned){};
	if (start > ULONG_MAX || len > SIZE_MAX)
		return -EINVAL;
	p->umem = ib_umem_get_va(pd->device, start, len, access);
	if (IS_ERR(p->umem))
		return PTR_ERR(p->umem);
	ret = map_umem(p, pd, len);
	if (ret)
		unpin(p);
	return ret;
}

/* Bounds that neither the address space nor the tagged offsets have end in an error. */
static int check_bounds(u64 start, u64 len, u64 iova)
{
	u64 last;

	return !len || check_add_overflow(start, len, &last) ||
	       check_add_overflow(iova, len - 1, &last) ? -EINVAL : 0;
}

/**
 * iwt_mr_create_user() - register memory of the calling process
 * @pd: protection domain
 * @start: user address
 * @len: octets, not 0
 * @iova: tagged offset of the first octet
 * @access: enum ib_access_flags
 *
 * Process context, may sleep.
 *
 * Return: the region, or an error pointer: -EINVAL for impossible bounds, -EOPNOTSUPP for
 * access flags that the device does not have.
 */
struct iwt_mr *iwt_mr_create_user(struct ib_pd *pd, u64 start, u64 len,
				  u64 iova, int access)
{
	struct pinned p;
	struct iwt_mr *mr;
	u32 rights;
	int ret;

	ret = check_bounds(start, len, iova);
	if (!ret)
		ret = iwt_mr_rights(access, &rights);
	if (!ret)
		ret = pin(&p, pd, start, len, access);
	if (ret)
		return ERR_PTR(ret);
	mr = iwt_mr_alloc(pd, IWT_MR_USER);
	if (!mr) {
		unpin(&p);
		return ERR_PTR(-ENOMEM);
	}
	mr->umem = p.umem;
	mr->map = p.map;
	mr->region.base = iova;
	mr->region.len = len;
	mr->region.rights = rights;
	mr->region.valid = true;
	ret = iwt_mr_publish(mr);
	if (!ret)
		return mr;
	iwt_mr_free(mr);
	return ERR_PTR(ret);
}
