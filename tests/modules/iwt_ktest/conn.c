// SPDX-License-Identifier: GPL-2.0
/* Connects two addresses of this machine with rdma_cm, and makes the objects of both ends. */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "kt.h"

static const char question[] = "iwt_ktest asks", answer[] = "and so it is";

/**
 * iwt_kt_fail() - record the first failure of a case
 * @c: connection
 * @line: line of the source file
 * @fmt: description
 *
 * Any context. Return: -EIO.
 */
int iwt_kt_fail(struct kt_conn *c, int line, const char *fmt, ...)
{
	va_list args;
	int n;

	if (c->why[0])
		return -EIO;
	n = scnprintf(c->why, sizeof(c->why), "line %d: ", line);
	va_start(args, fmt);
	vscnprintf(c->why + n, sizeof(c->why) - n, fmt, args);
	va_end(args);
	return -EIO;
}

/**
 * iwt_kt_peer() - return the other end of the connection
 * @e: end
 */
struct kt_end *iwt_kt_peer(struct kt_end *e)
{
	return e == &e->conn->c ? &e->conn->s : &e->conn->c;
}

static const enum ib_poll_context contexts[] = {
	[KT_DIRECT]	= IB_POLL_DIRECT,
	[KT_SOFTIRQ]	= IB_POLL_SOFTIRQ,
	[KT_WORKQUEUE]	= IB_POLL_WORKQUEUE,
	[KT_UNBOUND]	= IB_POLL_UNBOUND_WORKQUEUE,
};

static void on_async(struct ib_event *ev, void *ctx)
{
	struct kt_end *e = ctx;

	if (ev->event == IB_EVENT_QP_FATAL)
		WRITE_ONCE(e->qp_fatal, true);
	if (ev->event == IB_EVENT_QP_LAST_WQE_REACHED)
		WRITE_ONCE(e->last_wqe, true);
	if (ev->event == IB_EVENT_SRQ_LIMIT_REACHED)
		atomic_inc(&e->limits);
	if (ev->event == IB_EVENT_CQ_ERR)
		WRITE_ONCE(e->cq_err, true);
	wake_up_all(&e->conn->wait);
}

static int make_cq(struct kt_end *e)
{
	struct ib_cq_init_attr attr = { .cqe = KT_WRS * 2 + 8 };

	if (e->conn->mode != KT_HANDLER) {
		e->cq = ib_alloc_cq(e->dev, e, attr.cqe, 0,
				    contexts[e->conn->mode]);
		return PTR_ERR_OR_ZERO(e->cq);
	}
	e->cq = ib_create_cq(e->dev, iwt_kt_handler, on_async, e, &attr);
	if (IS_ERR(e->cq))
		return PTR_ERR(e->cq);
	e->armed = true;
	ib_req_notify_cq(e->cq, IB_CQ_NEXT_COMP);
	return 0;
}

