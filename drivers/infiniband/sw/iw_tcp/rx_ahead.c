// SPDX-License-Identifier: GPL-2.0
/*
 * Looking ahead while a message waits for a receive.
 *
 * If a message waits for a receive, all messages behind it wait, too. But a consumer may post the
 * receive only after one of the consumer's own requests has completed, and the Response that
 * confirms this request may be behind the message that waits. Then both ends would wait for ever.
 * So the engine looks for Responses behind the message that waits, and notes which requests these
 * Responses confirm. The engine does everything else, such as placing the data of a Response,
 * only when it receives the messages.
 *
 * If the peer refuses such a request, a Terminate is behind the message that waits, and no
 * Response. The engine receives this Terminate at once, and discards the message that waits.
 */
#include "rx_priv.h"

#include "sock.h"

/* Maximum number of bytes to look at in one run. */
#define AHEAD_STEP	(256 << 10)
/* Cost of an FPDU besides its CRC, as the number of bytes whose CRC takes the same time. */
#define AHEAD_COST	512

/* Is this the last segment of a Response? */
static bool ends_response(const struct iwt_ddp *d)
{
	return d->tagged ? d->opcode == IWT_OP_READ_RESP && d->last :
			   d->opcode == IWT_OP_ATOMIC_RESP;
}

/* Is this the Response to a Read without a work request? */
static bool is_own(const struct iwt_fpdu *f)
{
	return f->ddp.last && !f->payload_len && f->ddp.stag == IWT_OWN_STAG && !f->ddp.to;
}

/*
 * Mark the requests that a Response confirms as confirmed. If the oldest request is a Read that
 * only requests a confirmation, and the Response answers this Read, the Read is finished now, so
 * that another such Read can begin. All other requests finish when their Responses are received.
 */
static void take_confirmation(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	const struct iwt_read_out *out = iwt_readq_nth(&st->readq, rx->ahead_n);

	if (!out)
		return;
	if (out->confirm || !out->rtr)
		iwt_sq_confirm(&st->sq, out->sq_idx);
	if (rx->ahead_n || !out->confirm || !f->ddp.tagged || !is_own(f)) {
		rx->ahead_n++;
		return;
	}
	iwt_readq_finish(&st->readq);
	rx->answered++;
}

/**
 * iwt_rx_unanswered() - has a request of this end no answer among the bytes that have arrived?
 * @st: stream of a direct connection; the socket lock and the lock of the stream are held
 *
 * The engine must have looked at all these bytes. Any context.
 *
 * Return: true if so; false also if the peer has answered the oldest of several such requests.
 */
bool iwt_rx_unanswered(const struct iwt_stream *st)
{
	lockdep_assert_held(&st->lock);
	return st->readq.out_n && !st->rx.ahead_n && !st->rx.ahead_more &&
	       !iwt_sq_idle(&st->sq);
}

/*
 * Receive the FPDU if it is a Terminate, and if the peer has not answered a request. Return:
 * false if this FPDU must be received after the message that waits.
 */
static bool take_terminate(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	const struct iwt_ddp *d = &f->ddp;

	if (d->tagged || d->opcode != IWT_OP_TERM || !iwt_rx_unanswered(st))
		return false;
	if (iwt_ddp_check_untagged(d, f->ulpdu_len - IWT_DDP_UNTAGGED_LEN,
				   &st->rx.q[IWT_QN_TERM], true, iwt_rdmap_room(d, 0)) ||
	    iwt_rdmap_check(d, f->ulpdu_len))
		return false;
	iwt_rx_term(st, f);
	return true;
}

/*
 * Look at the FPDUs from the cursor on. @avail: number of bytes that have arrived, counted from
 * the beginning of the message that waits. Return: true if the budget of a run is used up.
 */
static bool look_at_fpdus(struct iwt_stream *st, struct iwt_sock_cursor *at, u32 avail)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	enum iwt_fpdu_status status;
	struct iwt_fpdu f = {};
	u32 err, spent = 0;

	while (spent < AHEAD_STEP) {
		if (rx->ahead >= avail || (!at->c.len && !at->c.more(&at->c)))
			return false;
		status = iwt_fpdu_read(&at->c, sizeof(*at), avail - rx->ahead,
				       rx->pos + rx->ahead, &rx->rules, &f, &err);
		/* the stream will end at a bad FPDU: do not look at this FPDU again */
		if (status == IWT_FPDU_BAD)
			rx->ahead = U32_MAX;
		if (status != IWT_FPDU_OK)
			return false;
		if (ends_response(&f.ddp))
			take_confirmation(st, &f);
		else if (take_terminate(st, &f))
			return false;
		iwt_cursor_skip(&at->c, f.size);
		rx->ahead += f.size;
		spent += f.size + AHEAD_COST;
	}
	return true;
}

/**
 * iwt_rx_look_ahead() - look for confirmations behind the message that waits for a receive
 * @st: stream that waits for a receive; the socket lock and the lock of the stream are held
 *
 * The engine looks at each FPDU once, even if several messages wait one after the other. This
 * function completes the confirmed requests. If the budget is used up, this function queues
 * another run. If this function receives a Terminate, it sets st->rx.discard, and the caller has
 * to discard all bytes that have arrived.
 */
void iwt_rx_look_ahead(struct iwt_stream *st)
{
	struct iwt_rx *rx = &st->rx;
	struct iwt_sock_cursor at;
	u32 avail;

	lockdep_assert_held(&st->lock);
	rx->ahead_more = false;
	avail = iwt_sock_peek_from(st->sock, rx->ahead, &at);
	if (!avail)
		return;
	rx->ahead_more = look_at_fpdus(st, &at, rx->ahead + avail);
	if (rx->ahead_more)
		iwt_sock_run_bh(st->sock);
	iwt_stream_retire(st);
}

/**
 * iwt_rx_answered() - receive the Response to a Read that take_confirmation() has finished
 * @st: stream with st->rx.answered; its lock is held
 * @f: the FPDU
 *
 * Return: IWT_OK, or the error for the Terminate.
 */
u32 iwt_rx_answered(struct iwt_stream *st, const struct iwt_fpdu *f)
{
	lockdep_assert_held(&st->lock);
	if (!is_own(f))
		return IWT_ERR_TAG_STAG;
	st->rx.answered--;
	return iwt_rdmap_check(&f->ddp, f->ulpdu_len);
}
