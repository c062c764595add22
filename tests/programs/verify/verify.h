/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_verify: two processes transfer data over RDMA connections, one connection after the other,
 * and check the data.
 *
 * The client controls the test. It sends each test case over a TCP connection without RDMA, the
 * control channel. Then both sides run the case. The case IWT_CASE_CONNECT makes a new RDMA
 * connection. In a case with operations one side is the requester, which posts the operations,
 * and the other side is the responder. At the end of the case both sides exchange their verdicts:
 * whether the case has passed on this side, and if not, why.
 */
#ifndef IWT_VERIFY_H
#define IWT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define IWT_MAX_OPS	48	/* operations in one batch, with the last Send */
#define IWT_MAX_PIECES	16
#define IWT_GUARD	192	/* least bytes between buffers, filled with poison (a value) */
#define IWT_DEPTH	128	/* requests in the send queue, and in the receive queue */
#define IWT_ERRLEN	240

enum iwt_kind { IWT_SEND, IWT_SEND_INV, IWT_WRITE, IWT_READ,
		IWT_WRITE_IMM, IWT_SEND_IMM, IWT_FETCH_ADD, IWT_CMP_SWAP, IWT_KINDS };

/* Operations of RFC 7306, which some devices do not have. */
#define IWT_KINDS_7306	(1 << IWT_WRITE_IMM | 1 << IWT_SEND_IMM | 1 << IWT_FETCH_ADD | \
			 1 << IWT_CMP_SWAP)

enum iwt_op_flags {
	IWT_F_SIGNALED	= 1 << 0,
	IWT_F_SOLICITED	= 1 << 1,
	IWT_F_FENCE	= 1 << 2,
	IWT_F_INLINE	= 1 << 3,
};

struct iwt_piece {
	uint64_t off;		/* offset in the arena, the memory of the test */
	uint32_t len;
};

/* The buffer of one operation: pieces of memory, in the order of their addresses. */
struct iwt_buf {
	struct iwt_piece piece[IWT_MAX_PIECES];
	uint32_t n;
	uint32_t spare;		/* bytes of the last piece that the message does not fill */
};

struct iwt_op {
	uint8_t kind;
	uint8_t flags;
	uint32_t len;
	uint32_t msg;		/* number of the message: selects the pattern */
	struct iwt_buf loc;	/* requester's side */
	struct iwt_buf rem;	/* responder's side */
};

static inline bool iwt_is_atomic(uint8_t kind)
{
	return kind == IWT_FETCH_ADD || kind == IWT_CMP_SWAP;
}

/* Does the peer place the data in the buffer of a posted receive? */
static inline bool iwt_is_send(uint8_t kind)
{
	return kind == IWT_SEND || kind == IWT_SEND_INV || kind == IWT_SEND_IMM;
}

/* Does the operation consume a posted receive of the peer? */
static inline bool iwt_takes_recv(uint8_t kind)
{
	return iwt_is_send(kind) || kind == IWT_WRITE_IMM;
}

/* Does the responder return data? */
static inline bool iwt_is_fetch(uint8_t kind)
{
	return kind == IWT_READ || iwt_is_atomic(kind);
}

static inline bool iwt_has_imm(uint8_t kind)
{
	return kind == IWT_WRITE_IMM || kind == IWT_SEND_IMM;
}

struct iwt_plan {
	struct iwt_op op[IWT_MAX_OPS];
	uint32_t n;
	uint64_t loc_used, rem_used;
};

enum iwt_case_kind {
	IWT_CASE_BATCH,
	IWT_CASE_CONNECT,
	IWT_CASE_EVENTS,	/* arg: enum iwt_event_case */
	IWT_CASE_NEG,		/* arg: enum iwt_neg_case */
	IWT_CASE_QUIT,
};

enum iwt_size_set { IWT_SZ_SMALL, IWT_SZ_MSS, IWT_SZ_JUMBO, IWT_SZ_PAGE, IWT_SZ_64K,
		    IWT_SZ_1M, IWT_SZ_64M, IWT_SZ_DENSE, IWT_SZ_RANDOM, IWT_SIZE_SETS };

