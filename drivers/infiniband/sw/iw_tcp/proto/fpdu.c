// SPDX-License-Identifier: GPL-2.0
/* The whole-FPDU parser: framing, markers, CRC, headers (RFC 5044 4, 6). */
#include "fpdu.h"

#include <linux/compiler.h>
#include <linux/crc32c.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "rdmap.h"

/*
 * Length of the first word of an FPDU: ULPDU_Length, DDP control, RDMAP control. No marker
 * divides this word.
 */
#define IWT_FPDU_WORD		4
/* Maximum number of octets in front of the payload. */
#define FPDU_HEAD_MAX		(IWT_FPDU_LEN_LEN + IWT_MAX_ULPDU_HDR)
#define IWT_MARKER_PTR		2	/* offset of FPDUPTR in a marker */
/* Number of octets of an FPDU besides the ULPDU, the pad and markers. */
#define FPDU_OVERHEAD		(IWT_FPDU_LEN_LEN + IWT_FPDU_CRC_LEN)

/* A copy of the caller's cursor: the parser moves only the copy. */
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
 * iwt_fpdu_span() - number of octets of the stream that a part of an FPDU occupies
 * @pos: stream position of the first of these octets, or of the marker in front of this octet
 * @n: number of octets of the FPDU, without markers
 * @markers: the stream has markers
 *
 * A marker belongs to the octet that follows it, so a marker right after the @n octets is not
 * included (RFC 5044 4.3).
 *
 * Return: number of octets, with markers.
 */
u32 iwt_fpdu_span(u32 pos, u32 n, bool markers)
{
	u32 before = iwt_fpdu_to_marker(pos);

	if (!markers || n <= before)
		return n;
	return n + IWT_MARKER_LEN * DIV_ROUND_UP(n - before, IWT_MARKER_STRIDE);
}

/**
 * iwt_fpdu_size() - size of an FPDU in the stream
 * @ulpdu_len: ULPDU_Length of the FPDU
 * @pos: stream position where the FPDU, or the marker in front of it, begins
 * @markers: the stream has markers
 *
 * Return: number of octets, with markers.
 */
u32 iwt_fpdu_size(u16 ulpdu_len, u32 pos, bool markers)
{
	u32 n = round_up(IWT_FPDU_LEN_LEN + (u32)ulpdu_len, 4);

	return iwt_fpdu_span(pos, n + IWT_FPDU_CRC_LEN, markers);
}

/**
 * iwt_fpdu_fit() - length of the longest ULPDU whose FPDU fits in a part of a marked stream
 * @room: number of octets of this part
 * @pos: stream position where the FPDU, or the marker in front of it, begins: a multiple of 4
 *
 * Unlike iwt_mulpdu(), this function counts exactly the markers that the FPDU will contain.
 *
 * Return: number of octets, without a pad; 0 if no FPDU fits.
 */
u32 iwt_fpdu_fit(u32 room, u32 pos)
{
	u32 before = iwt_fpdu_to_marker(pos), n = round_down(room, 4);

	if (n > before)
		n -= IWT_MARKER_LEN * DIV_ROUND_UP(n - before, IWT_MARKER_SPACING);
	return max_t(u32, n, FPDU_OVERHEAD) - FPDU_OVERHEAD;
}

/* Return: number of octets of the DDP and RDMAP headers, which the parser copies. */
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

/* Initialize the fields of @f that depend on the first word of the FPDU, @word. */
static void fpdu_begin(struct iwt_fpdu *f, const u8 *word, u32 pos)
{
	f->hdr_len = fpdu_hdr_len(f->ulpdu_len, word[2], word[3]);
	f->payload_len = f->ulpdu_len - f->hdr_len;
	f->hdr[0] = word[2];
	f->hdr[1] = word[3];
	f->pos = pos;
	f->walked = 0;
	f->flat = NULL;
	f->marked = false;
	f->follows = false;
}

