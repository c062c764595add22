/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Orders of calls that iw_cm answers by BUG(), kept away from it.
 *
 * A process may give rdma_cm any command at any time. iw_cm takes a second answer to a Request
 * for its own error if it comes before iw_cm has handled ESTABLISHED; and an accept or a reject
 * of a connection that is being set up ends the wait for the peer, so that the next disconnect
 * or destroy meets a state that it does not know. So of a process's connections,
 *
 * - an accept returns when iw_cm has gone on to its state ESTABLISHED;
 * - rdma_cm finds, until the connect is over, that the port has no connection manager, and
 *   refuses what else the process wants of the connection. It destroys without that look, and
 *   then waits as it should.
 *
 * Both ends are seen by taking the place of rdma_cm's handler for one event. iw_cm calls the
 * handler in its new state, and rdma_cm's commands for one identifier come one at a time.
 *
 * Consumers in the kernel are spared: they answer once, perhaps within iw_cm's work queue.
 */
#ifndef COMPAT_IW_ORDER_H
#define COMPAT_IW_ORDER_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

/**
 * struct compat_iw_taken - an accept that waits for iw_cm
 * @handler: rdma_cm's
 * @data: what the driver had noted in the iw_cm_id
 * @done: completed when iw_cm has taken ESTABLISHED
 * @wait: is there anything to wait for?
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
	/* which waits until the accept has returned */
	return handler(id, ev);
}

/* Before ESTABLISHED can be delivered. @wait: a process has accepted */
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

/* With nothing locked that a work needs; ESTABLISHED is delivered whatever happens. */
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

/* Before CONNECT_REPLY can be delivered. @wait: a process connects; port 0 can do nothing */
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
