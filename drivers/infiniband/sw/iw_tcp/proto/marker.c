// SPDX-License-Identifier: GPL-2.0
/* Putting markers into an outbound stream (RFC 5044 4.3). */
#include "marker.h"

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

/* Octets up to the next marker; 0 when one is due. */
static u32 marker_room(const struct iwt_marker *m)
{
	return -m->pos & (IWT_MARKER_SPACING - 1);
}

/**
 * iwt_marker_begin() - begin an FPDU
 * @m: all of it is set
 * @pos: stream position where the FPDU, or the marker in front of it, begins
 */
void iwt_marker_begin(struct iwt_marker *m, u32 pos)
{
	m->pos = pos;
	m->start = pos;
	if (!marker_room(m))
		m->start += IWT_MARKER_LEN;
}

/**
 * iwt_marker_put() - write the marker that is due, if one is
 * @m: position, moved on by what is written
 * @to: where to
 * @run: octets of the FPDU that may follow before the next marker is due;
 *	the caller writes some of them, and adds their number to @m->pos
 *
 * A marker goes in front of the octet that follows it, never behind the last one of an FPDU
 * (RFC 5044 4.3), so this is for when there is such an octet.
 *
 * Return: octets written, 0 or IWT_MARKER_LEN.
 */
u32 iwt_marker_put(struct iwt_marker *m, u8 *to, u32 *run)
{
	u16 ptr = m->pos - m->start;

	*run = marker_room(m);
	if (*run)
		return 0;
	/* In front of the FPDU, where it would be negative, it is 0. */
	if (m->pos + IWT_MARKER_LEN == m->start)
		ptr = 0;
	put_unaligned_be16(0, to);
	put_unaligned_be16(ptr, to + 2);
	m->pos += IWT_MARKER_LEN;
	*run = IWT_MARKER_SPACING - IWT_MARKER_LEN;
	return IWT_MARKER_LEN;
}

/**
 * iwt_marker_copy() - copy octets of the FPDU, each marker in its place
 * @m: position, moved on
 * @from: octets of the FPDU in their order: length, headers, payload, pad, CRC
 * @len: how many, markers not counted
 * @to: where to; iwt_fpdu_size() tells the room that a whole FPDU takes
 *
 * The CRC covers a marker that is due between pad and CRC (RFC 5044 4.4), so copy a CRC field
 * of any content, then compute the CRC over all that precedes it, then store it: no marker ever
 * divides the field.
 *
 * Return: octets written, markers counted.
 */
u32 iwt_marker_copy(struct iwt_marker *m, const void *from, u32 len, u8 *to)
{
	const u8 *at = from;
	u8 *out = to;
	u32 run;

	while (len) {
		out += iwt_marker_put(m, out, &run);
		run = min(run, len);
		memcpy(out, at, run);
		out += run;
		at += run;
		len -= run;
		m->pos += run;
	}
	return out - to;
}