static int make_srq(struct kt_end *e)
{
	struct ib_srq_init_attr attr = {
		.event_handler = on_async,
		.srq_context = e,
		.attr = { .max_wr = 8, .max_sge = KT_SGES },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq;

	if (!e->conn->shared || e != &e->conn->s)
		return 0;
	/* a shared receive queue and its queue pair may have different protection domains */
	srq = ib_create_srq(e->other_pd, &attr);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	e->srq = srq;
	return 0;
}

static int make_qp(struct kt_end *e)
{
	struct ib_qp_init_attr attr = {
		.event_handler = on_async,
		.qp_context = e,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.srq = e->srq,
		.cap = {
			.max_send_wr = KT_WRS,
			.max_recv_wr = KT_WRS,
			.max_send_sge = KT_SGES,
			.max_recv_sge = KT_SGES,
			.max_inline_data = KT_INLINE,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int err = rdma_create_qp(e->id, e->pd, &attr);

	if (!err)
		e->qp = e->id->qp;
	return err;
}

/**
 * iwt_kt_make_end() - create all objects of an end whose rdma_cm_id has a device
 * @e: end
 *
 * May sleep. Return: 0 or a negative error; iwt_kt_close() frees the objects in both cases.
 */
int iwt_kt_make_end(struct kt_end *e)
{
	int err;

	e->dev = e->id->device;
	e->pd = ib_alloc_pd(e->dev, 0);
	if (IS_ERR(e->pd))
		return PTR_ERR(e->pd);
	e->other_pd = ib_alloc_pd(e->dev, 0);
	if (IS_ERR(e->other_pd))
		return PTR_ERR(e->other_pd);
	e->buf = kmalloc(KT_BUF, GFP_KERNEL);
	if (!e->buf)
		return -ENOMEM;
	memset(e->buf, KT_GUARD, KT_BUF);
	e->dma = ib_dma_map_single(e->dev, e->buf, KT_BUF, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(e->dev, e->dma)) {
		e->dma = 0;
		return -ENOMEM;
	}
	err = make_cq(e);
	if (!err)
		err = make_srq(e);
	return err ?: make_qp(e);
}

static void free_end(struct kt_end *e)
{
	if (e->qp)
		rdma_destroy_qp(e->id);
	if (!IS_ERR_OR_NULL(e->cq)) {
		if (e->conn->mode == KT_HANDLER)
			ib_destroy_cq(e->cq);
		else
			ib_free_cq(e->cq);
	}
	if (e->srq)
		ib_destroy_srq(e->srq);
	if (e->dma)
		ib_dma_unmap_single(e->dev, e->dma, KT_BUF, DMA_BIDIRECTIONAL);
	kfree(e->buf);
	if (!IS_ERR_OR_NULL(e->other_pd))
		ib_dealloc_pd(e->other_pd);
	if (!IS_ERR_OR_NULL(e->pd))
		ib_dealloc_pd(e->pd);
	if (e->id)
		rdma_destroy_id(e->id);
}

static void fill_param(struct rdma_conn_param *p, const char *text, size_t len)
{
	p->private_data = text;
	p->private_data_len = len;
	p->initiator_depth = 8;
	p->responder_resources = 8;
	p->retry_count = 7;
}

static bool says(const struct rdma_cm_event *ev, const char *text, size_t len)
{
	const struct rdma_conn_param *p = &ev->param.conn;

	return p->private_data_len >= len && !memcmp(p->private_data, text, len);
}

/*
 * Accepts like a process: @id has no queue pair, and the parameters contain the number of a queue
 * pair.
 */
static int accept_named(struct kt_end *e, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .qp_num = e->conn->name };
	int err = rdma_accept(id, &param);

	e->conn->named = err ?: 1;
	if (!err)
		e->id = id;
	return err;
}

/* Return: 0, or an error, after which rdma_cm destroys the new rdma_cm_id @id. */
static int accept_request(struct kt_end *e, struct rdma_cm_id *id,
			  struct rdma_cm_event *ev)
{
	struct rdma_conn_param param = {};
	int err;

	if (e->conn->name)
		return accept_named(e, id);
	if (e->id)
		return -EBUSY;
	e->id = id;
	e->private_ok = says(ev, question, sizeof(question));
	err = iwt_kt_make_end(e);
	if (!err) {
		fill_param(&param, answer, sizeof(answer));
		err = rdma_accept(id, &param);
	}
	if (err) {
		if (e->qp)
			rdma_destroy_qp(id);
		e->qp = NULL;
		e->id = NULL;
		e->failed = err;
	}
	return err;
}

static int on_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct kt_end *e = id->context;
	int ret = 0;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		e->resolved = true;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		e->routed = true;
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		ret = accept_request(e, id, ev);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (e == &e->conn->c)
			e->private_ok = says(ev, answer, sizeof(answer));
		e->established = true;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		e->disconnected = true;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (e == &e->conn->c)
			iwt_kt_removal(e->conn);
		e->failed = -ENODEV;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		e->failed = ev->status ?: -EPROTO;
		break;
	}
	wake_up_all(&e->conn->wait);
	return ret;
}

/**
 * iwt_kt_wait_flag() - wait for an event of rdma_cm or of the device
 * @c: connection
 * @flag: flag that the event sets
 *
 * May sleep. Return: 0, -ETIMEDOUT after KT_PATIENCE, or the error of an event.
 */
int iwt_kt_wait_flag(struct kt_conn *c, const bool *flag)
{
	long left = wait_event_timeout(c->wait, READ_ONCE(*flag) ||
				       c->c.failed || c->s.failed, KT_PATIENCE);

	if (READ_ONCE(*flag))
		return 0;
	if (!left)
		return -ETIMEDOUT;
	return c->c.failed ?: c->s.failed;
}

