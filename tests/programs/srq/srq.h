/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_srq: a server whose queue pairs share a receive queue, and a client that sends what the
 * server asks for. Each message says in each of its octets which one it is.
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
#define ENDS		(3 * CONNS)	/* also of connections that end */
#define MSG_MAX		9000	/* octets of the longest message */
#define SLOTS		1024	/* receives that there are */
#define PIECES		3	/* of a receive, with gaps */
#define GAP		16
#define SLOT		(MSG_MAX + PIECES * GAP)
#define PORT		"7478"

enum order_op {
	ORDER_SEND,	/* @count messages */
	ORDER_BREAK,	/* these, and then an end in the middle of one */
	ORDER_BYE,
};

/* What the server wants of a client's connection. */
struct order {
	uint32_t op;
	uint32_t serial;	/* of the connection */
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

/* Mostly short, sometimes nothing, sometimes long */
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
	uint32_t asked;		/* messages that the client was asked for */
	uint32_t got;		/* and that were received */
	uint32_t flushed;	/* receives that came back empty */
	bool up;		/* it is connected */
	bool broken;		/* its end is on the way */
	bool last;		/* IBV_EVENT_QP_LAST_WQE_REACHED */
};

struct server {
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct ibv_context *verbs;
	struct ibv_pd *pd;	/* of the queue pairs */
	struct ibv_pd *recv_pd;	/* of the shared queue and its memory */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	uint32_t size;		/* of the shared queue */
	struct ibv_mr *mr;
	uint8_t *arena;
	struct conn conns[ENDS];
	uint32_t serial;
	uint32_t committed;	/* receives that messages under way may take */
	uint32_t completed;	/* receives that came back */
	uint32_t limits;	/* IBV_EVENT_SRQ_LIMIT_REACHED */
	uint32_t limits_before;	/* how many there were when one more was asked for */
	uint64_t moved;		/* completions and events of all kinds */
	uint32_t errors;	/* IBV_EVENT_SRQ_ERR */
	uint32_t fatal;		/* events of errors of queue pairs */
	uint32_t limit;		/* that was set last */
	bool in_order;		/* receives come back in the order of their posting */
	uint32_t next;		/* place in the order of posting */
	char wrong[200];

	/* the posting threads */
	pthread_mutex_t lock;	/* guards the next two */
	uint16_t free[SLOTS];
	uint32_t n_free;
	atomic_uint posted;
	atomic_bool pause;
	atomic_int paused;
	atomic_bool stop;
	uint16_t order[SLOTS];	/* slots in the order of their posting, by one thread */
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
