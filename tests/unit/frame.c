// SPDX-License-Identifier: GPL-2.0
/* Writes and reads whole FPDUs for the tests. */
#include "frame.h"

#include <linux/crc32c.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "marker.h"

/* Completes the FPDU whose first @n octets are in @out: adds the pad and the CRC. */
static u32 seal(struct iwt_marker *m, u32 n, u32 pad, struct frame_rules *rules,
		u8 *out)
{
	static const u8 zeros[4];

	n += iwt_marker_copy(m, zeros, pad, out + n);
	n += iwt_marker_copy(m, zeros, IWT_FPDU_CRC_LEN, out + n);
	if (rules->crc)
		put_unaligned_le32(~crc32c(~0, out, n - IWT_FPDU_CRC_LEN),
				   out + n - IWT_FPDU_CRC_LEN);
	rules->pos += n;
	return n;
}

static u32 put(struct iwt_marker *m, const struct frame_rules *rules,
	       const void *from, u32 len, u8 *to)
{
	if (!len)
		return 0;
	if (rules->markers)
		return iwt_marker_copy(m, from, len, to);
	memcpy(to, from, len);
	return len;
}

static u32 finish(struct iwt_marker *m, u32 n, u32 pad,
		  struct frame_rules *rules, u8 *out)
{
	/* Without markers: at position 1 the next marker is far after the pad and the CRC. */
	if (!rules->markers)
		m->pos = 1;
	return seal(m, n, pad, rules, out);
}

u32 frame_ulpdu(const u8 *ulpdu, u16 len, struct frame_rules *rules, u8 *out)
{
	struct iwt_marker m;
	u8 field[2];
	u32 n;

	iwt_marker_begin(&m, rules->pos);
	put_unaligned_be16(len, field);
	n = put(&m, rules, field, sizeof(field), out);
	n += put(&m, rules, ulpdu, len, out + n);
	return finish(&m, n, -(len + 2) & 3, rules, out);
}

u32 frame_next(struct iwt_txseg *seg, u32 mulpdu, const u8 *payload, u32 len,
	       struct frame_rules *rules, u8 *out)
{
	struct iwt_txplan plan;
	struct iwt_marker m;
	u32 from = len - seg->left;
	u32 n;

	iwt_txseg_next(seg, mulpdu, &plan);
	iwt_marker_begin(&m, rules->pos);
	n = put(&m, rules, plan.head, plan.head_len, out);
	n += put(&m, rules, len ? payload + from : NULL, plan.payload, out + n);
	return finish(&m, n, plan.pad, rules, out);
}

enum iwt_fpdu_status frame_read(const u8 *p, u32 len, u32 pos,
				const struct iwt_fpdu_rules *rules,
				struct iwt_fpdu *f, u32 *err)
{
	struct iwt_cursor c = { .p = p, .len = len };

	return iwt_fpdu_read(&c, sizeof(c), len, pos, rules, f, err);
}
