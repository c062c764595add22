// SPDX-License-Identifier: GPL-2.0
/* ib_device operations on queue pairs. */
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include <rdma/iw_cm.h>
#include <rdma/uverbs_ioctl.h>

#include <compat/dumps.h>

#include "cm.h"
#include "cm_direct.h"
#include "cq.h"
#include "dawdle.h"
#include "dev.h"
#include "mmap.h"
#include "mr.h"
#include "proto/first.h"
#include "qp.h"
#include "srq.h"
#include "stats_qp.h"
#include "verbs.h"

/* Indices in the arrays of struct iwt_qp that have a member for each ring. */
enum { SQ, RQ };

/*
 * May the queue pair use this shared receive queue? Both must belong to the same device. Either
 * both belong to processes, or both belong to the kernel. Their protection domains may differ:
 * the memory of receives is checked against the domain of the shared receive queue, and the
 * memory that the peer accesses by an STag is checked against the domain of the queue pair.
 */
static bool srq_ok(const struct ib_qp *ibqp, struct ib_srq *srq, bool user)
{
	return srq->device == ibqp->device && srq->srq_type == IB_SRQT_BASIC &&
	       to_iwt_srq(srq)->user == user;
}

static bool recv_ok(const struct ib_qp *ibqp, const struct ib_qp_init_attr *attr, bool user)
{
	/* with a shared receive queue, attr->cap.max_recv_wr and max_recv_sge are ignored */
	if (attr->srq)
		return srq_ok(ibqp, attr->srq, user);
	return attr->cap.max_recv_wr <= IWT_MAX_QP_WR && attr->cap.max_recv_sge <= IWT_MAX_SGE;
}

static int check_qp_init(const struct ib_qp *ibqp, const struct ib_qp_init_attr *attr, bool user)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > IWT_MAX_QP_WR || cap->max_send_sge > IWT_MAX_SGE ||
	    cap->max_inline_data > IWT_MAX_INLINE)
		return -EINVAL;
	if (!attr->send_cq || !attr->recv_cq || !recv_ok(ibqp, attr, user))
		return -EINVAL;
	return 0;
}

static void *alloc_qp_ring(struct iwt_qp *qp, int which, struct ib_ucontext *uc,
			   size_t bytes, u64 *offset)
{
	if (!qp->user) {
		qp->mem[which] = vzalloc(bytes);
		return qp->mem[which] ?: ERR_PTR(-ENOMEM);
	}
	qp->maps[which] = iwt_mmap_alloc(uc, bytes, offset);
	if (IS_ERR(qp->maps[which])) {
		void *err = ERR_CAST(qp->maps[which]);

		qp->maps[which] = NULL;
		return err;
	}
	return qp->maps[which]->mem;
}

static void free_memory(struct iwt_qp *qp)
{
	int i;

	if (!compat_dumps_end_first) {
		spin_lock_bh(&qp->stream.lock);
		compat_ring_gone(&qp->stream.sq.ring);
		compat_ring_gone(&qp->stream.rq.ring);
		spin_unlock_bh(&qp->stream.lock);
	}
	iwt_sq_free(&qp->stream.sq);
	iwt_rq_free(&qp->stream.rq);
	for (i = SQ; i <= RQ; i++) {
		if (qp->maps[i])
			iwt_mmap_free(qp->maps[i]);
		vfree(qp->mem[i]);
	}
	mem_cgroup_put(qp->owner.memcg);
	iwt_sock_put_cgroup(qp->owner.cgroup);
	atomic_dec(&qp->stream.dev->n_qps);
}

/* The memory of a process's queue pair is charged to the process. */
static gfp_t gfp_of(const struct iwt_qp *qp)
{
	return qp->user ? GFP_KERNEL_ACCOUNT : GFP_KERNEL;
}

/*
 * Return: number of elements that a work request may have. RDMA core's rw API cuts a transfer
 * into Writes of as many elements as the queue pair reports (ib_qp.max_write_sge), so a queue
 * pair of this API (max_rdma_ctxs) reports the maximum. Other consumers do not use more elements
 * than they have requested.
 */
