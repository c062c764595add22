/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel consumer that tests RDMA devices: declarations that the files share. The cases run in
 * the process that writes to the file "run" (main.c). Completion handlers, handlers of events,
 * and the timers and threads that a case starts run in their own contexts.
 */
#ifndef IWT_KT_H
#define IWT_KT_H

#include <linux/in.h>
#include <linux/scatterlist.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define KT_BUF		(256 * 1024)	/* bytes of an end's buffer */
#define KT_WRS		128		/* work requests of a queue */
#define KT_LOG		1024		/* completions in the log of a queue */
#define KT_SGES		6
#define KT_INLINE	256
#define KT_PAGES	8		/* pages of a fast registration */
#define KT_GUARD	0xa5		/* value of bytes that must not change */
#define KT_PORT		7473
/* Time limit in jiffies for events that must happen; no test depends on the value. */
#define KT_PATIENCE	(60 * HZ)
/*
 * Timeout of rdma_resolve_addr() and rdma_resolve_route(). This time is long, because jiffies
 * jump when a virtual machine's processor was stopped for some time.
 */
#define KT_RESOLVE_MS	30000

/*
 * How completion queues are polled: by RDMA core (enum ib_poll_context), or by the completion
 * handler of this module.
 */
enum kt_mode {
	KT_DIRECT,
	KT_SOFTIRQ,
	KT_WORKQUEUE,
	KT_UNBOUND,
	KT_HANDLER,
	KT_MODES,
};

enum kt_queue { KT_SEND, KT_RECV, KT_QUEUES };

struct kt_end;

/* Work request number @n of queue @queue. The first work request has number 0. */
struct kt_wr {
	struct ib_cqe cqe;
	struct kt_end *end;
	enum kt_queue queue;
	u32 n;
};

/*
 * A completion in the log of a queue. The log contains the completions in the order of arrival.
 * @n: number of the work request
 * @inv: invalidated key or immediate data
 */
struct kt_comp {
	u32 n;
	enum ib_wc_status status;
	enum ib_wc_opcode opcode;
	u32 byte_len;
	int flags;
	u32 inv;
	struct ib_qp *qp;
};

/**
 * struct kt_end - one end of a connection
 * @conn: connection
 * @other_pd: protection domain that the queue pair does not use
 * @failed: error of an rdma_cm event, or 0
 * @qp_fatal: the queue pair has reported IB_EVENT_QP_FATAL
 * @srq: shared receive queue that the queue pair uses, or NULL
 * @last_wqe: the queue pair has reported IB_EVENT_QP_LAST_WQE_REACHED
 * @limits: number of events IB_EVENT_SRQ_LIMIT_REACHED of @srq
 * @cq_err: the completion queue has reported IB_EVENT_CQ_ERR (%KT_HANDLER only)
 * @lock: protects @posted and the log
 * @posted: number of work requests of each queue
 * @logged: number of completions of each queue
 * @processing: bit 0: iwt_kt_process() runs
 * @disorder: a completion arrived before the completion of an earlier work request
 * @armed: with %KT_HANDLER: the handler requests the next event after each event
 * @handlers: number of handlers that run now
 * @overlapped: two handlers ran at the same time
 * @events: number of calls of the handler
 * @poster: task that calls verbs with bottom halves off, or NULL
 * @reentered: a verb that @poster called has called the handler
 * @on_done: called for each completion, may be NULL
 * @budget: number of messages that @on_done may still send
 * @post_err: first error of a post outside the case's own function, or 0
 */
struct kt_end {
	struct kt_conn *conn;
	struct rdma_cm_id *id;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_pd *other_pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_srq *srq;
	u8 *buf;
	u64 dma;

	bool resolved;
	bool routed;
	bool established;
	bool disconnected;
	bool private_ok;
	bool qp_fatal;
	bool cq_err;
	bool last_wqe;
	atomic_t limits;
	int failed;

	spinlock_t lock;
	struct kt_wr wr[KT_QUEUES][KT_LOG];
	struct kt_comp log[KT_QUEUES][KT_LOG];
	u32 posted[KT_QUEUES];
	u32 logged[KT_QUEUES];
	bool disorder;
	unsigned long processing;

	bool armed;
	atomic_t handlers;
	bool overlapped;
	atomic_t events;
	struct task_struct *poster;
	bool reentered;
	void (*on_done)(struct kt_end *e, enum kt_queue q, const struct ib_wc *wc);
	u32 budget;
	int post_err;
};

/**
 * struct kt_conn - a connection within this kernel
 * @run: addresses and namespaces
 * @c: the end that connects
 * @s: the end that accepts
 * @o: an end with one more rdma_cm_id, in cases that create it
 * @name: 0, or the queue pair number that the server passes to rdma_accept(), with an rdma_cm_id
 *	that has no queue pair
 * @named: result of rdma_accept() with @name: 1 for success, an error, or 0 before the call
 * @shared: the server's end uses a shared receive queue
 * @wants_removal: the case tests the removal of the client's device
 * @removing: the removal has begun, and waits until @dial_late is set
 * @dial_late: result of connecting during the removal: 1 for success, or an error
 * @stuck: a thread of the case does not end, so the connection must not be freed
 * @why: description of the first failure
 */
struct kt_conn {
	struct kt_run *run;
	enum kt_mode mode;
	struct rdma_cm_id *listener;
	wait_queue_head_t wait;
	struct kt_end c;
	struct kt_end s;
	struct kt_end o;
	u32 name;
	int named;
	int dial_late;
	bool shared;
	bool wants_removal;
	bool removing;
	bool stuck;
	char why[200];
};

struct kt_run {
	struct net *net[2];
	struct sockaddr_in addr[2];
	enum kt_mode mode;
};

