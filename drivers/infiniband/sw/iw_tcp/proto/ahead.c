// SPDX-License-Identifier: GPL-2.0
/*
 * Finding FPDUs behind a gap, and remembering those that were placed (RFC 5044 6, A.3).
 *
 * The beginning of an FPDU behind a gap is known only from a marker, or from the end of an FPDU
 * with a valid CRC. Other octets prove nothing: payload may look like an FPDU, but payload never
 * lies where a marker must lie.
 *
 * Octets are examined once, in the order of their positions. So a peer can't cause the CRC of an
 * octet to be computed many times, and the runs (struct iwt_ahead_run) are in the order of their
 * positions, too.
 */
#include "ahead.h"

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#define MARKER_PTR	2	/* offset of FPDUPTR in a marker */
#define HDR_TO		(IWT_DDP_TAGGED_LEN - 8)
/* Maximum number of FPDUs in a run. */
#define RUN_MAX		10000

/* Address of the payload that iwt_ahead_at() reports: nobody reads from it. */
static const u8 no_payload[1];

/**
 * iwt_ahead_start() - forget all runs
 * @a: record of the octets behind gaps; the function sets all fields that are used
 * @pos: stream position of the next FPDU in order
 */
void iwt_ahead_start(struct iwt_ahead *a, u32 pos)
{
	a->scan = pos;
	a->synced = false;
	a->first = 0;
	a->n = 0;
}

/*
 * The marker at the distance @off from the stream position @pos has the pointer @ptr. Return:
 * distance from @pos to the FPDU to which the marker points, or to the marker in front of this
 * FPDU; -1 if this FPDU or marker begins before @pos.
 */
static s64 begin_of(u32 pos, u32 off, u16 ptr)
{
	s64 begin = (s64)off - ptr;

	/* the CRC also covers the marker in front of the FPDU */
	if (ptr && !iwt_fpdu_to_marker(pos + begin - IWT_MARKER_LEN))
		begin -= IWT_MARKER_LEN;
	return max_t(s64, begin, -1);
}

/**
 * iwt_ahead_find() - use the markers to find the first FPDU that begins behind a position
 * @at: position behind a gap; must be the first member of the owner's cursor struct; not moved
 * @cursor_size: size of the owner's cursor struct, at most IWT_CURSOR_MAX
 * @avail: number of octets that have arrived from @at on, without a gap
 * @pos: stream position of @at
 * @found: set to true if such an FPDU begins within these octets; it need not be complete
 *
 * FPDUs that begin before the first such FPDU, and to which no marker points, are not found. This
 * function does not verify the marker: iwt_fpdu_read() verifies the marker later.
 *
 * Any context; sleeps only if @at->more sleeps.
 *
 * Return: distance from @at to this FPDU, or to the marker in front of it. If no such FPDU is
 * found, the number of octets that need not be examined again when more octets have arrived.
 */
u32 iwt_ahead_find(const struct iwt_cursor *at, size_t cursor_size, u32 avail, u32 pos,
		   bool *found)
{
	u32 off = iwt_fpdu_to_marker(pos), seen = 0, gap = off;
	u8 space[IWT_CURSOR_MAX] __aligned(8);
	struct iwt_cursor *c = (struct iwt_cursor *)space;
	u8 marker[IWT_MARKER_LEN];
	s64 begin;

	*found = false;
	if (cursor_size > sizeof(space))
		return avail;
	memcpy(space, at, cursor_size);
	for (; avail >= IWT_MARKER_LEN && off <= avail - IWT_MARKER_LEN;
	     off += IWT_MARKER_SPACING, gap = IWT_MARKER_STRIDE) {
		if (!iwt_cursor_skip(c, gap) || !iwt_cursor_copy(c, marker, sizeof(marker)))
			break;
		begin = begin_of(pos, off, get_unaligned_be16(marker + MARKER_PTR) & 0xfffc);
		if (begin >= 0) {
			*found = true;
			return begin;
		}
		seen = off + IWT_MARKER_LEN;
	}
	return seen;
}

/* Return: index of the run number @i in the ring */
static u32 slot(const struct iwt_ahead *a, u32 i)
{
	return (a->first + i) % IWT_AHEAD_RUNS;
}

static u32 run_payload(const struct iwt_ahead_run *r)
{
	return r->ulpdu_len - IWT_DDP_TAGGED_LEN;
}