static u32 sq_sges(const struct iwt_qp *qp, const struct ib_qp_cap *cap)
{
	if (!qp->user && cap->max_rdma_ctxs)
		return IWT_MAX_SGE;
	return max_t(u32, cap->max_send_sge, 1);
}

static int make_sq(struct iwt_qp *qp, const struct ib_qp_init_attr *attr,
		   struct ib_ucontext *uc, u64 *offset)
{
	const struct ib_qp_cap *cap = &attr->cap;
	u32 n = roundup_pow_of_two(max_t(u32, cap->max_send_wr, 1));
	u32 sge = sq_sges(qp, cap);
	u32 stride = iwt_sq_stride(sge, cap->max_inline_data, qp->user);
	void *mem;

	mem = alloc_qp_ring(qp, SQ, uc, iwt_ring_bytes(n, stride), offset);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	qp->stream.sq.cq = to_iwt_cq(attr->send_cq);
	qp->stream.sq.sge_max = sge;
	qp->stream.sq.inline_max = min_t(u32, stride - sizeof(struct iwt_send_wqe),
					 IWT_MAX_INLINE);
	qp->stream.sq.user = qp->user;
	qp->stream.sq.sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	return iwt_sq_init(&qp->stream.sq, mem, n, stride, gfp_of(qp));
}

static int make_rq(struct iwt_qp *qp, const struct ib_qp_init_attr *attr,
		   struct ib_ucontext *uc, u64 *offset)
{
	const struct ib_qp_cap *cap = &attr->cap;
	u32 sge = max_t(u32, cap->max_recv_sge, 1);
	void *mem = NULL;
	size_t bytes;
	u32 n = 0;

	if (attr->srq) {
		qp->stream.rq.srq = to_iwt_srq(attr->srq);
		sge = qp->stream.rq.srq->rq.sge_max;
	} else if (cap->max_recv_wr) {
		n = roundup_pow_of_two(cap->max_recv_wr);
		bytes = iwt_ring_bytes(n, iwt_rq_stride(sge));
		mem = alloc_qp_ring(qp, RQ, uc, bytes, offset);
		if (IS_ERR(mem))
			return PTR_ERR(mem);
	}
	qp->stream.rq.cq = to_iwt_cq(attr->recv_cq);
	return iwt_rq_init(&qp->stream.rq, mem, n, sge, gfp_of(qp));
}

static void fill_cap(struct iwt_qp *qp, const struct ib_qp_cap *asked)
{
	qp->cap = (struct ib_qp_cap) {
		/* RDMA core's rw API computes from this number how many MRs it allocates */
		.max_rdma_ctxs = asked->max_rdma_ctxs,
		.max_send_wr = qp->stream.sq.ring.mask + 1,
		.max_recv_wr = qp->stream.rq.entries,
		.max_send_sge = qp->stream.sq.sge_max,
		.max_recv_sge = qp->stream.rq.srq ? 0 : qp->stream.rq.sge_max,
		.max_inline_data = qp->stream.sq.inline_max,
	};
}

static int answer_qp(struct iwt_qp *qp, const u64 *offset,
		     struct ib_udata *udata)
{
	struct iwt_create_qp_resp resp = {
		.qp_id = qp->ibqp.qp_num,
		.sq_mmap_offset = offset[SQ],
		.sq_mmap_length = qp->maps[SQ]->len,
		.sq_entries = qp->stream.sq.ring.mask + 1,
		.sq_stride = qp->stream.sq.ring.stride,
		.max_inline = qp->stream.sq.inline_max,
		.send_bit = qp->cqpoll[SQ].bit,
		.recv_bit = qp->cqpoll[RQ].bit,
	};

	if (qp->stream.rq.entries) {
		resp.rq_mmap_offset = offset[RQ];
		resp.rq_mmap_length = qp->maps[RQ]->len;
		resp.rq_entries = qp->stream.rq.entries;
		resp.rq_stride = qp->stream.rq.ring.stride;
	}
	return ib_copy_to_udata(udata, &resp,
				min(sizeof(resp), udata->outlen));
}

