// SPDX-License-Identifier: GPL-2.0
/* ib_device operations on memory regions. All may sleep except map_mr_sg. */
#include "verbs.h"

#include <rdma/iw_tcp-abi.h>

#include "dev.h"
#include "mr.h"

static struct ib_mr *ibmr_or_err(struct iwt_mr *mr)
{
	return IS_ERR(mr) ? ERR_CAST(mr) : &mr->ibmr;
}

/**
 * iwt_get_dma_mr() - ib_device operation get_dma_mr
 * @pd: protection domain of a kernel consumer
 * @access: enum ib_access_flags
 *
 * May sleep.
 *
 * Return: a region of all kernel addresses, or an error pointer.
 */
struct ib_mr *iwt_get_dma_mr(struct ib_pd *pd, int access)
{
	return ibmr_or_err(iwt_mr_create_dma(pd, access));
}

/**
 * iwt_reg_user_mr() - ib_device operation reg_user_mr
 * @pd: protection domain
 * @start: user address
 * @len: length in bytes
 * @iova: tagged offset of the first byte
 * @access: enum ib_access_flags
 * @dmah: hints for DMA, which the device does not support: must be NULL
 * @udata: private data of the process, which must be zero; the response is struct
 *	iwt_reg_mr_resp, cut to the length of the process's buffer
 *
 * Registers memory of the calling process: on demand with IB_ACCESS_ON_DEMAND, else pinned. May
 * sleep.
 *
 * Return: the region, or an error pointer: -EOPNOTSUPP with @dmah or private data, -EFAULT if the
 * response can't be copied, or an error of iwt_mr_create_odp() or iwt_mr_create_user().
 */
struct ib_mr *iwt_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			      int access, struct ib_dmah *dmah,
			      struct ib_udata *udata)
{
	struct iwt_reg_mr_resp resp = {};
	struct iwt_mr *mr;
	int ret;

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	ret = iwt_udata_known(udata, 0);
	if (ret)
		return ERR_PTR(ret);
	mr = access & IB_ACCESS_ON_DEMAND ?
		iwt_mr_create_odp(pd, start, len, iova, access) :
		iwt_mr_create_user(pd, start, len, iova, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	resp.stag = mr->stag;
	ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret) {
		/* can't fail: nobody can bind a window to a region that has no uobject yet */
		iwt_mr_destroy(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

/**
 * iwt_reg_user_mr_dmabuf() - ib_device operation reg_user_mr_dmabuf: register a dma-buf
 * @pd: protection domain
 * @offset: offset of the region in the dma-buf
 * @length: length in bytes
 * @iova: tagged offset of the first byte
 * @fd: descriptor of the dma-buf
 * @access: enum ib_access_flags
 * @dmah: hints for DMA, which the device does not support: must be NULL
 * @attrs: unused
 *
 * May sleep.
 *
 * Return: the region, or an error pointer: -EOPNOTSUPP with @dmah, or an error of
 * iwt_mr_create_dmabuf().
 */
struct ib_mr *iwt_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				     u64 iova, int fd, int access,
				     struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return ibmr_or_err(iwt_mr_create_dmabuf(pd, fd, offset, length, iova,
						access));
}

/**
 * iwt_rereg_user_mr() - ib_device operation rereg_user_mr
 * @ibmr: region of the calling process; RDMA core has locked the object
 * @flags: IB_MR_REREG_*: attributes to change
 * @start: user address
 * @len: length in bytes
 * @iova: tagged offset of the first byte
 * @access: enum ib_access_flags
 * @pd: protection domain
 * @udata: private data of the process, which must be zero
 *
 * The region is changed in place, and gets new keys. May sleep.
 *
 * Return: NULL on success, else an error pointer: -EOPNOTSUPP if the private data is not zero, or
 * an error of iwt_mr_rereg_user(). After an error the region is unchanged.
 */
struct ib_mr *iwt_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 len, u64 iova, int access,
				struct ib_pd *pd, struct ib_udata *udata)
{
	const struct iwt_mr_change change = {
		.flags = flags,
		.pd = pd,
		.start = start,
		.len = len,
		.iova = iova,
		.access = access,
	};
	int ret = iwt_udata_known(udata, 0);

	if (!ret)
		ret = iwt_mr_rereg_user(to_iwt_mr(ibmr), &change);
	return ret ? ERR_PTR(ret) : NULL;
}

static int how_of(enum ib_uverbs_advise_mr_advice advice)
{
	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		return IWT_ODP_READ;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		return IWT_ODP_WRITE;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		return IWT_ODP_NO_FAULT;
	}
	return -EOPNOTSUPP;
}

/**
 * iwt_advise_mr() - ib_device operation advise_mr
 * @pd: protection domain
 * @advice: requested action
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH or 0; with either value, the action is complete when
 *	this function returns 0
 * @sge: parts of on-demand regions
 * @n: number of elements of @sge
 * @attrs: unused
 *
 * May sleep.
 *
 * Return: 0, -EOPNOTSUPP for unknown advice or flags, or an error of iwt_mr_prefetch().
 */
int iwt_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sge, u32 n,
		  struct uverbs_attr_bundle *attrs)
{
	int how = how_of(advice), ret = 0;
	u32 i;

	if (how < 0 || flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EOPNOTSUPP;
	for (i = 0; i < n && !ret; i++)
		ret = iwt_mr_prefetch(to_iwt_dev(pd->device), pd, &sge[i], how);
	return ret;
}

/**
 * iwt_alloc_mr() - ib_device operation alloc_mr: create a region for fast registration
 * @pd: protection domain
 * @type: IB_MR_TYPE_MEM_REG or IB_MR_TYPE_SG_GAPS; other types are not supported
 * @max_num_sg: maximum number of pages; with IB_MR_TYPE_SG_GAPS, maximum number of pieces of any
 *	length
 *
 * May sleep.
 *
 * Return: the region, or an error pointer: -EOPNOTSUPP for another type, or an error of
 * iwt_mr_create_fast().
 */
struct ib_mr *iwt_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			   u32 max_num_sg)
{
	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	return ibmr_or_err(iwt_mr_create_fast(pd, max_num_sg,
					      type == IB_MR_TYPE_SG_GAPS));
}

/**
 * iwt_map_mr_sg() - ib_device operation map_mr_sg
 * @ibmr: region for fast registration
 * @sg: list of kernel memory
 * @nents: number of elements of @sg
 * @sg_offset: bytes to skip in the first element, updated; may be NULL
 *
 * Any context.
 *
 * Return: number of elements that the next REG_MR will register, or -errno.
 */
int iwt_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		  unsigned int *sg_offset)
{
	return iwt_mr_map_sg(to_iwt_mr(ibmr), sg, nents, sg_offset);
}

/**
 * iwt_dereg_mr() - ib_device operation dereg_mr
 * @ibmr: region; the function frees it on success
 * @udata: unused
 *
 * May sleep.
 *
 * Return: 0, or -EBUSY as long as windows are bound to the region.
 */
int iwt_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	return iwt_mr_destroy(to_iwt_mr(ibmr));
}
