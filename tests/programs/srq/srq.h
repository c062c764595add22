/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_srq: a server whose queue pairs share a receive queue, and a client that sends the messages
 * that the server orders. Each byte of a message depends on the number of its connection (serial)
 * and on the number of the message.
 */
#ifndef SRQ_H
#define SRQ_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#include "random.h"
#include "results.h"

#define CONNS		6
#define ENDS		(3 * CONNS)	/* most connections, including ending connections */
#define MSG_MAX		9000	/* bytes of the longest message */
#define SLOTS		1024	/* receive buffers; the wr_id of a receive is its slot */
#define PIECES		3	/* elements of a receive, with gaps between them */
#define GAP		16
#define SLOT		(MSG_MAX + PIECES * GAP)
#define PORT		"7478"

enum order_op {
	ORDER_SEND,	/* send @count messages */
	ORDER_BREAK,	/* send @count long messages, and reset the connection meanwhile */
	ORDER_BYE,	/* end the connection, and do not connect again */
};

/* A command of the server to a connection of the client */
struct order {
	uint32_t op;
	uint32_t serial;	/* number of the connection */
	uint32_t first;		/* number of the first message */
	uint32_t count;
};

static inline uint32_t message_seed(uint32_t serial, uint32_t number)
{
	uint32_t x = serial * 0x9e3779b1u + number * 0x85ebca6bu + 1;

	x ^= x >> 15;
	x *= 0x2c1b3c6du;
	return x ^ x >> 12;
}

/* Return: the length of a message in bytes: usually short, sometimes zero, sometimes long */
static inline uint32_t message_len(uint32_t serial, uint32_t number)
{
	uint32_t x = message_seed(serial, number);

	return x % 16 == 0 ? 0 : x % 16 < 4 ? x / 16 % (MSG_MAX + 1) : x / 16 % 200;
}

static inline uint8_t message_octet(uint32_t seed, uint32_t at)
{
	return (seed >> at % 4 * 8) + at + (at >> 8);
}

struct conn {
	struct rdma_cm_id *id;
	uint32_t serial;
	uint32_t asked;		/* messages that the server has ordered */
	uint32_t got;		/* messages that have arrived */
	uint32_t flushed;	/* receives that have been flushed */
	bool up;		/* the connection is established */
	bool broken;		/* the connection is ending */
	bool last;		/* IBV_EVENT_QP_LAST_WQE_REACHED has been read */
};

struct server {
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct ibv_context *verbs;
	struct ibv_pd *pd;	/* domain of the queue pairs */
	struct ibv_pd *recv_pd;	/* domain of the shared queue and its memory */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	uint32_t size;		/* max_wr of the shared queue */
	struct ibv_mr *mr;
	uint8_t *arena;
	struct conn conns[ENDS];
	uint32_t serial;
	uint32_t committed;	/* ordered messages that may still arrive and use a receive */
	uint32_t completed;	/* receives that have completed */
	uint32_t limits;	/* number of IBV_EVENT_SRQ_LIMIT_REACHED */
	uint32_t limits_before;	/* value of @limits before the test set a limit */
	uint64_t moved;		/* number of completions and events of all kinds */
	uint32_t errors;	/* number of IBV_EVENT_SRQ_ERR */
	uint32_t fatal;		/* number of error events of queue pairs */
	uint32_t limit;		/* the limit that was set last */
	bool in_order;		/* check that receives complete in the order of posting */
	uint32_t next;		/* index in @order of the receive that completes next */
	char wrong[200];

	/* the posting threads */
	pthread_mutex_t lock;	/* guards @free and @n_free */
	uint16_t free[SLOTS];
	uint32_t n_free;
	atomic_uint posted;
	atomic_bool pause;
	atomic_int paused;
	atomic_bool stop;
	uint16_t order[SLOTS];	/* slots in the order of posting, if one thread posts */
};

/* main.c */
void conclude(struct server *s, const char *what);
void wrong(struct server *s, const char *what, uint64_t a, uint64_t b);

/* client.c */
int client(const char *address);

/* server.c */
void server_open(struct server *s, const char *address);
void server_close(struct server *s);
void look(struct server *s);
void wait_for(struct server *s, bool (*is)(struct server *s), const char *what);
struct conn *some_conn(struct server *s);
struct conn *one_conn(struct server *s);
bool usable(const struct conn *c);
bool all_up(struct server *s);
bool quiet(struct server *s);
void order(struct server *s, struct conn *c, enum order_op op, uint32_t count);
void break_conn(struct server *s, struct conn *c);
int post_slots(struct server *s, uint16_t *slots, uint32_t n, uint32_t *done);
uint32_t take_free(struct server *s, uint16_t *slots, uint32_t max);
void give_free(struct server *s, const uint16_t *slots, uint32_t n);

/* tests.c */
void test_refusals(struct server *s);
void test_random(struct server *s, uint32_t rounds);
void test_limit(struct server *s, uint32_t rounds);
void test_resize(struct server *s, uint32_t rounds);
void test_empty(struct server *s);
void test_corrupt(struct server *s);

/* ends.c */
void test_ends(struct server *s, uint32_t rounds);

#endif
