// SPDX-License-Identifier: GPL-2.0
/* The whole-FPDU parser: framing, markers, CRC, headers (RFC 5044 4, 6). */
#include "fpdu.h"

#include <linux/compiler.h>
#include <linux/crc32c.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "rdmap.h"

/* ULPDU_Length, DDP control, RDMAP control: no marker ever divides them. */
#define IWT_FPDU_WORD		4
/* Octets in front of payload, at most. */
#define FPDU_HEAD_MAX		(IWT_FPDU_LEN_LEN + IWT_MAX_ULPDU_HDR)
/* The headers end with the place of the payload: TO, MO. */
#define IWT_DDP_TO		(IWT_DDP_TAGGED_LEN - 8)
#define IWT_DDP_MO		(IWT_DDP_UNTAGGED_LEN - 4)
#define IWT_MARKER_PTR		2	/* octet of a marker where FPDUPTR is */
#define IWT_MARKER_STRIDE	(IWT_MARKER_SPACING - IWT_MARKER_LEN)

/* A second position that may be moved while the caller's stays. */
union cursor_clone {
	struct iwt_cursor c;
	u64 align;
	u8 space[IWT_CURSOR_MAX];
};

static struct iwt_cursor *cursor_clone(union cursor_clone *to,
				       const struct iwt_cursor *at,
					   size_t size)
{
	memcpy(to, at, size);
	return &to->c;
}

/**
 * iwt_fpdu_span() - octets of the stream that octets of an FPDU take
 * @pos: stream position where the first of them, or the marker in front of it,
 *	begins
 * @n: how many, markers not counted
 * @markers: the stream has markers
 *
 * A marker is counted with the octet that follows it, so one that is due right behind the last
 * of the @n octets is not in (RFC 5044 4.3).
 *
 * Return: octets.
 */
u32 iwt_fpdu_span(u32 pos, u32 n, bool markers)
{
	u32 before = -pos & (IWT_MARKER_SPACING - 1);

	if (!markers || n <= before)
		return n;
	return n + IWT_MARKER_LEN * DIV_ROUND_UP(n - before, IWT_MARKER_STRIDE);
}

/**
 * iwt_fpdu_size() - octets that an FPDU takes of the stream
 * @ulpdu_len: its ULPDU_Length
 * @pos: stream position where it, or the marker in front of it, begins
 * @markers: the stream has markers
 *
 * Return: octets.
 */
u32 iwt_fpdu_size(u16 ulpdu_len, u32 pos, bool markers)
{
	u32 n = round_up(IWT_FPDU_LEN_LEN + (u32)ulpdu_len, 4);

	return iwt_fpdu_span(pos, n + IWT_FPDU_CRC_LEN, markers);
}

/* Octets of the ULPDU that are DDP and RDMAP header, and so are copied. */
static u32 fpdu_hdr_len(u32 ulpdu_len, u8 ctrl, u8 rdmap)
{
	u32 len = iwt_ddp_hdr_len(ctrl);
	u8 opcode = rdmap & IWT_RDMAP_OP_MASK;

	if (!(ctrl & IWT_DDP_TAGGED)) {
		if (opcode == IWT_OP_TERM)
			len = IWT_MAX_ULPDU_HDR;
		else if (!iwt_rdmap_rule(opcode)->tagged)
			len += iwt_rdmap_rule(opcode)->hdr_len;
	}
	return min(len, ulpdu_len);
}

/* Sets all of @f that follows from its first word. */
static void fpdu_begin(struct iwt_fpdu *f, const u8 *word, u32 pos)
{
	f->hdr_len = fpdu_hdr_len(f->ulpdu_len, word[2], word[3]);
	f->payload_len = f->ulpdu_len - f->hdr_len;
	f->hdr[0] = word[2];
	f->hdr[1] = word[3];
	f->pos = pos;
	f->walked = 0;
	f->flat = NULL;
	f->follows = false;
}

/* Copies @len octets of an FPDU; @c stands at stream position @pos. */
static bool fpdu_copy(struct iwt_cursor *c, u32 pos, bool markers, u8 *to,
		      u32 len)
{
	u32 run;

	if (!markers)
		return iwt_cursor_copy(c, to, len);
	while (len) {
		run = -pos & (IWT_MARKER_SPACING - 1);
		if (!run) {
			if (!iwt_cursor_skip(c, IWT_MARKER_LEN))
				return false;
			pos += IWT_MARKER_LEN;
			run = IWT_MARKER_STRIDE;
		}
		run = min(run, len);
		if (!iwt_cursor_copy(c, to, run))
			return false;
		to += run;
		len -= run;
		pos += run;
	}
	return true;
}