/*
 * Copy @len octets of an FPDU, without markers, from @c, which is at stream position @pos.
 * Return: false if the pieces contain fewer octets.
 */
static bool fpdu_copy(struct iwt_cursor *c, u32 pos, bool markers, u8 *to,
		      u32 len)
{
	u32 run;

	if (!markers)
		return iwt_cursor_copy(c, to, len);
	while (len) {
		run = iwt_fpdu_to_marker(pos);
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

/*
 * Does a marker point to the ULPDU_Length of its FPDU? @off, @start: offsets of the marker and of
 * ULPDU_Length from the beginning of the FPDU. The pointer of a marker in front of the FPDU is 0,
 * not negative.
 */
static bool marker_holds(const u8 *marker, u32 off, u32 start)
{
	u16 ptr = get_unaligned_be16(marker + IWT_MARKER_PTR);

	/* The two low bits are reserved, and the value is a distance modulo 2^16. */
	return !((ptr ^ (off ? off - start : 0)) & 0xfffc);
}

/* Does every marker of the FPDU point to its ULPDU_Length? (RFC 5044 4.3) */
static bool fpdu_markers_ok(struct iwt_cursor *c, const struct iwt_fpdu *f)
{
	u32 off = iwt_fpdu_to_marker(f->pos);
	u32 start = iwt_fpdu_front(f->pos);
	u8 marker[IWT_MARKER_LEN];

	if (off >= f->size)
		return true;
	if (!iwt_cursor_skip(c, off))
		return false;
	for (;;) {
		if (!iwt_cursor_copy(c, marker, sizeof(marker)))
			return false;
		if (!marker_holds(marker, off, start))
			return false;
		off += IWT_MARKER_SPACING;
		if (off >= f->size)
			return true;
		if (!iwt_cursor_skip(c, IWT_MARKER_STRIDE))
			return false;
	}
}

/**
 * iwt_fpdu_markers_hold() - does every marker of a contiguous FPDU point to its ULPDU_Length?
 * @p: first octet of the FPDU, or of the marker in front of this octet
 * @size: size of the FPDU, as in struct iwt_fpdu
 * @pos: stream position of @p
 *
 * A marker always precedes an octet of its FPDU, so all octets of each marker are within @size
 * (RFC 5044 4.3). Any context.
 *
 * Return: true if so.
 */
bool iwt_fpdu_markers_hold(const u8 *p, u32 size, u32 pos)
{
	u32 off = iwt_fpdu_to_marker(pos), start = iwt_fpdu_front(pos);

	for (; off < size; off += IWT_MARKER_SPACING) {
		if (!marker_holds(p + off, off, start))
			return false;
	}
	return true;
}

/*
 * The CRC covers all octets of the FPDU before the CRC field, including markers, so this
 * function need not skip the markers (RFC 5044 4.4).
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

/*
 * Check ULPDU_Length and the DDP version, after the checks of CRC and markers. Uses only the
 * private copy of the headers. On IWT_FPDU_BAD, *@err is the error.
 */
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
 * Copy the rest of the headers, after their first word. The usual lengths are constants, so that
 * the compiler inlines memcpy().
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
 * iwt_fpdu_crc_ok() - is the CRC of a contiguous FPDU correct?
 * @p: first octet of the FPDU, or of the marker in front of this octet
 * @size: size of the FPDU, as in struct iwt_fpdu
 *
 * Return: true if the CRC is correct.
 */
bool iwt_fpdu_crc_ok(const u8 *p, u32 size)
{
	u32 end = size - IWT_FPDU_CRC_LEN;

	return get_unaligned_le32(p + end) == ~crc32c(~0, p, end);
}

/* Read the contiguous headers of an FPDU without markers. */
static void fpdu_head_flat(struct iwt_fpdu *f, const u8 *p, u32 pos)
{
	u8 word[IWT_FPDU_WORD];

	memcpy(word, p, sizeof(word));
	fpdu_begin(f, word, pos);
	fpdu_copy_flat(f, p + IWT_FPDU_WORD);
}

/* Read a contiguous FPDU without markers: the usual case. */
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

/*
 * Read a contiguous FPDU of a stream with markers. The CRC also covers the markers. Usually no
 * marker divides the headers.
 */
static enum iwt_fpdu_status fpdu_read_marked(const u8 *p, u32 pos,
					     const struct iwt_fpdu_rules *rules,
						 struct iwt_fpdu *f, u32 *err)
{
	u32 at = iwt_fpdu_front(pos);
	struct iwt_cursor rest;
	u8 word[IWT_FPDU_WORD];

	memcpy(word, p + at, sizeof(word));
	at += sizeof(word);
	fpdu_begin(f, word, pos);
	f->marked = true;
	if (iwt_fpdu_to_marker(pos + at) + 2 >= f->hdr_len) {
		fpdu_copy_flat(f, p + at);
	} else {
		rest = (struct iwt_cursor){ .p = p + at, .len = f->size - at };
		fpdu_copy(&rest, pos + at, true, f->hdr + 2, f->hdr_len - 2);
	}
	*err = IWT_ERR_MPA_CRC;
	if (!iwt_fpdu_crc_holds(p, f->size, rules))
		return IWT_FPDU_BAD;
	*err = IWT_ERR_MPA_MARKER;
	if (!iwt_fpdu_markers_hold(p, f->size, pos))
		return IWT_FPDU_BAD;
	return fpdu_judge(f, rules->rdmac, err);
}

/* Read an FPDU in any number of pieces. */
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

/* Read ULPDU_Length. @front: octets before the field. Return: false if the field is cut off. */
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
 * Read an FPDU that is not contiguous, or of which not even ULPDU_Length has arrived. Such FPDUs
 * are rare: this function is not inline, so that the usual path needs no stack for a copy of the
 * cursor.
 */
static noinline enum iwt_fpdu_status
read_any(const struct iwt_cursor *at, size_t cursor_size, u32 avail,
	 u32 pos, const struct iwt_fpdu_rules *rules,
		  struct iwt_fpdu *f, u32 *err)
{
	u32 front = rules->markers ? iwt_fpdu_front(pos) : 0;

	if (!fpdu_ulpdu_len(at, cursor_size, avail, front, &f->ulpdu_len))
		return IWT_FPDU_MORE;
	f->size = iwt_fpdu_size(f->ulpdu_len, pos, rules->markers);
	if (avail < f->size)
		return IWT_FPDU_MORE;
	return fpdu_read_pieces(at, cursor_size, pos, rules, f, err);
}

/* Initialize the results. Return: false if the caller's cursor has a wrong size. */
static bool begin_read(const struct iwt_cursor *at, size_t cursor_size, struct iwt_fpdu *f,
		       u32 *err)
{
	*err = IWT_ERR_DDP_LOCAL;
	f->size = 0;
	f->hdr_len = 0;
	f->ulpdu_len = 0;
	return cursor_size >= sizeof(*at) && cursor_size <= IWT_CURSOR_MAX;
}

/**
 * iwt_fpdu_read_marked() - iwt_fpdu_read() in a stream with markers
 * @at: as for iwt_fpdu_read()
 * @cursor_size: as for iwt_fpdu_read()
 * @avail: as for iwt_fpdu_read()
 * @pos: as for iwt_fpdu_read()
 * @rules: as for iwt_fpdu_read()
 * @f: as for iwt_fpdu_read()
 * @err: as for iwt_fpdu_read()
 *
 * Same context as iwt_fpdu_read().
 *
 * Return: as iwt_fpdu_read().
 */
enum iwt_fpdu_status iwt_fpdu_read_marked(const struct iwt_cursor *at, size_t cursor_size,
					  u32 avail, u32 pos,
					  const struct iwt_fpdu_rules *rules,
					  struct iwt_fpdu *f, u32 *err)
{
	u32 front = iwt_fpdu_front(pos);

	if (!begin_read(at, cursor_size, f, err))
		return IWT_FPDU_BAD;
	if (at->len >= front + IWT_FPDU_LEN_LEN) {
		f->ulpdu_len = get_unaligned_be16(at->p + front);
		f->size = iwt_fpdu_size(f->ulpdu_len, pos, true);
		if (avail < f->size)
			return IWT_FPDU_MORE;
		if (at->len >= f->size)
			return fpdu_read_marked(at->p, pos, rules, f, err);
	}
	return read_any(at, cursor_size, avail, pos, rules, f, err);
}

/**
 * iwt_fpdu_read_plain() - iwt_fpdu_read() in a stream without markers
 * @at: as for iwt_fpdu_read()
 * @cursor_size: as for iwt_fpdu_read()
 * @avail: as for iwt_fpdu_read()
 * @pos: as for iwt_fpdu_read()
 * @rules: as for iwt_fpdu_read()
 * @f: as for iwt_fpdu_read()
 * @err: as for iwt_fpdu_read()
 *
 * Same context as iwt_fpdu_read().
 *
 * Return: as iwt_fpdu_read().
 */
enum iwt_fpdu_status iwt_fpdu_read_plain(const struct iwt_cursor *at, size_t cursor_size,
					 u32 avail, u32 pos,
					 const struct iwt_fpdu_rules *rules,
					 struct iwt_fpdu *f, u32 *err)
{
	if (!begin_read(at, cursor_size, f, err))
		return IWT_FPDU_BAD;
	if (at->len >= IWT_FPDU_LEN_LEN) {
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

/**
 * iwt_fpdu_payload() - move to the first payload octet
 * @f: the FPDU, as iwt_fpdu_read() set it
 * @at: position of the FPDU, as for iwt_fpdu_read(). The function may move @at or not, so
 *	afterwards only iwt_fpdu_piece() can use @at
 * @rules: as given to iwt_fpdu_read()
 *
 * Return: false if the pieces end before the payload.
 */
bool iwt_fpdu_payload(struct iwt_fpdu *f, struct iwt_cursor *at,
		      const struct iwt_fpdu_rules *rules)
{
	u32 skip;

	if (f->flat)
		return true;
	f->walked = 0;
	skip = iwt_fpdu_span(f->pos, IWT_FPDU_LEN_LEN + f->hdr_len, rules->markers);
	f->room = rules->markers ? iwt_fpdu_to_marker(f->pos + skip) : U32_MAX;
	return iwt_cursor_skip(at, skip);
}

/**
 * iwt_fpdu_rest() - number of octets after the payload
 * @f: the FPDU
 * @rules: as given to iwt_fpdu_read()
 *
 * Return: number of octets in the stream from the end of the payload to the next FPDU.
 */
u32 iwt_fpdu_rest(const struct iwt_fpdu *f, const struct iwt_fpdu_rules *rules)
{
	return f->size - iwt_fpdu_span(f->pos, IWT_FPDU_LEN_LEN + f->ulpdu_len, rules->markers);
}

/**
 * iwt_fpdu_any_piece() - iwt_fpdu_piece() for an FPDU that is not contiguous
 * @f: the FPDU
 * @at: position, moved
 * @max: maximum number of octets to return
 * @len: number of returned octets
 *
 * Return: the octets, NULL at the end of the payload.
 */
const u8 *iwt_fpdu_any_piece(struct iwt_fpdu *f, struct iwt_cursor *at,
			     u32 max, u32 *len)
{
	const u8 *p;

	max = min(max, f->payload_len - f->walked);
	if (!f->room && max) {
		*len = 0;
		if (!iwt_cursor_skip(at, IWT_MARKER_LEN))
			return NULL;
		f->room = IWT_MARKER_STRIDE;
	}
	p = iwt_cursor_piece(at, min(max, f->room), len);
	f->walked += *len;
	f->room -= *len;
	return p;
}
