/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_bench: measures a server and a client in one mode per run. Both have the same options,
 * except -s, -c, -I and -i. The program works with any RDMA device. Both ends have the same
 * layout of memory (offset and contents):
 *
 *	0		the number of messages that the peer has sent; in mode "still", one byte
 *			that the peer writes
 *	8		the word that the peer's atomic operations change
 *	16		the number of messages that this end has sent
 *	24		the time at which the peer's first message is due (flow with -g)
 *	32		the time at which this end's first message is due
 *	BENCH_CTL	slots (buffers of one message) that this end sends from, then the same
 *			number of slots that the peer writes to
 *
 * Queue pairs share at most BENCH_SLOTS slots of each kind, so that a thousand queue pairs use no
 * more memory, and have no more cache misses, than eight queue pairs.
 *
 * An "end" is a Send without data, which follows the last message of a phase. A phase is the
 * warm-up or the measurement. A "credit" is a Send of one byte: the sender has posted rx_depth /
 * 4 receives again, so the peer may send rx_depth / 4 more messages.
 */
#ifndef BENCH_H
#define BENCH_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>

#include "bench_base.h"

#define BENCH_CTL	4096
#define BENCH_SLOTS	8
#define BENCH_SPARE	16	/* work requests for ends and credits, besides data */
#define BENCH_INLINE	64

enum bench_mode { BENCH_FLOW, BENCH_LAT, BENCH_CONN, BENCH_MEM, BENCH_STILL };
enum bench_op { BENCH_WRITE, BENCH_READ, BENCH_SEND, BENCH_ATOMIC };

struct bench_opts {
	enum bench_mode mode;
	enum bench_op op;
	const char *addr;	/* address of the server, at both ends */
	const char *port;
	bool server;
	bool bidir;
	bool srq;		/* the queue pairs share their receives */
	bool odp;		/* memory is registered for on-demand paging */
	bool events;		/* sleep instead of polling */
	bool idle;		/* report the idle time of the processors */
	uint32_t size;
	unsigned int qps;	/* queue pairs, or connections under way (BENCH_CONN) */
	unsigned int depth;
	unsigned int ms;	/* duration in milliseconds, if count is 0 */
	uint64_t count;		/* number of messages to measure, or 0 */
	uint64_t warm;		/* number of messages before the measurement */
	unsigned int gap;	/* a flow has one message every @gap microseconds, if not 0 */
};

struct bench_conn {
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	uint64_t raddr;
	uint32_t rkey;
	unsigned int index;
	unsigned int inflight;		/* work requests in the send queue */
	unsigned int unsignalled;	/* work requests since the last signalled work request */
	unsigned int credit;		/* messages that the peer can still receive */
	unsigned int consumed;		/* receives used since the last credit to the peer */
	uint64_t posted;		/* messages posted in this phase */
};

struct bench {
	struct bench_opts o;
	struct addrinfo *addr;		/* address of the server */
	struct rdma_event_channel *ec;
	struct rdma_cm_id *listener;
	struct ibv_pd *pd;
	struct ibv_comp_channel *cc;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	char *buf;
	size_t slot;			/* distance between slots, in bytes */
	unsigned int slots;		/* number of slots of each kind */
	unsigned int every;		/* one of @every work requests is signalled */
	unsigned int rx_depth;
	uint8_t reads_in;		/* Reads that the peer may have in flight */
	uint8_t reads_out;		/* Reads that this end may have in flight */
	struct bench_conn *conn;
	unsigned int established;
	unsigned int accepted;
	unsigned int ended;		/* ends received in this phase */
	bool posting;			/* pump() posts messages until bench_stop is set */
	uint64_t *arrival;		/* times at which messages arrived, in a flow with a gap */
	uint64_t arrived;		/* number of messages that have arrived in this phase */
};

/* A failure in any function below ends the program. */

/* main.c */
void bench_wc(const struct ibv_wc *wc);

/* conn.c */
void bench_resources(struct bench *b, struct ibv_context *verbs);
void bench_qp(struct bench *b, struct rdma_cm_id *id);
void bench_param(struct bench *b, struct rdma_conn_param *p, void *hello);
void bench_listen(struct bench *b);
void bench_serve(struct bench *b);
void bench_connect(struct bench *b, unsigned int upto);
void bench_leave(struct bench *b);
struct rdma_cm_id *bench_resolve(struct bench *b);

/* post.c */
void *bench_src(struct bench *b, unsigned int index);
size_t bench_sink(struct bench *b, unsigned int index);
void bench_recv(struct bench *b, struct bench_conn *c);
struct bench_conn *bench_conn_of(struct bench *b, const struct ibv_wc *wc);
void bench_data(struct bench *b, struct bench_conn *c, bool signal);
void bench_tell(struct bench *b, struct bench_conn *c, uint32_t len);
void bench_put(struct bench *b, struct bench_conn *c, unsigned char value);
void bench_report(struct bench *b, struct bench_conn *c, uint64_t messages);
void bench_due(struct bench *b, struct bench_conn *c, uint64_t ns);
void bench_retire(struct bench *b, const struct ibv_wc *wc);

/* flow.c */
void bench_flow(struct bench *b, struct bench_result *r);
void bench_progress(struct bench *b, bool sleep);

/* pace.c */
uint64_t bench_paced(struct bench *b, uint64_t count);
void bench_delays(struct bench *b, struct bench_result *r);

/* lat.c, setup.c, mem.c, still.c */
void bench_lat(struct bench *b, struct bench_result *r);
void bench_setup(struct bench *b, struct bench_result *r);
void bench_mem(struct bench *b, struct bench_result *r);
void bench_still(struct bench *b, struct bench_result *r);

#endif
