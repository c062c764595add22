// SPDX-License-Identifier: GPL-2.0
/*
 * The caller of an operation: what rdma_cm knows of an iw_cm_id.
 *
 * iw_cm does not tell a driver which consumer calls, nor its network namespace. rdma_cm, the
 * only user of iw_cm, knows both. While an operation runs, the context of the iw_cm_id is
 * rdma_cm's identifier, and rdma_iw_cm_id() leads from there back to the iw_cm_id. An
 * identifier is believed only if it leads back: so nothing here depends on the inside of
 * rdma_cm, and an iw_cm_id of any other user is refused.
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

	/* the device first: rdma_iw_cm_id() uses it */
	if (!up || up->device != id->device || rdma_iw_cm_id(up) != id)
		return NULL;
	return up;
}

/**
 * iwt_caller_net() - the network namespace of an operation's caller
 * @id: iw_cm's object, within one of its operations
 *
 * rdma_cm holds a reference to the namespace as long as its identifier lives, which is longer
 * than @id. Any context.
 *
 * Return: the namespace, or NULL when the caller is unknown.
 */
struct net *iwt_caller_net(struct iw_cm_id *id)
{
	const struct rdma_cm_id *up = caller(id);

	return up ? up->route.addr.dev_addr.net : NULL;
}

/**
 * iwt_cm_may_name() - may the running task name a queue pair to rdma_cm?
 * @qp: queue pair
 *
 * Numbers are easily guessed. A process calls from its own context, and may not name a queue
 * pair of another process, not even of its parent. A queue pair of the kernel may be connected
 * from any context, and nothing there tells a process's call from a consumer's; iwt_caller_qp()
 * does that later. Until then the answer is yes as long as there is no connection. Any context.
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
 * iwt_caller_qp() - the queue pair that an operation is about
 * @id: iw_cm's object, within one of its operations
 * @qpn: number that the caller gave
 *
 * A kernel consumer's queue pair is the one that rdma_create_qp() made for its identifier, and
 * belongs to this identifier alone. A process's queue pair has no identifier. Process context.
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
