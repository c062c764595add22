// SPDX-License-Identifier: GPL-2.0
/*
 * Fast path for long messages: consecutive segments with the same headers, except for the tagged
 * offset (TO) or the message offset (MO). The engine checks such segments together, and then
 * places one after the other.
 */
#include "rx_priv.h"

#include <linux/minmax.h>

#include "mr_copy.h"
#include "trace.h"

/*
 * Destination of payload: a range of one region, or of the kernel's memory.
 *
 * @who: PD and stream that access the memory
 * @stag: STag or local key of the region
 * @addr: tagged offset or address of the next byte
 * @left: number of bytes that may be placed from @addr on
 * @need: required rights
 * @mem: memory at @addr
 * @room: number of contiguous bytes at @mem, 0 when @mem is not known
 */
struct target {
	const struct iwt_actor *who;
	u32 stag;
	u64 addr;
	u32 left;
	u32 need;
	u8 *mem;
	u32 room;
};

static void target_of_write(struct iwt_stream *st, const struct iwt_fpdu *f, struct target *t)
	__must_hold(&st->lock)
{
	t->who = &st->actor;
	t->stag = f->ddp.stag;
	t->addr = f->ddp.to + f->payload_len;
	t->left = U32_MAX;
	t->need = IWT_REMOTE_WRITE;
}

/* Destination of a Read Response: the rest of the sink of the oldest Read of this end. */
static void target_of_response(struct iwt_stream *st, struct target *t)
	__must_hold(&st->lock)
{
	const struct iwt_read_out *out = iwt_readq_oldest(&st->readq);

	t->who = &st->actor;
	t->stag = out->sink.lkey;
	t->addr = out->sink.addr + out->got;
	t->left = out->sink.length - out->got;
	t->need = IWT_LOCAL_WRITE;
}

/*
 * Destination of a Send: the rest of the current list element of the receive, limited by the
 * total length of the receive. If no Send is being received, or if no list element is left, @t
 * stays empty.
 */
static void target_of_send(struct iwt_stream *st, const struct iwt_fpdu *f, struct target *t)
	__must_hold(&st->lock)
{
	const struct iwt_rx *rx = &st->rx;
	const struct iwt_sge *s = &rx->recv->sge[rx->recv_pos.i];

	if (!rx->recv_open || rx->recv_pos.i >= rx->recv->num_sge)
		return;
	t->who = &st->receiver;
	t->stag = s->lkey;
	t->addr = s->addr + rx->recv_pos.off;
	t->left = min(iwt_rx_recv_room(rx) - f->ddp.mo - f->payload_len,
		      s->length - rx->recv_pos.off);
	t->need = IWT_LOCAL_WRITE;
}

/*
 * Check the destination. @mr: region that the engine holds, or NULL; usually the payload of the
 * previous segment was placed in this region. If the destination is in another region, or after
 * any error, this function returns false, and the caller handles one segment at a time. This
 * function also reduces t->left to the end of the region. Return: true if @len bytes may be
 * placed.
 */
static bool reach_target(const struct iwt_mr *mr, struct target *t, u32 len)
{
	if (t->left < len)
		return false;
	if (t->need == IWT_LOCAL_WRITE && iwt_is_kernel_va(t->who, t->stag)) {
		t->mem = (u8 *)(uintptr_t)t->addr;
		t->room = t->left;
		return true;
	}
	if (!mr || mr->stag != t->stag ||
	    iwt_access_check(&mr->region, &t->who->party, t->addr, len, t->need) != IWT_ACCESS_OK)
		return false;
	t->left = min_t(u64, t->left, iwt_access_room(&mr->region, t->addr));
	return true;
}

/*
 * Find the destination of the payload that follows the payload of @f. Return: number of segments,
 * with as much payload as @f, that fit in the destination; 0 if the fast path can't be used.
 */
