// SPDX-License-Identifier: GPL-2.0
/* iwt_verify: makes and ends connections, and checks their rdma_cm events and private data. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "patience.h"
#include "verify.h"

#define PRIV_LEN 48

static void private_data(uint8_t *buf, uint32_t conn_no, bool server)
{
	iwt_pattern(buf, conn_no * 2 + server + 1000000, 0, PRIV_LEN);
}

/*
 * Return: seconds to wait for the event @want. With siw a failed attempt to connect is repeated,
 * so the time limit for RDMA_CM_EVENT_ESTABLISHED is at most 20 seconds.
 */
static int patience(struct iwt_ctx *cx, enum rdma_cm_event_type want)
{
	if (want == RDMA_CM_EVENT_ESTABLISHED && (cx->o.local_siw || cx->o.peer_siw) &&
	    cx->o.timeout > 20)
		return 20;
	return cx->o.timeout;
}

/*
 * Waits for the next event, which must be @want, and an event of @id unless @id is NULL. Skips
 * RDMA_CM_EVENT_TIMEWAIT_EXIT. If @evp is not NULL, the caller must acknowledge *@evp. Return: 0
 * or -1
 */
int iwt_cm_wait(struct iwt_ctx *cx, struct rdma_cm_id *id, enum rdma_cm_event_type want,
		struct rdma_cm_event **evp)
{
	struct pollfd pfd = { .fd = cx->ec->fd, .events = POLLIN };
	struct patience p = {};
	struct rdma_cm_event *ev;
	int n;

	for (;;) {
		n = poll(&pfd, 1, 200);
		if (n < 0 && errno != EINTR)
			return iwt_fail(cx, "poll: %s", strerror(errno));
		if (n <= 0) {
			if (iwt_peer_gave_up(cx))
				return iwt_fail(cx, "the peer gave up before %s",
						rdma_event_str(want));
			if (!patient(&p, patience(cx, want), 0))
				return iwt_fail(cx, "timeout: no %s", rdma_event_str(want));
			continue;
		}
		if (rdma_get_cm_event(cx->ec, &ev))
			return iwt_fail(cx, "rdma_get_cm_event: %s", strerror(errno));
		if (ev->event == RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			rdma_ack_cm_event(ev);
			continue;
		}
		break;
	}
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED && ev->id == cx->c.id)
		cx->c.disconnected = true;
	if (ev->event != want || (id && ev->id != id)) {
		iwt_fail(cx, "%s (status %d) instead of %s", rdma_event_str(ev->event),
			 ev->status, rdma_event_str(want));
		rdma_ack_cm_event(ev);
		return -1;
	}
	if (evp)
		*evp = ev;
	else
		rdma_ack_cm_event(ev);
	return 0;
}

static int resolve(struct iwt_ctx *cx, struct addrinfo **ai)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	char port[16];

	snprintf(port, sizeof(port), "%d", cx->o.port);
	if (getaddrinfo(cx->o.addr, port, &hints, ai))
		return iwt_fail(cx, "bad address %s", cx->o.addr);
	return 0;
}

int iwt_listen(struct iwt_ctx *cx)
{
	struct addrinfo *ai;
	int rc;

	cx->ec = rdma_create_event_channel();
	if (!cx->ec)
		return iwt_fail(cx, "rdma_create_event_channel: %s", strerror(errno));
	if (!cx->o.server)
		return 0;
	if (resolve(cx, &ai))
		return -1;
	rc = rdma_create_id(cx->ec, &cx->listen, cx, RDMA_PS_TCP);
	if (!rc)
		rc = rdma_bind_addr(cx->listen, ai->ai_addr);
	if (!rc)
		rc = rdma_listen(cx->listen, 4);
	freeaddrinfo(ai);
	return rc ? iwt_fail(cx, "rdma_listen on %s: %s", cx->o.addr, strerror(errno)) : 0;
}

static int setup_device(struct iwt_ctx *cx)
{
	struct ibv_context *v = cx->c.id->verbs;

	if (cx->verbs && cx->verbs != v)
		return iwt_fail(cx, "the connection is on another device than before");
	/* this function is called for each connection; the first call has created the region */
	if (cx->mr)
		return 0;
	cx->verbs = v;
	if (ibv_query_device(v, &cx->attr))
		return iwt_fail(cx, "ibv_query_device: %s", strerror(errno));
	if (!cx->pd)
		cx->pd = ibv_alloc_pd(v);
	if (!cx->pd)
		return iwt_fail(cx, "ibv_alloc_pd: %s", strerror(errno));
	cx->dev_sge = cx->attr.max_sge < IWT_MAX_PIECES ? cx->attr.max_sge : IWT_MAX_PIECES;
	cx->dev_sge_rd = cx->attr.max_sge_rd > 1 ? cx->attr.max_sge_rd : 1;
	if (cx->dev_sge_rd > cx->dev_sge)
		cx->dev_sge_rd = cx->dev_sge;
	/* room for the largest message, or for a full batch of ordinary messages */
	cx->arena_len = (cx->o.max_size > 8 << 20 ? cx->o.max_size : 8 << 20) + (1 << 20);
	if (!cx->arena && iwt_arena_make(cx))
		return iwt_fail(cx, "no memory");
	memset(cx->arena, 0, cx->arena_len);
	cx->mr = ibv_reg_mr(cx->pd, cx->arena, cx->arena_len, IBV_ACCESS_LOCAL_WRITE |
			    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			    (cx->attr.atomic_cap != IBV_ATOMIC_NONE ? IBV_ACCESS_REMOTE_ATOMIC : 0));
	return cx->mr ? 0 : iwt_fail(cx, "ibv_reg_mr: %s", strerror(errno));
}

