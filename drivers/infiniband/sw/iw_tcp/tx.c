// SPDX-License-Identifier: GPL-2.0
/* The transmit engine: sends framed bytes, completes requests, sends the Terminate. */
#include "tx_priv.h"

#include <linux/mm.h>

#include "dawdle.h"
#include "sock.h"
#include "tx_zc.h"
#include "wake_reply.h"

/* Maximum number of batches per run, so that a run does not delay other streams. */
#define TX_BATCHES	4

/**
 * iwt_tx_start() - make the engine ready for a connection
 * @tx: engine; the lock of the stream is held
 * @terms: negotiated terms of the connection
 * @initiator: this end sent the MPA Request
 */
void iwt_tx_start(struct iwt_tx *tx, const struct iwt_mpa_terms *terms,
		  bool initiator)
{
	memset(tx, 0, sizeof(*tx));
	tx->crc = terms->crc;
	tx->markers = terms->tx_markers;
	tx->large = terms->tx_large;
	tx->rdmac = terms->rdmac;
	tx->mpa_rev = terms->rdmac ? 0 : terms->enhanced ? 2 : 1;
	tx->wait_first_fpdu = !initiator;
	tx->rtr = initiator ? terms->rtr : IWT_RTR_NONE;
	tx->send_msn = IWT_FIRST_MSN;
	tx->read_msn = IWT_FIRST_MSN;
	tx->resp_msn = IWT_FIRST_MSN - 1;
	tx->atomic_msn = IWT_FIRST_MSN;
	tx->stream_pos = IWT_FIRST_POS;
}

/*
 * Count the pieces, from @first on, that one call passes to TCP: up to the next piece after which
 * a segment must end (MSG_EOR). Return: number of pieces; @bytes is set to the number of bytes in
 * these pieces.
 */
static u32 record(const struct iwt_tx *tx, u32 first, u32 *bytes)
{
	u32 i = first;

	*bytes = 0;
	do {
		*bytes += tx->chunk[i].bv_len;
	} while (!(tx->ends & BIT(i++)) && i < tx->n_chunks);
	return i - first;
}

/* Remove the first @bytes bytes of the pieces, which TCP has accepted. */
static void drop_taken(struct iwt_tx *tx, u32 bytes)
{
	u32 i = 0;

	tx->bytes -= bytes;
	while (i < tx->n_chunks && bytes >= tx->chunk[i].bv_len) {
		bytes -= tx->chunk[i].bv_len;
		put_page(tx->chunk[i++].bv_page);
	}
	tx->n_chunks -= i;
	tx->ends >>= i;
	memmove(tx->chunk, tx->chunk + i, tx->n_chunks * sizeof(tx->chunk[0]));
	tx->chunk[0].bv_offset += bytes;
	tx->chunk[0].bv_len -= bytes;
}

/* Pass the pieces to TCP. Return: false when TCP did not accept all bytes. */
static bool send_batch(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	u32 total = tx->bytes, taken = 0, i, n, bytes;
	int sent;

	for (i = 0; i < tx->n_chunks; i += n) {
		n = record(tx, i, &bytes);
		sent = iwt_sock_send_pages(st->sock, tx->chunk + i, n, bytes,
					   (tx->ends & BIT(i + n - 1) ? MSG_EOR : 0) |
					   (i + n < tx->n_chunks ? MSG_MORE : 0));
		iwt_tx_sent(tx, sent);
		taken += max(sent, 0);
		if (sent != (int)bytes)
			break;
	}
	drop_taken(tx, taken);
	return iwt_tx_taken(st, total, taken);
}

/* Pass all framed bytes to TCP. Return: false when TCP did not accept all bytes. */
static bool send_framed(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;

	if (tx->n_chunks || tx->zcb) {
		if (tx->n_chunks ? !send_batch(st) : !iwt_tx_zc_send(st))
			return false;
		iwt_sock_batch_done(st->sock);
	}
	tx->ended = false;
	return true;
}

/*
 * No message is left: prepare to stop. If the engine will be needed for later posts, and no
 * poller reads the ring, set the flag that makes a poster ring the doorbell. Return: true when
 * the engine may stop; false when a request was posted meanwhile, so that the engine must
 * continue.
 */
static bool go_idle(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_sq *sq = &st->sq;

	if (st->tx.loaded || st->tx.wait_first_fpdu || !iwt_stream_open(st))
		return true;
	/* a poller reads the ring again, and runs the engine when it stops polling */
	if (st->pollers)
		return true;
	if (iwt_reply_spin(st))
		return false;
	iwt_dawdle();
	if (iwt_ring_sleep(&sq->ring, sq->cons))
		return true;
	iwt_ring_awake(&sq->ring);
	return false;
}

/*
 * TCP did not accept all framed bytes. Return: IWT_TX_LOST if TCP will never accept them;
 * IWT_TX_STARVED if TCP lacked memory: TCP will not call the driver, so the caller has to retry;
 * otherwise IWT_TX_IDLE: TCP will call the driver when TCP has room again.
 */
static enum iwt_tx_result blocked(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	if (st->tx.lost)
		return IWT_TX_LOST;
	return iwt_sock_starved(st->sock) ? IWT_TX_STARVED : IWT_TX_IDLE;
}

/*
 * Send the rest of the last batch, then frame and send one batch. Return: IWT_TX_MORE to
 * continue, else the result of the run.
 */
