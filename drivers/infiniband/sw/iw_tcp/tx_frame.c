// SPDX-License-Identifier: GPL-2.0
/* Framing messages as FPDUs, many at a time, in memory that TCP will refer to. */
#include "tx_priv.h"

#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/unaligned.h>

#include "mr_copy.h"
#include "proto/fpdu.h"
#include "proto/marker.h"
#include "sock.h"
#include "tx_buf.h"

/*
 * Minimum number of free bytes in a buffer for framing: enough for an FPDU with a ULPDU of the
 * size IWT_MULPDU_MIN, and for a marker.
 */
#define TX_MIN_ROOM	(IWT_MULPDU_MIN + 12)
/*
 * If an FPDU need not fit in a segment, or is longer than a buffer, this number of free bytes in
 * a buffer is sufficient: the FPDU is then made so long that it fills the free part of the
 * buffer.
 */
#define TX_LARGE_ROOM	(4 << 10)
/* Maximum number of large buffers of a batch, so that one skb can refer to all their pages. */
#define TX_BUFS		2
/* Maximum number of bytes in front of payload: ULPDU_Length, and an untagged DDP header. */
#define DATA_HEAD	(IWT_FPDU_LEN_LEN + IWT_DDP_UNTAGGED_LEN)

/* End the segment after the last piece, even if the segment is not full. */
static void end_chunk(struct iwt_tx *tx)
{
	if (tx->n_chunks)
		tx->ends |= BIT(tx->n_chunks - 1);
}

/* Add framed bytes to the batch. If they follow the last piece in memory, extend that piece. */
static void add_chunk(struct iwt_tx *tx, struct page *page, u32 off, u32 len)
{
	struct bio_vec *last = tx->n_chunks ? &tx->chunk[tx->n_chunks - 1] : NULL;

	tx->bytes += len;
	tx->stream_pos += len;
	if (last && last->bv_page == page && last->bv_offset + last->bv_len == off &&
	    !(tx->ends & BIT(tx->n_chunks - 1))) {
		last->bv_len += len;
		return;
	}
	get_page(page);
	bvec_set_page(&tx->chunk[tx->n_chunks++], page, len, off);
}

/*
 * End the segment under construction. TCP ends a full segment by itself. If the segment is not
 * full, mark its end, so that TCP ends the segment there.
 */
static void end_segment(struct iwt_tx *tx)
{
	if (tx->room)
		end_chunk(tx);
	tx->room = 0;
}

/*
 * As mulpdu_now(), with markers. An FPDU of the length iwt_mulpdu() does not fill its segment if
 * the FPDU contains fewer markers than iwt_mulpdu() allows for. TCP can pass many segments
 * together only if they are full. So then two FPDUs share the segment, and fill it, unless the
 * message ends in the segment.
 */
static noinline u32 mulpdu_marked(struct iwt_tx *tx, u32 mss)
{
	u32 most = iwt_mulpdu(mss, true), now, span;

	if (tx->room) {
		now = clamp(iwt_fpdu_fit(tx->room, tx->stream_pos), IWT_MULPDU_MIN, most);
		span = iwt_fpdu_span(tx->stream_pos, iwt_txseg_size(&tx->msg, now), true);
		if (span <= tx->room)
			return now;
		end_segment(tx);
	}
	tx->room = mss;
	now = iwt_fpdu_fit(mss / 2, tx->stream_pos);
	span = iwt_fpdu_span(tx->stream_pos, iwt_txseg_size(&tx->msg, most), true);
	if (tx->large || now < IWT_MULPDU_MIN || span == round_down(mss, 4) ||
	    iwt_txseg_is_last(&tx->msg, most))
		return most;
	return now;
}

/*
 * Return: maximum length of the next ULPDU, in bytes. The ULPDU either fits in the rest of the
 * segment under construction, or begins a new segment. So each segment begins with an FPDU and
 * contains only whole FPDUs (RFC 5044 4.5, 5.1). If the rest of the segment is smaller than the
 * smallest MULPDU, it is used only for a message that fits in it.
 */
