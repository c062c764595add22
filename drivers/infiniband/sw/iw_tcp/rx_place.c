// SPDX-License-Identifier: GPL-2.0
/*
 * Placing ahead: payload of FPDUs behind a gap is placed when it arrives, and not only when the
 * gap has closed (RFC 5044 A.3).
 *
 * Only tagged FPDUs without any error are placed ahead, in memory whose consumer does not rely on
 * the order of the peer's writes. These FPDUs are not delivered yet: the engine delivers an FPDU
 * in order, with all checks, when TCP has received all bytes before the FPDU. An FPDU that is not
 * placed ahead, or is in error, is only received in order. So placing ahead changes neither
 * errors nor completions.
 *
 * TCP may drop bytes that it has received behind a gap, and the peer then sends them again,
 * perhaps with another content. Only the bytes that were placed first count: when all bytes
 * before the FPDU have arrived, the engine does not read the payload of the FPDU again.
 */
#include "rx_priv.h"

#include <linux/slab.h>

#include "dev.h"
#include "mr.h"
#include "mr_copy.h"
#include "proto/ahead.h"
#include "sock_ahead.h"

/* Maximum number of bytes to examine in one call. */
#define PLACE_STEP	(256 << 10)
/* Cost of an FPDU besides its bytes, as the number of bytes that are examined in that time. */
#define PLACE_COST	512
/* Maximum number of gaps whose bytes are examined in one call. */
#define PLACE_GAPS	4
/* A longer FPDU may have two markers with the same pointer, which counts modulo 2^16. */
#define ULPDU_MAX	64768

/*
 * Does the consumer of the region allow that the peer's writes are stored in another order than
 * the peer has sent them? A Write must not overtake an atomic operation, so regions for atomic
 * operations are excluded, and those with windows, which may allow atomic operations.
 */
static bool any_order(const struct iwt_mr *mr)
{
	return (mr->kind == IWT_MR_USER || mr->kind == IWT_MR_FAST) && mr->region.relaxed &&
	       !(mr->region.rights & IWT_REMOTE_ATOMIC) && !atomic_read(&mr->windows);
}

/*
 * Is the FPDU a part of the Response to the only outstanding Read? With several Reads, the bytes
 * that are missing might complete another Read with the same sink.
 */
static bool answers_read(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	const struct iwt_read_out *out = iwt_readq_oldest(&st->readq);
	u64 skip;

	if (st->readq.out_n != 1 || out->atomic || out->rtr || st->rx.answered ||
	    f->ddp.stag != out->sink.lkey)
		return false;
	skip = f->ddp.to - out->sink.addr;
	return skip >= out->got && skip < out->sink.length &&
	       f->payload_len <= out->sink.length - skip;
}

/* Return: the right that the FPDU needs; 0 if the FPDU must be received in order */
static u32 right_for(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock)
{
	if (!f->ddp.tagged || !f->payload_len || f->hdr_len != IWT_DDP_TAGGED_LEN ||
	    iwt_rdmap_check(&f->ddp, f->ulpdu_len) != IWT_OK)
		return 0;
	if (f->ddp.opcode == IWT_OP_WRITE)
		return st->rights & IWT_REMOTE_WRITE;
	if (f->ddp.opcode == IWT_OP_READ_RESP && answers_read(st, f))
		return IWT_LOCAL_WRITE;
	return 0;
}

/* Copy the payload of @f, which begins at the cursor. Return: false if memory is missing. */
static bool copy_payload(const struct iwt_mr *mr, struct iwt_fpdu *f, struct iwt_cursor *at,
			 const struct iwt_fpdu_rules *rules)
{
	u64 to = f->ddp.to;
	u32 hint = 0, len, n;
	const u8 *from;
	u8 *mem;

	if (!iwt_fpdu_payload(f, at, rules))
		return false;
	while ((from = iwt_fpdu_piece(f, at, U32_MAX, &len))) {
		for (; len; from += n, to += n, len -= n) {
			mem = iwt_mr_piece(mr, to, len, &n, &hint, true);
			if (!mem)
				return false;
			iwt_copy(mem, from, n);
		}
	}
	return f->walked == f->payload_len;
}

/*
 * Return: the number of the present registration of @mr, which the caller holds (iwt_hold_mr()).
 * A registration gets its number when data are placed ahead into its memory for the first time,
 * so that the functions that register memory need not assign a number. Several engines may hold
 * @mr at the same time.
 */
static u32 touch(struct iwt_dev *dev, struct iwt_mr *mr)
{
	u32 was = READ_ONCE(mr->region.relaxed), n;

	if (was != IWT_RELAXED)
		return was;
	do {
		n = atomic_inc_return(&dev->mr_touches);
	} while (n <= IWT_RELAXED);
	was = cmpxchg(&mr->region.relaxed, IWT_RELAXED, n);
	return was == IWT_RELAXED ? n : was;
}

