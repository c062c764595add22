// SPDX-License-Identifier: GPL-2.0
/* Pinned regions of processes, and re-registration of all kinds of regions of processes. */
#include "mr_priv.h"

#include <linux/scatterlist.h>
#include <rdma/ib_umem.h>

#include "dev.h"
#include "memlock.h"
#include "mmap.h"
#include "mr_dmabuf_map.h"

/* Pinned memory of a process. */
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
		iwt_mr_unpin(p->umem);
}

/*
 * ib_umem_get_va() checks RLIMIT_MEMLOCK. Rings that the process has just released may still
 * count: if the call fails, end the charges of these rings, and try again. (Whether the limit was
 * the reason can't be seen afterwards: another task may have ended the charges meanwhile.)
 */
static struct ib_umem *get_umem(struct ib_pd *pd, u64 start, u64 len, int access)
{
	struct ib_umem *umem = ib_umem_get_va(pd->device, start, len, access);

	if (umem != ERR_PTR(-ENOMEM) || iwt_memlock_unlimited())
		return umem;
	iwt_mmap_uncharge_released();
	umem = ib_umem_get_va(pd->device, start, len, access);
	if (umem == ERR_PTR(-ENOMEM) && iwt_memlock_exceeded(start, len))
		iwt_memlock_refused(to_iwt_dev(pd->device));
	return umem;
}

/* Pin and map memory of the process. Return: 0 or -errno; on error no memory is pinned. */
static int pin(struct pinned *p, struct ib_pd *pd, u64 start, u64 len,
	       int access)
{
	int ret;

	*p = (struct pinned){};
	if (start > ULONG_MAX || len > SIZE_MAX)
		return -EINVAL;
	p->umem = get_umem(pd, start, len, access);
	if (IS_ERR(p->umem))
		return PTR_ERR(p->umem);
	iwt_mr_note_pinned(p->umem, true);
	ret = map_umem(p, pd, len);
	if (ret)
		unpin(p);
	return ret;
}

/*
 * As iwt_mr_rights(), for a region of a process. Windows can be bound to pinned regions only: the
 * memory of a dma-buf may be revoked at any time, and an on-demand region has no list of extents
 * that a window could use.
 */
static int user_rights(enum iwt_mr_kind kind, int access, u32 *rights)
{
	int known = kind == IWT_MR_USER ? IWT_MR_USER_FLAGS :
		    kind == IWT_MR_ODP ? IWT_MR_ODP_FLAGS : 0;
	int ret = iwt_mr_rights(access & ~known, rights);

	if (!ret && access & known & IB_ACCESS_MW_BIND)
		*rights |= IWT_BIND_WINDOWS;
	return ret;
}

/**
 * iwt_mr_create_user() - register memory of the calling process
 * @pd: protection domain
 * @start: user address
 * @len: length in bytes, not 0
 * @iova: tagged offset of the first byte
 * @access: enum ib_access_flags
 *
 * Process context, may sleep.
 *
 * Return: the region, or an error pointer: -EINVAL for impossible bounds, -EOPNOTSUPP for
 * access flags that the device does not support, -ENOMEM, or an error of ib_umem_get_va().
 */
struct iwt_mr *iwt_mr_create_user(struct ib_pd *pd, u64 start, u64 len,
				  u64 iova, int access)
{
	struct pinned p;
	struct iwt_mr *mr;
	u32 rights;
	int ret;

	ret = iwt_mr_check_bounds(start, len, iova);
	if (ret)
		return ERR_PTR(ret);
	ret = user_rights(IWT_MR_USER, access, &rights);
	if (ret)
		return ERR_PTR(ret);
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
	mr->access = access;
	iwt_mr_cover(mr, iova, len, rights, true);
	ret = iwt_mr_publish(mr);
	if (ret) {
		iwt_mr_free(mr);
		return ERR_PTR(ret);
	}
	return mr;
}

/* For the attributes that do not change, store the present values of @mr in @c. */
static void complete_change(struct iwt_mr_change *c, const struct iwt_mr *mr)
{
	if (!(c->flags & IB_MR_REREG_TRANS)) {
		c->start = mr->umem ? mr->umem->address : 0;
		c->len = mr->region.len;
		c->iova = mr->region.base;
	}
	if (!(c->flags & IB_MR_REREG_ACCESS))
		c->access = mr->access;
	if (!(c->flags & IB_MR_REREG_PD))
		c->pd = mr->ibmr.pd;
}

/*
 * The memory of a dma-buf region can't be changed: for another dma-buf, the process has to
 * register a new region. Return: 0; -EOPNOTSUPP for other memory; -EACCES if the region would
 * become writable, but its dma-buf was mapped for reading only.
 */
