// SPDX-License-Identifier: GPL-2.0
/* ib_device operations on completion queues. */
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/time_namespace.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include <compat/dumps.h>
#include <compat/ib_ops.h>

#include "cq.h"
#include "dev.h"
#include "mmap.h"
#include "verbs.h"

static int answer_cq(struct iwt_cq *cq, u64 offset, struct ib_udata *udata)
{
	struct iwt_create_cq_resp resp = {
		.mmap_offset = offset,
		.mmap_length = cq->map->len,
		.entries = cq->ring.mask + 1,
		.stride = cq->ring.stride,
		.posted_bits = cq->poll.bits,
	};

	return ib_copy_to_udata(udata, &resp,
				min(sizeof(resp), udata->outlen));
}

/*
 * Allocate the ring, and count the queue against the device's limit. If the ring belongs to a
 * process, the bits of the queue pairs with deferred posts follow the entries (wake_cqpoll.c).
 * @offset: set to the offset that the process has to pass to mmap(). Return: 0 or -errno.
 */
static int alloc_cq_ring(struct iwt_cq *cq, struct ib_ucontext *uc, u32 entries,
			 u64 *offset)
{
	size_t bytes = iwt_ring_bytes(entries, iwt_cq_stride(cq));
	atomic_t *n = &to_iwt_dev(cq->ibcq.device)->n_cqs;
	int err = iwt_dev_take(n, IWT_MAX_CQ);

	if (err)
		return err;
	if (cq->user) {
		cq->map = iwt_mmap_alloc(uc, bytes + iwt_cqpoll_bytes(entries),
					 offset);
		err = PTR_ERR_OR_ZERO(cq->map);
	} else {
		cq->mem = vzalloc(bytes);
		err = cq->mem ? 0 : -ENOMEM;
	}
	if (err)
		atomic_dec(n);
	return err;
}

static void free_ring(struct iwt_cq *cq)
{
	atomic_dec(&to_iwt_dev(cq->ibcq.device)->n_cqs);
	iwt_cq_free_parts(cq);
	if (!compat_dumps_end_first) {
		spin_lock_irq(&cq->lock);
		compat_ring_gone(&cq->ring);
		spin_unlock_irq(&cq->lock);
	}
	if (cq->user)
		iwt_mmap_free(cq->map);
	else
		vfree(cq->mem);
}

/*
 * Return: offset of the calling process's CLOCK_MONOTONIC_RAW from the kernel's clock, in
 * nanoseconds: the process may be in a time namespace.
 */
static s64 raw_offset(void)
{
	struct timespec64 ts = {};

	timens_add_monotonic(&ts);
	return timespec64_to_ns(&ts);
}

/*
 * Only a process may request timestamps: struct ib_wc, which a kernel consumer polls, has no
 * timestamp.
 */
static int set_flags(struct iwt_cq *cq, u32 flags)
{
	u32 known = cq->user ? IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION : 0;

	if (flags & ~known)
		return -EOPNOTSUPP;
	if (flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION) {
		cq->stamped = true;
		cq->raw_offset = raw_offset();
	}
	return 0;
}

/**
 * iwt_create_cq() - verbs: create a completion queue
 * @ibcq: completion queue, allocated by RDMA core
 * @attr: size and flags; the completion vector is ignored
 * @attrs: attributes of the process's request, or NULL for a kernel consumer
 *
 * May sleep.
 *
 * Return: 0; -EOPNOTSUPP for unknown flags, or if the private data of the process is not zero;
 * -EINVAL if the size is out of range; -ENOMEM; or another -errno.
 */