static int start_listener(struct kt_conn *c)
{
	struct sockaddr_in addr = c->run->addr[1];
	int err;

	addr.sin_port = htons(KT_PORT);
	c->listener = rdma_create_id(c->run->net[1], on_event, &c->s,
				     RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(c->listener))
		return PTR_ERR(c->listener);
	err = rdma_set_reuseaddr(c->listener, 1);
	if (!err)
		err = rdma_bind_addr(c->listener, (struct sockaddr *)&addr);
	return err ?: rdma_listen(c->listener, 4);
}

static int resolve(struct kt_conn *c, struct kt_end *e, int side)
{
	struct sockaddr_in from = c->run->addr[side], to = c->run->addr[1];
	int err;

	to.sin_port = htons(KT_PORT);
	e->id = rdma_create_id(c->run->net[side], on_event, e, RDMA_PS_TCP,
			       IB_QPT_RC);
	if (IS_ERR(e->id)) {
		err = PTR_ERR(e->id);
		e->id = NULL;
		return err;
	}
	err = rdma_resolve_addr(e->id, (struct sockaddr *)&from,
				(struct sockaddr *)&to, KT_RESOLVE_MS);
	if (!err)
		err = iwt_kt_wait_flag(c, &e->resolved);
	if (!err)
		err = rdma_resolve_route(e->id, KT_RESOLVE_MS);
	if (!err)
		err = iwt_kt_wait_flag(c, &e->routed);
	return err;
}

/**
 * iwt_kt_resolve_other() - create another rdma_cm_id and resolve the connection's destination
 * @c: connection; its end @o gets the rdma_cm_id, but no other objects
 * @side: 0 for the client's device, 1 for the server's device
 *
 * May sleep. Return: 0 or a negative error.
 */
int iwt_kt_resolve_other(struct kt_conn *c, int side)
{
	return resolve(c, &c->o, side);
}

/**
 * iwt_kt_establish() - connect a connection that iwt_kt_open() left idle
 * @c: connection
 *
 * May sleep. Return: 0 or a negative error; -EBADMSG: the private data were wrong.
 */
int iwt_kt_establish(struct kt_conn *c)
{
	struct rdma_conn_param param = {};
	int err;

	fill_param(&param, question, sizeof(question));
	err = rdma_connect(c->c.id, &param);
	if (!err)
		err = iwt_kt_wait_flag(c, &c->c.established);
	if (!err)
		err = iwt_kt_wait_flag(c, &c->s.established);
	if (!err && !(c->c.private_ok && c->s.private_ok))
		err = -EBADMSG;
	return err;
}

static void init_end(struct kt_conn *c, struct kt_end *e)
{
	e->conn = c;
	spin_lock_init(&e->lock);
	atomic_set(&e->handlers, 0);
	atomic_set(&e->events, 0);
	atomic_set(&e->limits, 0);
	iwt_kt_wr_init(e);
}

/**
 * iwt_kt_open() - open a connection with all objects that a case needs
 * @run: addresses and namespaces
 * @idle: do not connect: stop after creating the client's queue pair
 * @why: buffer of 200 bytes for the reason of a failure
 *
 * May sleep. Return: the connection or NULL.
 */
struct kt_conn *iwt_kt_open(struct kt_run *run, bool idle, char *why)
{
	struct kt_conn *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	int err;

	if (!c) {
		snprintf(why, 200, "no memory");
		return NULL;
	}
	c->run = run;
	c->mode = run->mode;
	init_waitqueue_head(&c->wait);
	init_end(c, &c->c);
	init_end(c, &c->s);
	init_end(c, &c->o);
	err = start_listener(c);
	if (!err)
		err = resolve(c, &c->c, 0) ?: iwt_kt_make_end(&c->c);
	if (!err && !idle)
		err = iwt_kt_establish(c);
	if (err) {
		snprintf(why, 200, "no connection: error %d", err);
		iwt_kt_close(c);
		return NULL;
	}
	return c;
}

/**
 * iwt_kt_close() - end and free a connection in any state
 * @c: connection
 *
 * May sleep.
 */
void iwt_kt_close(struct kt_conn *c)
{
	if (!IS_ERR_OR_NULL(c->listener))
		rdma_destroy_id(c->listener);
	if (c->c.established)
		rdma_disconnect(c->c.id);
	if (c->s.established)
		rdma_disconnect(c->s.id);
	if (c->o.established)
		rdma_disconnect(c->o.id);
	free_end(&c->c);
	free_end(&c->s);
	free_end(&c->o);
	kvfree(c);
}