static u32 mulpdu_now(struct iwt_tx *tx, u32 mss)
{
	u32 now;

	if (tx->markers)
		return mulpdu_marked(tx, mss);
	if (tx->room) {
		now = iwt_mulpdu(tx->room, false);
		if (iwt_txseg_size(&tx->msg, now) <= tx->room)
			return now;
		end_segment(tx);
	}
	tx->room = mss;
	return iwt_mulpdu(mss, false);
}

/* Write the trailer: the pad, and then the CRC of all bytes before the CRC field, or 0. */
static __always_inline void put_trailer(u8 *fpdu, u32 size, u8 pad, bool crc)
{
	u8 *tail = fpdu + size - IWT_FPDU_CRC_LEN;

	if (pad)
		memset(tail - pad, 0, pad);
	put_unaligned_le32(crc ? ~crc32c(~0, fpdu, size - IWT_FPDU_CRC_LEN) : 0,
			   tail);
}

/*
 * A header in front of payload has at most DATA_HEAD bytes. The copy has this constant length, so
 * that it needs no loop. If the header is shorter, the copy also writes bytes after the header;
 * the payload, the pad or the CRC overwrites these bytes next.
 */
static __always_inline void put_head(u8 *to, const struct iwt_txplan *p)
{
	BUILD_BUG_ON(IWT_FPDU_LEN_LEN + IWT_DDP_TAGGED_LEN + IWT_FPDU_CRC_LEN < DATA_HEAD);
	if (likely(p->head_len <= DATA_HEAD))
		memcpy(to, p->head, DATA_HEAD);
	else
		memcpy(to, p->head, p->head_len);
}

static bool put_plain(struct iwt_stream *st, const struct iwt_txplan *p, u8 *to)
	__must_hold(&st->lock)
{
	put_head(to, p);
	if (!iwt_tx_fetch(st, to + p->head_len, p->payload))
		return false;
	put_trailer(to, p->size, p->pad, st->tx.crc);
	return true;
}

/*
 * As put_plain(), with markers. Each marker precedes an octet of the FPDU, so no FPDU ends with a
 * marker. The function is not inline, so that FPDUs without markers need no stack for markers.
 */
static noinline bool put_marked(struct iwt_stream *st, const struct iwt_txplan *p, u8 *to)
	__must_hold(&st->lock)
{
	static const u8 tail[IWT_FPDU_CRC_LEN + 3];
	u8 *out = to;
	u32 left = p->payload, run;
	struct iwt_marker m;

	iwt_marker_begin(&m, st->tx.stream_pos);
	out += iwt_marker_copy(&m, p->head, p->head_len, out);
	while (left) {
		out += iwt_marker_put(&m, out, &run);
		run = min(run, left);
		if (!iwt_tx_fetch(st, out, run))
			return false;
		out += run;
		left -= run;
		m.pos += run;
	}
	out += iwt_marker_copy(&m, tail, p->pad + IWT_FPDU_CRC_LEN, out);
	/* the pad is already written, possibly with a marker inside */
	put_trailer(to, out - to, 0, st->tx.crc);
	return true;
}

static void drop_buf(struct iwt_tx *tx)
{
	if (tx->buf)
		iwt_txbuf_put(tx->buf);
	tx->buf = NULL;
}

/*
 * Will the batch fit in a small buffer, together with an FPDU of @size bytes and the rest of the
 * current message?
 */
static bool is_short(const struct iwt_tx *tx, u32 size)
{
	return tx->bytes + max(size, tx->msg.left) <= IWT_TXBUF_SMALL;
}

/*
 * Set tx->buf to a buffer with room for @size bytes. If memory is short, the buffer may have less
 * room, but enough for the smallest MULPDU. For an FPDU that is longer than a buffer, or need not
 * fit in a segment, TX_LARGE_ROOM is enough. A batch has at most two large buffers: TCP would
 * need several skbs for more buffers, and a segment would end where the first skb is full.
 * Return: false if the batch already has two large buffers, or if no buffer has room.
 */