static enum iwt_tx_result run_batch(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;

	if (!send_framed(st))
		return blocked(st);
	if (!iwt_sock_writable(st->sock) || iwt_fault_waits(&tx->src_hold.fault))
		return IWT_TX_IDLE;
	iwt_tx_fill(st);
	iwt_stream_count_add(st, IWT_C_TX_FPDU, tx->fpdus);
	iwt_stream_count_add(st, IWT_C_TX_ALIGNED, tx->segs);
	if (tx->fpdus)
		iwt_stream_count(st, IWT_C_TX_BATCH);
	if (!send_framed(st))
		return tx->err ? IWT_TX_FAILED : blocked(st);
	iwt_stream_retire(st);
	if (tx->err)
		return IWT_TX_FAILED;
	if (tx->term == IWT_TX_TERM_FRAMED) {
		tx->term = IWT_TX_TERM_SENT;
		return IWT_TX_TERM_OUT;
	}
	if (iwt_fault_waits(&tx->src_hold.fault))
		return IWT_TX_IDLE;
	if (tx->what != IWT_TX_NOTHING && !tx->fpdus)
		return IWT_TX_STARVED;
	if (tx->dry)
		return go_idle(st) ? IWT_TX_IDLE : IWT_TX_MORE;
	return IWT_TX_MORE;
}

/**
 * iwt_tx_run() - transmit Responses, work requests and the Terminate
 * @st: stream; the socket lock and the stream lock are held, not in the backlog
 *
 * A Send or Write is completed when TCP has accepted all its bytes: the consumer may then reuse
 * the buffers (RFC 5040 5.5 rule 9: a completion does not mean that the peer has the data), and a
 * graceful close after the last completion loses no data. On a direct connection, the request is
 * completed only when the peer has confirmed its message (tx_confirm.c). If TCP refers to the
 * consumer's buffers (zero copy), the request is completed only when TCP has released the
 * buffers. Never sleeps.
 *
 * Return: see enum iwt_tx_result.
 */
enum iwt_tx_result iwt_tx_run(struct iwt_stream *st)
{
	enum iwt_tx_result res = IWT_TX_MORE;
	int i;

	lockdep_assert_held(&st->lock);
	if (iwt_stream_open(st))
		iwt_ring_awake(&st->sq.ring);
	iwt_sock_follow_route(st->sock);
	for (i = 0; i < TX_BATCHES && res == IWT_TX_MORE; i++)
		res = run_batch(st);
	iwt_stream_retire(st);
	return res;
}

/**
 * iwt_tx_terminate() - send a Terminate as the next and last message
 * @tx: engine; the lock of the stream is held
 * @err: error that the Terminate reports
 * @hdr: DDP and RDMAP header of the offending segment, or NULL
 * @hdr_len: length of @hdr in bytes
 * @ulpdu_len: ULPDU_Length of the offending segment
 *
 * FPDUs that are already framed are sent before the Terminate. The caller drops the rest of the
 * current message by iwt_tx_drop_work(); no later message is sent (RFC 5040 5.4). This function
 * does nothing if the stream already has a Terminate.
 */
void iwt_tx_terminate(struct iwt_tx *tx, u32 err, const u8 *hdr, u32 hdr_len,
		      u16 ulpdu_len)
{
	if (tx->term != IWT_TX_TERM_NONE)
		return;
	tx->term_len = iwt_term_build(err, hdr, hdr_len, ulpdu_len,
				      tx->term_ulpdu);
	tx->term = IWT_TX_TERM_PENDING;
}

/**
 * iwt_tx_drop_work() - drop the current message and the loaded work request
 * @tx: engine; the lock of the stream is held
 *
 * Also cancels the wait for absent memory, and clears tx->err.
 */
void iwt_tx_drop_work(struct iwt_tx *tx)
{
	iwt_fault_cancel(&tx->src_hold.fault);
	tx->what = IWT_TX_NOTHING;
	tx->loaded = false;
	tx->rtr = IWT_RTR_NONE;
	tx->err = IWT_OK;
}

/**
 * iwt_tx_stop() - release the pages after the connection has ended
 * @tx: engine; the lock of the stream is held
 *
 * Return: true when framed bytes were dropped: the stream may end inside an FPDU, so the
 * connection must not be closed gracefully.
 */
bool iwt_tx_stop(struct iwt_tx *tx)
{
	bool cut = tx->n_chunks || tx->zcb;

	iwt_tx_zc_drop(tx);
	while (tx->n_chunks)
		put_page(tx->chunk[--tx->n_chunks].bv_page);
	tx->bytes = 0;
	tx->ends = 0;
	iwt_tx_drop_work(tx);
	return cut;
}

/**
 * iwt_tx_busy() - is work outstanding that a graceful close would cut off?
 * @st: stream; its lock is held
 *
 * Return: true if work is outstanding.
 */
bool iwt_tx_busy(const struct iwt_stream *st)
{
	const struct iwt_tx *tx = &st->tx;

	lockdep_assert_held(&st->lock);
	return tx->n_chunks || tx->zcb || tx->what != IWT_TX_NOTHING ||
	       !iwt_sq_idle(&st->sq) || st->readq.in_n || st->readq.out_n;
}

/**
 * iwt_tx_wanted() - does iwt_tx_run() perhaps have work?
 * @st: stream; its lock is held
 *
 * Return: false when iwt_tx_run() has no work; then IWT_RING_NEED_WAKEUP is set, so that the next
 * post wakes the engine.
 */
bool iwt_tx_wanted(const struct iwt_stream *st)
{
	const struct iwt_tx *tx = &st->tx;

	lockdep_assert_held(&st->lock);
	return tx->n_chunks || tx->zcb || iwt_zc_any_released(st->sq.zc) ||
	       tx->what != IWT_TX_NOTHING || tx->loaded ||
	       tx->rtr != IWT_RTR_NONE || tx->term != IWT_TX_TERM_NONE ||
	       st->readq.in_n || iwt_tx_confirm_wanted(st) || !iwt_ring_asleep(&st->sq.ring) ||
	       iwt_ring_prod(&st->sq.ring) != st->sq.cons;
}
