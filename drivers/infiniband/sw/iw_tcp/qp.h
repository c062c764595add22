/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue pair: its state, and the data that its stream and the connection manager share.
 *
 *	qp.c		the state, and the actions that follow from a change of state
 *	qp_engine.c	callbacks of the socket, which run the receive and the transmit engine
 *	qp_run.c	run the engines, or flush if the queue pair sends nothing any more
 *	qp_stream.c	attach and detach a connection; the end of the queue pair
 *	qp_modify.c	change of state or of rights on request of a consumer
 *
 * Locking
 *
 *   lock          guards                              taken in
 *   ------------  ----------------------------------  ----------------------------
 *   socket        only one engine runs at a time;     softirq, backlog, poster (it
 *                 which callbacks are installed       does not sleep for the lock)
 *   cqpoll->lock  which queue pairs are flushed by    BH off
 *                 polling a completion queue
 *   stream->lock  state, tx, rx, sq consumer side,    BH off, inside the socket
 *                 rq consumer side, readq, llp, sock  lock where both are held
 *   sq->lock      kernel producer of the send queue   any context, irqs off
 *   rq->lock      kernel producer of the receive      any context, irqs off
 *                 queue
 *   srq.rq.lock   a shared receive queue: ring,       any context, irqs off,
 *                 consumer side, limit, size, and     inside stream->lock
 *                 the streams that wait
 *   mr->lock      validity and contents of a region   BH off, inside stream->lock;
 *                 or window                           only one at a time
 *   windows_lock  the lists of type 2 windows of all  BH off, inside mr->lock
 *                 streams of a device
 *   cq->lock      the ring of a completion queue      any context, irqs off,
 *                                                     inside stream->lock
 *   cq->resizing  only one resize of a completion     process context, outside of
 *                 queue at a time                     cq->lock
 *   zc->lock      memory that TCP refers to           wherever the network frees
 *                                                     an skb, irqs off, innermost
 *
 * Order: { socket | cqpoll->lock }, stream->lock, then one of { srq.rq.lock | mr->lock |
 * cq->lock | zc->lock }; windows_lock and the locks of on-demand paging (mr_odp_*.c) are taken
 * inside mr->lock. sq->lock and rq->lock are taken alone. A modification of a shared receive
 * queue holds srq->change, a mutex, outside srq.rq.lock. Only qp.c writes qp->state.
 */
#ifndef IWT_QP_H
#define IWT_QP_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "async_event.h"
#include "proto/mpa.h"
#include "proto/qpfsm.h"
#include "sock.h"
#include "stream.h"
#include "wake.h"

struct iwt_dev;
struct iwt_direct_qp;
struct iwt_mmap;
struct iwt_srq;

/* Events that a queue pair reports to the connection manager. */
enum iwt_llp_event {
	IWT_LLP_CLOSE_WANTED,	/* close gracefully: FIN after the queued data */
	IWT_LLP_TERM_PENDING,	/* a Terminate waits for TCP: limit the time of this wait */
	IWT_LLP_DRAINING,	/* the close waits for requests: limit the time of this wait */
	IWT_LLP_TERM_SENT,	/* TCP has the Terminate, or none may be sent: send FIN */
	IWT_LLP_ABORT_WANTED,	/* end the connection now, by RST if iwt_qp_detach() says so */
	IWT_LLP_PEER_CLOSED,	/* the peer's FIN arrived, and all earlier data is processed */
	IWT_LLP_LOST,		/* the connection was reset or timed out */
	IWT_LLP_TERM_RECEIVED,	/* the peer sent a Terminate */
};

/**
 * struct iwt_qp_llp_ops - callbacks from the queue pair to the connection manager
 * @event: any context; the socket lock and the lock of the stream may be held, so the callback
 *	must only record the event and queue work
 */
struct iwt_qp_llp_ops {
	void (*event)(void *ctx, enum iwt_llp_event ev);
};

