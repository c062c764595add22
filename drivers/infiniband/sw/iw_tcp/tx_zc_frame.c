// SPDX-License-Identifier: GPL-2.0
/*
 * Framing by reference (zero copy): TCP refers to the payload in the memory of the consumer, and
 * only headers, trailers and short pieces of payload are copied.
 *
 * Zero copy is not used with CRC: if the consumer changed its memory too early, retransmitted
 * bytes would differ from the bytes of which the CRC was computed. Zero copy is not used with
 * markers either, because markers would divide the payload into short pieces. With PREEMPT_RT
 * zero copy is not available (config.c).
 *
 * Zero copy is not used for Read Responses: the consumer gets no completion for a Response. The
 * consumer may revoke the peer's access at any time and use the memory for other data, which the
 * peer must not receive.
 */
#include "tx_priv.h"

#include <linux/mm.h>
#include <linux/net.h>

#include "dev.h"
#include "proto/fpdu.h"
#include "sock.h"
#include "tx_buf.h"
#include "tx_zc.h"

/* With IWT_ZEROCOPY_AUTO: minimum payload, in bytes, of an FPDU, and of a message. */
#define MIN_FPDU	(4 << 10)
#define MIN_MSG		(32 << 10)
/* Minimum length, in bytes, of a piece of payload to refer to; shorter pieces are copied. */
#define MIN_PIECE	1024
/* Minimum room, in bytes, in a new buffer for headers, trailers and short pieces. */
#define MIN_ROOM	2048

/* State to restore when an FPDU can't be framed. */
struct undo {
	struct iwt_txseg msg;
	struct iwt_sgl_pos pos;
	u32 bytes;
	u32 by_ref;
};

/* Return: minimum payload, in bytes, of an FPDU that is framed by reference. */
static u32 least(const struct iwt_tx *tx)
{
	return tx->zerocopy == IWT_ZEROCOPY_AUTO ? MIN_FPDU : MIN_PIECE;
}

/**
 * iwt_tx_zc_wanted() - should the current message be sent by reference?
 * @st: stream; the socket lock and the stream lock are held
 * @fit: maximum size of an FPDU in bytes
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

/* Copy bytes, and add the copy to the batch. Return: false if room or memory is missing. */
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

/*
 * Add bytes of one page: a pinned page of a process, or any memory of a kernel consumer. The
 * bytes are copied if TCP can't refer to the page. Return: false if room or memory is missing.
 */
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

/* Add contiguous bytes of a region. Return: false if room or memory is missing. */
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

/*
 * Frame one FPDU of the current message. Return: false if room or memory is missing, or if the
 * payload can't be read.
 */
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
	/* the FPDU was not framed: the message continues with this FPDU */
	tx->msg = undo.msg;
	tx->pos = undo.pos;
	iwt_zc_cut(tx->zcb, undo.bytes);
	tx->zcb->by_ref = undo.by_ref;
	iwt_tx_let_go(tx);
	return false;
}

/* Does the batch have room for another FPDU, within one skb of TCP? */
static bool zc_has_room(const struct iwt_tx *tx, u32 fit)
{
	u32 pieces = fit / PAGE_SIZE + 3;

	return tx->zcb->n + pieces <= IWT_ZC_FRAGS &&
	       tx->zcb->bytes + fit <= IWT_TX_BATCH;
}

/**
 * iwt_tx_zc_fill() - frame a batch of the current message by reference
 * @st: stream; the socket lock and the stream lock are held, and all framed bytes are sent
 * @fit: maximum size of an FPDU in bytes
 *
 * The batch contains a part of one message, or the whole message.
 *
 * Return: true when FPDUs were framed, or an error occurred (tx->err); false when no FPDU was
 * framed, without an error: then the caller must frame the message by copying.
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
 * iwt_tx_zc_send() - pass the batch that is framed by reference to TCP
 * @st: stream with a batch; the socket lock and the stream lock are held
 *
 * Return: false when TCP did not accept the whole batch.
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

/* Release the current batch, if any. @tx: engine; the lock of the stream is held. */
void iwt_tx_zc_drop(struct iwt_tx *tx)
{
	if (tx->zcb)
		iwt_zc_sent(tx->zcb);
	tx->zcb = NULL;
}