enum iwt_event_case {
	IWT_EV_UNSOLICITED,	/* armed for solicited: no event for an ordinary message */
	IWT_EV_SOLICITED,
	IWT_EV_ONCE,		/* one arm, one event */
	IWT_EV_SENDER,		/* the sender of a solicited message gets no event */
	IWT_EV_ERROR,		/* armed for solicited: an error raises an event */
	IWT_EV_MODERATED,	/* one event for several completions, or after a period */
	IWT_EV_MANY,		/* one arm, one event, many times */
	IWT_EV_BACKLOG,		/* completions left in an armed queue raise an event */
	IWT_EV_CASES,
};

enum iwt_neg_case {
	IWT_NEG_WRITE_RIGHTS, IWT_NEG_READ_RIGHTS,
	IWT_NEG_WRITE_RKEY, IWT_NEG_READ_RKEY,
	IWT_NEG_WRITE_BOUNDS, IWT_NEG_READ_BOUNDS,
	IWT_NEG_WRITE_PD, IWT_NEG_READ_PD,
	IWT_NEG_WRITE_DEREG, IWT_NEG_READ_DEREG,
	IWT_NEG_ATOMIC_RIGHTS, IWT_NEG_ATOMIC_RKEY, IWT_NEG_ATOMIC_BOUNDS, IWT_NEG_ATOMIC_PD,
	IWT_NEG_ATOMIC_DEREG, IWT_NEG_ATOMIC_ALIGN,
	IWT_NEG_ATOMIC_UNKNOWN, IWT_NEG_IMM_UNKNOWN,	/* the peer does not know the operation */
	IWT_NEG_INV_USER,	/* the peer may not invalidate a plain region */
	IWT_NEG_SEND_LONG, IWT_NEG_NO_RECV, IWT_NEG_IMM_NO_RECV,
	IWT_NEG_LKEY, IWT_NEG_LKEY_LATER, IWT_NEG_LOCAL_BOUNDS, IWT_NEG_SINK_RIGHTS, IWT_NEG_RECV_RIGHTS,
	IWT_NEG_FLUSH, IWT_NEG_CLOSE,
	IWT_NEG_CASES,
};

/*
 * The client sends this structure to start a case. Both sides derive all operations of the case
 * from it.
 */
struct iwt_case {
	uint32_t kind;
	uint32_t arg;
	uint32_t from_server;	/* bool: the server is the requester */
	uint32_t ops;		/* mask of 1 << enum iwt_kind */
	uint32_t sizes;		/* enum iwt_size_set */
	uint32_t part;		/* index of a part of the size set: each part is one batch */
	uint32_t sge;		/* maximum number of pieces of a buffer */
	uint32_t flags;		/* mask of iwt_op_flags that may occur */
	uint32_t seed;
	uint32_t msg;		/* number of the first message */
	uint32_t max_inline;
	uint32_t tame;		/* bool: avoid what siw does not support, such as empty pieces */
	uint64_t max_size;
	/* IWT_CASE_CONNECT */
	uint32_t use_events, use_wr, sig_all, one_cq, conn_no;
};

struct iwt_opts {
	bool server;
	const char *addr;
	int port;
	uint64_t max_size;
	int timeout;		/* seconds of one wait; 3 times as long for the peer's answer */
	int rounds;
	bool peer_siw, local_siw;
	bool full;
	bool no_neg, no_events, no_wr, brief;
	uint32_t ops;
	bool corrupt;		/* change a byte in each batch of this side, so that it fails */
	uint32_t seed;
};

struct iwt_conn {
	struct rdma_cm_id *id;
	struct ibv_comp_channel *chan;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	bool use_events, use_wr, one_cq, sig_all;
	uint32_t max_inline;
	bool disconnected;
};

