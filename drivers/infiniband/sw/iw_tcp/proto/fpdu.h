/* SPDX-License-Identifier: GPL-2.0 */
/* The whole-FPDU parser: framing, markers, CRC, headers (RFC 5044 4, 6). Pure functions. */
#ifndef IWT_FPDU_H
#define IWT_FPDU_H

#include <linux/minmax.h>

#include "cursor.h"
#include "ddp.h"

enum iwt_fpdu_status {
	IWT_FPDU_OK,
	IWT_FPDU_MORE,	/* not yet complete, so not checked */
	IWT_FPDU_BAD,	/* *err is the error; the stream must end */
};

/* The negotiated properties of the inbound direction. */
struct iwt_fpdu_rules {
	bool crc;
	bool markers;
	bool rdmac;	/* DDP and RDMAP of version 0 */
};

/* One inbound FPDU: a private copy of all but the payload. */
struct iwt_fpdu {
	u32 size;		/* octets of the stream, markers included */
	u16 ulpdu_len;
	u16 hdr_len;		/* octets of hdr: DDP and RDMAP headers */
	u32 payload_len;	/* after hdr, before pad */
	struct iwt_ddp ddp;
	u8 hdr[IWT_MAX_ULPDU_HDR];
	u32 pos;		/* stream position of the FPDU */
	u32 walked;		/* payload octets that iwt_fpdu_piece() has returned */
	u32 room;		/* octets from the next payload octet to the next marker */
	const u8 *flat;		/* the payload, if the FPDU is contiguous, else NULL */
	bool marked;		/* a contiguous FPDU of a stream with markers; flat is NULL */
	bool follows;		/* had the headers that were predicted from the last FPDU */
};

/* iwt_fpdu_read() in a stream without markers, and in a stream with markers */
enum iwt_fpdu_status iwt_fpdu_read_plain(const struct iwt_cursor *at, size_t cursor_size,
					 u32 avail, u32 pos,
					 const struct iwt_fpdu_rules *rules,
					 struct iwt_fpdu *f, u32 *err);
enum iwt_fpdu_status iwt_fpdu_read_marked(const struct iwt_cursor *at, size_t cursor_size,
					  u32 avail, u32 pos,
					  const struct iwt_fpdu_rules *rules,
					  struct iwt_fpdu *f, u32 *err);
/* iwt_fpdu_follows() in a stream without markers, and in a stream with markers */
bool iwt_fpdu_follows_plain(const struct iwt_cursor *at, u32 avail,
			    const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f);
bool iwt_fpdu_follows_marked(const struct iwt_cursor *at, u32 avail,
			     const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f);
/* Can the headers of the FPDU after @f be predicted? */
bool iwt_fpdu_goes_on(const struct iwt_fpdu *f, const struct iwt_fpdu_rules *rules);
u32 iwt_fpdu_alike(const struct iwt_cursor *at, u32 avail, u32 most, const struct iwt_fpdu *f);
/* Is the CRC of a contiguous FPDU correct? */
bool iwt_fpdu_crc_ok(const u8 *p, u32 size);
void iwt_fpdu_pass(struct iwt_fpdu *f, const struct iwt_cursor *at, u32 n);
/* Return: false if the pieces end before the payload. */
bool iwt_fpdu_payload(struct iwt_fpdu *f, struct iwt_cursor *at,
		      const struct iwt_fpdu_rules *rules);
const u8 *iwt_fpdu_any_piece(struct iwt_fpdu *f, struct iwt_cursor *at,
			     u32 max, u32 *len);
u32 iwt_fpdu_rest(const struct iwt_fpdu *f, const struct iwt_fpdu_rules *rules);
u32 iwt_fpdu_span(u32 pos, u32 n, bool markers);
u32 iwt_fpdu_fit(u32 room, u32 pos);
u32 iwt_fpdu_size(u16 ulpdu_len, u32 pos, bool markers);
/* Does every marker of a contiguous FPDU point to its ULPDU_Length? */
bool iwt_fpdu_markers_hold(const u8 *p, u32 size, u32 pos);

/* Return: octets from the stream position @pos to the next marker; 0 if a marker is at @pos. */
static inline u32 iwt_fpdu_to_marker(u32 pos)
{
	return -pos & (IWT_MARKER_SPACING - 1);
}

/* Return: octets of the marker in front of an FPDU that begins at the stream position @pos. */
static inline u32 iwt_fpdu_front(u32 pos)
{
	return iwt_fpdu_to_marker(pos) ? 0 : IWT_MARKER_LEN;
}

