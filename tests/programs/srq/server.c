// SPDX-License-Identifier: GPL-2.0
/* iwt_srq: the server's connections, and checks of its completions, its events and its data. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "patience.h"
#include "srq.h"

#define SEND_TAG	(1ull << 32)
#define EMPTY		0xee	/* contents of a receive buffer before a message arrives */

/* Posts receives and sets a limit. srq.sh inspects both before it starts the client. */
static void begin_srq(struct server *s)
{
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	uint16_t slots[5];
	uint32_t n = take_free(s, slots, 5), done;

	if (post_slots(s, slots, n, &done) || ibv_modify_srq(s->srq, &attr, IBV_SRQ_LIMIT))
		die("the first receives");
	s->limit = attr.srq_limit;
}

void server_open(struct server *s, const char *address)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *ai;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 200, .max_sge = PIECES } };
	uint32_t i;

	s->events = rdma_create_event_channel();
	if (!s->events || rdma_getaddrinfo(address, PORT, &hints, &ai) ||
	    rdma_create_id(s->events, &s->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(s->listener, ai->ai_src_addr) || !s->listener->verbs)
		die("address");
	rdma_freeaddrinfo(ai);
	s->verbs = s->listener->verbs;
	if (fcntl(s->verbs->async_fd, F_SETFL, O_NONBLOCK) || fcntl(s->events->fd, F_SETFL, O_NONBLOCK))
		die("fcntl");
	s->pd = ibv_alloc_pd(s->verbs);
	s->recv_pd = ibv_alloc_pd(s->verbs);
	s->cq = ibv_create_cq(s->verbs, 16384, NULL, NULL, 0);
	s->arena = mmap(NULL, SLOTS * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!s->pd || !s->recv_pd || !s->cq || s->arena == MAP_FAILED)
		die("resources");
	s->mr = ibv_reg_mr(s->recv_pd, s->arena, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE);
	s->srq = ibv_create_srq(s->recv_pd, &attr);
	if (!s->mr || !s->srq)
		die("shared receive queue");
	s->size = attr.attr.max_wr;
	pthread_mutex_init(&s->lock, NULL);
	for (i = 0; i < SLOTS; i++)
		s->free[s->n_free++] = i;
	begin_srq(s);
	if (rdma_listen(s->listener, 2 * CONNS))
		die("rdma_listen");
}

/* ---- receives ---- */

uint32_t take_free(struct server *s, uint16_t *slots, uint32_t max)
{
	uint32_t n = 0;

	pthread_mutex_lock(&s->lock);
	while (n < max && s->n_free)
		slots[n++] = s->free[--s->n_free];
	pthread_mutex_unlock(&s->lock);
	return n;
}

void give_free(struct server *s, const uint16_t *slots, uint32_t n)
{
	pthread_mutex_lock(&s->lock);
	while (n--)
		s->free[s->n_free++] = *slots++;
	pthread_mutex_unlock(&s->lock);
}

/* Return: bytes of a piece of a slot. A slot always has the same pieces. */
static uint32_t piece_len(uint16_t slot, int piece)
{
	uint32_t first = slot * 37u % 500, second = slot * 91u % 3000;

	return piece == 0 ? first : piece == 1 ? second : MSG_MAX - first - second;
}

static uint8_t *piece_at(struct server *s, uint16_t slot, int piece)
{
	uint8_t *at = s->arena + (size_t)slot * SLOT;
	int i;

	for (i = 0; i < piece; i++)
		at += piece_len(slot, i) + GAP;
	return at;
}

/* Posts a list of receives. Return: 0 or an error number; *@done receives have been posted */
int post_slots(struct server *s, uint16_t *slots, uint32_t n, uint32_t *done)
{
	struct ibv_recv_wr wr[16], *bad = NULL;
	struct ibv_sge sge[16][PIECES];
	uint32_t i;
	int p, ret;

	for (i = 0; i < n; i++) {
		memset(s->arena + (size_t)slots[i] * SLOT, EMPTY, SLOT);
		for (p = 0; p < PIECES; p++)
			sge[i][p] = (struct ibv_sge) { (uintptr_t)piece_at(s, slots[i], p),
						       piece_len(slots[i], p), s->mr->lkey };
		wr[i] = (struct ibv_recv_wr) { .wr_id = slots[i], .sg_list = sge[i], .num_sge = PIECES,
					       .next = i + 1 < n ? &wr[i + 1] : NULL };
	}
	ret = ibv_post_srq_recv(s->srq, wr, &bad);
	*done = ret ? bad - wr : n;
	atomic_fetch_add(&s->posted, *done);
	return ret;
}

/* Does the slot contain message @number, and are all other bytes unchanged? */
static bool holds(struct server *s, uint16_t slot, uint32_t serial, uint32_t number, uint32_t len)
{
	uint32_t seed = message_seed(serial, number), at = 0, i;
	int p;

	for (p = 0; p < PIECES; p++) {
		uint8_t *from = piece_at(s, slot, p);

		for (i = 0; i < piece_len(slot, p); i++, at++)
			if (from[i] != (at < len ? message_octet(seed, at) : EMPTY))
				return false;
		for (; i < piece_len(slot, p) + GAP; i++)
			if (from[i] != EMPTY)
				return false;
	}
	return true;
}

