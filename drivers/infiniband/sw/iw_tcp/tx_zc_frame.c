// SPDX-License-Identifier: GPL-2.0
/*
 * Messages whose payload TCP takes from where it is: only headers and trailers are written.
 *
 * Not with a CRC: if the consumer changed its memory too early, octets that are sent again
 * would differ from those that the CRC was computed from.
 *
 * Not for Read Responses: the owner of their source is never told that it has been sent. The
 * owner may withdraw the peer's right to it at any time and use it for something else, which
 * the peer must not see.
 */
#include "tx_priv.h"

#include <linux/mm.h>
#include <linux/net.h>

#include "dev.h"
#include "proto/fpdu.h"
#include "sock.h"
#include "tx_buf.h"
#include "tx_zc.h"

/* With IWT_ZEROCOPY_AUTO: payload of an FPDU, and of a message, at least. */
#define MIN_FPDU	(4 << 10)
#define MIN_MSG		(32 << 10)
/* Octets in one piece that are worth a reference; fewer are copied in any case. */
#define MIN_PIECE	1024
/* Room that a buffer should have: headers, trailers, short pieces. */
#define MIN_ROOM	2048

/* What to restore when an FPDU can't be framed. */
struct undo {
	struct iwt_txseg msg;
	struct iwt_sgl_pos pos;
	u32 bytes;
	u32 by_ref;
};

/* The least payload of the next FPDU for which it pays. */
static u32 least(const struct iwt_tx *tx)
{
	return tx->zerocopy == IWT_ZEROCOPY_AUTO ? MIN_FPDU : MIN_PIECE;
}

/**
 * iwt_tx_zc_wanted() - is the current message one to be sent by reference?
 * @st: stream; the socket lock and its own are held
 * @fit: octets that FPDUs are to fit in
 *
 * Return: true if so.
 */
bool iwt_tx_zc_wanted(struct iwt_stream *st, u32 fit)
{
	const struct iwt_tx *tx = &st->tx;

	lockdep_assert_held(&st->lock);
	if (tx->zerocopy == IWT_ZEROCOPY_OFF || tx->what != IWT_TX_WQE ||
	    tx->wqe->h.flags & IWT_WR_INLINE)
		return false;
	if (min(tx->msg.left, fit) < least(tx))
		return false;
	if (tx->zerocopy == IWT_ZEROCOPY_AUTO &&
	    iwt_sq_entry(&st->sq, tx->idx)->len < MIN_MSG)
		return false;
	return iwt_sock_may_zerocopy(st->sock, tx->zerocopy == IWT_ZEROCOPY_ALWAYS);
}

static struct iwt_txbuf *find_buf(struct iwt_tx *tx)
{
	if (tx->buf && iwt_txbuf_room(tx->buf))
		return tx->buf;
	if (tx->buf)
		iwt_txbuf_put(tx->buf);
	tx->buf = iwt_txbuf_get(MIN_ROOM, tx->near ? IWT_TXBUF_NEAR : IWT_TXBUF_FAR);
	return tx->buf && iwt_txbuf_room(tx->buf) ? tx->buf : NULL;
}

/* Octets by copy. */
static bool put_octets(struct iwt_tx *tx, const u8 *from, u32 len)
{
	while (len) {
		struct iwt_txbuf *b = find_buf(tx);
		u32 n;

		if (!b)
			return false;
		n = min(len, iwt_txbuf_room(b));
		if (!iwt_zc_add(tx->zcb, b->page, b->off, n))
			return false;
		memcpy(page_address(b->page) + b->off, from, n);
		b->off += n;
		from += n;
		len -= n;
	}
	return true;
}

/* Octets of one page: a pinned page of a process, or any memory of a kernel consumer. */
static bool put_page_part(struct iwt_stream *st, const u8 *from, u32 len)
	__must_hold(&st->lock)
{
	const struct iwt_mr *mr = st->tx.src_hold.mr;
	struct page *page;

	if (mr && !iwt_mr_has_pages(mr))
		return put_octets(&st->tx, from, len);
	if (st->actor.kernel && !virt_addr_valid(from))
		return put_octets(&st->tx, from, len);
	page = virt_to_page(from);
	if (!sendpage_ok(page))
		return put_octets(&st->tx, from, len);
	st->tx.zcb->by_ref += len;
	return iwt_zc_add(st->tx.zcb, page, offset_in_page(from), len);
}

/* Octets in one piece of a region. */
static bool put_piece(struct iwt_stream *st, const u8 *from, u32 len)
	__must_hold(&st->lock)
{
	u32 part;

	if (len < MIN_PIECE)
		return put_octets(&st->tx, from, len);
	for (; len; len -= part, from += part) {
		part = min_t(u32, len, PAGE_SIZE - offset_in_page(from));
		if (!put_page_part(st, from, part))
			return false;
	}
	return true;
}

