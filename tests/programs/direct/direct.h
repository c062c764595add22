/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_direct: tests direct connections, which need no rdma_cm. One process has both ends of each
 * connection, on two links.
 */
#ifndef DIRECT_H
#define DIRECT_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "cm.h"
#include "patience.h"
#include "random.h"
#include "results.h"

#define DEPTH		32
#define BUFFER		4096

/*
 * A link of the test, with memory that all queue pairs of the link use. @net: descriptor of the
 * network namespace in which the program must change queue pairs of the link to RTR; -1: the
 * namespace of the program.
 */
struct side {
	const char *name;
	int net;
	int gid_index;
	union ibv_gid gid;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	uint8_t *mem;
	struct ibv_mr *mr;
};

/*
 * A queue pair. Its receives use the first half of the memory of the link, and its requests the
 * second half.
 */
struct end {
	struct side *side;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	uint32_t psn;
	int access;
};

/*
 * How a queue pair connects: its attributes, and mistakes that a test makes on purpose.
 * @wrong_qpn, @wrong_psn: values that are added to the queue pair number and the PSN of the peer
 * @wrong_gid: the GID of the peer is changed
 */
struct how {
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t rd_atomic;
	uint32_t wrong_qpn, wrong_psn;
	bool wrong_gid;
};

extern const struct how usual;
extern struct side a, b;

/* end.c */
/* Return: a descriptor of a network namespace. */
int net_open(const char *path);
void side_open(struct side *s, const char *name, int net, int gid_index);
void side_close(struct side *s);
void end_make(struct end *e, struct side *s);
/* As end_make(), with the shared receive queue @srq, or without one if @srq is NULL. */
void end_make_srq(struct end *e, struct side *s, struct ibv_srq *srq);
/* As end_make(). @sig_all: all requests are signaled. */
void end_make_signaled(struct end *e, struct side *s, bool sig_all);
struct ibv_srq *srq_make(struct side *s);
void end_drop(struct end *e);
/* These functions return 0 or an errno value. */
int to_init(struct end *e);
int to_rtr(struct end *e, const struct end *peer, const struct how *how);
int to_rts(struct end *e, const struct how *how);
int to_state(struct end *e, enum ibv_qp_state state);
/* Changes @e from RESET to RTS, and does not wait for the connection. */
int connect_end(struct end *e, const struct end *peer, const struct how *how);
/* Return: the state that ibv_query_qp() returns. */
enum ibv_qp_state state_of(struct end *e);

/* Functions that post return 0 or an errno value. */
int post_recv(struct end *e, uint64_t wr_id);
/* As post_recv(), but the buffer is too short for the message of a Send. */
int post_short_recv(struct end *e, uint64_t wr_id);
/* As post_op(), with IBV_SEND_SIGNALED. */
int post_signaled(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, const struct end *peer);
/*
 * Posts a request of BUFFER bytes (atomic operation: 8) that accesses the first half of @peer's
 * memory.
 */
int post_op(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, const struct end *peer);
/*
 * Waits for the next completion. Return: its status; -1 after @seconds without a completion, or
 * if the completion has another wr_id.
 */
int status_of(struct end *e, uint64_t wr_id, unsigned int seconds);
/* Waits for the next completion. Return: true if it has @wr_id and the status @want. */
bool ends(struct end *e, uint64_t wr_id, int want);
/*
 * Return: true if @e has no completion for @ms milliseconds. Otherwise consumes one completion.
 */
bool quiet(struct end *e, unsigned int ms);
/* Sends one message in each direction. Return: true if both complete and the data are right. */
bool talk(struct end *x, struct end *y);
/* Fills the memory of requests of @e with @seed. */
void fill_tx(struct end *e, uint8_t seed);
/* Return: true if all bytes of the memory of receives of @e are @seed. */
bool arrived(struct end *e, uint8_t seed);

/* the tests */
void test_basics(void);
void test_attributes(void);
void test_refusals(void);
void test_late(void);
void test_wrong(void);
void test_leave(void);
void test_reset(void);
void test_named(void);
void test_receives(void);
void test_rings(void);
void test_limits(void);
void test_errors(void);
void test_confirm(void);
void test_reads(void);
void test_wait(void);
void test_stay(void);
void test_alone(uint32_t pairs);
void test_calling(uint32_t n);
void test_restless(uint32_t n);
void test_die(void);
void test_many(uint32_t n);
void test_churn(uint32_t rounds);

#endif