static bool find_room(struct iwt_tx *tx, u32 size)
{
	enum iwt_txbuf_kind kind = tx->near ? IWT_TXBUF_NEAR : IWT_TXBUF_FAR;

	if (is_short(tx, size))
		kind = IWT_TXBUF_SHORT;
	if (tx->large || size > IWT_TXBUF_SIZE)
		size = min_t(u32, size, TX_LARGE_ROOM);
	if (tx->buf && iwt_txbuf_room(tx->buf) >= size)
		return true;
	drop_buf(tx);
	if (kind != IWT_TXBUF_SHORT && tx->bufs++ == TX_BUFS)
		return false;
	tx->buf = iwt_txbuf_get(size, kind);
	return tx->buf &&
	       iwt_txbuf_room(tx->buf) >= min_t(u32, size, TX_MIN_ROOM);
}

static bool put_fpdu(struct iwt_stream *st, const struct iwt_txplan *p, u8 *to)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	const struct iwt_sgl_pos was = tx->pos;

	if (tx->markers ? put_marked(st, p, to) : put_plain(st, p, to)) {
		iwt_tx_trace_fpdu(st, p);
		iwt_fault_settle(&tx->src_hold.fault);
		return true;
	}
	/*
	 * the FPDU was not framed: the message continues with this FPDU, or a Terminate quotes
	 * the part of the message that is left (RFC 5040 4.8)
	 */
	iwt_txseg_undo(&tx->msg, p);
	tx->pos = was;
	return false;
}

/* Frame an FPDU at @to, whose payload is in the current piece of the source. */
static __always_inline void put_known(struct iwt_stream *st, const struct iwt_txplan *p, u8 *to)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;

	put_head(to, p);
	iwt_copy(to + p->head_len, tx->src, p->payload);
	put_trailer(to, p->size, p->pad, tx->crc);
	tx->src += p->payload;
	tx->src_len -= p->payload;
	tx->pos.off += p->payload;
}

/*
 * Frame most of a long message: the FPDU at @to fills its segment, so frame more FPDUs of this
 * size after it, as long as the buffer and the batch have room. Return: number of bytes of the
 * additional FPDUs.
 */
static u32 put_more(struct iwt_stream *st, struct iwt_txplan *p, u8 *to)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	u32 room = min(iwt_txbuf_room(tx->buf), IWT_TX_BATCH - tx->bytes);
	u32 fit = room / p->size, done = 1;

	while (done < fit && iwt_txseg_again(&tx->msg, p)) {
		to += p->size;
		if (likely(tx->src_len >= p->payload && !trace_iwt_fpdu_tx_enabled()))
			put_known(st, p, to);
		else if (!put_fpdu(st, p, to))
			break;
		done++;
	}
	tx->fpdus += done - 1;
	tx->segs += done - 1;
	return (done - 1) * p->size;
}

/*
 * Return: number of bytes that the buffer must have for an FPDU of @size bytes. If two FPDUs with
 * markers may share the segment (mulpdu_marked()), the buffer needs room for both: otherwise the
 * last buffer of a batch might have room for the first FPDU only, and the segment would not be
 * full.
 */
static u32 room_for(const struct iwt_tx *tx, u32 size, u32 mulpdu, u32 mss)
{
	if (!tx->markers || tx->room != mss || iwt_txseg_is_last(&tx->msg, mulpdu))
		return size;
	return max(size, min_t(u32, mss, IWT_TXBUF_SIZE));
}

/*
 * Frame one FPDU of the current message, and, if this FPDU fills a segment, more FPDUs of the
 * same size. Return: false when no FPDU could be framed, or when tx->err is set.
 */
