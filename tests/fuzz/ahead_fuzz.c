// SPDX-License-Identifier: GPL-2.0
/*
 * Looks for FPDUs in arbitrary octets behind a gap. The result must not depend on how the octets
 * are cut into pieces, and must equal the result of a simple search. FPDUs that are valid are
 * remembered, and must be recognised at their turn.
 */
#include <linux/crc32c.h>
#include <linux/unaligned.h>

#include "ahead.h"
#include "fuzz.h"
#include "pieces.h"

#define STREAM_MAX	4096

/*
 * The simple search. @seen: set to the distance behind the last marker, 0 if there is none.
 * Return: distance to the FPDU, or -1
 */
static s64 search(const u8 *p, u32 len, u32 pos, u32 *seen)
{
	u32 at, ptr;
	s64 begin;

	*seen = 0;
	for (at = 0; at + 4 <= len; at++) {
		if ((pos + at) % 512)
			continue;
		ptr = (p[at + 2] << 8 | p[at + 3]) & ~3u;
		begin = (s64)at - ptr;
		if (ptr && (u32)(pos + begin) % 512 == 4)
			begin -= 4;
		if (begin >= 0)
			return begin;
		*seen = at + 4;
	}
	return -1;
}

/* Makes the octets at @p an FPDU, if there are enough of them. Return: its size, or 0 */
static u32 seal(u8 *p, u32 avail, u32 pos, u32 len)
{
	u32 front = pos % 512 ? 0 : 4, size = iwt_fpdu_size(len, pos, true), at;

	if (len < 14 || size > avail)
		return 0;
	for (at = -pos % 512; at < size; at += 512)
		put_unaligned_be32(at ? at - front : 0, p + at);
	put_unaligned_be16(len, p + front);
	put_unaligned_le32(~crc32c(~0, p, size - 4), p + size - 4);
	return size;
}

/* Reads the FPDUs from @at on, and remembers those that are tagged. Return: their number */
static u32 remember(struct iwt_ahead *a, const u8 *p, u32 len, u32 pos, struct iwt_fpdu *first)
{
	static const struct iwt_fpdu_rules rules = { .crc = true, .markers = true };
	u32 at = 0, n = 0, err;
	struct iwt_fpdu f;

	while (at < len) {
		struct iwt_cursor c = { .p = p + at, .len = len - at };

		if (iwt_fpdu_read(&c, sizeof(c), len - at, pos + at, &rules, &f, &err) != IWT_FPDU_OK)
			break;
		at += f.size;
		if (!f.ddp.tagged || !iwt_ahead_has_room(a))
			continue;
		if (!n++)
			*first = f;
		iwt_ahead_add(a, &f, n / 3);
	}
	return n;
}

static void recognise(struct iwt_ahead *a, u32 n, const struct iwt_fpdu *first)
{
	u32 pos = first->pos, i;
	struct iwt_fpdu f;
	u64 place;

	for (i = 0; i < n; i++) {
		pos = a->run[a->first].begin;
		SAME(iwt_ahead_at(a, pos, &f, &place), IWT_AHEAD_PLACED);
		SAME(place, (i + 1) / 3);
		if (!i) {
			SAME(f.size, first->size);
			SAME(f.payload_len, first->payload_len);
			MUST(f.ddp.to == first->ddp.to && f.ddp.stag == first->ddp.stag);
		}
		iwt_ahead_pass(a);
	}
	SAME(iwt_ahead_at(a, pos, &f, &place), IWT_AHEAD_NONE);
}

static u32 found_in(const struct pieces *p, u32 len, u32 pos, bool *found)
{
	struct pieces_cursor pc = pieces_start(p), before = pc;
	u32 off = iwt_ahead_find(&pc.c, sizeof(pc), len, pos, found);

	MUST(!memcmp(&pc, &before, sizeof(before)));
	return off;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 pos = take(&in, 4) & ~3u, cut = take(&in, 2), skip = take(&in, 2), seals = take(&in, 1);
	u32 len, at, seen, off, i, n, cuts[PIECES_MAX - 1];
	struct pieces one, many;
	struct iwt_fpdu first;
	struct iwt_ahead a;
	s64 begin;
	bool found;
	u8 *stream;

	len = in.left < STREAM_MAX ? in.left : STREAM_MAX;
	stream = exact(in.p, len);
	for (at = skip * 4 % (len / 8 + 1) & ~3u; seals % 16; seals--) {
		n = at + 2 <= len ? seal(stream + at, len - at, pos + at, 14 + cut * seals % 700) : 0;
		at += n;
		if (!n)
			break;
	}
	for (i = 0; i < ARRAY_SIZE(cuts); i++)
		cuts[i] = (i ? cuts[i - 1] : 0) + (cut = cut * 75 + 74) % (1 + len / 16);
	pieces_cut(&one, stream, len, NULL, 0);
	pieces_cut(&many, stream, len, cuts, ARRAY_SIZE(cuts));
	begin = search(stream, len, pos, &seen);
	off = found_in(&one, len, pos, &found);
	SAME(found, begin >= 0);
	SAME(off, found ? begin : seen);
	SAME(found_in(&many, len, pos, &found), off);
	SAME(found, begin >= 0);
	if (found) {
		iwt_ahead_start(&a, pos);
		n = remember(&a, stream + off, len - off, pos + off, &first);
		if (n)
			recognise(&a, n, &first);
	}
	pieces_free(&one);
	pieces_free(&many);
	free(stream);
	return 0;
}