/**
 * iwt_ahead_has_room() - is there room for another struct iwt_ahead_run?
 * @a: record of the octets behind gaps
 *
 * Return: true if so.
 */
bool iwt_ahead_has_room(const struct iwt_ahead *a)
{
	return a->n < IWT_AHEAD_RUNS;
}

/* Does @f continue the run @r: does it follow the last FPDU of the run in position and in TO? */
static bool run_goes_on(const struct iwt_ahead_run *r, const struct iwt_fpdu *f, u64 place)
{
	u64 to = get_unaligned_be64(r->hdr + HDR_TO) + (u64)r->n * run_payload(r);

	return r->end == f->pos && r->ulpdu_len == f->ulpdu_len && r->place == place &&
	       r->n < RUN_MAX && !memcmp(r->hdr, f->hdr, HDR_TO) && f->ddp.to == to;
}

/**
 * iwt_ahead_add() - remember an FPDU that was placed
 * @a: record of the octets behind gaps; iwt_ahead_has_room() returned true
 * @f: tagged FPDU behind all FPDUs that were added before
 * @place: identifies the memory into which @f was placed
 */
void iwt_ahead_add(struct iwt_ahead *a, const struct iwt_fpdu *f, u64 place)
{
	struct iwt_ahead_run *r;

	if (a->n) {
		r = &a->run[slot(a, a->n - 1)];
		if (run_goes_on(r, f, place)) {
			r->n++;
			r->end += f->size;
			return;
		}
	}
	r = &a->run[slot(a, a->n++)];
	r->begin = f->pos;
	r->end = f->pos + f->size;
	r->n = 1;
	r->ulpdu_len = f->ulpdu_len;
	memcpy(r->hdr, f->hdr, sizeof(r->hdr));
	r->place = place;
}

/**
 * iwt_ahead_at() - was the next FPDU in order placed ahead?
 * @a: record of the octets behind gaps
 * @pos: stream position of the next FPDU in order
 * @f: if the result is %IWT_AHEAD_PLACED, set to this FPDU, as iwt_fpdu_read() sets it, but no
 *	payload is left for iwt_fpdu_piece()
 * @place: if the result is %IWT_AHEAD_PLACED, set to @place of iwt_ahead_add()
 *
 * The header in @f is the header that was checked when the FPDU was placed. TCP may deliver other
 * octets now, but only the octets that were placed first count. If an FPDU in order ends within
 * an FPDU that was placed, the markers were wrong (%IWT_AHEAD_CONFLICT; RFC 5044 8, error 3).
 *
 * Return: see enum iwt_ahead_what.
 */
enum iwt_ahead_what iwt_ahead_at(const struct iwt_ahead *a, u32 pos, struct iwt_fpdu *f,
				 u64 *place)
{
	const struct iwt_ahead_run *r = &a->run[a->first];

	if (!a->n || (s32)(r->begin - pos) > 0)
		return IWT_AHEAD_NONE;
	if (r->begin != pos)
		return IWT_AHEAD_CONFLICT;
	memset(f, 0, sizeof(*f));
	f->size = iwt_fpdu_size(r->ulpdu_len, pos, true);
	f->ulpdu_len = r->ulpdu_len;
	f->hdr_len = IWT_DDP_TAGGED_LEN;
	f->payload_len = run_payload(r);
	memcpy(f->hdr, r->hdr, sizeof(r->hdr));
	iwt_ddp_parse(f->hdr, &f->ddp);
	f->pos = pos;
	f->flat = no_payload;
	f->walked = f->payload_len;
	*place = r->place;
	return IWT_AHEAD_PLACED;
}

/**
 * iwt_ahead_pass() - forget the first FPDU that was placed
 * @a: record of the octets behind gaps; iwt_ahead_at() has returned %IWT_AHEAD_PLACED for this
 *	FPDU
 */
void iwt_ahead_pass(struct iwt_ahead *a)
{
	struct iwt_ahead_run *r = &a->run[a->first];
	u64 to = get_unaligned_be64(r->hdr + HDR_TO) + run_payload(r);

	r->begin += iwt_fpdu_size(r->ulpdu_len, r->begin, true);
	put_unaligned_be64(to, r->hdr + HDR_TO);
	if (--r->n)
		return;
	a->first = slot(a, 1);
	a->n--;
}