static int make_qp(struct iwt_ctx *cx, const struct iwt_case *k)
{
	struct iwt_conn *c = &cx->c;
	struct ibv_qp_init_attr_ex a = {
		.send_cq = c->scq, .recv_cq = c->rcq, .qp_type = IBV_QPT_RC,
		.sq_sig_all = k->sig_all, .pd = cx->pd, .comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = { IWT_DEPTH, IWT_DEPTH, cx->dev_sge, cx->dev_sge, k->max_inline },
	};

	if (c->use_wr) {
		a.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		a.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				   IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND_WITH_INV;
		if (cx->attr.atomic_cap != IBV_ATOMIC_NONE)
			a.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
					    IBV_QP_EX_WITH_SEND_WITH_IMM |
					    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
					    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
	}
	if (rdma_create_qp_ex(c->id, &a))
		return iwt_fail(cx, "rdma_create_qp%s: %s", c->use_wr ? " (ibv_qp_ex)" : "",
				strerror(errno));
	c->qp = c->id->qp;
	c->qpx = c->use_wr ? ibv_qp_to_qp_ex(c->qp) : NULL;
	if (c->use_wr && !c->qpx)
		return iwt_fail(cx, "ibv_qp_to_qp_ex gives nothing");
	if (a.cap.max_inline_data < k->max_inline || a.cap.max_send_wr < IWT_DEPTH ||
	    a.cap.max_recv_wr < IWT_DEPTH || a.cap.max_send_sge < cx->dev_sge)
		return iwt_fail(cx, "the queue pair can do less than was asked for");
	c->max_inline = k->max_inline;
	return 0;
}

static int setup_conn(struct iwt_ctx *cx, const struct iwt_case *k)
{
	struct iwt_conn *c = &cx->c;

	if (setup_device(cx))
		return -1;
	c->use_events = k->use_events;
	c->use_wr = k->use_wr;
	c->one_cq = k->one_cq;
	c->sig_all = k->sig_all;
	c->chan = ibv_create_comp_channel(cx->verbs);
	if (!c->chan)
		return iwt_fail(cx, "ibv_create_comp_channel: %s", strerror(errno));
	c->rcq = ibv_create_cq(cx->verbs, 2 * IWT_DEPTH, c, c->chan, 0);
	c->scq = c->one_cq ? c->rcq : ibv_create_cq(cx->verbs, IWT_DEPTH, c, c->chan, 0);
	if (!c->rcq || !c->scq)
		return iwt_fail(cx, "ibv_create_cq: %s", strerror(errno));
	return make_qp(cx, k);
}

static int check_private(struct iwt_ctx *cx, const struct rdma_cm_event *ev, uint32_t conn_no)
{
	uint8_t want[PRIV_LEN];

	private_data(want, conn_no, !cx->o.server);
	if (ev->param.conn.private_data_len < PRIV_LEN)
		return iwt_fail(cx, "%u octets of private data instead of %u",
				ev->param.conn.private_data_len, PRIV_LEN);
	if (memcmp(ev->param.conn.private_data, want, PRIV_LEN))
		return iwt_fail(cx, "wrong private data");
	return 0;
}

static struct rdma_conn_param conn_param(struct iwt_ctx *cx, uint8_t *priv)
{
	int rd = cx->attr.max_qp_rd_atom < 16 ? cx->attr.max_qp_rd_atom : 16;

