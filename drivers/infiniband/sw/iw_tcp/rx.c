// SPDX-License-Identifier: GPL-2.0
/* The receive engine: consumes whole FPDUs from the socket, in steps. */
#include "rx_priv.h"

#include "sock.h"
#include "trace.h"

/* Budget of one step, in bytes. After each step TCP may acknowledge. */
#define RX_STEP		(256 << 10)
/* Cost of an FPDU besides copying, as the number of bytes that are copied in the same time. */
#define RX_FPDU_COST	512
/* Maximum number of steps per run, so that a run does not delay other streams. */
#define RX_STEPS	4

/**
 * iwt_rx_start() - make the engine ready for a connection
 * @rx: engine; the lock of the stream is held
 * @terms: negotiated terms of the connection
 * @initiator: this end sent the MPA Request
 */
void iwt_rx_start(struct iwt_rx *rx, const struct iwt_mpa_terms *terms,
		  bool initiator)
{
	u32 i;

	memset(rx, 0, sizeof(*rx));
	rx->rules.crc = terms->crc;
	rx->rules.markers = terms->rx_markers;
	rx->rules.rdmac = terms->rdmac;
	rx->rtr_send = !initiator && terms->rtr == IWT_RTR_SEND;
	rx->rtr_write = !initiator && terms->rtr == IWT_RTR_WRITE;
	rx->rnr_ms = terms->rc ? terms->rnr_ms : 0;
	for (i = 0; i < IWT_QN_COUNT; i++)
		rx->q[i].msn = IWT_FIRST_MSN;
	rx->pos = IWT_FIRST_POS;
}

/*
 * Place and deliver an FPDU. @again: the FPDU has waited for memory or for a receive, and was
 * already traced. @at: the position of the FPDU; moved unless the payload is contiguous. Return:
 * IWT_OK, the error for the Terminate, or %IWT_ERR_ABSENT if memory must be made present or a
 * receive must be posted first.
 */
static u32 place_fpdu(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_cursor *at,
		      bool again)
	__must_hold(&st->lock)
{
	if (!again)
		trace_iwt_fpdu_rx(st->ibqp, &f->ddp, f->ulpdu_len,
				  f->payload_len);
	if (f->payload_len && !iwt_fpdu_payload(f, at, &st->rx.rules))
		return IWT_ERR_DDP_LOCAL;
	return f->ddp.tagged ? iwt_rx_tagged(st, f, at) : iwt_rx_untagged(st, f, at);
}

/*
 * Consume the FPDU at the cursor, and on success move the cursor past the FPDU. If the payload is
 * in several pieces, place_fpdu() has moved a copy of the cursor to the end of the payload: the
 * cursor continues from there, and does not walk over the pieces again. Return: as place_fpdu().
 */
static u32 take_fpdu(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_sock_cursor *at,
		     bool again)
	__must_hold(&st->lock)
{
	struct iwt_sock_cursor end;
	u32 left = f->size;
	struct iwt_cursor in;
	u32 err;

	if (f->flat) {
		err = place_fpdu(st, f, &at->c, again);
	} else if (f->marked) {
		in = (struct iwt_cursor){ .p = at->c.p, .len = f->size };
		err = place_fpdu(st, f, &in, again);
	} else {
		end = *at;
		err = place_fpdu(st, f, &end.c, again);
		if (!err && f->payload_len && f->walked == f->payload_len) {
			*at = end;
			left = iwt_fpdu_rest(f, &st->rx.rules);
		}
	}
	if (!err)
		iwt_cursor_skip(&at->c, left);
	return err;
}

/*
 * Count an error of the peer. IWT_ERR_LOCAL is no error of the peer. Errors of type 1 in the
 * layers RDMAP (0) and DDP (1) are access errors, except a wrong version.
 */
static void count_error(struct iwt_stream *st, u32 err)
	__must_hold(&st->lock)
{
	if (err == IWT_ERR_LOCAL)
		return;
	if (err == IWT_ERR_MPA_CRC)
		iwt_stream_count(st, IWT_C_RX_CRC_ERR);
	else if (IWT_ERR_LAYER(err) < 2 && IWT_ERR_ETYPE(err) == 1 &&
		 err != IWT_ERR_TAG_VERSION)
		iwt_stream_count(st, IWT_C_RX_ACCESS_ERR);
	else
		iwt_stream_count(st, IWT_C_RX_PROTO_ERR);
}

static void note_error(struct iwt_stream *st, const struct iwt_fpdu *f, u32 err)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;

	rx->err = err;
	rx->bad.ulpdu_len = f->ulpdu_len;
	rx->bad.hdr_len = f->hdr_len;
	memcpy(rx->bad.hdr, f->hdr, sizeof(rx->bad.hdr));
	rx->discard = true;
	/* if MPA has accepted the FPDU, the responder may send (RFC 5044 7.1.2): a Terminate */
	if (IWT_ERR_LAYER(err) != 2)
		st->tx.wait_first_fpdu = false;
	trace_iwt_rx_error(st->ibqp, f, err);
	count_error(st, err);
}