static bool put_payload(struct iwt_stream *st, u32 len)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	u32 n;

	for (; len; len -= n) {
		if (!tx->src_len && !iwt_tx_next_piece(st))
			return false;
		n = min(len, tx->src_len);
		if (!put_piece(st, tx->src, n))
			return false;
		tx->src += n;
		tx->src_len -= n;
		tx->pos.off += n;
	}
	return true;
}

/* Frames one FPDU of the current message. Return: false without room or right. */
static bool zc_put_fpdu(struct iwt_stream *st, u32 mulpdu)
	__must_hold(&st->lock)
{
	static const u8 tail[3 + IWT_FPDU_CRC_LEN];
	struct iwt_tx *tx = &st->tx;
	const struct undo undo = {
		tx->msg, tx->pos, tx->zcb->bytes, tx->zcb->by_ref,
	};
	struct iwt_txplan plan;

	iwt_txseg_next(&tx->msg, mulpdu, &plan);
	if (put_octets(tx, plan.head, plan.head_len) &&
	    put_payload(st, plan.payload) &&
	    put_octets(tx, tail, plan.pad + IWT_FPDU_CRC_LEN)) {
		tx->stream_pos += plan.size;
		tx->fpdus++;
		tx->segs++;
		iwt_tx_trace_fpdu(st, &plan);
		iwt_fault_settle(&tx->src_hold.fault);
		return true;
	}
	/* not framed, so still to be sent (RFC 5040 4.8) */
	tx->msg = undo.msg;
	tx->pos = undo.pos;
	iwt_zc_cut(tx->zcb, undo.bytes);
	tx->zcb->by_ref = undo.by_ref;
	iwt_tx_let_go(tx);
	return false;
}

/* Has the batch room for another FPDU, in the same buffer of TCP? */
static bool zc_has_room(const struct iwt_tx *tx, u32 fit)
{
	u32 pieces = fit / PAGE_SIZE + 3;

	return tx->zcb->n + pieces <= IWT_ZC_FRAGS &&
	       tx->zcb->bytes + fit <= IWT_TX_BATCH;
}

/**
 * iwt_tx_zc_fill() - frame a batch of the current message by reference
 * @st: stream; the socket lock and its own are held, and nothing is unsent
 * @fit: octets that FPDUs are to fit in
 *
 * The batch ends with the message at the latest.
 *
 * Return: false when nothing was framed though nothing is wrong: then the message has to be
 * copied.
 */
bool iwt_tx_zc_fill(struct iwt_stream *st, u32 fit)
{
	struct iwt_tx *tx = &st->tx;
	u32 mulpdu = iwt_mulpdu(fit, false);

	lockdep_assert_held(&st->lock);
	tx->zcb = iwt_zc_get(st->sq.zc);
	if (!tx->zcb)
		return false;
	iwt_sq_entry(&st->sq, tx->idx)->last_seq = tx->zcb->seq;
	while (zc_put_fpdu(st, mulpdu) && !tx->msg.done &&
	       tx->msg.left >= least(tx) && zc_has_room(tx, fit))
		;
	if (!tx->zcb->bytes) {
		iwt_tx_zc_drop(tx);
		return tx->err;
	}
	iwt_stream_count_add(st, IWT_C_TX_ZEROCOPY, tx->zcb->by_ref);
	if (!tx->err && tx->msg.done)
		iwt_tx_finish(st);
	return true;
}

/**
 * iwt_tx_zc_send() - hand over what is framed by reference
 * @st: stream with a batch; the socket lock and its own are held
 *
 * Return: false when TCP did not take all of it.
 */
bool iwt_tx_zc_send(struct iwt_stream *st)
{
	struct iwt_zc_batch *b = st->tx.zcb;
	int sent;

	lockdep_assert_held(&st->lock);
	sent = iwt_sock_send_zerocopy(st->sock, b->piece, b->n, b->bytes, b->sent,
				      &b->ubuf);
	iwt_tx_sent(&st->tx, sent);
	sent = max(sent, 0);
	b->sent += sent;
	if (!iwt_tx_taken(st, b->bytes - b->sent + sent, sent))
		return false;
	iwt_tx_zc_drop(&st->tx);
	return true;
}

/**
 * iwt_tx_zc_drop() - finish the batch, if there is one
 * @tx: engine; its lock is held
 */
void iwt_tx_zc_drop(struct iwt_tx *tx)
{
	if (tx->zcb)
		iwt_zc_sent(tx->zcb);
	tx->zcb = NULL;
}