/*
 * Return: a number that identifies the memory into which @f was placed. @number: number of the
 * registration of this memory. Another Read may use the same sink later, so for a Response, the
 * result also contains the MSN of the Read.
 */
static u64 place_of(struct iwt_stream *st, const struct iwt_fpdu *f, u32 number)
	__must_hold(&st->lock)
{
	const struct iwt_read_out *out = iwt_readq_oldest(&st->readq);
	u32 msn = f->ddp.opcode == IWT_OP_READ_RESP && out ? out->msn : 0;

	return (u64)msn << 32 | number;
}

/* Place the FPDU at the cursor, if this is allowed now, and remember the FPDU. */
static void place_ahead(struct iwt_stream *st, struct iwt_hold *hold, struct iwt_fpdu *f,
			struct iwt_ahead_cursor at)
	__must_hold(&st->lock)
{
	u32 need = right_for(st, f);
	struct iwt_mr *mr;

	if (!need)
		return;
	mr = iwt_hold_mr(hold, st->dev, f->ddp.stag);
	if (!mr || !any_order(mr) ||
	    iwt_access_check(&mr->region, &st->actor.party, f->ddp.to, f->payload_len,
			     need) != IWT_ACCESS_OK)
		return;
	if (!copy_payload(mr, f, &at.at.c, &st->rx.rules))
		return;
	iwt_ahead_add(st->rx.place, f, place_of(st, f, touch(st->dev, mr)));
	iwt_stream_count(st, IWT_C_RX_AHEAD);
}

/*
 * Examine the FPDUs at the cursor, which is at the position @a->scan. Return: true if all bytes
 * were examined, except perhaps an incomplete FPDU at @a->scan.
 */
static bool examine(struct iwt_stream *st, struct iwt_ahead_cursor *cur, u32 avail)
	__must_hold(&st->lock)
{
	const struct iwt_fpdu_rules *rules = &st->rx.rules;
	struct iwt_ahead *a = st->rx.place;
	struct iwt_cursor *c = &cur->at.c;
	enum iwt_fpdu_status status;
	struct iwt_hold hold = {};
	struct iwt_fpdu f = {};
	u32 err, spent = 0;

	while (avail && spent < PLACE_STEP && iwt_ahead_has_room(a)) {
		if (!c->len && !c->more(c))
			break;
		status = IWT_FPDU_OK;
		if (!iwt_fpdu_follows_marked(c, avail, rules, &f))
			status = iwt_fpdu_read_marked(c, sizeof(*cur), avail, a->scan, rules,
						      &f, &err);
		if (status == IWT_FPDU_MORE && f.ulpdu_len <= ULPDU_MAX)
			break;
		/* examine no byte twice: all bytes up to the next gap are received in order */
		if (status != IWT_FPDU_OK || f.ulpdu_len > ULPDU_MAX) {
			a->scan += avail;
			a->synced = false;
			break;
		}
		place_ahead(st, &hold, &f, *cur);
		a->scan += f.size;
		avail -= f.size;
		spent += f.size + PLACE_COST;
		iwt_cursor_skip(c, f.size);
	}
	iwt_hold_drop(&hold);
	return spent < PLACE_STEP && iwt_ahead_has_room(a);
}

/*
 * Examine the bytes behind one gap, from the position @end on. Return: true if the bytes behind
 * the next gap may be examined; then @end is the position of this gap.
 */
static bool examine_gap(struct iwt_stream *st, u32 *end)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	struct iwt_ahead *a = rx->place;
	struct iwt_ahead_cursor cur;
	u32 off, avail, skip;

	off = *end - rx->pos;
	avail = iwt_sock_peek_ahead(st->sock, &off, &cur);
	if (!avail)
		return false;
	/* are there bytes behind another gap, and not only more bytes behind the same gap? */
	if (rx->pos + off != *end) {
		a->scan = rx->pos + off;
		a->synced = false;
	} else if (*end != a->scan) {
		return false;
	}
	*end = a->scan + avail;
	if (!a->synced) {
		skip = iwt_ahead_find(&cur.at.c, sizeof(cur), avail, a->scan, &a->synced);
		a->scan += skip;
		if (!a->synced)
			return true;
		avail -= skip;
		iwt_cursor_skip(&cur.at.c, skip);
	}
	return examine(st, &cur, avail);
}

/*
 * The bytes up to the position of the engine need not be examined any more. The engine calls this
 * function for each FPDU: positions count modulo 2^32, so if @a->scan were more than 2^31 bytes
 * behind the engine, it would seem to be ahead, and nothing would be placed.
 */
static void catch_up(struct iwt_ahead *a, u32 pos)
{
	if ((s32)(a->scan - pos) >= 0)
		return;
	a->scan = pos;
	a->synced = false;
}

