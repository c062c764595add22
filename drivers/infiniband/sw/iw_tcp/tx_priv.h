/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the files of the transmit engine. */
#ifndef IWT_TX_PRIV_H
#define IWT_TX_PRIV_H

#include <linux/errno.h>
#include <rdma/ib_verbs.h>

#include "trace.h"
#include "tx.h"

/*
 * Evaluate the result of passing bytes to TCP: @ret is the number of bytes that TCP has accepted,
 * or -errno. -EAGAIN: TCP accepts no bytes now. -EPIPE does not mean that the connection is lost:
 * after the FIN of this end the peer may still send a Read or Atomic Request, but this end can't
 * send the Response. The peer must then end the connection.
 */
static inline void iwt_tx_sent(struct iwt_tx *tx, int ret)
{
	if (ret < 0 && ret != -EAGAIN && ret != -EPIPE)
		tx->lost = true;
}

/*
 * Count the bytes of a batch that TCP has accepted. @wanted: number of bytes that were passed to
 * TCP. @taken: number of bytes that TCP has accepted. Return: false when @taken is less than
 * @wanted.
 */
static inline bool iwt_tx_taken(struct iwt_stream *st, u32 wanted, u32 taken)
	__must_hold(&st->lock)
{
	trace_iwt_tx_batch(st->ibqp, st->tx.fpdus, wanted, taken);
	iwt_stream_count_add(st, IWT_C_TX_BYTES, taken);
	st->tx.octets += taken;
	if (taken == wanted)
		return true;
	iwt_stream_count(st, IWT_C_TX_BLOCKED);
	st->tx.blocked++;
	return false;
}

/* tx_src.c: iwt_tx_fail() and iwt_tx_fail_wqe() return false. */
bool iwt_tx_fail(struct iwt_stream *st, u32 err)
	__must_hold(&st->lock);
bool iwt_tx_fail_wqe(struct iwt_stream *st, enum ib_wc_status status)
	__must_hold(&st->lock);
/* Return: false if the access is denied (tx->err is set), or if the memory is absent. */
bool iwt_tx_next_piece(struct iwt_stream *st)
	__must_hold(&st->lock);
bool iwt_tx_fetch(struct iwt_stream *st, u8 *to, u32 len)
	__must_hold(&st->lock);
void iwt_tx_let_go(struct iwt_tx *tx);

/*
 * Maximum number of requests without a message (LOCAL_INV, REG_MR, BIND_MW) that are executed for
 * one batch. A process may post thousands of such requests, and bottom halves are off meanwhile.
 */
#define IWT_TX_LOCALS	512

/* tx_sched.c. Return: false when no message can be sent, or tx->err is set. */
bool iwt_tx_pick(struct iwt_stream *st)
	__must_hold(&st->lock);
void iwt_tx_finish(struct iwt_stream *st)
	__must_hold(&st->lock);

/*
 * Call this function only while no message is being framed. Return: index of the first work
 * request that has not been framed.
 */
static inline u32 iwt_tx_unframed(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	return st->tx.loaded ? st->tx.idx : st->sq.cons;
}

/* Must this end send a Read that lets the peer confirm messages, and may it send one now? */
static inline bool iwt_tx_confirm_wanted(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	return unlikely(st->sq.confirm) &&
	       (s32)(st->tx.confirm_due - st->tx.confirm_asked) > 0 &&
	       st->readq.own_n < st->readq.reserve;
}

/* The Response to the current request confirms this request, and all requests before it. */
static inline void iwt_tx_confirm_by(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	/* no request is due: both indices advance, so that their difference stays small */
	st->tx.confirm_asked = st->tx.idx + 1;
	st->tx.confirm_due = st->tx.idx + 1;
}

/* tx_confirm.c */
struct iwt_read_out *iwt_tx_own_read(struct iwt_stream *st)
	__must_hold(&st->lock);
void iwt_tx_want_confirm(struct iwt_stream *st, bool local)
	__must_hold(&st->lock);
/* Do so many requests need a confirmation that this end must request one now? */
bool iwt_tx_confirm_urgent(const struct iwt_stream *st)
	__must_hold(&st->lock);
/* Return: false if no confirmation is needed, or none can be requested now. */
bool iwt_tx_pick_confirm(struct iwt_stream *st)
	__must_hold(&st->lock);

/* tx_zc_frame.c */
#ifdef CONFIG_INFINIBAND_IW_TCP_ZEROCOPY
/* Should the current message be sent by reference? */
bool iwt_tx_zc_wanted(struct iwt_stream *st, u32 fit)
	__must_hold(&st->lock);
/* Return: false if no FPDU was framed, without an error. */
bool iwt_tx_zc_fill(struct iwt_stream *st, u32 fit)
	__must_hold(&st->lock);
/* Return: false if TCP did not accept the whole batch. */
bool iwt_tx_zc_send(struct iwt_stream *st)
	__must_hold(&st->lock);
void iwt_tx_zc_drop(struct iwt_tx *tx);
#else
static inline bool iwt_tx_zc_wanted(struct iwt_stream *st, u32 fit)
{
	return false;
}

static inline bool iwt_tx_zc_fill(struct iwt_stream *st, u32 fit)
{
	return false;
}

static inline bool iwt_tx_zc_send(struct iwt_stream *st)
{
	return true;
}

static inline void iwt_tx_zc_drop(struct iwt_tx *tx)
{
}
#endif

/* tx_frame.c */
void iwt_tx_fill(struct iwt_stream *st)
	__must_hold(&st->lock);

/*
 * Trace a framed FPDU. The tracepoint needs much stack, so a separate function,
 * iwt_trace_framed(), is called only if the tracepoint is enabled.
 */
static inline void iwt_tx_trace_fpdu(const struct iwt_stream *st,
				     const struct iwt_txplan *p)
{
	if (trace_iwt_fpdu_tx_enabled())
		iwt_trace_framed(st->ibqp, p);
}

#endif