struct iwt_ctx {
	struct iwt_opts o;
	int ctl;
	bool ctl_dead, peer_failed;
	struct rdma_event_channel *ec;
	struct rdma_cm_id *listen;
	struct iwt_conn c;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	uint8_t *arena;		/* page aligned */
	uint64_t arena_len;
	int arena_fd;		/* file of the client's arena; -1: none */
	struct ibv_mr *mr;
	/* maximum number of elements, of an ordinary buffer and of the sink of a Read */
	uint32_t dev_sge, dev_sge_rd;	/* allowed by the local device */
	uint32_t max_sge, sge_rd;	/* allowed by both devices */
	char err[IWT_ERRLEN];
	char peer_err[IWT_ERRLEN];
};

struct iwt_sync {
	uint64_t addr;
	uint32_t rkey[IWT_MAX_OPS];
	uint32_t val;
};

/* Records why the case has failed; only the first reason is kept. Return: -1 */
int iwt_fail(struct iwt_ctx *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ctl.c: the control channel */
int iwt_ctl_open(struct iwt_ctx *cx);
int iwt_ctl_send_case(struct iwt_ctx *cx, const struct iwt_case *k);
int iwt_ctl_recv_case(struct iwt_ctx *cx, struct iwt_case *k);
int iwt_sync(struct iwt_ctx *cx, const struct iwt_sync *mine, struct iwt_sync *theirs);
int iwt_verdict(struct iwt_ctx *cx, int rc);
bool iwt_peer_gave_up(struct iwt_ctx *cx);

/* plan.c: functions without state: the same arguments give the same result */
void iwt_plan_make(struct iwt_plan *p, const struct iwt_case *k, uint32_t max_sge,
		   uint32_t sge_rd, uint32_t *parts);
void iwt_fill(uint8_t *arena, const struct iwt_plan *p, bool requester);
int iwt_check(const uint8_t *arena, const struct iwt_plan *p, bool requester, char *err);
uint32_t iwt_imm_of(const struct iwt_op *op);
uint64_t iwt_operand_of(const struct iwt_op *op);
uint64_t iwt_compare_of(const struct iwt_op *op);
void iwt_pattern(uint8_t *dst, uint32_t msg, uint64_t off, uint32_t len);
void iwt_poison(uint8_t *dst, uint64_t len);
bool iwt_is_poison(const uint8_t *p, uint64_t len, uint64_t *where);

/* pages.c: the memory of the test */
int iwt_arena_make(struct iwt_ctx *cx);
int iwt_arena_drop(struct iwt_ctx *cx);

/* conn.c */
int iwt_listen(struct iwt_ctx *cx);
int iwt_connect(struct iwt_ctx *cx, const struct iwt_case *k);
void iwt_disconnect(struct iwt_ctx *cx);
int iwt_cm_wait(struct iwt_ctx *cx, struct rdma_cm_id *id, enum rdma_cm_event_type want,
		struct rdma_cm_event **evp);
int iwt_wait_disconnected(struct iwt_ctx *cx);
int iwt_let_go(struct iwt_ctx *cx);
const char *iwt_device(struct iwt_ctx *cx);

/* post.c: posting and completions */
int iwt_post_send(struct iwt_ctx *cx, const struct iwt_plan *p, const struct iwt_sync *to,
		  bool tame);
int iwt_post_recv(struct iwt_ctx *cx, uint64_t wr_id, const struct iwt_buf *b);
int iwt_post_one(struct iwt_ctx *cx, struct ibv_send_wr *wr);
int iwt_poll(struct iwt_ctx *cx, struct ibv_cq *cq, struct ibv_wc *wc);
int iwt_poll_events(struct iwt_ctx *cx, struct ibv_cq *cq, struct ibv_wc *wc);
int iwt_channel_ready(struct iwt_ctx *cx, int ms);
double iwt_now(void);

/* The functions that run a case return 0, or -1 after iwt_fail(). */
int iwt_batch_run(struct iwt_ctx *cx, const struct iwt_case *k, bool requester);
int iwt_events_run(struct iwt_ctx *cx, const struct iwt_case *k, bool requester);
int iwt_neg_run(struct iwt_ctx *cx, const struct iwt_case *k, bool requester);
const char *iwt_event_name(uint32_t which);
const char *iwt_neg_name(uint32_t which);

#endif