/**
 * iwt_rx_place_ahead() - place FPDUs that have arrived behind a gap
 * @st: stream with st->rx.place, between two runs of its engine; the socket lock and the lock of
 *	the stream are held
 *
 * Nothing is placed before the first FPDU in order was received. If all runs (struct
 * iwt_ahead_run) are in use, further FPDUs are received in order. Any context with bottom halves
 * off; never sleeps.
 */
void iwt_rx_place_ahead(struct iwt_stream *st)
{
	struct iwt_rx *rx = &st->rx;
	struct iwt_ahead *a = rx->place;
	u32 end, gaps = 0;

	lockdep_assert_held(&st->lock);
	if (!a || rx->place_stop || rx->discard || rx->stalled || !rx->octets ||
	    !iwt_ahead_has_room(a))
		return;
	catch_up(a, rx->pos);
	end = a->scan;
	while (gaps++ < PLACE_GAPS && examine_gap(st, &end))
		;
}

/* Does the memory still belong to the same registration, and to the same Read? */
static bool same_place(struct iwt_stream *st, const struct iwt_fpdu *f, u64 place)
	__must_hold(&st->lock)
{
	const struct iwt_mr *mr = iwt_hold_mr(&st->rx.hold, st->dev, f->ddp.stag);

	return mr && place_of(st, f, READ_ONCE(mr->region.relaxed)) == place;
}

/*
 * Was the next FPDU in order placed ahead? If so, set @f to this FPDU, and *@status and *@err as
 * iwt_fpdu_read() sets them. @left: number of bytes that have arrived. Return: false if the FPDU
 * must be read from the stream: because the FPDU was not placed; because its memory was
 * registered again since then, perhaps under the same STag; or because the memory belongs to
 * another Read now.
 */
static bool read_placed(struct iwt_stream *st, struct iwt_fpdu *f, u32 left,
			enum iwt_fpdu_status *status, u32 *err)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;
	struct iwt_fpdu placed;
	u64 place;

	switch (iwt_ahead_at(rx->place, rx->pos, &placed, &place)) {
	case IWT_AHEAD_NONE:
		return false;
	case IWT_AHEAD_CONFLICT:
		*f = (struct iwt_fpdu){};
		*err = IWT_ERR_MPA_MARKER;
		*status = IWT_FPDU_BAD;
		return true;
	case IWT_AHEAD_PLACED:
		break;
	}
	*err = IWT_OK;
	*status = placed.size > left ? IWT_FPDU_MORE : IWT_FPDU_OK;
	if (*status == IWT_FPDU_OK) {
		iwt_ahead_pass(rx->place);
		if (!same_place(st, &placed, place))
			return false;
		iwt_stream_count(st, IWT_C_RX_AHEAD_KEPT);
	}
	*f = placed;
	return true;
}

/**
 * iwt_rx_read_placing() - read the next FPDU in order, or recognise that it was placed ahead
 * @st: stream with st->rx.place; its lock is held
 * @f: the last FPDU; set to the next FPDU
 * @at: position of the next FPDU; not moved
 * @left: number of bytes that have arrived from @at on
 * @err: as iwt_fpdu_read()
 *
 * If FPDUs in order end within an FPDU that was placed, the markers of these FPDUs were wrong
 * (RFC 5044 8, error 3).
 *
 * Return: as iwt_fpdu_read().
 */
enum iwt_fpdu_status iwt_rx_read_placing(struct iwt_stream *st, struct iwt_fpdu *f,
					 struct iwt_sock_cursor *at, u32 left, u32 *err)
{
	struct iwt_rx *rx = &st->rx;
	enum iwt_fpdu_status status;

	lockdep_assert_held(&st->lock);
	catch_up(rx->place, rx->pos);
	if (read_placed(st, f, left, &status, err))
		return status;
	f->flat = NULL;	/* iwt_ahead_at() has set f->flat, if the last FPDU was placed */
	if (iwt_fpdu_follows_marked(&at->c, left, &rx->rules, f))
		return IWT_FPDU_OK;
	status = iwt_fpdu_read_marked(&at->c, sizeof(*at), left, rx->pos, &rx->rules, f, err);
	rx->place_stop |= f->ulpdu_len > ULPDU_MAX;
	return status;
}

/* Allocate what placing ahead needs. Sleeps if @gfp allows it. Return: the memory, or NULL. */
struct iwt_ahead *iwt_rx_place_new(gfp_t gfp)
{
	return kmalloc_obj(struct iwt_ahead, gfp);
}

/**
 * iwt_rx_place_begin() - let a stream place ahead
 * @st: stream after iwt_rx_start(); its lock is held
 * @a: from iwt_rx_place_new(), or NULL; the caller frees it by kfree() when the stream has ended
 *
 * Any context.
 */
void iwt_rx_place_begin(struct iwt_stream *st, struct iwt_ahead *a)
{
	lockdep_assert_held(&st->lock);
	if (a)
		iwt_ahead_start(a, st->rx.pos);
	st->rx.place = a;
}
