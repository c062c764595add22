// SPDX-License-Identifier: GPL-2.0
/*
 * One connection of the echo server, from the connection request until the connection is freed.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "echo.h"

#define SGES	4
#define FILL	0xa5	/* value of bytes that no message has written */

/*
 * One receive, with a buffer for the received message and for the reply. At any time, at most one
 * request of a slot is posted: the receive, a Read from the peer, or a Send.
 *
 * @buf: ECHO_ROOM bytes
 * @sge: all of @buf, in elements of different length
 * @len: number of bytes that the Read fetches into @buf
 */
struct slot {
	struct conn *conn;
	struct ib_cqe recv, read, send;
	u8 *buf;
	u64 dma;
	struct ib_sge sge[SGES];
	u32 len;
};

/* @ending: @end_work is queued, and will disconnect and free the connection */
struct conn {
	struct list_head node;
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct slot slot[ECHO_RECVS];
	atomic_t ending;
	struct work_struct end_work;
};

static LIST_HEAD(conns);
static DEFINE_MUTEX(conns_lock);
static struct workqueue_struct *end_wq;
static atomic_t next_mode;

/* The ways to poll completion queues. Successive connections use these ways in turn. */
static const enum ib_poll_context contexts[] = { IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE };

static void end(struct conn *c)
{
	if (!atomic_xchg(&c->ending, 1))
		queue_work(end_wq, &c->end_work);
}

/* Copies the elements of the first @len bytes to @to. Return: number of elements */
static int part(const struct slot *s, struct ib_sge *to, u32 len)
{
	int i;

	for (i = 0; i < SGES && (len || !i); i++) {
		to[i] = s->sge[i];
		to[i].length = min(to[i].length, len);
		len -= to[i].length;
	}
	return i;
}

static void post_recv(struct slot *s)
{
	struct ib_recv_wr wr = {
		.wr_cqe = &s->recv,
		.sg_list = s->sge,
		.num_sge = SGES,
	};

	memset(s->buf, FILL, ECHO_ROOM);
	if (ib_post_recv(s->conn->id->qp, &wr, NULL))
		end(s->conn);
}

/*
 * A message must not change bytes after its end. The kernel warning (WARN) makes the test fail.
 */
static void check_behind(const struct slot *s, u32 len)
{
	WARN(memchr_inv(s->buf + len, FILL, ECHO_ROOM - len),
	     "iwt_echo: octets behind a message of %u were written to\n", len);
}

static void send_back(struct slot *s, u32 len)
{
	struct ib_sge sge[SGES];
	struct ib_send_wr wr = {
		.wr_cqe = &s->send,
		.sg_list = sge,
		.num_sge = part(s, sge, len),
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	check_behind(s, len);
	if (ib_post_send(s->conn->id->qp, &wr, NULL))
		end(s->conn);
}

static void read_there(struct slot *s)
{
	struct echo_read ask = *(struct echo_read *)s->buf;
	/* a Read may have only one sink element */
	struct ib_sge sink = s->sge[0];
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &s->read,
			.sg_list = &sink,
			.num_sge = 1,
			.opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = be64_to_cpu(ask.addr),
		.rkey = be32_to_cpu(ask.stag),
	};

	s->len = min_t(u32, be32_to_cpu(ask.len), ECHO_ROOM);
	sink.length = s->len;
	memset(s->buf, FILL, ECHO_ROOM);
	if (ib_post_send(s->conn->id->qp, &wr.wr, NULL))
		end(s->conn);
}

static void on_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *s = container_of(wc->wr_cqe, struct slot, recv);

	if (wc->status != IB_WC_SUCCESS)
		end(s->conn);
	else if (wc->byte_len && s->buf[0] == ECHO_BACK)
		send_back(s, wc->byte_len);
	else if (wc->byte_len >= sizeof(struct echo_read) && s->buf[0] == ECHO_READ)
		read_there(s);
	else
		post_recv(s);
}

static void on_read(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *s = container_of(wc->wr_cqe, struct slot, read);

	if (wc->status == IB_WC_SUCCESS) {
		send_back(s, s->len);
	} else {
		check_behind(s, s->len);
		end(s->conn);
	}
}

static void on_send(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *s = container_of(wc->wr_cqe, struct slot, send);

	if (wc->status != IB_WC_SUCCESS)
		end(s->conn);
	else
		post_recv(s);
}

/* The elements are adjacent in memory, so a Read can use the whole buffer as one element. */
static int make_slot(struct conn *c, struct slot *s)
{
	static const u32 length[SGES] = { 100, 1, 4000, ECHO_ROOM - 4101 };
	u64 at;
	int i;

	s->conn = c;
	s->recv.done = on_recv;
	s->read.done = on_read;
	s->send.done = on_send;
	s->buf = kmalloc(ECHO_ROOM, GFP_KERNEL);
	if (!s->buf)
		return -ENOMEM;
	s->dma = ib_dma_map_single(c->id->device, s->buf, ECHO_ROOM, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(c->id->device, s->dma)) {
		s->dma = 0;
		return -ENOMEM;
	}
	for (i = 0, at = s->dma; i < SGES; at += length[i++]) {
		s->sge[i].addr = at;
		s->sge[i].length = length[i];
		s->sge[i].lkey = c->pd->local_dma_lkey;
	}
	return 0;
}

