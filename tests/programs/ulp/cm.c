// SPDX-License-Identifier: GPL-2.0
/* iwt_ulp: commands for connections. Each connection has an event channel of its own. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulp.h"

struct ibv_context *ulp_ctx;
struct ulp_conn ulp_conn[ULP_IDS];

struct ulp_conn *ulp_conn_of(uint64_t n)
{
	if (n < ULP_IDS && (ulp_conn[n].id || ulp_conn[n].qp))
		return &ulp_conn[n];
	ulp_err(ENOENT, "id");
	return NULL;
}

static struct ulp_conn *any_arg(void) { return ulp_conn_of(ulp_num("id", 0)); }

/* Return: the connection of the argument id=, which must have an rdma_cm_id; or NULL. */
static struct ulp_conn *conn_arg(void)
{
	struct ulp_conn *c = any_arg();

	if (!c || c->id)
		return c;
	ulp_err(EINVAL, "id");
	return NULL;
}

static struct ulp_conn *conn_new(uint64_t n)
{
	if (n >= ULP_IDS || ulp_conn[n].id || ulp_conn[n].qp) {
		ulp_err(EEXIST, "id");
		return NULL;
	}
	memset(&ulp_conn[n], 0, sizeof(ulp_conn[n]));
	ulp_conn[n].ec = rdma_create_event_channel();
	if (!ulp_conn[n].ec) {
		ulp_err(errno, "rdma_create_event_channel");
		return NULL;
	}
	return &ulp_conn[n];
}

static struct addrinfo *resolve(const char *addr, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_PASSIVE };
	struct addrinfo *ai = NULL;

	if (!addr || getaddrinfo(addr, port ? port : "0", &hints, &ai)) {
		ulp_err(EINVAL, "address");
		return NULL;
	}
	return ai;
}

/* listen id= addr= [port=] [backlog=]: port= */
static int cmd_listen(void)
{
	struct ulp_conn *c = conn_new(ulp_num("id", 0));
	struct addrinfo *ai;
	int rc;

	if (!c)
		return -1;
	ai = resolve(ulp_str("addr"), ulp_str("port"));
	if (!ai)
		return -1;
	rc = rdma_create_id(c->ec, &c->id, c, RDMA_PS_TCP) ? ulp_err(errno, "rdma_create_id") :
	     rdma_bind_addr(c->id, ai->ai_addr) ? ulp_err(errno, "rdma_bind_addr") :
	     rdma_listen(c->id, ulp_num("backlog", 128)) ? ulp_err(errno, "rdma_listen") : 0;
	freeaddrinfo(ai);
	if (rc)
		return rc;
	if (c->id->verbs)
		ulp_ctx = c->id->verbs;
	ulp_put(" port=%u", ntohs(rdma_get_src_port(c->id)));
	return 0;
}

/* Reads the next event, which must be @want, and drops its contents. */
static int expect(struct ulp_conn *c, enum rdma_cm_event_type want)
{
	enum rdma_cm_event_type got;
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(c->ec, &ev))
		return ulp_err(errno, "rdma_get_cm_event");
	got = ev->event;
	rdma_ack_cm_event(ev);
	return got == want ? 0 : ulp_err(EPROTO, rdma_event_str(got));
}