/* Does every marker of the FPDU point to its ULPDU_Length? (RFC 5044 4.3) */
static bool fpdu_markers_ok(struct iwt_cursor *c, const struct iwt_fpdu *f)
{
	u32 off = -f->pos & (IWT_MARKER_SPACING - 1);
	u32 start = off ? 0 : IWT_MARKER_LEN;
	u8 marker[IWT_MARKER_LEN];
	u16 ptr;

	if (off >= f->size)
		return true;
	if (!iwt_cursor_skip(c, off))
		return false;
	for (;;) {
		if (!iwt_cursor_copy(c, marker, sizeof(marker)))
			return false;
		/* The low bits are reserved, the value is modulo 2^16. */
		ptr = get_unaligned_be16(marker + IWT_MARKER_PTR);
		if ((ptr ^ (off ? off - start : 0)) & 0xfffc)
			return false;
		off += IWT_MARKER_SPACING;
		if (off >= f->size)
			return true;
		if (!iwt_cursor_skip(c, IWT_MARKER_STRIDE))
			return false;
	}
}

/*
 * The CRC covers every octet of the FPDU in front of it, markers too, so this pass need not
 * know where they are (RFC 5044 4.4).
 */
static bool fpdu_crc_ok(struct iwt_cursor *c, u32 size)
{
	u8 field[IWT_FPDU_CRC_LEN];
	u32 crc = ~0;

	if (!iwt_cursor_crc(c, size - sizeof(field), &crc) ||
	    !iwt_cursor_copy(c, field, sizeof(field)))
		return false;
	return get_unaligned_le32(field) == ~crc;
}

/* The checks behind framing and CRC; the headers are a private copy. */
static enum iwt_fpdu_status fpdu_judge(struct iwt_fpdu *f, bool rdmac,
				       u32 *err)
{
	*err = IWT_ERR_DDP_LOCAL;
	if (f->ulpdu_len < iwt_ddp_hdr_len(f->hdr[0]))
		return IWT_FPDU_BAD;
	iwt_ddp_parse(f->hdr, &f->ddp);
	*err = iwt_ddp_check_version(&f->ddp, rdmac);
	return *err == IWT_OK ? IWT_FPDU_OK : IWT_FPDU_BAD;
}

/*
 * Copy the headers behind their first word. The compiler knows the usual lengths, which saves a
 * call.
 */
static void fpdu_copy_flat(struct iwt_fpdu *f, const u8 *p)
{
	if (f->hdr_len == IWT_DDP_TAGGED_LEN)
		memcpy(f->hdr + 2, p, IWT_DDP_TAGGED_LEN - 2);
	else if (f->hdr_len == IWT_DDP_UNTAGGED_LEN)
		memcpy(f->hdr + 2, p, IWT_DDP_UNTAGGED_LEN - 2);
	else if (f->hdr_len > 2)
		memcpy(f->hdr + 2, p, f->hdr_len - 2);
}

/**
 * iwt_fpdu_crc_ok() - is the CRC of an FPDU in one piece right?
 * @p: its first octet; it has no markers
 * @size: its octets, as in struct iwt_fpdu
 *
 * Return: true if so.
 */
bool iwt_fpdu_crc_ok(const u8 *p, u32 size)
{
	u32 end = size - IWT_FPDU_CRC_LEN;

	return get_unaligned_le32(p + end) == ~crc32c(~0, p, end);
}

/* The headers of an FPDU without markers, which are in one piece. */
static void fpdu_head_flat(struct iwt_fpdu *f, const u8 *p, u32 pos)
{
	u8 word[IWT_FPDU_WORD];

	memcpy(word, p, sizeof(word));
	fpdu_begin(f, word, pos);
	fpdu_copy_flat(f, p + IWT_FPDU_WORD);
}

/* An FPDU in one piece without markers: all but a few are such. */
static enum iwt_fpdu_status fpdu_read_flat(const u8 *p, u32 pos,
					   const struct iwt_fpdu_rules *rules,
					       struct iwt_fpdu *f, u32 *err)
{
	fpdu_head_flat(f, p, pos);
	f->flat = p + IWT_FPDU_LEN_LEN + f->hdr_len;
	if (!iwt_fpdu_crc_holds(p, f->size, rules)) {
		*err = IWT_ERR_MPA_CRC;
		return IWT_FPDU_BAD;
	}
	return fpdu_judge(f, rules->rdmac, err);
}

