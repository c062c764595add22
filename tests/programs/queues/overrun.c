// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_queues: a completion queue overruns. The completions that are in the queue already can
 * still be polled. The driver reports an event for the queue and an event for each of its queue
 * pairs, and ends the connections of these queue pairs. Other connections continue to work.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "patience.h"
#include "queues.h"

#define SMALL	4
#define DEPTH	64
#define OCTETS	4096

struct errors {
	int cq, qp, others;
};

/*
 * Reads asynchronous events until an error event of the completion queue and an error event
 * of the queue pair @c->near have been read. @e: numbers of these events and of unexpected events
 */
static void await(struct link *l, struct ibv_cq *cq, struct conn *c, struct errors *e)
{
	struct pollfd pfd = { l->verbs->async_fd, POLLIN };
	struct ibv_async_event ev;
	struct patience p = {};

	while ((!e->cq || !e->qp) && patient(&p, PATIENCE, 0)) {
		poll(&pfd, 1, 1000);
		while (!ibv_get_async_event(l->verbs, &ev)) {
			if (ev.event_type == IBV_EVENT_CQ_ERR && ev.element.cq == cq)
				e->cq++;
			else if (ev.event_type == IBV_EVENT_QP_FATAL && ev.element.qp == c->near->qp)
				e->qp++;
			/* the far queue pair receives a Terminate, and may also have an event */
			else if (ev.event_type == IBV_EVENT_CQ_ERR || ev.element.qp != c->far->qp)
				e->others++;
			ibv_ack_async_event(&ev);
		}
	}
}

/*
 * Sends data over a connection that does not use the overrun queue. Return: true if the data have
 * arrived unchanged.
 */
