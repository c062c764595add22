// SPDX-License-Identifier: GPL-2.0
/* Memory regions for fast registration: kernel consumers register memory by work requests. */
#include "mr_priv.h"

#include "dev.h"

/**
 * iwt_mr_create_fast() - create a region for REG_MR
 * @pd: protection domain
 * @max: maximum number of pages; with @gaps, of pieces of memory
 * @gaps: pieces of memory need not begin or end at page boundaries
 *
 * Process context, may sleep.
 *
 * Return: the region, which is not valid yet, or an error pointer: -EINVAL if @max is 0 or
 * exceeds %IWT_MAX_FR_PAGES, or -ENOMEM.
 */
struct iwt_mr *iwt_mr_create_fast(struct ib_pd *pd, u32 max, bool gaps)
{
	struct iwt_mr *mr;
	int ret;

	if (!max || max > IWT_MAX_FR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = iwt_mr_alloc(pd, IWT_MR_FAST);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->gaps = gaps;
	ret = iwt_extents_alloc(&mr->map, max, iwt_mr_gfp(pd));
	if (ret)
		goto err_free;
	ret = iwt_extents_alloc(&mr->next, max, iwt_mr_gfp(pd));
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

/*
 * May an element that begins at @at follow an element that ends at @end? With %IB_MR_TYPE_SG_GAPS
 * every element may; otherwise only if both addresses are page boundaries, or are the same.
 */
static bool may_follow(const struct iwt_mr *mr, u64 end, u64 at)
{
	return mr->gaps || at == end || !((at | end) & (mr->ibmr.page_size - 1));
}

/*
 * Map elements of @sgl until mr->next is full, or until an element may not follow the element
 * before it. ib_sg_to_pages() is not used, because it would call back for each page. Return:
 * number of mapped elements, or -EINVAL.
 */
static int map_elements(struct iwt_mr *mr, struct scatterlist *sgl, int nents,
			unsigned int *sg_offset)
{
	u64 skip = sg_offset ? *sg_offset : 0, len = 0, end = 0;
	struct scatterlist *sg;
	int i;

	if (nents <= 0 || skip >= sg_dma_len(sgl))
		return -EINVAL;
	mr->ibmr.iova = sg_dma_address(sgl) + skip;
	for_each_sg(sgl, sg, nents, i) {
		u64 at = sg_dma_address(sg) + skip, n = sg_dma_len(sg) - skip;

		if (i && !may_follow(mr, end, at))
			break;
		if (n && iwt_extents_add(&mr->next, ib_virt_dma_to_ptr(at), n))
			break;
		end = at + n;
		len += n;
		skip = 0;
	}
	mr->ibmr.length = len;
	if (sg_offset)
		*sg_offset = 0;
	return i;
}

/**
 * iwt_mr_map_sg() - prepare the memory that the next REG_MR will register
 * @mr: region of kind IWT_MR_FAST
 * @sg: list of kernel memory
 * @nents: number of elements of @sg
 * @sg_offset: number of bytes to skip in the first element; set to 0. May be NULL
 *
 * The registered memory does not change before REG_MR: peers may still use the old STag. Any
 * context.
 *
 * Return: number of elements that were mapped, or -EINVAL if @nents is not positive, or if the
 * first element has no more than *@sg_offset bytes.
 */
int iwt_mr_map_sg(struct iwt_mr *mr, struct scatterlist *sg, int nents,
		  unsigned int *sg_offset)
{
	int n;

	mr->next.n = 0;
	mr->next_ready = false;
	n = map_elements(mr, sg, nents, sg_offset);
	mr->next_ready = n > 0;
	return n;
}

/*
 * A consumer may invalidate a region that is not valid: before its first registration, or a
 * second time. Then the key is not compared, because the consumer may have chosen a new key. A
 * peer may invalidate only a valid region, by its full STag (RFC 5040 5.3).
 */
static u32 check_mr_invalidate(const struct iwt_mr *mr, u32 stag,
			       const struct iwt_party *party, bool remote)
{
	bool valid = mr->region.valid;

	if (remote && (mr->stag != stag || !valid))
		return IWT_ERR_OP_INVAL;
	if (mr->region.owner != party->pd)
		return remote ? IWT_ERR_PROT_INVAL : IWT_ERR_LOCAL;
	if (mr->kind != IWT_MR_FAST)
		return remote ? IWT_ERR_OP_INVAL : IWT_ERR_LOCAL;
	return valid && mr->stag != stag ? IWT_ERR_LOCAL : IWT_OK;
}

/**
 * iwt_mr_invalidate() - make the STag of a region invalid, keep the region
 * @mr: region from iwt_mr_get_for_change()
 * @stag: STag; its key is ignored if a consumer invalidates a region that is not valid
 * @party: PD and stream for which the region is invalidated
 * @remote: true if the peer invalidates the region, false if a consumer does
 *
 * Only regions for fast registration can be invalidated. The caller holds the lock of the region
 * for writing. Never sleeps.
 *
 * Return: IWT_OK; or, if @remote, the error for a Terminate (RFC 5040 4.8), otherwise
 * IWT_ERR_LOCAL.
 */
u32 iwt_mr_invalidate(struct iwt_mr *mr, u32 stag, const struct iwt_party *party,
		      bool remote)
{
	u32 err = check_mr_invalidate(mr, stag, party, remote);

	iwt_fair_assert_write(&mr->lock);
	if (!err)
		mr->region.valid = false;
	return err;
}

/*
 * The memory that iwt_mr_map_sg() prepared becomes the memory of the region. Without new memory,
 * the region keeps its memory.
 */
static void take_next(struct iwt_mr *mr)
{
	if (mr->next_ready) {
		swap(mr->map, mr->next);
		mr->next_ready = false;
	}
	mr->region.base = mr->ibmr.iova;
	mr->origin = mr->ibmr.iova;
	mr->region.len = mr->ibmr.length;
}

/**
 * iwt_mr_register() - work request REG_MR
 * @dev: device
 * @stag: index of the region, and its new key
 * @pd: protection domain of the queue pair
 * @access: enum ib_access_flags
 *
 * Never sleeps.
 *
 * Return: IWT_OK, or IWT_ERR_LOCAL if the index in @stag is not that of a region for fast
 * registration in the domain @pd, if the region is still valid, if iwt_mr_map_sg() never mapped
 * memory for the region, or if the flags are not supported.
 */
u32 iwt_mr_register(struct iwt_dev *dev, u32 stag, const void *pd,
		    int access)
{
	u32 rights, err = IWT_ERR_LOCAL;
	struct iwt_mr *mr;

	if (iwt_mr_rights(access, &rights))
		return IWT_ERR_LOCAL;
	mr = iwt_mr_get_for_change(dev, stag);
	if (!mr)
		return IWT_ERR_LOCAL;
	if (mr->kind == IWT_MR_FAST && mr->region.owner == pd &&
	    !mr->region.valid && (mr->next_ready || mr->map.n)) {
		take_next(mr);
		mr->stag = stag;
		mr->access = access;
		mr->region.rights = rights;
		/* consumers in the kernel read data only after the completion (ib_verbs.h) */
		mr->region.relaxed = IWT_RELAXED;
		mr->region.valid = true;
		err = IWT_OK;
	}
	iwt_mr_put_changed(mr);
	return err;
}
