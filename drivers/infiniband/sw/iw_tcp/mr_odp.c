// SPDX-License-Identifier: GPL-2.0
/* On-demand memory regions of processes: their memory is not pinned. */
#include "mr_priv.h"

#include <linux/uaccess.h>

#include "dev.h"

/**
 * iwt_mr_create_odp() - register memory of the calling process without pinning it
 * @pd: protection domain
 * @start: user address
 * @len: length in bytes, not 0; the process need not have mapped the memory. If @start is 0 and
 *	@len is ULONG_MAX, the region covers the whole address space, with all later mappings
 * @iova: tagged offset of the first byte
 * @access: enum ib_access_flags, including IB_ACCESS_ON_DEMAND
 *
 * Process context, may sleep.
 *
 * Return: the region, or an error pointer: -EINVAL for impossible bounds, -EOPNOTSUPP for access
 * flags that the device does not support, -ENOMEM, or an error of iwt_pager_join().
 */
struct iwt_mr *iwt_mr_create_odp(struct ib_pd *pd, u64 start, u64 len,
				 u64 iova, int access)
{
	struct iwt_mr *mr;
	u32 rights;
	int ret;

	if (start > ULONG_MAX || len > ULONG_MAX)
		return ERR_PTR(-EINVAL);
	ret = iwt_mr_check_bounds(start, len, iova);
	if (ret)
		return ERR_PTR(ret);
	ret = iwt_mr_rights(access & ~IWT_MR_ODP_FLAGS, &rights);
	if (ret)
		return ERR_PTR(ret);
	mr = iwt_mr_alloc(pd, IWT_MR_ODP);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access;
	iwt_mr_cover(mr, iova, len, rights, true);
	/* the table of pages uses addresses without the tag bits of the architecture */
	mr->user = untagged_addr((unsigned long)start);
	mr->pager = iwt_pager_join(mr->dev, iwt_mr_gfp(pd));
	if (IS_ERR(mr->pager)) {
		ret = PTR_ERR(mr->pager);
		mr->pager = NULL;
		goto err_free;
	}
	mr->odp = iwt_pager_odp(mr->pager);
	ret = iwt_mr_publish(mr);
	if (ret)
		goto err_free;
	return mr;

err_free:
	iwt_mr_free(mr);
	return ERR_PTR(ret);
}