/* ---- completions ---- */

static struct conn *conn_of(struct server *s, uint32_t qpn)
{
	int i;

	for (i = 0; i < ENDS; i++)
		if (s->conns[i].id && s->conns[i].id->qp && s->conns[i].id->qp->qp_num == qpn)
			return &s->conns[i];
	return NULL;
}

static void received(struct server *s, struct conn *c, const struct ibv_wc *wc)
{
	uint32_t len = c->broken && wc->byte_len == MSG_MAX ? MSG_MAX : message_len(c->serial, c->got);

	if (wc->byte_len != len)
		wrong(s, "length", wc->byte_len, len);
	else if (!holds(s, wc->wr_id, c->serial, c->got, len))
		wrong(s, "octets of message", c->serial, c->got);
	c->got++;
	if (c->got > c->asked)
		wrong(s, "more messages than ordered", c->got, c->asked);
}

static void take_completion(struct server *s, const struct ibv_wc *wc)
{
	struct conn *c = conn_of(s, wc->qp_num);
	uint16_t slot = wc->wr_id;

	s->moved++;

	if (!c) {
		wrong(s, "completion of an unknown queue pair", wc->qp_num, wc->status);
		return;
	}
	if (wc->wr_id & SEND_TAG) {
		if (wc->status && !c->broken)
			c->broken = true;
		return;
	}
	if (wc->wr_id >= SLOTS)
		wrong(s, "receive", wc->wr_id, wc->status);
	if (s->in_order && s->order[s->next % SLOTS] != slot)
		wrong(s, "order of receives", slot, s->order[s->next % SLOTS]);
	s->next++;
	s->completed++;
	if (!wc->status)
		received(s, c, wc);
	else if (wc->status != IBV_WC_WR_FLUSH_ERR)
		wrong(s, "status of a receive", wc->status, c->serial);
	else if (c->flushed++)
		wrong(s, "a queue pair flushes receives that it has not taken", c->serial,
		      c->flushed);
	if (!wc->status)
		s->committed--;
	give_free(s, &slot, 1);
}

static void reap(struct server *s)
{
	struct ibv_wc wc[16];
	int n, i;

	while ((n = ibv_poll_cq(s->cq, 16, wc)) > 0)
		for (i = 0; i < n; i++)
			take_completion(s, &wc[i]);
	if (n < 0)
		die("ibv_poll_cq");
}

/* ---- events ---- */

static void take_async(struct server *s, struct ibv_async_event *ev)
{
	struct conn *c = NULL;

	s->moved++;
	switch (ev->event_type) {
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		s->limits++;
		return;
	case IBV_EVENT_SRQ_ERR:
		s->errors++;
		return;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		c = conn_of(s, ev->element.qp->qp_num);
		break;
	default:
		return;
	}
	if (!c)
		wrong(s, "event of an unknown queue pair", ev->event_type, 0);
	else if (ev->event_type != IBV_EVENT_QP_LAST_WQE_REACHED)
		s->fatal++;
	else if (c->last)
		wrong(s, "a second event for the last receive", c->serial, 0);
	else
		c->last = true;
}

static void accept_conn(struct server *s, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .send_cq = s->cq, .recv_cq = s->cq, .srq = s->srq,
					 .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					 .cap = { .max_send_wr = 64, .max_send_sge = 1,
						  .max_recv_wr = 1000000, .max_recv_sge = 1000,
						  .max_inline_data = sizeof(struct order) } };
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct conn *c = s->conns;

	while (c < s->conns + ENDS && c->id)
		c++;
	if (c == s->conns + ENDS)
		die("too many connections");
	*c = (struct conn) { .id = id, .serial = ++s->serial };
	id->context = c;
	if (rdma_create_qp(id, s->pd, &attr))
		die("rdma_create_qp");
	if (attr.cap.max_recv_wr || attr.cap.max_recv_sge)
		wrong(s, "the queue pair also has a receive queue", attr.cap.max_recv_wr,
		      attr.cap.max_recv_sge);
	/* rdma_accept() fails if the client has ended the connection */
	if (rdma_accept(id, &param))
		break_conn(s, c);
}

/* Destroys an ended connection. Its messages that have not arrived will use no receives. */
static void bury(struct server *s, struct conn *c)
{
	reap(s);
	s->committed -= c->asked - c->got;
	rdma_destroy_qp(c->id);
	rdma_destroy_id(c->id);
	c->id = NULL;
}

static void take_cm(struct server *s)
{
	struct rdma_cm_event *e;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	struct conn *c;

	while (!rdma_get_cm_event(s->events, &e)) {
		s->moved++;
		type = e->event;
		id = e->id;
		rdma_ack_cm_event(e);
		c = id->context;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			accept_conn(s, id);
		else if (type == RDMA_CM_EVENT_ESTABLISHED)
			c->up = true;
		else if (c && type == RDMA_CM_EVENT_DISCONNECTED)
			c->broken = true;
		else if (c && !c->up)
			bury(s, c);
	}
}