	return (struct rdma_conn_param) {
		.private_data = priv, .private_data_len = PRIV_LEN,
		.responder_resources = rd, .initiator_depth = rd, .retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static int connect_client(struct iwt_ctx *cx, const struct iwt_case *k)
{
	struct rdma_conn_param param;
	struct rdma_cm_event *ev;
	uint8_t priv[PRIV_LEN];
	struct addrinfo *ai;
	int rc;

	if (resolve(cx, &ai))
		return -1;
	rc = rdma_create_id(cx->ec, &cx->c.id, cx, RDMA_PS_TCP);
	if (!rc)
		rc = rdma_resolve_addr(cx->c.id, NULL, ai->ai_addr, cx->o.timeout * 1000);
	freeaddrinfo(ai);
	if (rc)
		return iwt_fail(cx, "rdma_resolve_addr: %s", strerror(errno));
	if (iwt_cm_wait(cx, cx->c.id, RDMA_CM_EVENT_ADDR_RESOLVED, NULL))
		return -1;
	if (rdma_resolve_route(cx->c.id, cx->o.timeout * 1000))
		return iwt_fail(cx, "rdma_resolve_route: %s", strerror(errno));
	if (iwt_cm_wait(cx, cx->c.id, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL) || setup_conn(cx, k))
		return -1;
	private_data(priv, k->conn_no, false);
	param = conn_param(cx, priv);
	if (rdma_connect(cx->c.id, &param))
		return iwt_fail(cx, "rdma_connect: %s", strerror(errno));
	if (iwt_cm_wait(cx, cx->c.id, RDMA_CM_EVENT_ESTABLISHED, &ev))
		return -1;
	rc = check_private(cx, ev, k->conn_no);
	rdma_ack_cm_event(ev);
	return rc;
}

static int connect_server(struct iwt_ctx *cx, const struct iwt_case *k)
{
	struct rdma_conn_param param;
	struct rdma_cm_event *ev;
	uint8_t priv[PRIV_LEN];
	int rc;

	if (iwt_cm_wait(cx, NULL, RDMA_CM_EVENT_CONNECT_REQUEST, &ev))
		return -1;
	cx->c.id = ev->id;
	rc = check_private(cx, ev, k->conn_no);
	rdma_ack_cm_event(ev);
	if (rc || setup_conn(cx, k))
		return -1;
	private_data(priv, k->conn_no, true);
	param = conn_param(cx, priv);
	if (rdma_accept(cx->c.id, &param))
		return iwt_fail(cx, "rdma_accept: %s", strerror(errno));
	return iwt_cm_wait(cx, cx->c.id, RDMA_CM_EVENT_ESTABLISHED, NULL);
}

/* Drops events that a failed case left behind. */
static void drain_cm(struct iwt_ctx *cx)
{
	struct pollfd pfd = { .fd = cx->ec->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	while (poll(&pfd, 1, 0) > 0 && !rdma_get_cm_event(cx->ec, &ev)) {
		struct rdma_cm_id *stale = ev->event == RDMA_CM_EVENT_CONNECT_REQUEST ? ev->id : NULL;

		rdma_ack_cm_event(ev);
		if (stale)
			rdma_destroy_id(stale);
	}
}

int iwt_connect(struct iwt_ctx *cx, const struct iwt_case *k)
{
	struct iwt_sync mine = { 0 }, theirs;

	memset(&cx->c, 0, sizeof(cx->c));
	cx->o.max_size = k->max_size;
	drain_cm(cx);
	if (iwt_sync(cx, NULL, NULL))
		return -1;
	if (cx->o.server ? connect_server(cx, k) : connect_client(cx, k))
		return -1;
	/* a plan may only use as many elements as the devices of both sides allow */
	mine.rkey[0] = cx->dev_sge;
	mine.rkey[1] = cx->dev_sge_rd;
	if (iwt_sync(cx, &mine, &theirs))
		return -1;
	cx->max_sge = theirs.rkey[0] < cx->dev_sge ? theirs.rkey[0] : cx->dev_sge;
	cx->sge_rd = theirs.rkey[1] < cx->dev_sge_rd ? theirs.rkey[1] : cx->dev_sge_rd;
	return 0;
}

int iwt_wait_disconnected(struct iwt_ctx *cx)
{
	if (cx->c.disconnected)
		return 0;
	return iwt_cm_wait(cx, cx->c.id, RDMA_CM_EVENT_DISCONNECTED, NULL);
}

/* Disconnects this side after the peer has disconnected. */
int iwt_let_go(struct iwt_ctx *cx)
{
	/* EINVAL and ENOTCONN: the peer or a failure may have ended the connection already */
	if (rdma_disconnect(cx->c.id) && errno != EINVAL && errno != ENOTCONN)
		return iwt_fail(cx, "rdma_disconnect: %s", strerror(errno));
	return 0;
}

static void destroy_cq(struct iwt_conn *c, struct ibv_cq *cq)
{
	if (cq && ibv_destroy_cq(cq))
		fprintf(stderr, "# ibv_destroy_cq: %s\n", strerror(errno));
}

/* Ends the connection, whatever its state is. Does nothing if there is no connection. */
void iwt_disconnect(struct iwt_ctx *cx)
{
	struct iwt_conn *c = &cx->c;

	if (!c->id)
		return;
	rdma_disconnect(c->id);
	if (c->qp)
		rdma_destroy_qp(c->id);
	destroy_cq(c, c->scq == c->rcq ? NULL : c->scq);
	destroy_cq(c, c->rcq);
	if (c->chan)
		ibv_destroy_comp_channel(c->chan);
	rdma_destroy_id(c->id);
	memset(c, 0, sizeof(*c));
}

const char *iwt_device(struct iwt_ctx *cx)
{
	return cx->verbs ? ibv_get_device_name(cx->verbs->device) : "none";
}