static void note_taken(struct iwt_stream *st, u32 size)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;

	iwt_fault_settle(&rx->hold.fault);
	/* an FPDU of the initiator allows the responder to send (RFC 5044 7.1.2) */
	st->tx.wait_first_fpdu = false;
	rx->rtr_send = false;
	rx->rtr_write = false;
	WRITE_ONCE(rx->pos, rx->pos + size);
	if (unlikely(rx->ahead))
		rx->ahead -= min(rx->ahead, size);
}

/* Progress of a step: bytes, FPDUs, and the number of these FPDUs that begin a TCP segment. */
struct taken {
	u32 used;
	u32 fpdus;
	u32 aligned;
};

/* Number of bytes that the step may still consume. */
static u32 budget(const struct taken *t)
{
	u32 spent = t->used + t->fpdus * RX_FPDU_COST;

	return spent < RX_STEP ? RX_STEP - spent : 0;
}

/*
 * Consume FPDUs that continue the message of @f, the FPDU that was consumed last. Return: true if
 * at least one FPDU was consumed.
 */
static bool take_alike(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_sock_cursor *at,
		       u32 avail, struct taken *t)
	__must_hold(&st->lock)
{
	u32 max = min(avail - t->used, budget(t));
	u32 n = iwt_rx_alike(st, f, &at->c, max);

	if (!n)
		return false;
	t->aligned += iwt_sock_count_begins(st->sock, at, t->used, f->size, n);
	t->fpdus += n;
	t->used += n * f->size;
	note_taken(st, n * f->size);
	iwt_cursor_skip(&at->c, n * f->size);
	return true;
}

static void count_taken(struct iwt_stream *st, const struct taken *t)
	__must_hold(&st->lock)
{
	iwt_stream_count_add(st, IWT_C_RX_FPDU, t->fpdus);
	iwt_stream_count_add(st, IWT_C_RX_ALIGNED, t->aligned);
	iwt_stream_count_add(st, IWT_C_RX_BYTES, t->used);
	st->rx.octets += t->used;
}

/*
 * read_fpdu() in a stream with markers. This function is not inline, so that a stream without
 * markers executes no instruction for markers or for placing ahead.
 */
static noinline enum iwt_fpdu_status
read_marked(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_sock_cursor *at, u32 left,
	    u32 *err)
	__must_hold(&st->lock)
{
	const struct iwt_rx *rx = &st->rx;

	if (iwt_rx_places(rx))
		return iwt_rx_read_placing(st, f, at, left, err);
	if (iwt_fpdu_follows_marked(&at->c, left, &rx->rules, f))
		return IWT_FPDU_OK;
	return iwt_fpdu_read_marked(&at->c, sizeof(*at), left, rx->pos, &rx->rules, f, err);
}

/*
 * Read the FPDU at the cursor into @f. If the FPDU continues the message of the previous FPDU,
 * which is in @f, only the fields that differ are read.
 */
static enum iwt_fpdu_status read_fpdu(struct iwt_stream *st, struct iwt_fpdu *f,
				      struct iwt_sock_cursor *at, u32 left, u32 *err)
	__must_hold(&st->lock)
{
	const struct iwt_rx *rx = &st->rx;

	if (unlikely(rx->rules.markers))
		return read_marked(st, f, at, left, err);
	if (iwt_fpdu_follows_plain(&at->c, left, &rx->rules, f))
		return IWT_FPDU_OK;
	return iwt_fpdu_read_plain(&at->c, sizeof(*at), left, rx->pos, &rx->rules, f, err);
}

/*
 * Consume the FPDU at the cursor, or several FPDUs that continue the message of @f, the FPDU that
 * was consumed last. An incomplete FPDU stays in the socket, and this function sets @need to the
 * size of the FPDU in bytes, or to 1 if the size is unknown. An FPDU also stays in the socket if
 * pages of its destination must be faulted in first, or if it has to wait for a receive.
 *
 * Return: true when at least one FPDU was consumed.
 */
static bool take_next(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_sock_cursor *at,
		      u32 avail, struct taken *t, u32 *need)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	bool again = rx->stalled;
	enum iwt_fpdu_status status;
	u32 err = IWT_OK;

	if (take_alike(st, f, at, avail, t))
		return true;
	rx->stalled = false;
	status = read_fpdu(st, f, at, avail - t->used, &err);
	if (status == IWT_FPDU_MORE) {
		*need = f->size ?: 1;
		return false;
	}
	if (!again)
		t->aligned += iwt_sock_begins_segment(st->sock, at, t->used);
	if (status == IWT_FPDU_OK)
		err = take_fpdu(st, f, at, again);
	rx->stalled = err == IWT_ERR_ABSENT;
	if (err && !rx->stalled)
		note_error(st, f, err);
	if (err)
		return false;
	note_taken(st, f->size);
	t->used += f->size;
	t->fpdus++;
	return true;
}

