// SPDX-License-Identifier: GPL-2.0
/* Inserting markers into an outbound stream (RFC 5044 4.3). */
#include "marker.h"

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

/* Number of octets before the next marker; 0 if the marker must be written now. */
static u32 marker_room(const struct iwt_marker *m)
{
	return -m->pos & (IWT_MARKER_SPACING - 1);
}

/**
 * iwt_marker_begin() - begin an FPDU
 * @m: position; the function sets all fields
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
 * iwt_marker_put() - write a marker if the stream must have a marker at this position
 * @m: position, moved past the marker
 * @to: buffer for the marker
 * @run: number of octets of the FPDU before the next marker; the caller writes up to this
 *	number of octets and adds the number written to @m->pos
 *
 * A marker precedes an octet of its FPDU and never follows the last octet (RFC 5044 4.3). So call
 * this function only if at least one more octet of the FPDU follows.
 *
 * Return: number of octets written: 0 or IWT_MARKER_LEN.
 */
u32 iwt_marker_put(struct iwt_marker *m, u8 *to, u32 *run)
{
	u16 ptr = m->pos - m->start;

	*run = marker_room(m);
	if (*run)
		return 0;
	/* The pointer of a marker in front of the FPDU is 0, not negative. */
	if (m->pos + IWT_MARKER_LEN == m->start)
		ptr = 0;
	put_unaligned_be16(0, to);
	put_unaligned_be16(ptr, to + 2);
	m->pos += IWT_MARKER_LEN;
	*run = IWT_MARKER_SPACING - IWT_MARKER_LEN;
	return IWT_MARKER_LEN;
}

/**
 * iwt_marker_copy() - copy octets of the FPDU and insert the markers
 * @m: position, moved past the copied octets
 * @from: octets of the FPDU in their order: length, headers, payload, pad, CRC
 * @len: number of octets, without markers
 * @to: destination; a whole FPDU needs iwt_fpdu_size() octets
 *
 * The CRC also covers a marker between the pad and the CRC field (RFC 5044 4.4). So the caller
 * copies a CRC field of any content, then computes the CRC over all octets before the copied
 * field, and stores the CRC in the copied field. No marker divides the field.
 *
 * Return: number of octets written, with markers.
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