/* An FPDU in any number of pieces. */
static enum iwt_fpdu_status fpdu_read_pieces(const struct iwt_cursor *at,
					     size_t cursor_size, u32 pos,
						 const struct iwt_fpdu_rules *rules,
						 struct iwt_fpdu *f, u32 *err)
{
	union cursor_clone clone;
	struct iwt_cursor *c = cursor_clone(&clone, at, cursor_size);
	u8 word[IWT_FPDU_WORD];

	if (!iwt_cursor_skip(c, iwt_fpdu_span(pos, 1, rules->markers) - 1) ||
	    !iwt_cursor_copy(c, word, sizeof(word)))
		return IWT_FPDU_MORE;
	fpdu_begin(f, word, pos);
	pos += iwt_fpdu_span(pos, sizeof(word), rules->markers);
	if (f->hdr_len > 2 &&
	    !fpdu_copy(c, pos, rules->markers, f->hdr + 2, f->hdr_len - 2))
		return IWT_FPDU_MORE;

	*err = IWT_ERR_MPA_CRC;
	if (rules->crc &&
	    !fpdu_crc_ok(cursor_clone(&clone, at, cursor_size), f->size))
		return IWT_FPDU_BAD;
	*err = IWT_ERR_MPA_MARKER;
	if (rules->markers &&
	    !fpdu_markers_ok(cursor_clone(&clone, at, cursor_size), f))
		return IWT_FPDU_BAD;
	return fpdu_judge(f, rules->rdmac, err);
}

/* ULPDU_Length, or false when it is not there yet. */
static bool fpdu_ulpdu_len(const struct iwt_cursor *at, size_t cursor_size,
			   u32 avail, u32 front, u16 *len)
{
	union cursor_clone clone;
	struct iwt_cursor *c;
	u8 field[IWT_FPDU_LEN_LEN];

	if (avail < front + sizeof(field))
		return false;
	c = cursor_clone(&clone, at, cursor_size);
	if (!iwt_cursor_skip(c, front) ||
	    !iwt_cursor_copy(c, field, sizeof(field)))
		return false;
	*len = get_unaligned_be16(field);
	return true;
}

/*
 * With markers, or not in one piece, or not all there: seldom, and not worth the room for a
 * second cursor elsewhere.
 */
static noinline enum iwt_fpdu_status
read_any(const struct iwt_cursor *at, size_t cursor_size, u32 avail,
	 u32 pos, const struct iwt_fpdu_rules *rules,
		  struct iwt_fpdu *f, u32 *err)
{
	u32 front = 0;

	if (rules->markers && !(pos & (IWT_MARKER_SPACING - 1)))
		front = IWT_MARKER_LEN;
	if (!fpdu_ulpdu_len(at, cursor_size, avail, front, &f->ulpdu_len))
		return IWT_FPDU_MORE;
	f->size = iwt_fpdu_size(f->ulpdu_len, pos, rules->markers);
	if (avail < f->size)
		return IWT_FPDU_MORE;
	return fpdu_read_pieces(at, cursor_size, pos, rules, f, err);
}

/**
 * iwt_fpdu_read() - look at the FPDU that begins here
 * @at: position of its first octet, or of the marker in front of it; the first
 *	member of the owner's cursor. It is not moved
 * @cursor_size: octets of the owner's cursor, at most IWT_CURSOR_MAX
 * @avail: octets of the stream that are there from @at on
 * @pos: stream position of @at, modulo 2^32, counted from the first octet
 *	behind the startup frame
 * @rules: what was negotiated for this direction
 * @f: the FPDU. On IWT_FPDU_OK all of it is set. On IWT_FPDU_BAD @hdr, @hdr_len
 *	and @ulpdu_len are set, as a Terminate wants them. On IWT_FPDU_MORE @size
 *	is, to 0 as long as nothing is known of it. Else undefined
 * @err: on IWT_FPDU_BAD what a Terminate is to say
 *
 * Decides nothing before the whole FPDU is there. Then, in this order: CRC, markers,
 * ULPDU_Length against the DDP header, DDP version. A marker that disagrees is only an error of
 * its own when the CRC holds (RFC 5044 8). Only what is in @f is parsed: a sender on this
 * machine may change the octets of the stream at any time, but gains nothing from it that it
 * could not have had by sending the changed octets.
 *
 * Any context; does not sleep unless @at->more does.
 *
 * Return: IWT_FPDU_OK, IWT_FPDU_MORE or IWT_FPDU_BAD.
 */
