/* SPDX-License-Identifier: GPL-2.0 */
/* The whole-FPDU parser: framing, markers, CRC, headers (RFC 5044 4, 6). Pure. */
#ifndef IWT_FPDU_H
#define IWT_FPDU_H

#include <linux/minmax.h>

#include "cursor.h"
#include "ddp.h"

enum iwt_fpdu_status {
	IWT_FPDU_OK,
	IWT_FPDU_MORE,	/* not there whole yet; nothing was decided */
	IWT_FPDU_BAD,	/* *err says why; the stream is lost */
};

/* What was negotiated for the inbound direction. */
struct iwt_fpdu_rules {
	bool crc;
	bool markers;
	bool rdmac;	/* DDP and RDMAP of version 0 */
};

/* One inbound FPDU; all of it is a private copy except the payload. */
struct iwt_fpdu {
	u32 size;		/* octets of the stream, markers included */
	u16 ulpdu_len;
	u16 hdr_len;		/* octets of hdr: DDP and RDMAP headers */
	u32 payload_len;	/* after hdr, before pad */
	struct iwt_ddp ddp;
	u8 hdr[IWT_MAX_ULPDU_HDR];
	u32 pos;		/* stream position of the FPDU (markers) */
	u32 walked;		/* payload octets handed out by iwt_fpdu_piece */
	const u8 *flat;		/* the payload, if it is in one piece */
	bool follows;		/* in the middle of a message whose last FPDU was alike */
};

enum iwt_fpdu_status iwt_fpdu_read(const struct iwt_cursor *at, size_t cursor_size,
				   u32 avail, u32 pos,
				   const struct iwt_fpdu_rules *rules,
				   struct iwt_fpdu *f, u32 *err);
bool iwt_fpdu_follows(const struct iwt_cursor *at, u32 avail,
		      const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f);
bool iwt_fpdu_goes_on(const struct iwt_fpdu *f, const struct iwt_fpdu_rules *rules);
u32 iwt_fpdu_alike(const struct iwt_cursor *at, u32 avail, u32 most, const struct iwt_fpdu *f);
bool iwt_fpdu_crc_ok(const u8 *p, u32 size);
void iwt_fpdu_pass(struct iwt_fpdu *f, const struct iwt_cursor *at, u32 n);
bool iwt_fpdu_payload(struct iwt_fpdu *f, struct iwt_cursor *at,
		      const struct iwt_fpdu_rules *rules);
const u8 *iwt_fpdu_any_piece(struct iwt_fpdu *f, struct iwt_cursor *at,
			     const struct iwt_fpdu_rules *rules, u32 max,
			     u32 *len);
u32 iwt_fpdu_rest(const struct iwt_fpdu *f, const struct iwt_fpdu_rules *rules);
u32 iwt_fpdu_span(u32 pos, u32 n, bool markers);
u32 iwt_fpdu_size(u16 ulpdu_len, u32 pos, bool markers);

/**
 * iwt_fpdu_crc_holds() - iwt_fpdu_crc_ok(), where CRCs count
 * @p: as there
 * @size: as there
 * @rules: what was negotiated for this direction
 *
 * Return: true if it is right, or does not count.
 */
static inline bool iwt_fpdu_crc_holds(const u8 *p, u32 size, const struct iwt_fpdu_rules *rules)
{
	return !rules->crc || iwt_fpdu_crc_ok(p, size);
}

/**
 * iwt_fpdu_piece() - take the next payload octets that lie in one piece
 * @f: the FPDU; iwt_fpdu_payload() came first
 * @at: position that iwt_fpdu_payload() or this function left; moved
 * @rules: as given to iwt_fpdu_read()
 * @max: most octets wanted
 * @len: octets returned
 *
 * Markers and whatever follows the payload are not handed out.
 *
 * Return: the octets, NULL when the payload is at its end.
 */
static inline const u8 *iwt_fpdu_piece(struct iwt_fpdu *f, struct iwt_cursor *at,
				       const struct iwt_fpdu_rules *rules,
				       u32 max, u32 *len)
{
	const u8 *p = f->flat;

	if (!p)
		return iwt_fpdu_any_piece(f, at, rules, max, len);
	*len = min(max, f->payload_len - f->walked);
	if (!*len)
		return NULL;
	p += f->walked;
	f->walked += *len;
	return p;
}

#endif
