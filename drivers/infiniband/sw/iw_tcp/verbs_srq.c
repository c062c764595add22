// SPDX-License-Identifier: GPL-2.0
/* ib_device operations on shared receive queues, and the uverbs methods for their rings. */
#include <linux/log2.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include <compat/dumps.h>

#include "dev.h"
#include "mmap.h"
#include "qp.h"
#include "srq.h"
#include "stats.h"
#include "verbs.h"

#define UVERBS_MODULE_NAME iw_tcp
#include <rdma/uverbs_named_ioctl.h>

static bool size_ok(u32 max_wr)
{
	return max_wr && max_wr <= IWT_MAX_SRQ_WR;
}

static int alloc_srq_ring(struct iwt_srq *srq, struct ib_ucontext *uc, u32 entries, u32 max_sge,
			  u64 *offset)
{
	size_t bytes = iwt_ring_bytes(entries, iwt_rq_stride(max_sge));

	if (!srq->user) {
		srq->mem = vzalloc(bytes);
		return srq->mem ? 0 : -ENOMEM;
	}
	srq->map = iwt_mmap_alloc(uc, bytes, offset);
	return PTR_ERR_OR_ZERO(srq->map);
}

static void free_srq(struct iwt_srq *srq)
{
	if (!compat_dumps_end_first) {
		spin_lock_irq(&srq->rq.lock);
		compat_ring_gone(&srq->rq.ring);
		spin_unlock_irq(&srq->rq.lock);
	}
	if (srq->user) {
		iwt_mmap_free(srq->map);
		iwt_mmap_free(srq->spare);
	} else {
		vfree(srq->mem);
	}
	atomic_dec(&to_iwt_dev(srq->ibsrq.device)->n_srqs);
}

static struct iwt_create_srq_resp describe(const struct iwt_mmap *map, u64 offset, u32 entries,
					   u32 stride)
{
	return (struct iwt_create_srq_resp) {
		.mmap_offset = offset,
		.mmap_length = map->len,
		.entries = entries,
		.stride = stride,
	};
}

static int answer_srq(const struct iwt_srq *srq, u64 offset, struct ib_udata *udata)
{
	struct iwt_create_srq_resp resp = describe(srq->map, offset, srq->rq.entries,
						   srq->rq.ring.stride);

	return ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
}

/*
 * Check type and sizes. The types other than IB_SRQT_BASIC would need XRC or tag matching, which
 * iWARP does not have.
 */
static int check_srq_init(const struct ib_srq_init_attr *attr, struct ib_udata *udata)
{
	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!size_ok(attr->attr.max_wr) || attr->attr.max_sge > IWT_MAX_SGE)
		return -EINVAL;
	return udata ? iwt_udata_known(udata, 0) : 0;
}

/**
 * iwt_create_srq() - verbs: create a shared receive queue
 * @ibsrq: shared receive queue, allocated by RDMA core
 * @attr: requested sizes, which this function updates to the actual sizes; the limit is ignored
 * @udata: private data of the process, or NULL for a kernel consumer
 *
 * May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a type other than IB_SRQT_BASIC, or if the private data is not zero;
 * -EINVAL if a size is out of range; -ENOMEM; or -EFAULT if the response can't be copied.
 */
int iwt_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct iwt_ucontext *uc = rdma_udata_to_drv_context(udata, struct iwt_ucontext, ibuc);
	atomic_t *n_srqs = &to_iwt_dev(ibsrq->device)->n_srqs;
	struct iwt_srq *srq = to_iwt_srq(ibsrq);
	u32 entries, sge;
	u64 offset = 0;
	int err;

	err = check_srq_init(attr, udata);
	if (err)
		return err;
	err = iwt_dev_take(n_srqs, IWT_MAX_SRQ);
	if (err)
		return err;
	entries = roundup_pow_of_two(attr->attr.max_wr);
	sge = max_t(u32, attr->attr.max_sge, 1);
	srq->user = udata;
	srq->rings = uc && uc->features & IWT_FEATURE_SRQ_DOORBELL;
	srq->end_streams = iwt_qp_srq_failed;
	err = alloc_srq_ring(srq, uc ? &uc->ibuc : NULL, entries, sge, &offset);
	if (err) {
		atomic_dec(n_srqs);
		return err;
	}
	iwt_srq_setup(srq, srq->user ? srq->map->mem : srq->mem, entries, sge);
	iwt_async_of_process(&srq->async, ibsrq->uobject);
	attr->attr.max_wr = entries;
	attr->attr.max_sge = sge;
	err = udata ? answer_srq(srq, offset, udata) : 0;
	if (err)
		free_srq(srq);
	return err;
}