static int check_dmabuf(const struct iwt_mr_change *c, const struct iwt_mr *mr)
{
	if (c->flags & IB_MR_REREG_TRANS || !iwt_dmabuf_may_have(c->access))
		return -EOPNOTSUPP;
	if (ib_access_writable(c->access) && !iwt_dmabuf_may_write(mr->dmabuf))
		return -EACCES;
	return 0;
}

/*
 * The memory of an on-demand region can't be changed, and can't become pinned. Return: 0 or
 * -EOPNOTSUPP.
 */
static int check_odp(const struct iwt_mr_change *c)
{
	if (c->flags & IB_MR_REREG_TRANS || !(c->access & IB_ACCESS_ON_DEMAND))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Pin the new memory, if the process requested new memory. If the region becomes writable and its
 * memory was pinned for reading only, pin the memory again: its pages may be shared with other
 * processes, and pinning for writing makes copies. Only the process to whose address space the
 * memory belongs can pin the memory. Return: 0, and @p stays empty if no memory had to be pinned;
 * or -errno, and no memory is pinned.
 */
static int pin_change(struct pinned *p, const struct iwt_mr_change *c,
		      const struct iwt_mr *mr)
{
	if (mr->kind == IWT_MR_DMABUF)
		return check_dmabuf(c, mr);
	if (mr->kind == IWT_MR_ODP)
		return check_odp(c);
	if (!(c->flags & IB_MR_REREG_TRANS)) {
		if (!ib_access_writable(c->access) || mr->umem->writable)
			return 0;
		if (mr->umem->owning_mm != current->mm)
			return -EINVAL;
	}
	return pin(p, c->pd, c->start, c->len, c->access);
}

/*
 * Change the region. This function exchanges *@stag with the STag of the region and, if @p has
 * memory, @p with the memory of the region. Return: 0; -EBUSY, without any change, as long as
 * windows are bound to the region.
 */
static int switch_region(struct iwt_mr *mr, const struct iwt_mr_change *c,
			 u32 rights, u32 *stag, struct pinned *p)
{
	u32 old;

	iwt_fair_write_lock_bh(&mr->lock);
	if (iwt_mr_has_windows(mr)) {
		iwt_fair_write_unlock_bh(&mr->lock);
		return -EBUSY;
	}
	if (p->umem) {
		swap(mr->umem, p->umem);
		swap(mr->map, p->map);
	}
	mr->region = (struct iwt_region){
		.base = c->iova,
		.len = c->len,
		.rights = rights,
		.valid = !mr->revoked,
		.relaxed = iwt_mr_order(c->access),
		.owner = c->pd,
	};
	mr->origin = c->iova;
	old = mr->stag;
	iwt_mr_set_stag(mr, *stag);
	mr->access = c->access;
	iwt_fair_write_unlock_bh(&mr->lock);
	*stag = old;
	return 0;
}

/**
 * iwt_mr_rereg_user() - change a region of the calling process
 * @mr: region of kind IWT_MR_USER, IWT_MR_DMABUF or IWT_MR_ODP; the caller makes sure that
 *	nobody else changes or destroys the region
 * @change: new attributes
 *
 * The region gets a new STag, like a new region: peers that know the old STag cannot use the new
 * memory or rights (RFC 5042 6.2, 6.3). Work requests with the old STag fail. If this function
 * returns an error, the region does not change. Process context, may sleep. Waits for engines
 * that copy.
 *
 * Return: 0; an error of iwt_mr_create_user(); -EINVAL if the memory has to be pinned again, but
 * belongs to another process; -EOPNOTSUPP if the memory of a dma-buf or of an on-demand region
 * would change or become pinned; -EACCES if the region would become writable but its dma-buf was
 * mapped for reading only; -EBUSY as long as windows are bound to the region.
 */
int iwt_mr_rereg_user(struct iwt_mr *mr, const struct iwt_mr_change *change)
{
	struct iwt_mr_change c = *change;
	struct pinned p = {};
	u32 rights, stag;
	int ret;

	complete_change(&c, mr);
	ret = iwt_mr_check_bounds(c.start, c.len, c.iova);
	if (ret)
		return ret;
	ret = user_rights(mr->kind, c.access, &rights);
	if (ret)
		return ret;
	ret = pin_change(&p, &c, mr);
	if (ret)
		return ret;
	ret = iwt_mr_take_stag(mr, &stag);
	if (ret)
		goto out_unpin;
	/*
	 * after success, p and stag are the old memory and the old STag; after an error, they are
	 * the new memory and the new STag: release what the region does not use
	 */
	ret = switch_region(mr, &c, rights, &stag, &p);
	iwt_mr_drop_stag(mr, stag);
out_unpin:
	unpin(&p);
	return ret;
}
