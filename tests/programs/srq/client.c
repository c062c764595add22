// SPDX-License-Identifier: GPL-2.0
/* iwt_srq: the client. Each connection has a thread, which executes the orders of the server. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_verbs.h>

#include "patience.h"
#include "srq.h"

#define BUFS	16
#define ORDERS	64

struct caller {
	const char *address;
	struct rdma_cm_id *id;
	struct ibv_mr *mr, *order_mr;
	uint8_t *buf;		/* buffers for BUFS messages */
	struct order *orders;
};

static int dial(struct caller *c)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *ai;
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					 .cap = { BUFS, ORDERS, 1, 1, 0 } };
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	int i;

	if (rdma_getaddrinfo(c->address, PORT, &hints, &ai))
		return -1;
	if (rdma_create_ep(&c->id, ai, NULL, &attr)) {
		rdma_freeaddrinfo(ai);
		c->id = NULL;
		return -1;
	}
	rdma_freeaddrinfo(ai);
	c->mr = rdma_reg_msgs(c->id, c->buf, BUFS * MSG_MAX);
	c->order_mr = rdma_reg_msgs(c->id, c->orders, ORDERS * sizeof(*c->orders));
	if (!c->mr || !c->order_mr)
		die("client: rdma_reg_msgs");
	for (i = 0; i < ORDERS; i++)
		if (rdma_post_recv(c->id, &c->orders[i], &c->orders[i], sizeof(*c->orders),
				   c->order_mr))
			die("client: rdma_post_recv");
	return rdma_connect(c->id, &param);
}

static void hang_up(struct caller *c)
{
	if (!c->id)
		return;
	rdma_disconnect(c->id);
	if (c->mr)
		rdma_dereg_mr(c->mr);
	if (c->order_mr)
		rdma_dereg_mr(c->order_mr);
	rdma_destroy_ep(c->id);
	c->id = NULL;
	c->mr = NULL;
	c->order_mr = NULL;
}

static int post(struct caller *c, int buf, uint32_t serial, uint32_t number, uint32_t len)
{
	uint32_t seed = message_seed(serial, number), i;
	uint8_t *at = c->buf + buf * MSG_MAX;

	for (i = 0; i < len; i++)
		at[i] = message_octet(seed, i);
	return rdma_post_send(c->id, NULL, at, len, c->mr, 0);
}

/* Waits for @n completions of Sends. Return: 0, or -1 if the connection has ended */
static int reap(struct caller *c, uint32_t n)
{
	struct ibv_wc wc;

	while (n--)
		if (rdma_get_send_comp(c->id, &wc) != 1 || wc.status)
			return -1;
	return 0;
}

static int send_messages(struct caller *c, const struct order *o)
{
	uint32_t i, n = 0;

	for (i = 0; i < o->count; i++) {
		uint32_t number = o->first + i;

		if (post(c, n, o->serial, number, message_len(o->serial, number)))
			return -1;
		if (++n == BUFS) {
			if (reap(c, n))
				return -1;
			n = 0;
		}
	}
	return reap(c, n);
}

/* Resets the connection while long messages are in flight. Return: -1 (it has ended) */
static int break_off(struct caller *c, const struct order *o)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	uint32_t i;

	/* the server has receives for the ordered messages only: post no other messages */
	for (i = 0; i < o->count; i++)
		if (post(c, i, o->serial, o->first + i, MSG_MAX))
			return -1;
	ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE);
	return -1;
}

/*
 * Waits for an order and executes it. Return: 0, 1 if the server does not need this connection
 * any more, or -1 if the connection has ended
 */
static int obey(struct caller *c)
{
	struct order o, *at;
	struct ibv_wc wc;

	if (rdma_get_recv_comp(c->id, &wc) != 1 || wc.status)
		return -1;
	at = (struct order *)(uintptr_t)wc.wr_id;
	o = *at;
	if (rdma_post_recv(c->id, at, at, sizeof(*at), c->order_mr))
		return -1;
	switch (o.op) {
	case ORDER_SEND:
		return send_messages(c, &o);
	case ORDER_BREAK:
		return break_off(c, &o);
	case ORDER_BYE:
		return 1;
	}
	return -1;
}

static void *call(void *arg)
{
	struct caller c = { .address = arg };
	struct patience p = {};
	int ret = -1;

	c.buf = malloc(BUFS * MSG_MAX);
	c.orders = calloc(ORDERS, sizeof(*c.orders));
	if (!c.buf || !c.orders)
		die("client: memory");
	while (ret != 1) {
		if (dial(&c)) {
			hang_up(&c);
			if (!patient(&p, 60, 0))
				die("client: no connection");
			usleep(10000);
			continue;
		}
		p = (struct patience) {};
		do
			ret = obey(&c);
		while (!ret);
		hang_up(&c);
	}
	free(c.buf);
	free(c.orders);
	return NULL;
}

int client(const char *address)
{
	pthread_t threads[CONNS];
	int i;

	for (i = 0; i < CONNS; i++)
		if (pthread_create(&threads[i], NULL, call, (void *)address))
			die("client: pthread_create");
	for (i = 0; i < CONNS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