int iwt_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct iwt_ucontext *uc = rdma_udata_to_drv_context(udata,
							    struct iwt_ucontext,
							    ibuc);
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	u64 offset = 0;
	u32 entries;
	int err;

	cq->user = udata;
	err = set_flags(cq, attr->flags);
	if (err)
		return err;
	if (!attr->cqe || attr->cqe > IWT_MAX_CQE)
		return -EINVAL;
	err = udata ? iwt_udata_known(udata, 0) : 0;
	if (err)
		return err;
	entries = roundup_pow_of_two(attr->cqe);
	err = alloc_cq_ring(cq, uc ? &uc->ibuc : NULL, entries, &offset);
	if (err)
		return err;
	iwt_cq_setup(cq, cq->user ? cq->map->mem : cq->mem, entries);
	iwt_cqpoll_setup(cq);
	ibcq->cqe = entries;
	if (!udata)
		return 0;
	if (uc && uc->features & IWT_FEATURE_DEFERRED)
		iwt_cqpoll_allow(cq, entries);
	err = answer_cq(cq, offset, udata);
	if (err)
		free_ring(cq);
	return err;
}

/**
 * iwt_destroy_cq() - verbs: destroy a completion queue
 * @ibcq: completion queue, which no queue pair uses any more
 * @udata: unused
 *
 * May sleep.
 *
 * Return: 0.
 */
int iwt_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct iwt_cq *cq = to_iwt_cq(ibcq);

	iwt_cqpoll_end(cq);
	iwt_cq_quiesce(cq);
	/*
	 * If the queue is destroyed because the device is removed, the process may still poll its
	 * mapping: with this flag the poll fails.
	 */
	if (cq->user)
		iwt_cq_set_flag(cq, IWT_RING_OVERRUN, true);
	free_ring(cq);
	return 0;
}

/**
 * iwt_resize_cq() - verbs: change the size of a completion queue
 * @ibcq: queue of a process
 * @cqe: minimum number of entries
 * @udata: private data of the process; struct iwt_resize_cq_resp is the response
 *
 * May sleep.
 *
 * Return: 0; -EINVAL if @cqe is out of range, or if the process's buffer is shorter than the
 * response; -EFAULT if the response can't be copied: then the size is unchanged; or another
 * error: see iwt_cq_resize() and iwt_udata_known().
 */
int iwt_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct iwt_ucontext *uc = rdma_udata_to_drv_context(udata,
							    struct iwt_ucontext,
							    ibuc);
	struct iwt_resize_cq_resp resp = {};
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	int err;

	if (!cqe || cqe > IWT_MAX_CQE)
		return -EINVAL;
	if (!compat_cq_user_resize && !udata)
		return iwt_cq_resize(cq, NULL, cqe, &resp);
	err = iwt_udata_known(udata, 0);
	if (err)
		return err;
	/* the process can't switch to the new ring without the complete response */
	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	err = iwt_cq_resize(cq, &uc->ibuc, cqe, &resp);
	if (err)
		return err;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		iwt_cq_resized(cq, false);
	return err;
}

/**
 * iwt_modify_cq() - verbs: set the moderation of events
 * @ibcq: queue
 * @count: number of completions for which one event is raised
 * @period: maximum delay of the event in microseconds; with a @period of 0 or a @count below 2,
 *	events are not delayed
 *
 * Any context.
 *
 * Return: 0.
 */
int iwt_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	iwt_cq_moderate(to_iwt_cq(ibcq), count, period);
	return 0;
}

/**
 * iwt_poll_cq() - verbs: poll completions
 * @ibcq: queue of a kernel consumer; a process reads its ring itself
 * @n: number of elements of @wc
 * @wc: set to the completions
 *
 * Any context.
 *
 * Return: number of completions.
 */
int iwt_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	return iwt_cq_poll(to_iwt_cq(ibcq), n, wc);
}

/**
 * iwt_req_notify_cq() - verbs: request one event
 * @ibcq: queue of a kernel consumer; a process stores the arm word of its ring itself, or calls
 *	IWT_METHOD_CQ_ARM
 * @flags: IB_CQ_SOLICITED or IB_CQ_NEXT_COMP, and perhaps IB_CQ_REPORT_MISSED_EVENTS
 *
 * Any context.
 *
 * Return: 1 if completions are already in the queue and @flags contains
 * IB_CQ_REPORT_MISSED_EVENTS, else 0.
 */
int iwt_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	return iwt_cq_arm(to_iwt_cq(ibcq), flags);
}
