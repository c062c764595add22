// SPDX-License-Identifier: GPL-2.0
/*
 * Mode "conn" of iwt_bench: complete lifetimes of connections, several at a time. For each
 * connection the client resolves the address, creates a queue pair, connects and disconnects. The
 * program counts established connections.
 */
#include <errno.h>
#include <poll.h>

#include "bench.h"

static void finish(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static void take(struct bench *b, struct rdma_cm_id *id)
{
	struct rdma_conn_param p;

	bench_resources(b, id->verbs);
	bench_qp(b, id);
	bench_param(b, &p, NULL);
	if (rdma_accept(id, &p))
		bench_die("rdma_accept");
}

/*
 * Creates a queue pair and connects. Returns false if an earlier connection still uses the source
 * port.
 */
static bool ask(struct bench *b, struct rdma_cm_id *id)
{
	struct rdma_conn_param p;

	bench_resources(b, id->verbs);
	bench_qp(b, id);
	bench_param(b, &p, NULL);
	if (!rdma_connect(id, &p))
		return true;
	if (errno != EADDRINUSE && errno != EADDRNOTAVAIL)
		bench_die("rdma_connect");
	return false;
}

/* Handles one event. Returns false if the rdma_cm_id @id is no longer needed. */
static bool step(struct bench *b, struct rdma_cm_id *id, enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, 5000))
			bench_die("rdma_resolve_route");
		return true;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return ask(b, id);
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		take(b, id);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		b->established++;
		if (!b->o.server)
			rdma_disconnect(id);
		return true;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (b->o.server)
			rdma_disconnect(id);
		return false;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return true;
	default:
		errno = EPROTO;
		bench_die(rdma_event_str(event));
		return false;
	}
}

/*
 * Waits up to @ms milliseconds for one event, and handles the event. Returns 1 if the event was
 * the last one of its rdma_cm_id, which is destroyed then; 0 if not; -1 if no event arrived.
 */
static int turn(struct bench *b, int ms)
{
	struct pollfd fd = { .fd = b->ec->fd, .events = POLLIN };
	enum rdma_cm_event_type event;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	bool goes_on;
	int n = poll(&fd, 1, ms);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n == 0)
		return -1;
	if (rdma_get_cm_event(b->ec, &ev))
		bench_die("rdma_get_cm_event");
	event = ev->event;
	id = ev->id;
	goes_on = step(b, id, event);
	/* rdma_destroy_id() waits until all events of the rdma_cm_id are acknowledged */
	rdma_ack_cm_event(ev);
	if (goes_on)
		return 0;
	finish(id);
	return 1;
}

static void client(struct bench *b, struct bench_result *r)
{
	uint64_t start = bench_now();
	unsigned int alive = 0, begun = 0;
	int n;

	if (!b->o.count)
		bench_timer(b->o.ms);
	for (;;) {
		while (!bench_stop && alive < b->o.qps && (!b->o.count || begun < b->o.count)) {
			bench_resolve(b);
			alive++;
			begun++;
		}
		if (!alive)
			break;
		n = turn(b, 10000);
		if (n < 0) {
			errno = ETIMEDOUT;
			bench_die("connections");
		}
		alive -= n;
	}
	r->ns = bench_now() - start;
	r->messages = b->established;
}

/* bench_setup - the server runs until it is killed, or has no event for 15 s */
void bench_setup(struct bench *b, struct bench_result *r)
{
	b->o.depth = 16;
	if (!b->o.server) {
		client(b, r);
		return;
	}
	while (turn(b, 15000) >= 0)
		;
}
