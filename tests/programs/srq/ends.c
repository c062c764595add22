// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_srq: destroys an object while the driver reports an event of this object, or before. The
 * driver must report an event at most once, and never after the object has been destroyed.
 */
#include <poll.h>
#include <unistd.h>

#include "patience.h"
#include "srq.h"

#define FEW	8	/* number of receives; the completion queue of end_cq() is smaller */

/* Waits for the next event. Return: true if the event is of this @type. */
static bool told(struct server *s, enum ibv_event_type type)
{
	struct pollfd p = { .fd = s->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	if (patient_poll(&p, 1, 60000) != 1 || ibv_get_async_event(s->verbs, &ev))
		return false;
	ibv_ack_async_event(&ev);
	return ev.event_type == type;
}

/*
 * Called when the driver is about to report an event of this @type. Chooses at random whether to
 * wait until the event has been read, to wait for a short time, or not to wait.
 */
static void await(struct server *s, enum ibv_event_type type)
{
	if (chance(30)) {
		if (!told(s, type))
			wrong(s, "no event, or another one", type, 0);
	} else if (chance(50)) {
		usleep(below(100));
	}
}

static void nothing_behind(struct server *s, enum ibv_event_type type)
{
	struct ibv_async_event ev;

	if (ibv_get_async_event(s->verbs, &ev))
		return;
	wrong(s, "an event after its object was destroyed", ev.event_type, type);
	ibv_ack_async_event(&ev);
}

/*
 * Destroys a shared receive queue whose limit event the driver is about to report: an empty queue
 * is below every limit.
 */
static void end_srq(struct server *s)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(s->recv_pd, &init);
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	if (!srq || ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT))
		die("a queue that ends");
	await(s, IBV_EVENT_SRQ_LIMIT_REACHED);
	if (ibv_destroy_srq(srq))
		die("ibv_destroy_srq");
	nothing_behind(s, IBV_EVENT_SRQ_LIMIT_REACHED);
}

static void fail_qp(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		die("ibv_modify_qp");
}

/*
 * Destroys a queue pair whose event the driver is about to report: in the error state a queue
 * pair takes no more receives from the shared queue.
 */
static void end_qp(struct server *s)
{
	struct ibv_qp_init_attr attr = { .send_cq = s->cq, .recv_cq = s->cq, .srq = s->srq,
					 .qp_type = IBV_QPT_RC, .cap = { 1, 0, 1, 0, 0 } };
	struct ibv_qp *qp = ibv_create_qp(s->pd, &attr);

	if (!qp)
		die("a queue pair that ends");
	fail_qp(qp);
	await(s, IBV_EVENT_QP_LAST_WQE_REACHED);
	if (ibv_destroy_qp(qp))
		die("ibv_destroy_qp");
	nothing_behind(s, IBV_EVENT_QP_LAST_WQE_REACHED);
}

/*
 * Destroys a completion queue whose error event the driver is about to report: the flushed
 * receives of a queue pair overrun the completion queue.
 */
static void end_cq(struct server *s)
{
	struct ibv_cq *cq = ibv_create_cq(s->verbs, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .cap = { 1, FEW, 1, 1, 0 } };
	struct ibv_qp *qp = cq ? ibv_create_qp(s->pd, &attr) : NULL;
	struct ibv_recv_wr wr = {}, *bad;
	int i;

	if (!qp || cq->cqe >= FEW)
		die("a completion queue that ends");
	for (i = 0; i < FEW; i++)
		if (ibv_post_recv(qp, &wr, &bad))
			die("ibv_post_recv");
	fail_qp(qp);
	await(s, IBV_EVENT_CQ_ERR);
	if (ibv_destroy_qp(qp) || ibv_destroy_cq(cq))
		die("ibv_destroy_cq");
	nothing_behind(s, IBV_EVENT_CQ_ERR);
}

void test_ends(struct server *s, uint32_t rounds)
{
	while (rounds--) {
		end_srq(s);
		end_qp(s);
		end_cq(s);
	}
	conclude(s, "objects are destroyed during their events: no event arrives later");
}