static bool frame(struct iwt_stream *st, u32 mss)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	u32 mulpdu = mulpdu_now(tx, mss);
	struct iwt_txplan plan;
	u32 size;
	u8 *to;

	size = iwt_fpdu_span(tx->stream_pos, iwt_txseg_size(&tx->msg, mulpdu),
			     tx->markers);
	if (!find_room(tx, room_for(tx, size, mulpdu, mss)))
		return false;
	if (iwt_txbuf_room(tx->buf) < size)
		mulpdu = min(mulpdu, iwt_mulpdu(iwt_txbuf_room(tx->buf),
						tx->markers));
	if (tx->rdmac)
		iwt_txseg_rdmac(&tx->msg);
	iwt_txseg_next(&tx->msg, mulpdu, &plan);
	to = page_address(tx->buf->page) + tx->buf->off;
	if (!put_fpdu(st, &plan, to))
		return false;
	size = iwt_fpdu_span(tx->stream_pos, plan.size, tx->markers);
	tx->fpdus++;
	if (tx->room == mss)
		tx->segs++;
	tx->room -= min(size, tx->room);
	if (size == mss && !tx->markers)
		size += put_more(st, &plan, to);
	add_chunk(tx, tx->buf->page, tx->buf->off, size);
	tx->buf->off += size;
	if (tx->err)
		return false;
	if (tx->msg.done)
		iwt_tx_finish(st);
	return true;
}

/*
 * Return: maximum size of an FPDU in bytes (the unit): the size of a segment; or, if FPDUs may be
 * longer than a segment, the total size of all whole segments that fit in a batch.
 */
static u32 unit(const struct iwt_tx *tx, u32 mss)
{
	return tx->large ? IWT_TX_BATCH - IWT_TX_BATCH % mss : mss;
}

/* Number of segments of the largest batch, at least one. */
static u32 segs_of_batch(struct iwt_tx *tx, u32 mss)
{
	u32 segs;

	if (mss != tx->mss) {
		tx->mss = mss;
		segs = IWT_TX_BATCH / mss;
		if (!tx->large)
			segs = min(segs, TX_BUFS * (IWT_TXBUF_SIZE / mss));
		tx->batch_segs = max(segs, 1U);
	}
	return tx->batch_segs;
}

/* Is there room in the unit under construction (see unit()), or for another unit in the batch? */
static bool batch_open(const struct iwt_tx *tx, u32 unit)
{
	if (tx->n_chunks == IWT_TX_CHUNKS)
		return false;
	return tx->room >= TX_MIN_ROOM || tx->bytes + unit <= IWT_TX_BATCH;
}

/**
 * iwt_tx_fill() - frame FPDUs until the batch is full or no message can be sent
 * @st: stream; the socket lock and the stream lock are held, and all framed bytes are sent
 *
 * Sets tx->err after an error, and tx->dry if no other message can be sent. If the batch has
 * executed IWT_TX_LOCALS requests without a message, tx->dry stays false, because more requests
 * may be posted. Never sleeps.
 */
void iwt_tx_fill(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;
	u32 mss = iwt_sock_mss(st->sock), fit = unit(tx, mss);

	lockdep_assert_held(&st->lock);
	tx->fpdus = 0;
	tx->segs = 0;
	tx->bufs = 0;
	tx->dry = false;
	tx->locals = 0;
	tx->near = iwt_sock_near(st->sock);
	iwt_sock_cut_at(st->sock, segs_of_batch(tx, mss));
	while (batch_open(tx, fit)) {
		if (!iwt_tx_pick(st)) {
			tx->dry = tx->locals < IWT_TX_LOCALS;
			break;
		}
		if (iwt_tx_zc_wanted(st, fit) &&
		    (tx->n_chunks || iwt_tx_zc_fill(st, fit)))
			break;
		if (!frame(st, fit))
			break;
	}
	iwt_tx_let_go(tx);
	drop_buf(tx);
	/*
	 * Mark the end of the segment even if the segment is full. TCP may have ended an earlier
	 * segment too early, at the edge of the window, so that later segments begin within an
	 * FPDU. The mark makes the next batch begin with a new segment again.
	 */
	end_chunk(tx);
	tx->room = 0;
}
