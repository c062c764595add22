// SPDX-License-Identifier: GPL-2.0
/*
 * Most of a long message: segments that differ from the one before them only in the place of
 * their payload. They are checked together and placed one after the other.
 */
#include "rx_priv.h"

#include <linux/minmax.h>

#include "copy.h"
#include "trace.h"

/*
 * Where payload goes: a range of one region.
 *
 * @who: in whose name
 * @stag: region
 * @addr: tagged offset of the next octet
 * @left: octets from there on
 * @need: rights
 * @mem: memory at @addr
 * @room: octets of it, 0 when it is not known
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

static bool target_of_write(struct iwt_stream *st, const struct iwt_fpdu *f, struct target *t)
	__must_hold(&st->lock)
{
	t->who = &st->actor;
	t->stag = f->ddp.stag;
	t->addr = f->ddp.to + f->payload_len;
	t->need = IWT_REMOTE_WRITE;
	return true;
}

static bool target_of_response(struct iwt_stream *st, struct target *t)
	__must_hold(&st->lock)
{
	const struct iwt_read_out *out = iwt_readq_oldest(&st->readq);

	if (t->left > out->sink.length - out->got)
		return false;
	t->who = &st->actor;
	t->stag = out->sink.lkey;
	t->addr = out->sink.addr + out->got;
	t->need = IWT_LOCAL_WRITE;
	return true;
}

/* No more than what the element of the list has room for. */
static bool target_of_send(struct iwt_stream *st, const struct iwt_fpdu *f, struct target *t)
	__must_hold(&st->lock)
{
	const struct iwt_rx *rx = &st->rx;
	const struct iwt_sge *s = &rx->recv->sge[rx->recv_pos.i];

	if (!rx->recv_open || rx->recv_pos.i >= rx->recv->num_sge ||
	    t->left > iwt_rx_recv_room(rx) - f->ddp.mo - f->payload_len)
		return false;
	t->who = &st->receiver;
	t->stag = s->lkey;
	t->addr = s->addr + rx->recv_pos.off;
	t->left = min(t->left, s->length - rx->recv_pos.off);
	t->need = IWT_LOCAL_WRITE;
	return true;
}

/*
 * Where does the payload behind that of @f go? Only to the region that is held, since @f has gone
 * there; all else is for one segment at a time, which also finds out what is wrong.
 */
static bool find_target(struct iwt_stream *st, const struct iwt_fpdu *f, struct target *t)
	__must_hold(&st->lock)
{
	const struct iwt_mr *mr = st->rx.hold.mr;
	bool found;

	if (!f->ddp.tagged)
		found = target_of_send(st, f, t);
	else if (f->ddp.opcode == IWT_OP_WRITE)
		found = target_of_write(st, f, t);
	else
		found = target_of_response(st, t);
	return found && mr && mr->stag == t->stag &&
	       iwt_access_check(&mr->region, &t->who->party, t->addr, t->left,
				t->need) == IWT_ACCESS_OK;
}

/* Return: false when memory is not there. */
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
 * The octets that programs poll on are the last ones of a message, and those are in none of these
 * segments: iwt_copy_out() stores them after all these. Return: segments that were placed.
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
 * iwt_rx_alike() - take the segments that go on as the last one says
 * @st: stream; its lock is held
 * @f: FPDU that was taken last, in this run; becomes the last one that is taken
 * @at: position of the next FPDU; not moved
 * @max: octets of the stream from there on that may be taken
 *
 * What was decided for @f is true for them too, but for the bounds and the CRC.
 *
 * Return: FPDUs that were taken. With 0 nothing has happened, and nothing is known of the next
 * one.
 */
u32 iwt_rx_alike(struct iwt_stream *st, struct iwt_fpdu *f, const struct iwt_cursor *at, u32 max)
{
	struct target t = {};
	u32 n;

	lockdep_assert_held(&st->lock);
	if (!f->payload_len || trace_iwt_fpdu_rx_enabled())
		return 0;
	n = iwt_fpdu_alike(at, max, &st->rx.rules, f);
	t.left = n * f->payload_len;
	if (!n || !find_target(st, f, &t))
		return 0;
	n = place(&st->rx, f, at->p, t.left / f->payload_len, &t);
	if (n) {
		note_placed(st, f, n * f->payload_len);
		iwt_fpdu_pass(f, at, n);
	}
	return n;
}
