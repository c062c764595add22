// SPDX-License-Identifier: GPL-2.0
/*
 * The consumer that calls an operation of iw_cm, and its queue pair.
 *
 * iw_cm passes neither the calling consumer nor the consumer's network namespace to a driver.
 * rdma_cm, the only user of iw_cm, stores both in an rdma_cm_id. While an operation runs, the
 * context of the iw_cm_id is this rdma_cm_id. The driver trusts the context only if
 * rdma_iw_cm_id(), which returns the iw_cm_id of an rdma_cm_id, returns the same iw_cm_id. So
 * this file does not depend on the internals of rdma_cm, and refuses the iw_cm_id of any other
 * user.
 */
#include "cm_ep.h"

#include <linux/sched/signal.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "cm.h"
#include "dev.h"

static const struct rdma_cm_id *caller(struct iw_cm_id *id)
{
	struct rdma_cm_id *up = id->context;

	/* compare the device first: rdma_iw_cm_id() dereferences up->device, which may be NULL */
	if (!up || up->device != id->device || rdma_iw_cm_id(up) != id)
		return NULL;
	return up;
}

/**
 * iwt_caller_net() - the network namespace of an operation's caller
 * @id: iw_cm_id for which iw_cm is calling an operation of this driver
 *
 * rdma_cm holds a reference to the namespace as long as the rdma_cm_id exists, and the
 * rdma_cm_id outlives @id. Any context.
 *
 * Return: the namespace, or NULL when the caller is unknown.
 */
struct net *iwt_caller_net(struct iw_cm_id *id)
{
	const struct rdma_cm_id *up = caller(id);

	return up ? up->route.addr.dev_addr.net : NULL;
}

/**
 * iwt_cm_may_name() - may the running task pass the number of this queue pair to rdma_cm?
 * @qp: queue pair
 *
 * Queue pair numbers are easy to guess, so a process might pass the number of a queue pair that
 * belongs to another consumer. A process calls rdma_cm in its own context, and may use only queue
 * pairs that the process itself has created, not those of its parent. A kernel consumer may call
 * rdma_cm in any context, so this function can't distinguish the call of a kernel consumer from
 * the call of a process. So this function permits every idle queue pair of a kernel consumer;
 * iwt_caller_qp() later checks whether the caller is this kernel consumer. Any context.
 *
 * Return: true if so.
 */
bool iwt_cm_may_name(const struct iwt_qp *qp)
{
	if (qp->user)
		return same_thread_group(current, qp->ibqp.res.task);
	return READ_ONCE(qp->state) == IWT_QP_IDLE;
}

/**
 * iwt_caller_qp() - find the queue pair of an operation, if the caller may use it
 * @id: iw_cm_id for which iw_cm is calling an operation of this driver
 * @qpn: queue pair number from the caller
 *
 * A kernel consumer may use only the queue pair that rdma_create_qp() has created for the
 * rdma_cm_id of @id. If the queue pair belongs to a process, the rdma_cm_id must have no queue
 * pair: the queue pair of a process is created by uverbs, not by rdma_cm. Process context.
 *
 * Return: the queue pair with a reference, or NULL.
 */
struct iwt_qp *iwt_caller_qp(struct iw_cm_id *id, u32 qpn)
{
	const struct rdma_cm_id *up = caller(id);
	struct iwt_qp *qp = iwt_qp_find(to_iwt_dev(id->device), qpn);

	if (!qp)
		return NULL;
	if (up && iwt_cm_may_name(qp) &&
	    READ_ONCE(up->qp) == (qp->user ? NULL : &qp->ibqp))
		return qp;
	iwt_qp_put(qp);
	return NULL;
}