/**
 * iwt_fpdu_crc_holds() - iwt_fpdu_crc_ok() if CRCs were negotiated
 * @p: as for iwt_fpdu_crc_ok()
 * @size: as for iwt_fpdu_crc_ok()
 * @rules: negotiated properties of this direction
 *
 * Return: true if the CRC is correct or not in use.
 */
static inline bool iwt_fpdu_crc_holds(const u8 *p, u32 size, const struct iwt_fpdu_rules *rules)
{
	return !rules->crc || iwt_fpdu_crc_ok(p, size);
}

/**
 * iwt_fpdu_read() - parse and check an FPDU
 * @at: position of the FPDU's first octet, or of the marker in front of this octet; must be the
 *	first member of the owner's cursor struct; not moved
 * @cursor_size: size of the owner's cursor struct, at most IWT_CURSOR_MAX
 * @avail: number of octets of the stream received from @at on
 * @pos: stream position of @at, modulo 2^32, counted from the first octet
 *	after the startup frame
 * @rules: negotiated properties of this direction
 * @f: the FPDU. If the result is IWT_FPDU_OK, the function has set all fields except room, which
 *	iwt_fpdu_payload() sets. If the result is IWT_FPDU_BAD, it has set hdr, hdr_len and
 *	ulpdu_len, for the Terminate. If the result is IWT_FPDU_MORE, it has set size, to 0 if the
 *	size is not yet known. All other fields are undefined
 * @err: set to the error for the Terminate if the result is IWT_FPDU_BAD, to IWT_OK if the result
 *	is IWT_FPDU_OK, else undefined
 *
 * The function checks nothing before the whole FPDU has been received. Then it checks, in this
 * order: the CRC, the markers, whether ULPDU_Length is long enough for the DDP header, and the
 * DDP version. A wrong marker is reported as a marker error only if the CRC is correct (RFC 5044
 * 8). A sender on this machine may change the octets of the stream at any time. So the headers
 * are parsed only from the copy in @f: a change has the same effect as if the sender had sent the
 * changed octets.
 *
 * Any context; sleeps only if @at->more sleeps.
 *
 * Return: IWT_FPDU_OK, IWT_FPDU_MORE or IWT_FPDU_BAD.
 */
static inline enum iwt_fpdu_status
iwt_fpdu_read(const struct iwt_cursor *at, size_t cursor_size, u32 avail, u32 pos,
	      const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f, u32 *err)
{
	return rules->markers ?
		iwt_fpdu_read_marked(at, cursor_size, avail, pos, rules, f, err) :
		iwt_fpdu_read_plain(at, cursor_size, avail, pos, rules, f, err);
}

/**
 * iwt_fpdu_follows() - does the next FPDU have the predicted headers?
 * @at: position of the first octet of the next FPDU; not moved
 * @avail: number of octets of the stream received from @at on
 * @rules: negotiated properties of this direction
 * @f: the last FPDU, as iwt_fpdu_read() or this function set it on success, or zeroed
 *
 * Usually all segments of a message except the last segment have the same length, and the same
 * headers except for TO or MO: the payload of a segment follows the payload of the segment
 * before. So the results of the checks of the last FPDU are also valid for the next FPDU. The
 * function compares the headers of the next FPDU, and checks its CRC.
 *
 * Return: true if the whole FPDU has been received, has the predicted headers and a correct CRC;
 * then @f describes this FPDU. If the result is false, @f is unchanged, and the caller has to
 * call iwt_fpdu_read().
 */
static inline bool iwt_fpdu_follows(const struct iwt_cursor *at, u32 avail,
				    const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f)
{
	return rules->markers ? iwt_fpdu_follows_marked(at, avail, rules, f) :
				iwt_fpdu_follows_plain(at, avail, rules, f);
}

/**
 * iwt_fpdu_piece() - return the next contiguous payload octets
 * @f: the FPDU, after iwt_fpdu_payload()
 * @at: position where iwt_fpdu_payload() or the last call of this function left @at; moved
 * @max: maximum number of octets to return
 * @len: number of returned octets
 *
 * Skips markers, and stops at the end of the payload.
 *
 * Return: the octets, NULL at the end of the payload.
 */
static inline const u8 *iwt_fpdu_piece(struct iwt_fpdu *f, struct iwt_cursor *at,
				       u32 max, u32 *len)
{
	const u8 *p = f->flat;

	if (!p)
		return iwt_fpdu_any_piece(f, at, max, len);
	*len = min(max, f->payload_len - f->walked);
	if (!*len)
		return NULL;
	p += f->walked;
	f->walked += *len;
	return p;
}

#endif
