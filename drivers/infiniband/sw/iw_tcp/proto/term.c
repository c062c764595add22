// SPDX-License-Identifier: GPL-2.0
/* The Terminate message (RFC 5040 4.8). */
#include "term.h"

#include <linux/string.h>
#include <linux/unaligned.h>

#define IWT_TERM_LEN_LEN	2	/* DDP Segment Length */

/* May a Terminate with this error contain headers? (RFC 5040 Figure 10) */
static bool term_has_hdrs(u32 err)
{
	switch (IWT_ERR_LAYER(err)) {
	case 0:
		return IWT_ERR_ETYPE(err) != 0;	/* 0: local catastrophic error */
	case 1:
		return true;
	default:
		return false;
	}
}

/*
 * Does the Terminate contain an RDMAP header? Only if the segment that caused the error is a Read
 * Request (RFC 5040 4.8).
 */
static bool term_has_read(u32 err, const u8 *hdr, u32 hdr_len)
{
	return IWT_ERR_LAYER(err) == 0 && IWT_ERR_ETYPE(err) == 1 &&
	       !(hdr[0] & IWT_DDP_TAGGED) &&
	       (hdr[1] & IWT_RDMAP_OP_MASK) == IWT_OP_READ_REQ &&
	       hdr_len >= IWT_DDP_UNTAGGED_LEN + sizeof(struct iwt_read_req);
}

/**
 * iwt_term_build() - write a Terminate header
 * @err: the error, as IWT_ERR()
 * @hdr: headers of the segment that caused the error, as in struct iwt_fpdu; for a Read Request
 *	that was answered in part, the caller has changed the header so that it describes the part
 *	that was not answered
 * @hdr_len: octets at @hdr; 0 when no segment caused the error
 * @ulpdu_len: ULPDU_Length of that segment
 * @out: buffer of IWT_TERM_MAX - IWT_DDP_UNTAGGED_LEN octets for the part of the
 *	Terminate after its DDP header
 *
 * @err determines which headers the Terminate contains (RFC 5040 4.8). For a local error of RDMAP
 * and for an error of MPA, the Terminate contains no headers. For other errors the Terminate
 * contains the segment length and the DDP header, and for a refused Read Request also the RDMAP
 * header. If the DDP header of the segment was not complete, the Terminate contains only the
 * segment length.
 *
 * Return: number of octets written, for iwt_txseg_term().
 */
u32 iwt_term_build(u32 err, const u8 *hdr, u32 hdr_len, u16 ulpdu_len, u8 *out)
{
	struct iwt_term_hdr *t = (void *)out;
	u32 len = sizeof(*t);
	u32 ddp_len;

	t->layer_etype = IWT_ERR_LAYER(err) << 4 | IWT_ERR_ETYPE(err);
	t->code = IWT_ERR_CODE(err);
	t->ctrl = 0;
	t->reserved = 0;
	if (!hdr_len || !term_has_hdrs(err))
		return len;

	t->ctrl |= IWT_TERM_M;
	put_unaligned_be16(ulpdu_len, out + len);
	len += IWT_TERM_LEN_LEN;
	ddp_len = iwt_ddp_hdr_len(hdr[0]);
	if (hdr_len < ddp_len)
		return len;

	t->ctrl |= IWT_TERM_D;
	memcpy(out + len, hdr, ddp_len);
	len += ddp_len;
	if (!term_has_read(err, hdr, hdr_len))
		return len;

	t->ctrl |= IWT_TERM_R;
	memcpy(out + len, hdr + ddp_len, sizeof(struct iwt_read_req));
	return len + sizeof(struct iwt_read_req);
}

/* Read the headers that the control bits @ctrl announce, and ignore incomplete headers. */
static void term_parse_hdrs(u8 ctrl, const u8 *p, u32 len,
			    struct iwt_term *t)
{
	u32 ddp_len;

	/* If D is set without M, the length field is still present. */
	if (!(ctrl & (IWT_TERM_M | IWT_TERM_D)) || len < IWT_TERM_LEN_LEN)
		return;
	t->has_len = ctrl & IWT_TERM_M;
	if (t->has_len)
		t->seg_len = get_unaligned_be16(p);
	p += IWT_TERM_LEN_LEN;
	len -= IWT_TERM_LEN_LEN;

	if (!(ctrl & IWT_TERM_D) || !len)
		return;
	ddp_len = iwt_ddp_hdr_len(p[0]);
	if (len < ddp_len)
		return;
	t->has_ddp = true;
	iwt_ddp_parse(p, &t->ddp);
	t->has_rdmap = (ctrl & IWT_TERM_R) && !t->ddp.tagged &&
		       len - ddp_len >= sizeof(struct iwt_read_req);
}

/**
 * iwt_term_parse() - read a Terminate header
 * @ulpdu: private copy of the octets after the DDP header of the Terminate
 * @len: number of these octets
 * @t: Terminate; the function sets all fields, also on error
 *
 * A Terminate ends the stream, whatever the Terminate contains. So the function reads as much of
 * the Terminate as possible: reserved bits, absent or zeroed headers, and incomplete headers are
 * not errors. An error of MPA has the error type 0, but some peers send the type 3: for MPA, the
 * function reads any type as 0.
 *
 * Return: IWT_OK, or IWT_ERR_OP_UNSPEC when the Terminate is too short to contain an error.
 */
u32 iwt_term_parse(const u8 *ulpdu, u32 len, struct iwt_term *t)
{
	const struct iwt_term_hdr *h = (const void *)ulpdu;
	u32 layer, etype;

	memset(t, 0, sizeof(*t));
	if (len < sizeof(*h))
		return IWT_ERR_OP_UNSPEC;
	layer = h->layer_etype >> 4;
	etype = layer == 2 ? 0 : h->layer_etype & 0xf;
	t->err = IWT_ERR(layer, etype, h->code);
	term_parse_hdrs(h->ctrl, ulpdu + sizeof(*h), len - sizeof(*h), t);
	return IWT_OK;
}
