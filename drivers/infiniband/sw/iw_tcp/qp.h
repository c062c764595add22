/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue pair: state, and what the two engines and the connection share.
 *
 * Locking
 *
 *   lock        guards                              taken in
 *   ----------  ----------------------------------  -----------------------------
 *   socket      that one engine runs at a time;     softirq, backlog, poster
 *               which callbacks are installed       (never blocking there)
 *   tend->lock  whose poll is counted on            BH off
 *   qp->lock    state, tx, rx, sq consumer side,    BH off, inside the socket
 *               rq consumer side, readq, llp, sock  lock where both are held
 *   sq->lock    kernel producer of the send queue   any context, irqs off
 *   rq->lock    kernel producer of the receive      any context, irqs off
 *               queue
 *   mr->lock    validity and contents of a region   BH off, inside qp->lock
 *   cq->lock    the ring of a completion queue      any context, irqs off,
 *                                                   inside qp->lock
 *   zc->lock    what TCP has by reference           wherever buffers are freed,
 *                                                   irqs off, innermost
 *
 * Order: { socket | tend->lock }, qp->lock, { mr->lock | cq->lock | zc->lock }.
 * sq->lock and rq->lock are taken alone. qp->state is written in qp.c only.
 */
#ifndef IWT_QP_H
#define IWT_QP_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "proto/mpa.h"
#include "proto/qpfsm.h"
#include "readq.h"
#include "rq.h"
#include "rx.h"
#include "sock.h"
#include "sq.h"
#include "tend.h"
#include "tx.h"

struct iwt_cq;
struct iwt_dev;
struct iwt_mmap;
struct iwt_sock;
struct mem_cgroup;

/* What the connection manager hears from a queue pair. */
enum iwt_llp_event {
	IWT_LLP_CLOSE_WANTED,	/* graceful: FIN after what is queued */
	IWT_LLP_TERM_PENDING,	/* Terminate waits for TCP: not for ever */
	IWT_LLP_DRAINING,	/* work goes on before the end: not for ever */
	IWT_LLP_TERM_SENT,	/* Terminate is with TCP: FIN, then wait */
	IWT_LLP_ABORT_WANTED,	/* reset the connection now */
	IWT_LLP_PEER_CLOSED,	/* FIN arrived, everything before is done */
	IWT_LLP_LOST,		/* reset or timed out */
	IWT_LLP_TERM_RECEIVED,	/* the peer sent a Terminate */
};

/**
 * struct iwt_qp_llp_ops - the connection's ear
 * @event: any context, the socket lock and qp->lock may be held; must only
 *	take note and queue work
 */
struct iwt_qp_llp_ops {
	void (*event)(void *ctx, enum iwt_llp_event ev);
};

/**
 * struct iwt_watch - who looks at a process's send queue between doorbells
 * @work: the worker
 * @on: it is looking, so the ring need not ask to be woken; guarded by qp->lock
 * @row: doorbells in quick succession; this and the rest are only a guess
 * @after: how many of them make the worker begin
 * @last: end of the last one, in nanoseconds
 * @rx_pos: octets received until then
 * @poster: processor where that was when the worker was asked for
 * @cpu: processor for the worker, nr_cpu_ids if none is known
 */
struct iwt_watch {
	struct work_struct work;
	bool on;
	u32 row;
	u32 after;
	u64 last;
	u32 rx_pos;
	u32 poster;
	u32 cpu;
};

/**
 * struct iwt_move - an engine that may move to another processor
 * @work: takes it there
 * @row: budgets that it used up where it was not alone; guarded by qp->lock, as
 *	are the next two
 * @after: how many of them make it move
 * @last: when it last was to, in nanoseconds
 * @from: processor where it was then; this and the next are only a guess
 * @cpu: processor to go to, nr_cpu_ids if none is known
 */
struct iwt_move {
	struct work_struct work;
	u32 row;
	u32 after;
	u64 last;
	u32 from;
	u32 cpu;
};

/**
 * struct iwt_stay - an engine that stays for answers
 * @row: answers by doorbell, one after the other; this and the next two are only a
 *	guess
 * @after: how many of them make it stay
 * @poster: processor of the last doorbell, nr_cpu_ids if there was none
 * @credit: how far its staying has been worth it; guarded by qp->lock, as is the rest
 * @on: something was received that may be answered
 * @rx_pos: octets received before that
 * @cons: next work request to start, then
 */
struct iwt_stay {
	u32 row;
	u32 after;
	u32 poster;
	u32 credit;
	bool on;
	u32 rx_pos;
	u32 cons;
};

/**
 * struct iwt_tend_qp - a process's send queue, as those see it who tend it
 * @at: its places with the send and the receive completion queue
 * @by: how many processes' polls are counted on; guarded by qp->lock
 */
struct iwt_tend_qp {
	struct iwt_tended at[2];
	u8 by;
};