/*
 * Consume the complete FPDUs that have arrived, up to the budget of a step, or up to an FPDU that
 * has to wait for its pages, or for a receive. If the budget is used up, this function sets @need
 * to 0: more FPDUs may have arrived. If the next FPDU is incomplete, this function sets @need as
 * take_next() does. Return: number of consumed bytes.
 */
static u32 take_fpdus(struct iwt_stream *st, struct iwt_sock_cursor *at, u32 avail,
		      u32 *need)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	struct iwt_fpdu f = {};
	struct taken t = {};

	while (t.used < avail && !rx->discard) {
		if (!budget(&t)) {
			*need = 0;
			break;
		}
		/* after this, the first bytes of the next FPDU are in the current piece */
		if (!at->c.len && !at->c.more(&at->c))
			break;
		if (!take_next(st, &f, at, avail, &t, need))
			break;
	}
	iwt_hold_drop(&rx->hold);
	count_taken(st, &t);
	return t.used;
}

/*
 * Execute one step. Return: number of bytes that must be in the socket before the next step can
 * consume anything, as far as known; 0 if the bytes that have arrived may be enough.
 */
static u32 rx_take_step(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	struct iwt_sock_cursor at;
	u32 avail, used = 0, need = 1;

	avail = iwt_sock_peek(st->sock, &at);
	if (!avail)
		return 1;
	if (!rx->discard)
		used = take_fpdus(st, &at, avail, &need);
	if (rx->discard) {
		used = max_t(u32, used, min_t(u32, avail, RX_STEP));
		need = used == avail;
	}
	iwt_sock_consume(st->sock, used);
	/* unless an FPDU waits, the remaining bytes are the first part of an FPDU */
	if (need && !rx->discard && used < avail && !rx->stalled)
		iwt_sock_set_aside(st->sock);
	return need;
}

/* Execute steps, up to the budget of a run. Return: as rx_take_step(). */
static u32 rx_take_steps(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	u32 need = 0;
	int i;

	for (i = 0; i < RX_STEPS && !need; i++)
		need = rx_take_step(st);
	return need;
}

/**
 * iwt_rx_run() - receive the bytes that have arrived
 * @st: stream; the socket lock and the stream lock are held
 *
 * Any context with bottom halves off; never sleeps. Megabytes may have arrived after a lost
 * segment. The run consumes these bytes in steps, so that TCP acknowledges some bytes before all
 * are processed. If bytes may be left after the last step, this function sets
 * st->rx.budget_used, and another run must process the rest. After an error or a Terminate, this
 * function discards all bytes that arrive (RFC 5044 8), so that the peer can still read the
 * Terminate of this end and close gracefully.
 *
 * If pages of the destination of an FPDU must be faulted in first, the FPDU and all bytes after
 * it stay in the socket, and TCP's receive window closes. The same happens on a direct connection
 * if no receive is posted for a message.
 *
 * Return: see enum iwt_rx_result.
 */
enum iwt_rx_result iwt_rx_run(struct iwt_stream *st)
{
	struct iwt_rx *rx = &st->rx;
	bool was_discarding = rx->discard;
	u32 need;

	lockdep_assert_held(&st->lock);
	if (!rx->discard && (iwt_fault_waits(&rx->hold.fault) ||
			     (unlikely(rx->wait_recv) && iwt_rx_must_wait(st))))
		return IWT_RX_OK;
	need = rx_take_steps(st);
	if (unlikely(rx->wait_recv) && !rx->discard && st->readq.out_n) {
		iwt_rx_look_ahead(st);
		if (rx->discard)
			need = rx_take_steps(st);
	}
	rx->budget_used = !need;
	iwt_sock_await(st->sock, need ?: 1);
	if (rx->budget_used)
		iwt_stream_count(st, IWT_C_RX_BUDGET);
	if (was_discarding || !rx->discard)
		return IWT_RX_OK;
	return rx->err ? IWT_RX_ERROR : IWT_RX_TERMINATED;
}

/**
 * iwt_rx_flush() - flush the receive of the current Send, and posted receives
 * @st: stream; its lock is held
 * @max: maximum number of posted receives to flush
 *
 * Return: true when receives are left.
 */
bool iwt_rx_flush(struct iwt_stream *st, u32 max)
{
	lockdep_assert_held(&st->lock);
	iwt_rx_fail_recv(st, IB_WC_WR_FLUSH_ERR);
	return iwt_rq_flush(&st->rq, st->ibqp, max);
}