static bool transfer(struct link *l, struct conn *c, struct ibv_cq *cq, struct ibv_cq *far_cq, uint32_t salt)
{
	static uint8_t from[OCTETS], to[OCTETS];
	struct ibv_mr *a = ibv_reg_mr(l->pd, from, OCTETS, 0);
	struct ibv_mr *b = ibv_reg_mr(l->pd, to, OCTETS, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge out, in;
	struct ibv_wc wc[2];
	bool good;
	int i;

	if (!a || !b)
		die("ibv_reg_mr");
	for (i = 0; i < OCTETS; i++)
		from[i] = i * 7 + salt;
	memset(to, 0, OCTETS);
	out = (struct ibv_sge) { (uintptr_t)from, OCTETS, a->lkey };
	in = (struct ibv_sge) { (uintptr_t)to, OCTETS, b->lkey };
	if (post_recv(c->far->qp, salt, &in) ||
	    post_send(c->near->qp, IBV_WR_SEND, salt, IBV_SEND_SIGNALED, &out))
		die("posting");
	reap(cq, &wc[0], 1);
	reap(far_cq, &wc[1], 1);
	good = !wc[0].status && !wc[1].status && !memcmp(from, to, OCTETS);
	ibv_dereg_mr(a);
	ibv_dereg_mr(b);
	return good;
}

/* Causes twice as many completions as the queue has entries (@room). */
static void overrun(struct conn *c, int room)
{
	int i;

	for (i = 0; i < 2 * room; i++)
		if (post_recv(c->far->qp, i, NULL))
			die("ibv_post_recv");
	for (i = 0; i < 2 * room; i++)
		if (post_send(c->near->qp, IBV_WR_SEND, i, IBV_SEND_SIGNALED, NULL))
			break;
}

/*
 * Overruns a queue by one list of requests that bind windows. The driver executes these requests
 * as soon as they are posted. After the overrun nothing happens that would make the engines run
 * again: the driver must report the error nevertheless.
 */
static void overrun_by_binding(struct link *l)
{
	struct ibv_cq *cq = cq_make(l->verbs, SMALL, NULL), *far_cq = cq_make(l->verbs, SMALL, NULL);
	struct ibv_qp_init_attr_ex near = qp_attr(l->pd, cq, DEPTH), far = qp_attr(l->pd, far_cq, DEPTH);
	struct ibv_send_wr wr[DEPTH] = {}, *bad;
	static uint8_t memory[OCTETS];
	struct ibv_mr *mr = ibv_reg_mr(l->pd, memory, OCTETS, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw[DEPTH];
	struct errors e = {};
	struct conn c;
	int i, n = cq->cqe + 1;

	conn_make(&c, &near, &far);
	for (i = 0; i < n; i++) {
		mw[i] = ibv_alloc_mw(l->pd, IBV_MW_TYPE_2);
		if (!mr || !mw[i])
			die("ibv_alloc_mw");
		wr[i] = (struct ibv_send_wr) {
			.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
			.next = i < n - 1 ? &wr[i + 1] : NULL,
			.bind_mw = { mw[i], ibv_inc_rkey(mw[i]->rkey),
				     { mr, (uintptr_t)memory, OCTETS, IBV_ACCESS_REMOTE_READ } },
		};
	}
	if (ibv_post_send(c.near->qp, wr, &bad))
		die("ibv_post_send");
	await(l, cq, &c, &e);
	report(e.cq == 1 && e.qp == 1 && !e.others,
	       "a queue that overruns by bound windows: one event of each object");
	conn_drop(&c);
	for (i = 0; i < n; i++)
		ibv_dealloc_mw(mw[i]);
	ibv_dereg_mr(mr);
	cq_drop(cq);
	cq_drop(far_cq);
}

static void one(struct link *l, struct conn *good, struct ibv_cq *good_cq, struct ibv_cq *good_far,
		bool resized)
{
	struct ibv_cq *cq = cq_make(l->verbs, SMALL, NULL), *far_cq = cq_make(l->verbs, 2 * DEPTH, NULL);
	struct ibv_qp_init_attr_ex near = qp_attr(l->pd, cq, DEPTH), far = qp_attr(l->pd, far_cq, DEPTH);
	const char *what = resized ? "a resized queue" : "a queue";
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct errors e = {};
	struct ibv_wc wc[DEPTH];
	struct conn c;
	int n, room;

	conn_make(&c, &near, &far);
	if (resized && ibv_resize_cq(cq, 4 * SMALL))
		die("ibv_resize_cq");
	room = cq->cqe;
	overrun(&c, room);
	await(l, cq, &c, &e);
	report(e.cq == 1 && e.qp == 1 && !e.others,
	       "%s that overruns: one event of the queue, one of its queue pair",
	       what);
	n = ibv_poll_cq(cq, DEPTH, wc);
	report(n == room && !wc[0].status && wc[n - 1].wr_id == (uint64_t)n - 1,
	       "%s that has overrun: its completions can still be polled", what);
	report(ibv_poll_cq(cq, 1, wc) < 0,
	       "%s that has overrun: polling fails after these completions", what);
	report(ibv_resize_cq(cq, 1000) == EINVAL && cq->cqe == room,
	       "%s that has overrun: a resize is refused", what);
	report(!ibv_query_qp(c.near->qp, &attr, IBV_QP_STATE, &init) &&
	       (attr.qp_state == IBV_QPS_ERR || attr.qp_state == IBV_QPS_SQE),
	       "%s that has overrun: its queue pair is in the error state", what);
	report(transfer(l, good, good_cq, good_far, 5), "%s that has overrun: another connection goes on", what);
	conn_drop(&c);
	cq_drop(cq);
	cq_drop(far_cq);
}

void test_overrun(struct link *l)
{
	struct ibv_cq *cq = cq_make(l->verbs, DEPTH, NULL), *far_cq = cq_make(l->verbs, DEPTH, NULL);
	struct ibv_qp_init_attr_ex near = qp_attr(l->pd, cq, DEPTH), far = qp_attr(l->pd, far_cq, DEPTH);
	struct conn good;

	conn_make(&good, &near, &far);
	report(transfer(l, &good, cq, far_cq, 1), "a connection with its own queue works");
	one(l, &good, cq, far_cq, false);
	one(l, &good, cq, far_cq, true);
	overrun_by_binding(l);
	report(transfer(l, &good, cq, far_cq, 9),
	       "the connection with its own queue still works after the overruns");
	conn_drop(&good);
	cq_drop(cq);
	cq_drop(far_cq);
}
