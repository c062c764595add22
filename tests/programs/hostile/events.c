// SPDX-License-Identifier: GPL-2.0
/* A hostile process requests many events of its completion queue before it reads any event. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "hostile.h"

/* Far more than BOUND events, and more events than fit into a page of the kernel */
#define EVENTS	2000
/*
 * The number of unread events that a process can cause without a system call; one more event is
 * possible (SECURITY.md)
 */
#define BOUND	32

/*
 * Arms the completion queue for any completion, by a word in the ring of the queue. Then makes
 * one completion.
 */
static void armed_completion(struct conn *c, uint64_t id)
{
	struct ibv_wc wc;

	__atomic_store_n(&iwt_ctl(&c->scq)->arm, IWT_CQ_ARM_ANY, __ATOMIC_SEQ_CST);
	if (iwt_post(c, id, IBV_WR_RDMA_WRITE, 0, 8) || !iwt_wait_wc(c, &wc) || wc.status)
		iwt_fail("WRITE %llu", (unsigned long long)id);
}

static int unread(struct conn *c)
{
	struct ibv_cq *cq;
	void *context;
	int n = 0;

	fcntl(c->events->fd, F_SETFL, O_NONBLOCK);
	while (!ibv_get_cq_event(c->events, &cq, &context))
		n++;
	if (n)
		ibv_ack_cq_events(c->cq, n);
	return n;
}

/* Arms the completion queue many times by its ring only, and reads no event until the end. */
void iwt_arms(void)
{
	struct conn *c = iwt_dial(true);
	int i, n;

	for (i = 0; i < EVENTS; i++)
		armed_completion(c, i);
	n = unread(c);
	/*
	 * one more is allowed: after the last of these events, the driver reads the word once
	 * more
	 */
	if (n < BOUND || n > BOUND + 1)
		iwt_fail("%d of %d events", n, EVENTS);
	if (!(iwt_ctl(&c->scq)->flags & IWT_RING_ARM_BY_CALL))
		iwt_fail("the ring does not request a call");
	/* new events are allowed after a system call, and not after the events have been read */
	armed_completion(c, i++);
	if (unread(c))
		iwt_fail("an event although no call was made");
	if (ibv_req_notify_cq(c->cq, 0))
		iwt_fail("ibv_req_notify_cq");
	if (iwt_ctl(&c->scq)->flags & IWT_RING_ARM_BY_CALL)
		iwt_fail("the ring still requests a call");
	for (n = 0; n < EVENTS; n++)
		armed_completion(c, i++);
	n = unread(c);
	if (n < BOUND || n > BOUND + 1)
		iwt_fail("%d of %d events after a call", n, EVENTS);
}

/* Arms the completion queue by system calls. Each call must lead to one event. */
void iwt_arms_called(void)
{
	struct conn *c = iwt_dial(true);
	struct ibv_wc wc;
	int i, n;

	for (i = 0; i < EVENTS; i++) {
		if (iwt_method(c, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM, c->cq->handle, 1,
			       i % 2 ? 0 : IWT_CQ_ARM_AT_ONCE))
			iwt_fail("IWT_METHOD_CQ_ARM");
		if (iwt_post(c, i, IBV_WR_RDMA_WRITE, 0, 8) || !iwt_wait_wc(c, &wc))
			iwt_fail("WRITE");
	}
	n = unread(c);
	if (n != EVENTS)
		iwt_fail("%d events of %d", n, EVENTS);
}

/* Calls methods on wrong objects, and with wrong flags, lengths and attributes. */
void iwt_methods(void)
{
	struct conn *c = iwt_dial(true);
	uint32_t cq = c->cq->handle, qp = c->qp->handle;
	const struct {
		uint16_t object, method;
		uint32_t handle;
		int n;
		uint32_t flags;
	} k[] = {
		{ UVERBS_OBJECT_QP, IWT_METHOD_QP_DOORBELL, cq },
		{ UVERBS_OBJECT_QP, IWT_METHOD_QP_DOORBELL, 0xffffffff },
		{ UVERBS_OBJECT_QP, IWT_METHOD_QP_DOORBELL, qp, 1 },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_POLL, qp },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_POLL, c->pd->handle },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_POLL, 12345 },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM, qp, 1 },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM, cq, 0 },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM, cq, 1, 4 },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM, cq, 1, 0x80000000 },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM, cq, 3 },
		{ UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM + 1, cq },
	};
	unsigned int i;

	if (iwt_method(c, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_POLL, cq, 0, 0) ||
	    iwt_method(c, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM, cq, 1, 0) ||
	    iwt_method(c, UVERBS_OBJECT_QP, IWT_METHOD_QP_DOORBELL, qp, 0, 0))
		iwt_fail("a correct call of the method");
	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++)
		if (!iwt_method(c, k[i].object, k[i].method, k[i].handle, k[i].n, k[i].flags))
			iwt_fail("method %u was granted", i);
}
