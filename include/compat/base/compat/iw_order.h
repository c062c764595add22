/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prevents orders of calls to which iw_cm reacts by BUG().
 *
 * A process may send any command to rdma_cm at any time. iw_cm reacts by BUG() to two kinds of
 * calls. One kind is another accept or reject of a Request that was already accepted, before
 * iw_cm has handled the event ESTABLISHED. The other kind is an accept or reject by the initiator
 * while its connection is being set up: then iw_cm does not wait for the peer any more, and the
 * next disconnect or destroy finds iw_cm in an unexpected state. So for the connections of a
 * process,
 *
 * - an accept returns only when iw_cm has reached its state ESTABLISHED;
 * - until a connect has finished, the port number of the rdma_cm_id is 0: rdma_cm finds no
 *   connection manager for this port, and rejects other commands for the connection. The command
 *   destroy does not check the port, and waits for the end of the connect as intended.
 *
 * To detect the end of an accept or of a connect, this file replaces, for one event, the handler
 * that rdma_cm has set in the iw_cm_id. iw_cm calls the handler after iw_cm has entered its new
 * state, and rdma_cm serializes the commands for one rdma_cm_id.
 *
 * Kernel consumers are exempt: they answer a Request once, and may do so in iw_cm's workqueue,
 * where a wait for iw_cm would never end.
 */
#ifndef COMPAT_IW_ORDER_H
#define COMPAT_IW_ORDER_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

/**
 * struct compat_iw_taken - an accept that waits for iw_cm
 * @handler: handler of rdma_cm, which compat_iw_on_established() replaces
 * @data: provider_data of the driver, which a pointer to this structure replaces
 * @done: completed when iw_cm has handled ESTABLISHED
 * @wait: true if a process accepts, so that the accept must wait; if false, the other members are
 *	not set
 */
struct compat_iw_taken {
	iw_cm_handler handler;
	void *data;
	struct completion done;
	bool wait;
};

static int compat_iw_on_established(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	struct compat_iw_taken *taken = id->provider_data;
	iw_cm_handler handler = taken->handler;

	id->provider_data = taken->data;
	id->cm_handler = handler;
	complete(&taken->done);
	/* the handler of rdma_cm waits until the accept has returned */
	return handler(id, ev);
}

/* Call before ESTABLISHED can be delivered. @wait: a process has accepted without error. */
static inline void compat_iw_accepted(struct compat_iw_taken *taken, struct iw_cm_id *id,
				      bool wait)
{
	taken->wait = wait;
	if (!wait)
		return;
	taken->handler = id->cm_handler;
	taken->data = id->provider_data;
	init_completion(&taken->done);
	id->provider_data = taken;
	id->cm_handler = compat_iw_on_established;
}

/*
 * Wait for ESTABLISHED, which is always delivered after a successful accept. The caller must hold
 * no lock that iw_cm's work needs.
 */
static inline void compat_iw_await(struct compat_iw_taken *taken)
{
	if (taken->wait)
		wait_for_completion(&taken->done);
}

static int compat_iw_on_reply(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	struct rdma_cm_id *up = id->context;

	id->cm_handler = (iw_cm_handler)id->provider_data;
	id->provider_data = NULL;
	WRITE_ONCE(up->port_num, rdma_start_port(id->device));
	return id->cm_handler(id, ev);
}

/*
 * Call before CONNECT_REPLY can be delivered. @wait: a process connects, so other commands must
 * be rejected until CONNECT_REPLY. Port 0 has no connection manager.
 */
static inline void compat_iw_connecting(struct iw_cm_id *id, bool wait)
{
	struct rdma_cm_id *up = id->context;

	if (!wait)
		return;
	id->provider_data = id->cm_handler;
	id->cm_handler = compat_iw_on_reply;
	WRITE_ONCE(up->port_num, 0);
}

#endif