/* Handles all completions and events that have arrived. */
void look(struct server *s)
{
	struct ibv_async_event ev;
	int i;

	reap(s);
	while (!ibv_get_async_event(s->verbs, &ev)) {
		take_async(s, &ev);
		ibv_ack_async_event(&ev);
	}
	take_cm(s);
	for (i = 0; i < ENDS; i++)
		if (s->conns[i].id && s->conns[i].last)
			bury(s, &s->conns[i]);
	sched_yield();
}

/* Prints the state of all connections, because the test has timed out. */
static void tell_conns(struct server *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct conn *c;

	printf("# posted %u, completed %u, committed %u\n", atomic_load(&s->posted), s->completed,
	       s->committed);
	for (c = s->conns; c < s->conns + ENDS; c++) {
		if (!c->id)
			continue;
		if (ibv_query_qp(c->id->qp, &attr, IBV_QP_STATE, &init))
			attr.qp_state = IBV_QPS_UNKNOWN;
		printf("# connection %u, qpn %u, state %d: asked %u, got %u, flushed %u%s%s%s\n", c->serial,
		       c->id->qp->qp_num, attr.qp_state, c->asked, c->got, c->flushed, c->up ? ", up" : "",
		       c->broken ? ", broken" : "", c->last ? ", last" : "");
	}
}

void wait_for(struct server *s, bool (*is)(struct server *s), const char *what)
{
	struct patience p = {};

	/*
	 * no time limit until the client connects: only the test script knows when the client
	 * starts
	 */
	while (s->serial == 0 && !s->wrong[0])
		look(s);
	do
		look(s);
	while (!is(s) && !s->wrong[0] && patient(&p, 60, s->moved));
	if (is(s))
		return;
	if (!s->wrong[0])
		tell_conns(s);
	wrong(s, what, s->committed, s->completed);
}

bool usable(const struct conn *c)
{
	return c && c->id && c->up && !c->broken;
}

/* Return: a random usable connection, or NULL if there is none */
struct conn *some_conn(struct server *s)
{
	uint32_t first = below(ENDS), i;

	for (i = 0; i < ENDS; i++)
		if (usable(&s->conns[(first + i) % ENDS]))
			return &s->conns[(first + i) % ENDS];
	return NULL;
}

static bool one_usable(struct server *s)
{
	return some_conn(s);
}

/* Waits for a usable connection. Return: the connection, or NULL if the test has failed */
struct conn *one_conn(struct server *s)
{
	struct conn *c = some_conn(s);

	if (c)
		return c;
	wait_for(s, one_usable, "a connection");
	return some_conn(s);
}

/* Are all connections of the client established, and is no connection ending? */
bool all_up(struct server *s)
{
	int i, n = 0;

	for (i = 0; i < ENDS; i++) {
		if (s->conns[i].id && !usable(&s->conns[i]))
			return false;
		n += !!s->conns[i].id;
	}
	return n == CONNS;
}

/* Have all ordered messages arrived, and are all connections established? */
bool quiet(struct server *s)
{
	return !s->committed && all_up(s);
}

/* ---- orders for connections ---- */

void order(struct server *s, struct conn *c, enum order_op op, uint32_t count)
{
	struct order o = { .op = op, .serial = c ? c->serial : 0, .first = c ? c->asked : 0, .count = count };
	struct ibv_sge sge = { (uintptr_t)&o, sizeof(o), 0 };
	struct ibv_send_wr wr = { .wr_id = SEND_TAG, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE }, *bad;

	if (!c)
		return;
	/* if the send queue is full, the order is dropped; the caller sends other orders later */
	if (ibv_post_send(c->id->qp, &wr, &bad))
		return;
	c->asked += count;
	s->committed += count;
	if (op != ORDER_SEND)
		c->broken = true;
}

/* Puts this end into the error state, even in the middle of an incoming message. */
void break_conn(struct server *s, struct conn *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (!c)
		return;
	c->broken = true;
	if (ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE))
		wrong(s, "ibv_modify_qp", c->serial, errno);
}

static bool all_gone(struct server *s)
{
	int i;

	for (i = 0; i < ENDS; i++)
		if (s->conns[i].id)
			return false;
	return true;
}

void server_close(struct server *s)
{
	int i;

	wait_for(s, all_up, "connections before the end");
	for (i = 0; i < ENDS; i++)
		if (s->conns[i].id)
			order(s, &s->conns[i], ORDER_BYE, 0);
	wait_for(s, all_gone, "connections at the end");
	errno = ibv_destroy_srq(s->srq);
	if (errno)
		die("ibv_destroy_srq");
	ibv_dereg_mr(s->mr);
	rdma_destroy_id(s->listener);
	rdma_destroy_event_channel(s->events);
	if (ibv_destroy_cq(s->cq) || ibv_dealloc_pd(s->pd) || ibv_dealloc_pd(s->recv_pd))
		die("the end");
}