#define IWT_LAST_QPN	((1 << 24) - 1)

/*
 * Reserve the number of the queue pair. Numbers are allocated cyclically, so that an old number
 * is not soon reused. A lookup by the number does not find the queue pair before publish().
 */
static int take_number(struct iwt_qp *qp)
{
	static u32 next = IWT_FIRST_UP_TO(IWT_LAST_QPN);
	u32 num;
	int err;

	err = xa_alloc_cyclic(&qp->stream.dev->qps, &num, NULL,
			      XA_LIMIT(2, IWT_LAST_QPN), &next, GFP_KERNEL);
	if (err < 0)
		return err;
	qp->ibqp.qp_num = num;
	return 0;
}

/*
 * From now on lookups find the queue pair by its number. A process that passes the number to
 * rdma_cm, even a guessed number, can reach the queue pair: so the queue pair must be complete.
 * take_number() has reserved the entry of the number, so xa_store() allocates nothing and cannot
 * fail.
 */
static void publish(struct iwt_qp *qp)
{
	iwt_dawdle();
	WARN_ON(xa_err(xa_store(&qp->stream.dev->qps, qp->ibqp.qp_num, qp, GFP_KERNEL)));
}

/**
 * iwt_destroy_qp() - verbs: destroy a queue pair
 * @ibqp: queue pair
 * @udata: unused
 *
 * Ends the connection of the queue pair, if there still is a connection. May sleep.
 *
 * Return: 0.
 */
int iwt_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);

	xa_erase(&qp->stream.dev->qps, ibqp->qp_num);
	iwt_direct_end(qp);
	iwt_cm_qp_abandon(qp);
	iwt_qp_end(qp);
	iwt_counter_leave(qp);
	iwt_doorbell_end(qp);
	iwt_qp_drain(qp);
	free_memory(qp);
	return 0;
}

/*
 * Count the queue pair against the device's limit, and initialise the queue pair, except for its
 * rings. @uc: context of the process, or NULL.
 */
static int begin_qp(struct iwt_qp *qp, const struct iwt_ucontext *uc, bool user)
	__context_unsafe(/* no other CPU knows the queue pair yet */)
{
	int err = iwt_dev_take(&to_iwt_dev(qp->ibqp.device)->n_qps, IWT_MAX_QP);

	if (err)
		return err;
	qp->user = user;
	if (user) {
		qp->owner.memcg = get_mem_cgroup_from_mm(current->mm);
		qp->owner.cgroup = iwt_sock_get_cgroup();
	}
	qp->owner.uid = current_fsuid();
	qp->stream.takes_imm = !uc || uc->features & IWT_FEATURE_RFC7306;
	iwt_qp_setup(qp);
	iwt_qp_run_setup(qp);
	iwt_doorbell_setup(qp);
	return 0;
}

/**
 * iwt_create_qp() - verbs: create a queue pair
 * @ibqp: queue pair, allocated by RDMA core
 * @attr: requested attributes; this function updates the capabilities to the actual values
 * @udata: private data of the process, or NULL for a kernel consumer
 *
 * May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a type other than IB_QPT_RC, for creation flags, or if the private
 * data is not zero; -EINVAL if a capability is out of range, a completion queue is missing, or
 * the shared receive queue can't be used; -ENOMEM; or another -errno.
 */
