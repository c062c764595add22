// SPDX-License-Identifier: GPL-2.0
/* Memory regions of processes: memory that is not pinned. */
#include "mr_priv.h"

#include "dev.h"

/**
 * iwt_mr_create_odp() - register memory of the calling process without pinning it
 * @pd: protection domain
 * @start: user address
 * @len: octets, not 0; none of them needs to be mapped. From 0 on, ULONG_MAX are all that the
 *	process has or will have
 * @iova: tagged offset of the first octet
 * @access: enum ib_access_flags, IB_ACCESS_ON_DEMAND among them
 *
 * Process context, may sleep.
 *
 * Return: as iwt_mr_create_user().
 */
struct iwt_mr *iwt_mr_create_odp(struct ib_pd *pd, u64 start, u64 len,
				 u64 iova, int access)
{
	struct iwt_mr *mr;
	u32 rights;
	int ret;

	ret = iwt_mr_check_bounds(start, len, iova);
	if (!ret)
		ret = iwt_mr_rights(access & ~IWT_MR_ODP_FLAGS, &rights);
	if (ret)
		return ERR_PTR(ret);
	mr = iwt_mr_alloc(pd, IWT_MR_ODP);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access;
	iwt_mr_cover(mr, iova, len, rights, true);
	ret = -ENOMEM;
	mr->pager = iwt_pager_get(iwt_mr_gfp(pd));
	if (!mr->pager)
		goto fail;
	mr->odp = iwt_odp_new(mr->dev, start, len, &mr->lock, iwt_mr_gfp(pd));
	if (IS_ERR(mr->odp)) {
		ret = PTR_ERR(mr->odp);
		mr->odp = NULL;
		goto fail;
	}
	ret = iwt_mr_publish(mr);
	if (!ret)
		return mr;
fail:
	iwt_mr_free(mr);
	return ERR_PTR(ret);
}

/* Return: the pages of the region that has @sge, with a reference, or an error pointer. */
static struct iwt_odp *find_odp(struct iwt_dev *dev, const struct ib_pd *pd,
				const struct ib_sge *sge, u32 need, u64 *off)
{
	const struct iwt_party who = { .pd = pd };
	struct iwt_odp *odp = ERR_PTR(-EFAULT);
	struct iwt_mr *mr = iwt_mr_get(dev, sge->lkey);

	if (!mr)
		return odp;
	if (mr->kind == IWT_MR_ODP && iwt_odp_is_of(mr->odp, current->mm) &&
	    iwt_access_check(&mr->region, &who, sge->addr, sge->length,
			     need) == IWT_ACCESS_OK) {
		odp = mr->odp;
		iwt_odp_get(odp);
		*off = sge->addr - mr->region.base;
	}
	iwt_mr_put(mr);
	return odp;
}

/**
 * iwt_mr_prefetch() - a process says what will be accessed soon
 * @dev: device
 * @pd: protection domain
 * @sge: a part of a region of the calling process that is not pinned
 * @how: what is done about pages that are absent
 *
 * Process context, may sleep.
 *
 * Return: 0, -EFAULT if it is no such part, or if it may not be written and is to be, or as
 * iwt_odp_fill().
 */
int iwt_mr_prefetch(struct iwt_dev *dev, const struct ib_pd *pd,
		    const struct ib_sge *sge, enum iwt_odp_how how)
{
	struct iwt_odp *odp;
	u64 off = 0;
	int ret = 0;

	odp = find_odp(dev, pd, sge, how == IWT_ODP_WRITE ? IWT_LOCAL_WRITE : 0,
		       &off);
	if (IS_ERR(odp))
		return PTR_ERR(odp);
	if (sge->length)
		ret = iwt_odp_fill(odp, off, sge->length, how);
	iwt_odp_put(odp);
	return ret;
}