enum iwt_fpdu_status iwt_fpdu_read(const struct iwt_cursor *at, size_t cursor_size,
				   u32 avail, u32 pos,
				   const struct iwt_fpdu_rules *rules,
				   struct iwt_fpdu *f, u32 *err)
{
	*err = IWT_ERR_DDP_LOCAL;
	f->size = 0;
	f->hdr_len = 0;
	f->ulpdu_len = 0;
	if (cursor_size < sizeof(*at) || cursor_size > IWT_CURSOR_MAX)
		return IWT_FPDU_BAD;
	if (!rules->markers && at->len >= IWT_FPDU_LEN_LEN) {
		f->ulpdu_len = get_unaligned_be16(at->p);
		f->size = iwt_fpdu_size(f->ulpdu_len, pos, false);
		if (avail < f->size)
			return IWT_FPDU_MORE;
		if (at->len >= f->size)
			return fpdu_read_flat(at->p, pos, rules, f, err);
		if (!rules->crc && at->len >= FPDU_HEAD_MAX) {
			fpdu_head_flat(f, at->p, pos);
			return fpdu_judge(f, rules->rdmac, err);
		}
	}
	return read_any(at, cursor_size, avail, pos, rules, f, err);
}

/* Octets in front of the place of a segment, which are the same in all segments of a message. */
#define TAGGED_START	(IWT_FPDU_LEN_LEN + IWT_DDP_TO)
#define UNTAGGED_START	(IWT_FPDU_LEN_LEN + IWT_DDP_MO)

static void fpdu_start(const struct iwt_fpdu *f, u8 *start)
{
	put_unaligned_be16(f->ulpdu_len, start);
	memcpy(start + IWT_FPDU_LEN_LEN, f->hdr, IWT_DDP_MO);
}

/*
 * Does the FPDU at @p continue the message of @f, whose segments have @start, @by octets behind
 * the place of @f? Each octet is read once, and nothing is kept of it. Inline, since this is most
 * of what is done for the segments of a long message.
 */
static __always_inline bool fpdu_continues(const struct iwt_fpdu *f, const u8 *start,
					   const u8 *p, u32 by)
{
	if (f->ddp.tagged)
		return !memcmp(p, start, TAGGED_START) &&
		       get_unaligned_be64(p + TAGGED_START) == f->ddp.to + by;
	return !memcmp(p, start, UNTAGGED_START) &&
	       get_unaligned_be32(p + UNTAGGED_START) == f->ddp.mo + by;
}

/* It does, and so do the ones behind it: @f becomes the last of @n FPDUs. */
static void fpdu_step(struct iwt_fpdu *f, u32 n)
{
	if (f->ddp.tagged) {
		f->ddp.to += (u64)n * f->payload_len;
		put_unaligned_be64(f->ddp.to, f->hdr + IWT_DDP_TO);
	} else {
		f->ddp.mo += n * f->payload_len;
		put_unaligned_be32(f->ddp.mo, f->hdr + IWT_DDP_MO);
	}
	f->pos += n * f->size;
	f->walked = 0;
	f->follows = true;
}

/**
 * iwt_fpdu_goes_on() - can the next FPDU be as this one says?
 * @f: as for iwt_fpdu_follows()
 * @rules: what was negotiated for this direction
 *
 * All that is not payload is a DDP header: Writes, Read Responses and Sends.
 *
 * Return: true if so.
 */
bool iwt_fpdu_goes_on(const struct iwt_fpdu *f, const struct iwt_fpdu_rules *rules)
{
	return f->size && !f->ddp.last && !rules->markers &&
	       f->hdr_len == (f->ddp.tagged ? IWT_DDP_TAGGED_LEN : IWT_DDP_UNTAGGED_LEN);
}

/**
 * iwt_fpdu_follows() - is the next FPDU as the last one says?
 * @at: position of its first octet; not moved
 * @avail: octets of the stream that are there from @at on
 * @rules: what was negotiated for this direction
 * @f: the one in front of it, as iwt_fpdu_read() or this function set it and returned
 *	success, or zeroed
 *
 * All segments of a message but the last are alike, and each begins where the one before it
 * ends. What was decided for that one is true for this one too. Only its place is new, and its
 * CRC is checked.
 *
 * Return: true if the whole FPDU is there and is of this kind; then @f describes it. Else
 * nothing has happened, and iwt_fpdu_read() tells more.
 */
bool iwt_fpdu_follows(const struct iwt_cursor *at, u32 avail,
		      const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f)
{
	bool flat = at->len >= f->size;
	u8 start[UNTAGGED_START];

	if (!iwt_fpdu_goes_on(f, rules) || avail < f->size)
		return false;
	/* the headers are enough, where there is no CRC to be checked */
	if (!flat && (rules->crc || at->len < IWT_FPDU_LEN_LEN + f->hdr_len))
		return false;
	fpdu_start(f, start);
	if (!fpdu_continues(f, start, at->p, f->payload_len) ||
	    (flat && !iwt_fpdu_crc_holds(at->p, f->size, rules)))
		return false;
	fpdu_step(f, 1);
	f->flat = flat ? at->p + IWT_FPDU_LEN_LEN + f->hdr_len : NULL;
	return true;
}