int iwt_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata)
{
	struct iwt_ucontext *uc = rdma_udata_to_drv_context(udata,
							    struct iwt_ucontext,
							    ibuc);
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	u64 offset[2] = {};
	int err;

	err = check_qp_init(ibqp, attr, udata);
	if (err)
		return err;
	err = udata ? iwt_udata_known(udata, 0) : 0;
	if (err)
		return err;
	err = begin_qp(qp, uc, udata);
	if (err)
		return err;
	err = make_sq(qp, attr, uc ? &uc->ibuc : NULL, &offset[SQ]);
	if (err)
		goto err_free;
	err = make_rq(qp, attr, uc ? &uc->ibuc : NULL, &offset[RQ]);
	if (err)
		goto err_free;
	err = take_number(qp);
	if (err)
		goto err_free;
	fill_cap(qp, &attr->cap);
	attr->cap = qp->cap;
	iwt_doorbell_join(qp);
	err = udata ? answer_qp(qp, offset, udata) : 0;
	if (err) {
		/*
		 * Since iwt_doorbell_join(), a thread that polls the completion queue may have
		 * found the queue pair. So end all uses of the queue pair before it is freed.
		 */
		iwt_destroy_qp(ibqp, udata);
		return err;
	}
	publish(qp);
	return 0;

err_free:
	free_memory(qp);
	return err;
}

/**
 * iwt_modify_qp() - verbs: change the state or the rights of a queue pair
 * @ibqp: queue pair
 * @attr: new values
 * @mask: enum ib_qp_attr_mask: members of @attr that are valid
 * @udata: private data of the process, or NULL for a kernel consumer
 *
 * Either all requested changes are made, or none; iwt_direct_modify() describes two exceptions.
 * May sleep.
 *
 * Return: 0; -EOPNOTSUPP for other attributes than those of iWARP and of direct connections, or
 * if the private data is not zero; -EINVAL for another port or partition; or an error of
 * iwt_direct_modify().
 */
int iwt_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct iwt_qp_change change = { .mask = mask };
	/* a caller may also set port and partition; the device has one port and one partition */
	int known = IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS |
		    IB_QP_EN_SQD_ASYNC_NOTIFY | IB_QP_PORT | IB_QP_PKEY_INDEX |
		    IWT_DIRECT_ATTRS;
	int err = udata ? iwt_udata_known(udata, 0) : 0;

	if (err)
		return err;
	if (mask & ~known)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PORT && attr->port_num != 1) ||
	    (mask & IB_QP_PKEY_INDEX && attr->pkey_index))
		return -EINVAL;
	if (mask & IB_QP_CUR_STATE)
		change.from = attr->cur_qp_state;
	if (mask & IB_QP_STATE)
		change.to = attr->qp_state;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		change.tell_drained = attr->en_sqd_async_notify;
	if (mask & IB_QP_ACCESS_FLAGS)
		change.rights = iwt_remote_rights(attr->qp_access_flags);
	return iwt_direct_modify(to_iwt_qp(ibqp), attr, mask, &change);
}

static int access_of(u32 rights)
{
	int access = 0;

	if (rights & IWT_REMOTE_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (rights & IWT_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	if (rights & IWT_REMOTE_ATOMIC)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

/**
 * iwt_query_qp() - verbs: query the attributes of a queue pair
 * @ibqp: queue pair
 * @attr: set to the present attributes
 * @mask: ignored: the function fills in all attributes that a queue pair of iWARP has
 * @init: set to the attributes with which the queue pair was created
 *
 * May sleep.
 *
 * Return: 0.
 */
int iwt_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);

	/* uverbs copies all members to the process, also the members that iWARP does not use */
	*attr = (struct ib_qp_attr) {};
	*init = (struct ib_qp_init_attr) {};
	/* a new connection changes the following values under the lock */
	spin_lock_bh(&qp->stream.lock);
	attr->qp_state = iwt_qp_verbs_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->sq_draining = qp->state == IWT_QP_DRAIN;
	attr->en_sqd_async_notify = qp->tell_drained;
	attr->qp_access_flags = access_of(qp->stream.rights);
	attr->max_rd_atomic = iwt_readq_ord(&qp->stream.readq);
	attr->max_dest_rd_atomic = qp->stream.readq.in_max;
	spin_unlock_bh(&qp->stream.lock);
	attr->path_mtu = ib_mtu_int_to_enum(READ_ONCE(qp->stream.dev->netdev->mtu));
	attr->cap = qp->cap;
	attr->port_num = 1;
	iwt_direct_query(qp, attr);

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_type = qp->stream.sq.sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR;
	init->cap = qp->cap;
	return 0;
}

/*
 * May a kernel consumer post send requests to this queue pair? Not in the state IDLE, in which
 * the queue pair has had no connection yet, or was reset.
 */
static bool may_send(const struct iwt_qp *qp)
{
	return READ_ONCE(qp->state) != IWT_QP_IDLE;
}

/**
 * iwt_post_send() - verbs: post send work requests
 * @ibqp: queue pair of a kernel consumer; a process uses the ring and the doorbell
 * @wr: list of work requests
 * @bad: after an error, set to the first work request that was not posted
 *
 * Any context.
 *
 * Return: 0; -EINVAL if the queue pair belongs to a process, or is in the state IDLE
 * (may_send()); or an error of iwt_sq_post().
 */
int iwt_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	unsigned long irq;
	int err = 0;

	if (qp->user || !may_send(qp)) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->stream.sq.lock, irq);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = iwt_sq_post(&qp->stream.sq, wr);
	spin_unlock_irqrestore(&qp->stream.sq.lock, irq);
	if (err)
		*bad = wr;
	if (iwt_ring_needs_wakeup(&qp->stream.sq.ring))
		iwt_qp_run(qp);
	return err;
}

