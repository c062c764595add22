// SPDX-License-Identifier: GPL-2.0
/*
 * A process passes the number of a queue pair that connects directly to rdma_cm, or attaches a
 * socket to this queue pair. All these calls must be refused: otherwise their connections could
 * delay a reset, which waits until the queue pair has no connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/iwtdv.h>

#include "direct.h"

#define RESETS		30
#define PORT		7479
#define TCP_PORT	7480

static struct sockaddr_in addr_of_a(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	/* an IPv4 address is the end of its GID */
	memcpy(&to.sin_addr, a.gid.raw + 12, sizeof(to.sin_addr));
	return to;
}

static struct rdma_event_channel *channel_make(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (!channel)
		die("rdma_create_event_channel");
	return channel;
}

static struct rdma_cm_id *id_listen(void)
{
	struct sockaddr_in at = addr_of_a(PORT);
	struct rdma_cm_id *id;

	if (rdma_create_id(channel_make(), &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&at) || rdma_listen(id, 8))
		die("rdma_listen");
	return id;
}

/* Return: an rdma_cm_id that knows its route to the listener; its calls do not wait */
static struct rdma_cm_id *id_to_listener(void)
{
	struct sockaddr_in to = addr_of_a(PORT);
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, PATIENCE * 1000) ||
	    rdma_resolve_route(id, PATIENCE * 1000) || rdma_migrate_id(id, channel_make()))
		die("rdma_resolve_addr");
	return id;
}

static void id_drop(struct rdma_cm_id *id)
{
	struct rdma_event_channel *channel = id->channel;

	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

/* Return: 0 if the queue pair begins to connect by rdma_cm, or an errno value */
static int name(struct end *e)
{
	struct rdma_conn_param p = { .qp_num = e->qp->qp_num };
	struct rdma_cm_id *id = id_to_listener();
	int err = rdma_connect(id, &p) ? errno : 0;

	id_drop(id);
	return err;
}

/* A thread that passes the number of a queue pair to rdma_connect(), again and again */
struct namer {
	pthread_t thread;
	struct end *e;
	atomic_bool stop;
	atomic_uint calls, accepted;
};

static void *name_often(void *arg)
{
	struct namer *n = arg;

	while (!n->stop) {
		n->accepted += name(n->e) != EINVAL;
		n->calls++;
	}
	return NULL;
}

static void test_resets(struct end *x, struct end *y)
{
	struct namer n = { .e = x };
	unsigned int i, failed = 0, before;
	struct patience p = {};

	if (pthread_create(&n.thread, NULL, name_often, &n))
		die("pthread_create");
	for (i = 0; i < RESETS; i++) {
		/* at least one call between two resets */
		for (before = n.calls; n.calls == before;)
			if (!patient(&p, PATIENCE, n.calls))
				die("rdma_connect");
		failed += !!to_state(x, IBV_QPS_RESET);
		failed += to_init(x) || to_rtr(x, y, &usual);
	}
	n.stop = true;
	pthread_join(n.thread, NULL);
	report(!failed, "resets beside rdma_connect(): %u failed", failed);
	report(!n.accepted, "rdma_connect() is refused: %u of %u calls were not", (unsigned int)n.accepted,
	       (unsigned int)n.calls);
}

/* Return: 0 if @e accepts a connection of another queue pair by rdma_cm, or an errno value */
static int accept_by(struct rdma_cm_id *listener, struct end *e)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1 } };
	struct rdma_conn_param p = { .qp_num = e->qp->qp_num }, none = {};
	struct rdma_cm_id *id = id_to_listener(), *far;
	struct rdma_cm_event *event;
	int err;

	if (rdma_create_qp(id, NULL, &attr) || rdma_connect(id, &none) ||
	    rdma_get_cm_event(listener->channel, &event) || event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		die("rdma_connect");
	far = event->id;
	rdma_ack_cm_event(event);
	err = rdma_accept(far, &p) ? errno : 0;
	rdma_destroy_id(far);
	rdma_destroy_qp(id);
	id_drop(id);
	return err;
}

/* Return: the result of iwtdv_connect() with a socket whose peer sends nothing */
static int attach(struct end *e)
{
	const struct iwtdv_conn_param param = { .timeout = 1000 };
	struct sockaddr_in at = addr_of_a(TCP_PORT);
	struct iwtdv_conn conn = {};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, err;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 1) ||
	    connect(fd, (struct sockaddr *)&at, sizeof(at)))
		die("connect");
	err = iwtdv_connect(e->qp, fd, &param, &conn);
	close(fd);
	close(listener);
	return err;
}

void test_named(void)
{
	struct rdma_cm_id *listener = id_listen();
	struct end x, y;
	int err;

	end_make(&x, &a);
	end_make(&y, &b);
	if (to_init(&x) || to_rtr(&x, &y, &usual))
		die("connect");
	err = attach(&x);
	report(err == EINVAL || err == EOPNOTSUPP, "attaching a socket is refused: error %d", err);
	err = accept_by(listener, &x);
	report(err == EINVAL, "rdma_accept() is refused: error %d", err);
	test_resets(&x, &y);
	if (to_state(&x, IBV_QPS_RESET) || to_init(&x))
		die("reset");
	err = name(&x);
	report(err == EINVAL, "rdma_connect() is refused after a reset, too: error %d", err);
	if (to_state(&x, IBV_QPS_RESET))
		die("reset");
	report(!connect_end(&x, &y, &usual) && !connect_end(&y, &x, &usual) && talk(&x, &y),
	       "then the queue pair connects directly");
	end_drop(&x);
	end_drop(&y);
	id_drop(listener);
}