/**
 * struct iwt_qp - a queue pair
 * @ibqp: the verbs object
 * @dev: device
 * @ref: users of the object: its creator, lookups, the attached connection
 * @looked_up: references that iw_cm has and has not asked for yet
 * @freed: completed when @ref is gone
 * @lock: see the table above
 * @state: RDMAP state (proto/qpfsm.h)
 * @user: the rings are shared with userspace
 * @takes_imm: the consumer knows completions with immediate data
 * @rights: remote rights that the queue pair grants (enum iwt_rights)
 * @rights_stated: they are a consumer's wish, not a default
 * @sq: send queue
 * @rq: receive queue
 * @readq: outstanding reads of both directions
 * @tx: transmit engine
 * @rx: receive engine
 * @sock: socket while attached
 * @segs: segments counted, while attached
 * @llp: the connection's ear while attached
 * @llp_ctx: its argument
 * @eps: endpoints that have a reference; the connection manager's
 * @progress: octets of both directions when the last %IWT_LLP_DRAINING was told
 * @running: the engines run; a nested callback only sets @again
 * @again: look once more before the engines stop
 * @term_err: error that ended the stream, or IWT_OK
 * @events: asynchronous events to report, a bit each
 * @ending: it is being destroyed: no step of a flush follows by itself
 * @flush_work: flushes for a poster whose context does not allow it, and what one step left
 * @event_work: reports @events
 * @idle_state: what a consumer last asked for while there is no connection
 * @watch: a worker that looks at the send queue for a busy process (qp_watch.c)
 * @move: how the engines leave a processor that others want (qp_move.c)
 * @stay: how the engines stay for an answer (qp_stay.c)
 * @tend: a polling process that has it looked at (qp_tend.c)
 * @maps: mappings of a user queue pair's rings: send, receive
 * @mem: ring memory of a kernel queue pair: send, receive
 * @memcg: memory control group of the process, which its memory is charged to
 * @cap: what the queue pair was created with, for query
 */
struct iwt_qp {
	struct ib_qp ibqp;
	struct iwt_dev *dev;
	struct kref ref;
	atomic_t looked_up;
	struct completion freed;

	spinlock_t lock;
	enum iwt_qp_state state;
	bool user;
	bool takes_imm;
	u32 rights;
	bool rights_stated;

	struct iwt_sq sq;
	struct iwt_rq rq;
	struct iwt_readq readq;
	struct iwt_tx tx;
	struct iwt_rx rx;

	struct iwt_sock *sock;
	struct iwt_sock_segs segs;
	const struct iwt_qp_llp_ops *llp;
	void *llp_ctx;
	struct hlist_head eps;
	u32 progress;
	bool running;
	bool again;
	u32 term_err;
	unsigned long events;
	bool ending;
	struct work_struct flush_work;
	struct work_struct event_work;

	enum ib_qp_state idle_state;
	struct iwt_watch watch;
	struct iwt_move move;
	struct iwt_stay stay;
	struct iwt_tend_qp tend;
	struct iwt_mmap *maps[2];
	void *mem[2];
	struct mem_cgroup *memcg;
	struct ib_qp_cap cap;
};

/**
 * struct iwt_qp_change - what a consumer asks for
 * @mask: IB_QP_STATE, IB_QP_CUR_STATE and IB_QP_ACCESS_FLAGS: which of them count
 * @from: the state that it takes the queue pair to be in
 * @to: the state that it wants
 * @rights: IWT_REMOTE_WRITE, IWT_REMOTE_READ, IWT_REMOTE_ATOMIC
 */
struct iwt_qp_change {
	int mask;
	enum ib_qp_state from;
	enum ib_qp_state to;
	u32 rights;
};

static inline struct iwt_qp *to_iwt_qp(struct ib_qp *qp)
{
	return container_of(qp, struct iwt_qp, ibqp);
}

/* Does work that was posted, or asked for by the peer, still go out? */
static inline bool iwt_qp_sends(const struct iwt_qp *qp)
{
	enum iwt_qp_state state = READ_ONCE(qp->state);

	return state == IWT_QP_RTS || state == IWT_QP_HALF ||
	       state == IWT_QP_DRAIN;
}

/* In whose name the queue pair touches local memory. */
static inline struct iwt_actor iwt_qp_actor(const struct iwt_qp *qp)
{
	return (struct iwt_actor) {
		.dev = qp->dev,
		.pd = qp->ibqp.pd,
		.kernel = !qp->user,
	};
}

int iwt_qp_attach(struct iwt_qp *qp, struct iwt_sock *s,
		  const struct iwt_mpa_terms *terms, bool initiator,
		  const struct iwt_qp_llp_ops *llp, void *ctx);
bool iwt_qp_detach(struct iwt_qp *qp);
bool iwt_qp_zc_in_flight(struct iwt_qp *qp);
void iwt_qp_setup(struct iwt_qp *qp);
int iwt_qp_modify(struct iwt_qp *qp, const struct iwt_qp_change *c);
enum ib_qp_state iwt_qp_verbs_state(struct iwt_qp *qp);
void iwt_qp_run(struct iwt_qp *qp);
void iwt_qp_run_bh(struct iwt_qp *qp);
void iwt_qp_run_sync(struct iwt_qp *qp);
void iwt_qp_destroy(struct iwt_qp *qp);
struct iwt_qp *iwt_qp_find(struct iwt_dev *dev, u32 qpn);
void iwt_qp_get(struct iwt_qp *qp);
void iwt_qp_put(struct iwt_qp *qp);
void iwt_qp_rang(struct iwt_qp *qp);
bool iwt_stay(struct iwt_qp *qp);
int iwt_watch_init(void);
void iwt_watch_exit(void);

#endif