static int make_qp(struct conn *c)
{
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 2 * ECHO_RECVS,
			.max_recv_wr = ECHO_RECVS,
			.max_send_sge = SGES,
			.max_recv_sge = SGES,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	enum ib_poll_context how;

	how = contexts[(u32)atomic_inc_return(&next_mode) % ARRAY_SIZE(contexts)];
	c->cq = ib_alloc_cq(c->id->device, c, 4 * ECHO_RECVS, 0, how);
	if (IS_ERR(c->cq))
		return PTR_ERR(c->cq);
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	return rdma_create_qp(c->id, c->pd, &attr);
}

/*
 * Frees everything except the rdma_cm_id. The caller has destroyed the queue pair, if there was
 * one.
 */
static void free_conn(struct conn *c)
{
	int i;

	if (!IS_ERR_OR_NULL(c->cq))
		ib_free_cq(c->cq);
	for (i = 0; i < ECHO_RECVS; i++) {
		if (c->slot[i].dma)
			ib_dma_unmap_single(c->id->device, c->slot[i].dma, ECHO_ROOM,
					    DMA_BIDIRECTIONAL);
		kfree(c->slot[i].buf);
	}
	if (!IS_ERR_OR_NULL(c->pd))
		ib_dealloc_pd(c->pd);
}

static void do_end(struct work_struct *work)
{
	struct conn *c = container_of(work, struct conn, end_work);

	mutex_lock(&conns_lock);
	list_del(&c->node);
	mutex_unlock(&conns_lock);
	rdma_disconnect(c->id);
	ib_drain_qp(c->id->qp);
	rdma_destroy_qp(c->id);
	free_conn(c);
	/* event handlers use the connection until rdma_destroy_id() returns */
	rdma_destroy_id(c->id);
	kfree(c);
}

/**
 * iwt_echo_event() - handle an rdma_cm event of a connection
 * @id: rdma_cm_id of the connection
 * @ev: event
 *
 * Ends the connection, unless the event is ESTABLISHED or TIMEWAIT_EXIT. Return: 0.
 */
int iwt_echo_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	if (ev->event != RDMA_CM_EVENT_ESTABLISHED && ev->event != RDMA_CM_EVENT_TIMEWAIT_EXIT)
		end(id->context);
	return 0;
}

static int make_conn(struct conn *c)
{
	int i, err = 0;

	c->pd = ib_alloc_pd(c->id->device, 0);
	if (IS_ERR(c->pd))
		return PTR_ERR(c->pd);
	for (i = 0; i < ECHO_RECVS && !err; i++)
		err = make_slot(c, &c->slot[i]);
	return err ?: make_qp(c);
}

/**
 * iwt_echo_accept() - accept a connection request
 * @id: the rdma_cm_id of the request
 *
 * Return: 0 or an error; after an error rdma_cm destroys @id.
 */
int iwt_echo_accept(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.responder_resources = ECHO_RECVS,
		.initiator_depth = ECHO_RECVS,
	};
	struct conn *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int i, err;

	id->context = NULL;
	if (!c)
		return -ENOMEM;
	c->id = id;
	INIT_WORK(&c->end_work, do_end);
	err = make_conn(c);
	if (err) {
		free_conn(c);
		kfree(c);
		return err;
	}
	id->context = c;
	mutex_lock(&conns_lock);
	list_add(&c->node, &conns);
	for (i = 0; i < ECHO_RECVS; i++)
		post_recv(&c->slot[i]);
	if (rdma_accept(id, &param))
		end(c);
	mutex_unlock(&conns_lock);
	return 0;
}

/**
 * iwt_echo_end_all() - end all connections, and wait until they are freed
 *
 * The caller has destroyed the listener before. May sleep.
 */
void iwt_echo_end_all(void)
{
	struct conn *c;

	mutex_lock(&conns_lock);
	list_for_each_entry(c, &conns, node)
		end(c);
	mutex_unlock(&conns_lock);
	flush_workqueue(end_wq);
}

/**
 * iwt_echo_init() - prepare the server at module load
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_echo_init(void)
{
	end_wq = alloc_workqueue("iwt_echo", WQ_UNBOUND, 0);
	return end_wq ? 0 : -ENOMEM;
}

/**
 * iwt_echo_exit() - free what iwt_echo_init() allocated, after iwt_echo_end_all()
 */
void iwt_echo_exit(void)
{
	destroy_workqueue(end_wq);
}
