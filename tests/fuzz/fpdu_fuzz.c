// SPDX-License-Identifier: GPL-2.0
/*
 * Reads arbitrary octets as a stream of FPDUs. The result must not depend on how the octets are
 * cut into pieces. The result must equal the result of a simple reader that processes one octet
 * at a time.
 */
#include <linux/crc32c.h>
#include <linux/unaligned.h>

#include "fpdu.h"
#include "fuzz.h"
#include "pieces.h"

#define STREAM_MAX	4096

/* An FPDU as the simple reader decodes it. */
struct model {
	enum iwt_fpdu_status status;
	u32 err;
	u32 size;
	u32 len;		/* length of the ULPDU */
	u8 ulpdu[STREAM_MAX];
};

/*
 * Reads the next octet that is not part of a marker. @at: offset in @p, moved; @agree: set to
 * false if there was a wrong marker before the octet. Return: false if not all octets have
 * arrived.
 */
static bool octet(const u8 *p, u32 avail, u32 pos, bool markers, u32 start,
		  u32 *at, bool *agree, u8 *out)
{
	u32 ptr;

	if (markers && (pos + *at) % 512 == 0) {
		if (*at + 4 > avail)
			return false;
		ptr = (p[*at + 2] << 8 | p[*at + 3]) & ~3u;
		if (ptr != (*at ? (*at - start) & 0xffff : 0))
			*agree = false;
		*at += 4;
	}
	if (*at >= avail)
		return false;
	*out = p[(*at)++];
	return true;
}

static void model(const u8 *p, u32 avail, u32 pos,
		  const struct iwt_fpdu_rules *rules, struct model *m)
{
	u32 start = rules->markers && pos % 512 == 0 ? 4 : 0;
	u32 at = 0, i, pad, least, crc_at = 0;
	bool agree = true;
	u8 o = 0, len[2];

	m->status = IWT_FPDU_MORE;
	for (i = 0; i < 2; i++) {
		if (!octet(p, avail, pos, rules->markers, start, &at, &agree,
			   &len[i]))
			return;
	}
	m->len = len[0] << 8 | len[1];
	pad = (4 - (m->len + 2) % 4) % 4;
	for (i = 0; i < m->len + pad + 4; i++) {
		if (!octet(p, avail, pos, rules->markers, start, &at, &agree,
			   &o))
			return;
		if (i < m->len)
			m->ulpdu[i] = o;
		if (i == m->len + pad)
			crc_at = at - 1;
	}
	m->size = at;
	m->status = IWT_FPDU_BAD;
	m->err = IWT_ERR_MPA_CRC;
	if (rules->crc && get_unaligned_le32(p + crc_at) !=
	    (u32)~crc32c(~0, p, crc_at))
		return;
	m->err = IWT_ERR_MPA_MARKER;
	if (!agree)
		return;
	least = m->len && m->ulpdu[0] & 0x80 ? 14 : 18;
	m->err = IWT_ERR_DDP_LOCAL;
	if (m->len < least)
		return;
	m->err = least == 14 ? IWT_ERR_TAG_VERSION : IWT_ERR_UNT_VERSION;
	if ((m->ulpdu[0] & 3) != !rules->rdmac)
		return;
	m->err = IWT_OK;
	m->status = IWT_FPDU_OK;
}

/* Writes the correct CRC into the FPDU at @p, if the FPDU is complete. */
static void seal(u8 *p, u32 avail, u32 pos, bool markers)
{
	u32 front = markers && pos % 512 == 0 ? 4 : 0;
	u32 size;

	if (avail < front + 2)
		return;
	size = iwt_fpdu_size(get_unaligned_be16(p + front), pos, markers);
	if (size <= avail)
		put_unaligned_le32(~crc32c(~0, p, size - 4), p + size - 4);
}

static void check_payload(struct pieces_cursor pc, struct iwt_fpdu *f,
			  const struct iwt_fpdu_rules *rules,
			  const struct model *m, u32 step)
{
	u32 at = f->hdr_len, len;
	const u8 *p;

	MUST(iwt_fpdu_payload(f, &pc.c, rules));
	while ((p = iwt_fpdu_piece(f, &pc.c, step, &len))) {
		MUST(len >= 1 && len <= step && at + len <= m->len);
		MUST(!memcmp(p, m->ulpdu + at, len));
		at += len;
	}
	SAME(at, m->len);
}