/**
 * struct iwt_qp - a queue pair
 * @ibqp: the verbs object
 * @stream: the RDMAP Stream, on which the engines run
 * @ref: references: one of the creator, and one for each lookup, for each endpoint, for the
 *	attached connection and for queued flush work; iw_cm also takes references
 * @looked_up: number of references that iwt_get_qp() has taken for later calls of
 *	iwt_qp_add_ref(): such a call takes no reference, but decrements this number
 * @freed: completed when the last reference is dropped
 * @state: RDMAP state (proto/qpfsm.h); the lock of the stream guards this field and all
 *	fields below that change, and for which no other lock is given
 * @user: the rings are shared with userspace
 * @rights_stated: the consumer has set the rights; otherwise the default rights apply
 * @tell_drained: together with the state SQD, the consumer has requested IB_EVENT_SQ_DRAINED
 * @segs: TCP's counts of segments when the driver last added them to its counters
 * @llp: callbacks to the connection manager while a connection is attached
 * @llp_ctx: argument of the callbacks
 * @eps: endpoints (struct iwt_ep) that have a reference; only the connection manager uses this
 *	list, with the lock of the endpoint table (cm_ep.c) held
 * @only_direct: the consumer has requested a direct connection, so other connections may not use
 *	the queue pair any more. A reset does not clear this flag: otherwise new connections by
 *	rdma_cm could delay a reset that waits for the end of all connections. Guarded as @eps
 * @rc: the connection is a direct connection; its requests complete as with InfiniBand
 * @running: the engines run; a callback of TCP during this time only sets @again. The socket lock
 *	guards @running and @again
 * @again: the transmit engine must run once more before the engines stop
 * @term_err: error that ended the stream, or IWT_OK
 * @destroyed: the consumer is destroying the queue pair: IB_EVENT_QP_LAST_WQE_REACHED is not
 *	reported
 * @ending: the queue pair is being destroyed: no step of a flush is queued any more
 * @flush_work: runs the engines or a step of a flush; queued by a poster if the context of the
 *	poster allows neither, by a step of a flush for the next step, and when TCP has released
 *	memory of work requests
 * @async: asynchronous events of the queue pair
 * @idle_state: state that verbs show while @state is IDLE: INIT or RTR, as the consumer last
 *	requested. With @direct the consumer can also request RTS, and verbs also show @idle_state
 *	while @state is RTS, HALF or GONE
 * @modifying: held while a consumer modifies the queue pair, and while @direct ends because the
 *	queue pair is being destroyed
 * @direct: direct connection of the queue pair (cm_direct.c), or NULL; changes only while
 *	@modifying is held
 * @sqpoll: a worker that polls the send queue (wake_sqpoll.c)
 * @migrate: moves the engines off a processor that other threads need (wake_migrate.c)
 * @cqpoll: membership in the send and the receive completion queue (wake_cqpoll.c)
 * @maps: mappings of a user queue pair's rings: send, receive
 * @mem: ring memory of a kernel queue pair: send, receive
 * @owner: the process: owner of the queue pair's sockets. Memory of the queue pair is charged to
 *	its memory control group, too
 * @cap: capabilities with which the queue pair was created; a query of the queue pair shows them
 */
struct iwt_qp {
	struct ib_qp ibqp;
	struct iwt_stream stream;
	struct kref ref;
	atomic_t looked_up;
	struct completion freed;

	enum iwt_qp_state state;
	bool user;
	bool rights_stated;
	bool tell_drained;
	struct iwt_sock_segs segs;
	const struct iwt_qp_llp_ops *llp;
	void *llp_ctx;
	struct hlist_head eps;
	bool only_direct;
	bool rc;
	bool running;
	bool again;
	u32 term_err;
	bool destroyed;
	bool ending;
	struct work_struct flush_work;
	struct iwt_async async;

	enum ib_qp_state idle_state;
	struct mutex modifying;
	struct iwt_direct_qp *direct;
	struct iwt_sqpoll sqpoll;
	struct iwt_migrate migrate;
	struct iwt_cqpoll_member cqpoll[2];
	struct iwt_mmap *maps[2];
	void *mem[2];
	struct iwt_sock_owner owner;
	struct ib_qp_cap cap;
};

/**
 * struct iwt_qp_change - a change that a consumer requests
 * @mask: IB_QP_STATE, IB_QP_CUR_STATE, IB_QP_ACCESS_FLAGS and IB_QP_EN_SQD_ASYNC_NOTIFY: which of
 *	the other members are valid
 * @from: the state in which the consumer believes the queue pair to be
 * @to: the requested state
 * @rights: IWT_REMOTE_WRITE, IWT_REMOTE_READ, IWT_REMOTE_ATOMIC
 * @tell_drained: with the state SQD: report IB_EVENT_SQ_DRAINED
 * @direct: with the states RTR and RTS: the queue pair connects directly
 */
struct iwt_qp_change {
	int mask;
	enum ib_qp_state from;
	enum ib_qp_state to;
	u32 rights;
	bool tell_drained;
	bool direct;
};

static inline struct iwt_qp *to_iwt_qp(struct ib_qp *qp)
{
	return container_of(qp, struct iwt_qp, ibqp);
}

/* Take a reference. Any context. */
static inline void iwt_qp_get(struct iwt_qp *qp)
{
	kref_get(&qp->ref);
}

/* qp.c */
void iwt_qp_setup(struct iwt_qp *qp);
struct iwt_qp *iwt_qp_find(struct iwt_dev *dev, u32 qpn);
void iwt_qp_put(struct iwt_qp *qp);

/* qp_run.c */
void iwt_qp_run_setup(struct iwt_qp *qp);
void iwt_qp_run(struct iwt_qp *qp);
void iwt_qp_run_sync(struct iwt_qp *qp);
void iwt_qp_run_here(struct iwt_qp *qp);
void iwt_qp_run_bh(struct iwt_qp *qp);

/* qp_stream.c */
int iwt_qp_attach(struct iwt_qp *qp, struct iwt_sock *s,
		  const struct iwt_mpa_terms *terms, bool initiator,
		  const struct iwt_qp_llp_ops *llp, void *ctx);
/* Return: true if the connection must be reset, not closed gracefully. */
bool iwt_qp_detach(struct iwt_qp *qp);
/* Does TCP still refer to memory of work requests? */
bool iwt_qp_zc_in_flight(struct iwt_qp *qp);
void iwt_qp_end(struct iwt_qp *qp);
void iwt_qp_drain(struct iwt_qp *qp);
void iwt_qp_srq_failed(struct iwt_srq *srq);

/* qp_modify.c */
int iwt_qp_modify(struct iwt_qp *qp, const struct iwt_qp_change *c);
void iwt_qp_unreachable(struct iwt_qp *qp);
enum ib_qp_state iwt_qp_verbs_state(struct iwt_qp *qp);

#endif