/**
 * iwt_fpdu_alike() - how many FPDUs go on as the last one says?
 * @at: position of the first of them; not moved
 * @avail: octets of the stream that are there from @at on
 * @most: look at no more FPDUs. A caller asks only for those that it can take: a peer chooses how
 *	many come, and what was not taken is looked at again
 * @f: the one in front of them, of which iwt_fpdu_goes_on() is true; not changed
 *
 * All of them lie whole in the piece at @at, each behind the one before it. Only their headers
 * were looked at: for each iwt_fpdu_crc_holds() has to come before its payload is used. Nobody
 * reads these headers again, so a sender on this machine may change them as it likes.
 *
 * Return: the number of FPDUs. What is behind them is for iwt_fpdu_follows() or iwt_fpdu_read().
 */
u32 iwt_fpdu_alike(const struct iwt_cursor *at, u32 avail, u32 most, const struct iwt_fpdu *f)
{
	u32 n = min(min(at->len, avail) / f->size, most), i;
	u8 start[UNTAGGED_START];
	const u8 *p = at->p;

	fpdu_start(f, start);
	for (i = 0; i < n; i++, p += f->size) {
		if (!fpdu_continues(f, start, p, (i + 1) * f->payload_len))
			break;
	}
	return i;
}

/**
 * iwt_fpdu_pass() - FPDUs that iwt_fpdu_alike() has counted were taken
 * @f: the one in front of them; becomes the last of them
 * @at: position of the first of them; not moved
 * @n: how many, at least one
 */
void iwt_fpdu_pass(struct iwt_fpdu *f, const struct iwt_cursor *at, u32 n)
{
	fpdu_step(f, n);
	f->flat = at->p + (n - 1) * f->size + IWT_FPDU_LEN_LEN + f->hdr_len;
}

/**
 * iwt_fpdu_payload() - go to the first payload octet
 * @f: as iwt_fpdu_read() set it
 * @at: position of the FPDU as given to iwt_fpdu_read(); moved if need be, so
 *	that it is good for iwt_fpdu_piece() alone
 * @rules: as given to iwt_fpdu_read()
 *
 * Return: false when the pieces end early.
 */
bool iwt_fpdu_payload(struct iwt_fpdu *f, struct iwt_cursor *at,
		      const struct iwt_fpdu_rules *rules)
{
	f->walked = 0;
	if (f->flat)
		return true;
	return iwt_cursor_skip(at, iwt_fpdu_span(f->pos,
						 IWT_FPDU_LEN_LEN + f->hdr_len,
						 rules->markers));
}

/**
 * iwt_fpdu_rest() - octets behind the payload
 * @f: the FPDU
 * @rules: as given to iwt_fpdu_read()
 *
 * Return: octets of the stream from where iwt_fpdu_piece() ends to the next FPDU.
 */
u32 iwt_fpdu_rest(const struct iwt_fpdu *f, const struct iwt_fpdu_rules *rules)
{
	return f->size - iwt_fpdu_span(f->pos, IWT_FPDU_LEN_LEN + f->ulpdu_len, rules->markers);
}

/**
 * iwt_fpdu_any_piece() - iwt_fpdu_piece() of an FPDU in any number of pieces
 * @f: the FPDU
 * @at: position, moved
 * @rules: as given to iwt_fpdu_read()
 * @max: most octets wanted
 * @len: octets returned
 *
 * Return: the octets, NULL when the payload is at its end.
 */
const u8 *iwt_fpdu_any_piece(struct iwt_fpdu *f, struct iwt_cursor *at,
			     const struct iwt_fpdu_rules *rules, u32 max,
			     u32 *len)
{
	const u8 *p;
	u32 run;

	max = min(max, f->payload_len - f->walked);
	if (rules->markers && max) {
		run = IWT_FPDU_LEN_LEN + f->hdr_len + f->walked;
		run = -(f->pos + iwt_fpdu_span(f->pos, run, true)) &
		      (IWT_MARKER_SPACING - 1);
		if (!run) {
			*len = 0;
			if (!iwt_cursor_skip(at, IWT_MARKER_LEN))
				return NULL;
			run = IWT_MARKER_STRIDE;
		}
		max = min(max, run);
	}
	p = iwt_cursor_piece(at, max, len);
	f->walked += *len;
	return p;
}