/* An FPDU that is predicted from @last, the FPDU before it, must be the FPDU of the model. */
static void check_follows(const struct pieces_cursor *pc, u32 avail,
			  const struct iwt_fpdu_rules *rules, const struct model *m,
			  struct iwt_fpdu *last)
{
	struct iwt_fpdu before = *last;

	if (!pc->c.len || !iwt_fpdu_follows(&pc->c, avail, rules, last)) {
		MUST(!memcmp(last, &before, sizeof(before)));
		return;
	}
	SAME(m->status, IWT_FPDU_OK);
	SAME(last->size, m->size);
	SAME(last->ulpdu_len, m->len);
	MUST(!memcmp(last->hdr, m->ulpdu, last->hdr_len));
	SAME(last->hdr_len + last->payload_len, m->len);
	check_payload(*pc, last, rules, m, 1 + avail % 600);
}

/* @last: the FPDU before this one, or zeroed; set to this one */
static void check_one(struct pieces_cursor *pc, u32 avail, u32 pos,
		      const struct iwt_fpdu_rules *rules,
		      const struct model *m, u32 step, struct iwt_fpdu *last)
{
	struct pieces_cursor before = *pc;
	struct iwt_fpdu f;
	u32 err;

	check_follows(pc, avail, rules, m, last);
	memset(&f, 0xa5, sizeof(f));
	SAME(iwt_fpdu_read(&pc->c, sizeof(*pc), avail, pos, rules, &f, &err),
	     m->status);
	MUST(!memcmp(pc, &before, sizeof(before)));
	if (m->status == IWT_FPDU_MORE) {
		MUST(!f.size || f.size > avail);
		return;
	}
	SAME(err, m->err);
	SAME(f.size, m->size);
	SAME(f.ulpdu_len, m->len);
	MUST(f.hdr_len <= m->len && f.hdr_len <= sizeof(f.hdr));
	MUST(!memcmp(f.hdr, m->ulpdu, f.hdr_len));
	SAME(f.hdr_len + f.payload_len, m->len);
	if (m->status == IWT_FPDU_OK)
		check_payload(*pc, &f, rules, m, step);
	MUST(iwt_cursor_skip(&pc->c, m->size));
	*last = f;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct model m;
	struct input in = { data, size };
	u32 bits = take(&in, 1), pos = take(&in, 4), cut = take(&in, 2);
	struct iwt_fpdu_rules rules = { bits & 1, bits & 2, pos & 1 };
	u32 step = 1 + take(&in, 1), left, at = 0, cuts[PIECES_MAX - 1], i;
	struct iwt_fpdu last_whole = {}, last_split = {};
	struct pieces_cursor whole, split;
	struct pieces one, many;
	u8 *stream;

	/* The position is a multiple of 4, because the size of each FPDU is a multiple of 4. */
	pos &= ~3u;
	left = in.left < STREAM_MAX ? in.left : STREAM_MAX;
	stream = exact(in.p, left);
	if (bits & 4)
		seal(stream, left, pos, rules.markers);
	for (i = 0; i < ARRAY_SIZE(cuts); i++)
		cuts[i] = (i ? cuts[i - 1] : 0) +
			  (cut = cut * 75 + 74) % (1 + left / (8 + bits / 8));
	pieces_cut(&one, stream, left, NULL, 0);
	pieces_cut(&many, stream, left, cuts, ARRAY_SIZE(cuts));
	whole = pieces_start(&one);
	split = pieces_start(&many);
	do {
		model(stream + at, left, pos, &rules, &m);
		check_one(&whole, left, pos, &rules, &m, step, &last_whole);
		check_one(&split, left, pos, &rules, &m, step, &last_split);
		at += m.size;
		pos += m.size;
		left -= m.status == IWT_FPDU_OK ? m.size : 0;
	} while (m.status == IWT_FPDU_OK);
	pieces_free(&one);
	pieces_free(&many);
	free(stream);
	return 0;
}