static u32 find_target(struct iwt_stream *st, const struct iwt_fpdu *f, struct target *t)
	__must_hold(&st->lock)
{
	if (!f->ddp.tagged)
		target_of_send(st, f, t);
	else if (f->ddp.opcode == IWT_OP_WRITE)
		target_of_write(st, f, t);
	else
		target_of_response(st, t);
	return reach_target(st->rx.hold.mr, t, f->payload_len) ? t->left / f->payload_len : 0;
}

/* Place the payload of one segment. Return: false when the memory is absent. */
static bool place_one(struct iwt_hold *hold, struct target *t, const u8 *from, u32 len)
{
	u32 n;

	for (; len; len -= n) {
		if (!t->room)
			t->mem = iwt_mr_piece(hold->mr, t->addr, t->left, &t->room,
					      &hold->hint, true);
		if (!t->mem)
			return false;
		n = min(len, t->room);
		iwt_copy(t->mem, from, n);
		from += n;
		t->mem += n;
		t->room -= n;
		t->addr += n;
		t->left -= n;
	}
	return true;
}

/*
 * Place the payload of up to @n segments, the first of which begins at @p. A program that polls
 * memory polls the last bytes of a message, and iwt_copy_out() would store these bytes after all
 * others. But none of these segments is the last segment of its message, so iwt_copy() is
 * sufficient. Return: number of segments before the first bad CRC or absent memory.
 */
static u32 place(struct iwt_rx *rx, const struct iwt_fpdu *f, const u8 *p, u32 n,
		 struct target *t)
{
	u32 head = IWT_FPDU_LEN_LEN + f->hdr_len, i;

	for (i = 0; i < n; i++, p += f->size) {
		if (!iwt_fpdu_crc_holds(p, f->size, &rx->rules) ||
		    !place_one(&rx->hold, t, p + head, f->payload_len))
			break;
	}
	return i;
}

static void note_placed(struct iwt_stream *st, const struct iwt_fpdu *f, u32 len)
	__must_hold(&st->lock)
{
	if (!f->ddp.tagged) {
		st->rx.recv_pos.off += len;
		iwt_ddp_advance(&st->rx.q[IWT_QN_SEND], len, false);
	} else if (f->ddp.opcode == IWT_OP_WRITE) {
		iwt_rx_note_write(st, f, len);
	} else {
		iwt_readq_oldest(&st->readq)->got += len;
	}
}

/**
 * iwt_rx_alike() - consume segments that continue the message of the last consumed segment
 * @st: stream; its lock is held
 * @f: FPDU that was consumed last in this step, zeroed if there was none; set to the last FPDU
 *	that this function consumes
 * @at: position of the next FPDU; not moved
 * @max: maximum number of bytes of the stream to consume from @at on
 *
 * All checks of @f are also valid for these segments, except the checks of bounds and CRC. This
 * function computes how many segments fit in the destination before it examines any header.
 * Otherwise a peer could send many segments that do not fit: this function would examine all
 * their headers again for each segment that the slower path consumes.
 *
 * Return: number of consumed FPDUs. If 0, @f and the state of the stream are unchanged, and the
 * caller has to examine the next FPDU; some payload of that FPDU may already be placed.
 */
u32 iwt_rx_alike(struct iwt_stream *st, struct iwt_fpdu *f, const struct iwt_cursor *at, u32 max)
{
	struct target t = {};
	u32 n;

	lockdep_assert_held(&st->lock);
	if (!f->payload_len || !iwt_fpdu_goes_on(f, &st->rx.rules) ||
	    min(at->len, max) < f->size || trace_iwt_fpdu_rx_enabled())
		return 0;
	n = find_target(st, f, &t);
	if (n)
		n = iwt_fpdu_alike(at, max, n, f);
	if (!n)
		return 0;
	t.left = n * f->payload_len;
	n = place(&st->rx, f, at->p, n, &t);
	if (n) {
		note_placed(st, f, n * f->payload_len);
		iwt_fpdu_pass(f, at, n);
	}
	return n;
}