/**
 * iwt_post_recv() - verbs: post receive work requests
 * @ibqp: queue pair of a kernel consumer; a process uses the ring
 * @wr: list of work requests
 * @bad: after an error, set to the first work request that was not posted
 *
 * Any context.
 *
 * Return: 0; -EINVAL if the queue pair belongs to a process, or has no receive queue of its own;
 * or an error of iwt_rq_post().
 */
int iwt_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	unsigned long irq;
	int err = 0;

	if (qp->user || !qp->stream.rq.entries) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->stream.rq.lock, irq);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = iwt_rq_post(&qp->stream.rq, wr);
	spin_unlock_irqrestore(&qp->stream.rq.lock, irq);
	if (err)
		*bad = wr;
	if (iwt_ring_needs_wakeup(&qp->stream.rq.ring))
		iwt_qp_run(qp);
	return err;
}

/**
 * iwt_qp_add_ref() - iw_cm: take a reference
 * @ibqp: queue pair
 *
 * If iwt_get_qp() has already taken a reference for iw_cm, this function does not take a second
 * reference: iw_cm uses the reference of iwt_get_qp(). Any context.
 */
void iwt_qp_add_ref(struct ib_qp *ibqp)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);

	if (atomic_dec_if_positive(&qp->looked_up) < 0)
		iwt_qp_get(qp);
}

/* iw_cm: drop a reference. Any context. */
void iwt_qp_rem_ref(struct ib_qp *ibqp)
{
	iwt_qp_put(to_iwt_qp(ibqp));
}

/**
 * iwt_get_qp() - iw_cm: look up a queue pair
 * @ibdev: device
 * @qpn: number
 *
 * iw_cm looks up the number that a process passes, and takes a reference to the queue pair in a
 * second call, iwt_qp_add_ref(). The queue pair must not be freed between the two calls, so this
 * function already takes the reference. iw_cm may keep the reference until the port mapper
 * answers, and destroying the queue pair waits until iw_cm drops the reference. So that a process
 * can't delay another process, the function returns only a queue pair that the running task may
 * use (iwt_cm_may_name()). Process context; interrupts may be off.
 *
 * Return: the queue pair, or NULL if it does not exist or the task may not use it.
 */
struct ib_qp *iwt_get_qp(struct ib_device *ibdev, int qpn)
{
	struct iwt_qp *qp = iwt_qp_find(to_iwt_dev(ibdev), qpn);

	if (!qp)
		return NULL;
	if (!iwt_cm_may_name(qp)) {
		iwt_qp_put(qp);
		return NULL;
	}
	atomic_inc(&qp->looked_up);
	return &qp->ibqp;
}