/* A fast registration of the pages @page */
struct kt_mr {
	struct kt_end *end;
	struct ib_mr *mr;
	struct page *page[KT_PAGES];
	struct scatterlist sg[KT_PAGES];
	u32 start;	/* bytes skipped in the first page */
	u32 len;
};

/**
 * struct kt_case - a test case
 * @name: name in the result line
 * @fn: receives a new connection; returns 0 for success
 * @modes: bit mask of the modes to run the case in, 0 for all
 * @idle: the case gets a client with a queue pair, which is not connected; no server's end exists
 */
struct kt_case {
	const char *name;
	int (*fn)(struct kt_conn *c);
	unsigned int modes;
	bool idle;
};

extern const struct kt_case iwt_kt_data[];
extern const struct kt_case iwt_kt_inval[];
extern const struct kt_case iwt_kt_gaps[];
extern const struct kt_case iwt_kt_errors[];
extern const struct kt_case iwt_kt_local[];
extern const struct kt_case iwt_kt_drain[];
extern const struct kt_case iwt_kt_context[];
extern const struct kt_case iwt_kt_ext[];
extern const struct kt_case iwt_kt_resize[];
extern const struct kt_case iwt_kt_global[];
extern const struct kt_case iwt_kt_owner[];
extern const struct kt_case iwt_kt_named[];
extern const struct kt_case iwt_kt_moved[];
extern const struct kt_case iwt_kt_srq[];
extern const struct kt_case iwt_kt_locked[];

/*
 * iwt_kt_fail() records the first failure of a case. Return: -EIO. kt_bad() does the same if @bad
 * is true; otherwise its value is 0.
 */
__printf(3, 4) int iwt_kt_fail(struct kt_conn *c, int line, const char *fmt, ...);
#define kt_bad(c, bad, ...) \
	((bad) ? iwt_kt_fail(c, __LINE__, __VA_ARGS__) : 0)

/* conn.c */
struct kt_conn *iwt_kt_open(struct kt_run *run, bool idle, char *why);
void iwt_kt_close(struct kt_conn *c);
int iwt_kt_make_end(struct kt_end *e);
int iwt_kt_establish(struct kt_conn *c);
int iwt_kt_resolve_other(struct kt_conn *c, int side);
int iwt_kt_wait_flag(struct kt_conn *c, const bool *flag);
struct kt_end *iwt_kt_peer(struct kt_end *e);

/* owner.c */
void iwt_kt_go(void);
int iwt_kt_wait_go(void);

/* moved.c */
void iwt_kt_removal(struct kt_conn *c);

/* reader.c */
bool iwt_kt_reading(void);
int iwt_kt_read_begin(void);
void iwt_kt_read_end(void);

/* wr.c */
void iwt_kt_wr_init(struct kt_end *e);
void iwt_kt_handler(struct ib_cq *cq, void *ctx);
int iwt_kt_post(struct kt_end *e, struct ib_send_wr *wr);
int iwt_kt_post_list(struct kt_end *e, struct ib_send_wr *wr,
		     const struct ib_send_wr **bad);
int iwt_kt_send(struct kt_end *e, struct ib_sge *sge, int n, int flags);
int iwt_kt_send_inv(struct kt_end *e, struct ib_sge *sge, int n, int flags,
		    u32 rkey);
int iwt_kt_rdma(struct kt_end *e, enum ib_wr_opcode op, struct ib_sge *sge,
		int n, int flags, u64 to, u32 rkey);
int iwt_kt_recv(struct kt_end *e, struct ib_sge *sge, int n);
void iwt_kt_process(struct kt_end *e, int budget);
int iwt_kt_reap(struct kt_end *e, enum kt_queue q, u32 n);
int iwt_kt_wait(struct kt_end *e, enum kt_queue q, u32 n);
int iwt_kt_expect(struct kt_end *e, enum kt_queue q, u32 i, u32 n,
		  enum ib_wc_status status, enum ib_wc_opcode op);
int iwt_kt_sync(struct kt_end *from);
int iwt_kt_in_order(struct kt_end *e);
int iwt_kt_flushed(struct kt_end *e, enum kt_queue q, u32 from, u32 to);
int iwt_kt_success_then_flush(struct kt_end *e, enum kt_queue q);

void iwt_kt_fill(void *p, u32 len, u32 from, u32 seed);
bool iwt_kt_same(const void *p, u32 len, u32 from, u32 seed);
bool iwt_kt_is_guard(const void *p, u32 len);
struct ib_sge iwt_kt_sge(struct kt_end *e, u32 off, u32 len);
void iwt_kt_split(struct kt_end *e, u32 off, u32 len, struct ib_sge *sge, int n);
void iwt_kt_fill_sges(struct kt_end *e, const struct ib_sge *sge, int n,
		      u32 seed);
int iwt_kt_check_sges(struct kt_end *e, const struct ib_sge *sge, int n,
		      u32 len, u32 seed);

/* mr.c */
int iwt_kt_mr_make(struct kt_end *e, struct kt_mr *m, struct ib_pd *pd,
		   u32 start, u32 len);
void iwt_kt_mr_free(struct kt_mr *m);
int iwt_kt_mr_map(struct kt_mr *m, struct ib_reg_wr *wr, int access, int flags);
int iwt_kt_mr_reg(struct kt_mr *m, int access);
int iwt_kt_mr_inv(struct kt_mr *m, int flags);
void iwt_kt_mr_fill(struct kt_mr *m, u32 off, u32 len, u32 seed);
int iwt_kt_mr_check(struct kt_mr *m, u32 off, u32 len, u32 seed);
struct ib_sge iwt_kt_mr_sge(struct kt_mr *m, u32 off, u32 len);

#endif