/**
 * iwt_destroy_srq() - verbs: destroy a shared receive queue
 * @ibsrq: queue; RDMA core makes sure that no queue pair uses it any more
 * @udata: unused
 *
 * Receives that are still posted are dropped without completions. May sleep.
 *
 * Return: 0.
 */
int iwt_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct iwt_srq *srq = to_iwt_srq(ibsrq);

	iwt_srq_quiesce(srq);
	free_srq(srq);
	return 0;
}

static int resize_kernel(struct iwt_srq *srq, u32 entries, const u32 *limit)
{
	void *mem = vzalloc(iwt_ring_bytes(entries, srq->rq.ring.stride));
	int err = -ENOMEM;

	if (!mem)
		return err;
	err = iwt_srq_move(srq, mem, entries, limit);
	if (!err)
		swap(srq->mem, mem);
	vfree(mem);
	return err;
}

/*
 * Switch to the spare ring. The process has mapped the spare ring before it requests the resize,
 * so after the switch the process needs no mapping that could fail.
 */
static int resize_user(struct iwt_srq *srq, u32 entries, const u32 *limit)
{
	int err;

	if (!srq->spare || srq->spare_entries != entries)
		return -EINVAL;
	err = iwt_srq_move(srq, srq->spare->mem, entries, limit);
	if (err)
		return err;
	iwt_mmap_free(srq->map);
	srq->map = srq->spare;
	srq->spare = NULL;
	return 0;
}

static int resize_srq(struct iwt_srq *srq, u32 max_wr, const u32 *limit)
{
	u32 entries;

	if (!size_ok(max_wr))
		return -EINVAL;
	entries = roundup_pow_of_two(max_wr);
	return srq->user ? resize_user(srq, entries, limit) :
			   resize_kernel(srq, entries, limit);
}

/**
 * iwt_modify_srq() - verbs: change the size or the limit of a shared receive queue
 * @ibsrq: queue
 * @attr: new values; this function updates the size to the actual size
 * @mask: members of @attr that are valid: IB_SRQ_MAX_WR, IB_SRQ_LIMIT
 * @udata: private data of the process, or NULL for a kernel consumer
 *
 * Either all requested changes are made, or none. Before a process changes the size, the process
 * has to request a ring of the new size by IWT_METHOD_SRQ_NEW_RING. May sleep.
 *
 * Return: 0; -EINVAL if @mask has unknown bits, if the size or the limit is out of range, if a
 * process has not requested a new ring of this size, or if more receives are posted than the new
 * ring can hold; -EOPNOTSUPP if the private data is not zero; -ENOMEM; or -EAGAIN if receives are
 * posted faster than they can be copied to the new ring.
 */
int iwt_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	const u32 *limit = mask & IB_SRQ_LIMIT ? &attr->srq_limit : NULL;
	struct iwt_srq *srq = to_iwt_srq(ibsrq);
	int err;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	err = udata ? iwt_udata_known(udata, 0) : 0;
	if (err)
		return err;
	mutex_lock(&srq->change);
	if (mask & IB_SRQ_MAX_WR)
		err = resize_srq(srq, attr->max_wr, limit);
	else if (limit)
		err = iwt_srq_set_limit(srq, *limit);
	if (!err && mask & IB_SRQ_MAX_WR)
		attr->max_wr = srq->rq.entries;
	mutex_unlock(&srq->change);
	return err;
}