/* resolve id= addr= port= [src=] [ms=]: resolves address and route; then "qp" may be used */
static int cmd_resolve(void)
{
	struct ulp_conn *c = conn_new(ulp_num("id", 0));
	struct addrinfo *ai, *src = NULL;
	uint64_t ms = ulp_num("ms", 30000);
	int rc;

	if (!c)
		return -1;
	ai = resolve(ulp_str("addr"), ulp_str("port"));
	if (!ai)
		return -1;
	if (ulp_str("src"))
		src = resolve(ulp_str("src"), NULL);
	rc = rdma_create_id(c->ec, &c->id, c, RDMA_PS_TCP) ? ulp_err(errno, "rdma_create_id") :
	     rdma_resolve_addr(c->id, src ? src->ai_addr : NULL, ai->ai_addr, ms) ?
	     ulp_err(errno, "rdma_resolve_addr") : 0;
	if (src)
		freeaddrinfo(src);
	freeaddrinfo(ai);
	if (rc)
		return rc;
	if (expect(c, RDMA_CM_EVENT_ADDR_RESOLVED))
		return -1;
	if (rdma_resolve_route(c->id, ms))
		return ulp_err(errno, "rdma_resolve_route");
	if (expect(c, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return -1;
	ulp_ctx = c->id->verbs;
	return 0;
}

/* Gives a number and an event channel to the rdma_cm_id of a connection request. */
static int adopt(struct rdma_cm_id *id)
{
	uint64_t n;

	for (n = 1; n < ULP_IDS && (ulp_conn[n].id || ulp_conn[n].qp); n++)
		;
	if (!conn_new(n))
		return -1;
	ulp_conn[n].id = id;
	id->context = &ulp_conn[n];
	ulp_ctx = id->verbs;
	if (rdma_migrate_id(id, ulp_conn[n].ec))
		return ulp_err(errno, "rdma_migrate_id");
	ulp_put(" new=%u", (unsigned int)n);
	return 0;
}

/*
 * event id= [ms=]: event= status= ird= ord= data= [new=], or event=none
 * Waits for an event. new= is the number of the new connection after a connection request.
 */
static int cmd_event(void)
{
	struct ulp_conn *c = conn_arg();
	struct rdma_cm_id *id = NULL;
	struct rdma_cm_event *ev;

	if (!c)
		return -1;
	if (!ulp_wait(c->ec->fd, ulp_num("ms", 20000))) {
		ulp_put(" event=none");
		return 0;
	}
	if (rdma_get_cm_event(c->ec, &ev))
		return ulp_err(errno, "rdma_get_cm_event");
	ulp_put(" event=%s status=%d ird=%u ord=%u", rdma_event_str(ev->event) + strlen("RDMA_CM_EVENT_"),
		ev->status, ev->param.conn.responder_resources, ev->param.conn.initiator_depth);
	ulp_put_hex("data", ev->param.conn.private_data,
		    ev->param.conn.private_data ? ev->param.conn.private_data_len : 0);
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		id = ev->id;
	rdma_ack_cm_event(ev);
	return id ? adopt(id) : 0;
}

static void conn_param(struct rdma_conn_param *p, uint8_t **data)
{
	size_t len;

	*data = ulp_hex("data", &len);
	*p = (struct rdma_conn_param) {
		.private_data = len ? *data : NULL,
		.private_data_len = len,
		.responder_resources = ulp_num("ird", 4),
		.initiator_depth = ulp_num("ord", 4),
		.retry_count = 7,
	};
}

/* Calls @call with the arguments ird=, ord= and data=. @what: name of @call, for an error */
static int agree(int (*call)(struct rdma_cm_id *id, struct rdma_conn_param *p), const char *what)
{
	struct ulp_conn *c = conn_arg();
	struct rdma_conn_param p;
	uint8_t *data;
	int rc;

	if (!c)
		return -1;
	conn_param(&p, &data);
	rc = call(c->id, &p);
	free(data);
	return rc ? ulp_err(errno, what) : 0;
}

/* connect id= [ird=] [ord=] [data=] */
static int cmd_connect(void)
{
	return agree(rdma_connect, "rdma_connect");
}

/* accept id= [ird=] [ord=] [data=] */
static int cmd_accept(void)
{
	return agree(rdma_accept, "rdma_accept");
}

/* reject id= [data=] */
static int cmd_reject(void)
{
	struct ulp_conn *c = conn_arg();
	uint8_t *data;
	size_t len;
	int rc;

	if (!c)
		return -1;
	data = ulp_hex("data", &len);
	rc = rdma_reject(c->id, len ? data : NULL, len);
	free(data);
	return rc ? ulp_err(errno, "rdma_reject") : 0;
}

/* disconnect id= */
static int cmd_disconnect(void)
{
	struct ulp_conn *c = conn_arg();

	if (!c)
		return -1;
	return rdma_disconnect(c->id) ? ulp_err(errno, "rdma_disconnect") : 0;
}

/* destroy id=: destroys the rdma_cm_id, if any, and the queue pair */
static int cmd_destroy(void)
{
	struct ulp_conn *c = any_arg();

	if (!c)
		return -1;
	if (!c->id) {
		errno = ibv_destroy_qp(c->qp);
		if (errno)
			return ulp_err(errno, "ibv_destroy_qp");
		memset(c, 0, sizeof(*c));
		return 0;
	}
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (rdma_destroy_id(c->id))
		return ulp_err(errno, "rdma_destroy_id");
	rdma_destroy_event_channel(c->ec);
	memset(c, 0, sizeof(*c));
	return 0;
}

struct ibv_pd *ulp_qp_attr(struct ibv_qp_init_attr *a)
{
	struct ibv_pd *pd = ulp_pd(ulp_num("pd", 0));

	*a = (struct ibv_qp_init_attr) { .qp_type = IBV_QPT_RC };
	a->send_cq = ulp_cq(ulp_num("scq", 0));
	a->recv_cq = ulp_cq(ulp_num("rcq", 0));
	a->srq = ulp_str("srq") ? ulp_srq(ulp_num("srq", 0)) : NULL;
	a->sq_sig_all = ulp_num("sigall", 0);
	a->cap.max_send_wr = ulp_num("swr", 128);
	a->cap.max_recv_wr = ulp_num("rwr", 128);
	a->cap.max_send_sge = a->cap.max_recv_sge = ulp_num("sge", 4);
	a->cap.max_inline_data = ulp_num("inline", 64);
	return a->send_cq && a->recv_cq ? pd : NULL;
}

/* qp id= [pd=] [scq=] [rcq=] [srq=] [swr=] [rwr=] [sge=] [inline=] [sigall=]: qpn= */
static int cmd_qp(void)
{
	struct ulp_conn *c = conn_arg();
	struct ibv_qp_init_attr a;
	struct ibv_pd *pd;

	if (!c)
		return -1;
	pd = ulp_qp_attr(&a);
	if (!pd)
		return -1;
	if (rdma_create_qp(c->id, pd, &a))
		return ulp_err(errno, "rdma_create_qp");
	c->qp = c->id->qp;
	ulp_put(" qpn=%u", c->qp->qp_num);
	return 0;
}

/* query id=: state= ord= ird= access= draining= */
static int cmd_query(void)
{
	struct ulp_conn *c = any_arg();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a = {};

	if (!c || !c->qp)
		return ulp_err(ENOENT, "qp");
	if (ibv_query_qp(c->qp, &a, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS, &init))
		return ulp_err(errno, "ibv_query_qp");
	ulp_put(" state=%d ord=%u ird=%u access=%#x draining=%d", a.qp_state, a.max_rd_atomic,
		a.max_dest_rd_atomic, a.qp_access_flags, a.sq_draining);
	return 0;
}

/*
 * modify id= [state=] [tell=1]: changes the state of the queue pair. state= is a number of enum
 * ibv_qp_state (default: IBV_QPS_ERR); tell=1 requests an event when the send queue is drained.
 */
static int cmd_modify(void)
{
	struct ibv_qp_attr a = { .qp_state = ulp_num("state", IBV_QPS_ERR) };
	struct ulp_conn *c = any_arg();
	int rc, mask = IBV_QP_STATE;

	if (!c || !c->qp)
		return ulp_err(ENOENT, "qp");
	a.en_sqd_async_notify = ulp_num("tell", 0);
	if (a.en_sqd_async_notify)
		mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
	rc = ibv_modify_qp(c->qp, &a, mask);
	return rc ? ulp_err(rc, "ibv_modify_qp") : 0;
}

const struct ulp_command ulp_cm_commands[] = {
	{ "listen", cmd_listen },
	{ "resolve", cmd_resolve },
	{ "event", cmd_event },
	{ "connect", cmd_connect },
	{ "accept", cmd_accept },
	{ "reject", cmd_reject },
	{ "disconnect", cmd_disconnect },
	{ "destroy", cmd_destroy },
	{ "qp", cmd_qp },
	{ "query", cmd_query },
	{ "modify", cmd_modify },
	{ }
};