/**
 * iwt_query_srq() - verbs: query sizes and limit of a shared receive queue
 * @ibsrq: queue
 * @attr: set to the sizes and the limit; after the limit event, the limit is 0
 *
 * Any context.
 *
 * Return: 0.
 */
int iwt_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	iwt_srq_query(to_iwt_srq(ibsrq), attr);
	return 0;
}

/**
 * iwt_post_srq_recv() - verbs: post receive work requests
 * @ibsrq: queue of a kernel consumer; a process uses the ring
 * @wr: list of work requests
 * @bad: after an error, set to the first work request that was not posted
 *
 * Any context.
 *
 * Return: 0; -EINVAL if the queue belongs to a process; or an error of iwt_srq_post().
 */
int iwt_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	struct iwt_srq *srq = to_iwt_srq(ibsrq);

	if (!srq->user)
		return iwt_srq_post(srq, wr, bad);
	*bad = wr;
	return -EINVAL;
}

/*
 * Allocate a ring, describe it to the process, and make it the spare ring. The description is
 * copied to the process first: if the copy fails, the former spare ring, if any, stays in place.
 */
static int new_ring(struct iwt_srq *srq, struct ib_ucontext *uc, u32 entries,
		    struct uverbs_attr_bundle *attrs)
{
	u32 stride = srq->rq.ring.stride;
	struct iwt_create_srq_resp resp;
	struct iwt_mmap *map;
	u64 offset;
	int err;

	map = iwt_mmap_alloc(uc, iwt_ring_bytes(entries, stride), &offset);
	if (IS_ERR(map))
		return PTR_ERR(map);
	resp = describe(map, offset, entries, stride);
	err = uverbs_copy_to_struct_or_zero(attrs, IWT_ATTR_SRQ_RING, &resp, sizeof(resp));
	if (err)
		goto out_free;
	mutex_lock(&srq->change);
	swap(srq->spare, map);
	srq->spare_entries = entries;
	mutex_unlock(&srq->change);
out_free:
	iwt_mmap_free(map);
	return err;
}

/* All attributes are mandatory: RDMA core refuses a call in which one of them is missing. */
static int UVERBS_HANDLER(IWT_METHOD_SRQ_NEW_RING)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, IWT_ATTR_SRQ);
	u32 max_wr;
	int err;

	err = uverbs_copy_from(&max_wr, attrs, IWT_ATTR_SRQ_MAX_WR);
	if (err)
		return err;
	if (!size_ok(max_wr))
		return -EINVAL;
	return new_ring(to_iwt_srq(uobj->object), uobj->context,
			roundup_pow_of_two(max_wr), attrs);
}

static int UVERBS_HANDLER(IWT_METHOD_SRQ_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, IWT_ATTR_SRQ);
	struct iwt_srq *srq = to_iwt_srq(uobj->object);

	iwt_count(to_iwt_dev(srq->ibsrq.device), IWT_C_DOORBELL);
	iwt_srq_wake(srq);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_SRQ_NEW_RING,
			    UVERBS_ATTR_IDR(IWT_ATTR_SRQ, UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(IWT_ATTR_SRQ_MAX_WR,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(IWT_ATTR_SRQ_RING,
						UVERBS_ATTR_STRUCT(struct iwt_create_srq_resp,
								   stride),
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(IWT_METHOD_SRQ_DOORBELL,
			    UVERBS_ATTR_IDR(IWT_ATTR_SRQ, UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

ADD_UVERBS_METHODS(iwt_srq_methods, UVERBS_OBJECT_SRQ,
		   &UVERBS_METHOD(IWT_METHOD_SRQ_NEW_RING),
		   &UVERBS_METHOD(IWT_METHOD_SRQ_DOORBELL));

const struct uapi_definition iwt_srq_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &iwt_srq_methods),
	{},
};
