// SPDX-License-Identifier: GPL-2.0
/* DDP segment headers and the checks of RFC 5041 7.1. */
#include "ddp.h"

#include <asm/byteorder.h>

/* Length of the DDP header. @ctrl: first octet of the header. Return: number of octets. */
u32 iwt_ddp_hdr_len(u8 ctrl)
{
	return ctrl & IWT_DDP_TAGGED ? IWT_DDP_TAGGED_LEN : IWT_DDP_UNTAGGED_LEN;
}

/**
 * iwt_ddp_parse() - read a DDP header (RFC 5041 4.2, 4.3)
 * @hdr: private copy of iwt_ddp_hdr_len() octets
 * @d: segment; the function sets all fields, and clears the fields that only the other kind of
 *	header has
 *
 * The reserved bits are ignored, and no field is checked.
 */
void iwt_ddp_parse(const u8 *hdr, struct iwt_ddp *d)
{
	const struct iwt_ddp_untagged *u = (const void *)hdr;
	const struct iwt_ddp_tagged *t = (const void *)hdr;

	d->tagged = t->ctrl & IWT_DDP_TAGGED;
	d->last = t->ctrl & IWT_DDP_LAST;
	d->dv = t->ctrl & IWT_DDP_DV_MASK;
	d->rv = (t->rdmap & IWT_RDMAP_RV_MASK) / IWT_RDMAP_RV;
	d->opcode = t->rdmap & IWT_RDMAP_OP_MASK;
	d->stag = be32_to_cpu(t->stag);
	if (d->tagged) {
		d->to = be64_to_cpu(t->to);
		d->qn = 0;
		d->msn = 0;
		d->mo = 0;
	} else {
		d->to = 0;
		d->qn = be32_to_cpu(u->qn);
		d->msn = be32_to_cpu(u->msn);
		d->mo = be32_to_cpu(u->mo);
	}
}

/**
 * iwt_ddp_build() - write a DDP header (RFC 5041 4.2, 4.3)
 * @d: segment; @d->dv and @d->rv are version numbers: 0 for an RDMAC peer, else 1
 * @hdr: buffer of IWT_DDP_UNTAGGED_LEN octets
 *
 * Return: octets written.
 */
u32 iwt_ddp_build(const struct iwt_ddp *d, u8 *hdr)
{
	struct iwt_ddp_untagged *u = (void *)hdr;
	struct iwt_ddp_tagged *t = (void *)hdr;

	t->ctrl = (d->tagged ? IWT_DDP_TAGGED : 0) |
		  (d->last ? IWT_DDP_LAST : 0) | (d->dv & IWT_DDP_DV_MASK);
	t->rdmap = (d->rv * IWT_RDMAP_RV & IWT_RDMAP_RV_MASK) |
		   (d->opcode & IWT_RDMAP_OP_MASK);
	t->stag = cpu_to_be32(d->stag);
	if (d->tagged) {
		t->to = cpu_to_be64(d->to);
		return IWT_DDP_TAGGED_LEN;
	}
	u->qn = cpu_to_be32(d->qn);
	u->msn = cpu_to_be32(d->msn);
	u->mo = cpu_to_be32(d->mo);
	return IWT_DDP_UNTAGGED_LEN;
}

/**
 * iwt_ddp_check_version() - is DV the DDP version that the stream uses? (RFC 5041 4.1)
 * @d: the segment
 * @rdmac: the peer is an RDMAC peer (RFC 5044 C.1)
 *
 * Return: IWT_OK, or the error, which differs for tagged and untagged segments (RFC 5041 7.2).
 */
u32 iwt_ddp_check_version(const struct iwt_ddp *d, bool rdmac)
{
	if (d->dv == (rdmac ? IWT_DDP_VERSION_RDMAC : IWT_DDP_VERSION))
		return IWT_OK;
	return d->tagged ? IWT_ERR_TAG_VERSION : IWT_ERR_UNT_VERSION;
}

/**
 * iwt_ddp_check_untagged() - may this segment be placed in the buffer of its queue?
 * @d: the segment, untagged
 * @len: octets after the DDP header, RDMAP header included
 * @q: inbound state of queue @d->qn; ignored when the queue does not exist
 * @have_buf: the queue has a buffer for the next or current message
 * @buf_len: length of that buffer
 *
 * The checks of RFC 5041 7.1 for untagged segments. Segments without payload are checked too,
 * because a Send without payload consumes a buffer like any other Send (RFC 5040 5.3). TCP
 * delivers the segments in order, so an MO that leaves a gap or goes back is an error.
 *
 * If the MSN is not the expected MSN, the error is "MSN out of range". If the MSN is the expected
 * MSN but there is no buffer, the error is "no buffer available".
 *
 * Return: IWT_OK or the error for the Terminate.
 */
u32 iwt_ddp_check_untagged(const struct iwt_ddp *d, u32 len,
			   const struct iwt_ddp_rxq *q, bool have_buf,
			   u32 buf_len)
{
	/* Queue 3 is only for Atomic Responses (RFC 7306 4). */
	if (d->qn >= IWT_QN_COUNT ||
	    (d->qn == IWT_QN_ATOMIC && d->opcode != IWT_OP_ATOMIC_RESP))
		return IWT_ERR_UNT_QN;
	if (d->msn != q->msn)
		return IWT_ERR_UNT_MSN;
	if (!have_buf)
		return IWT_ERR_UNT_NOBUF;
	if (d->mo != q->mo || d->mo > buf_len)
		return IWT_ERR_UNT_MO;
	if (len > buf_len - d->mo)
		return IWT_ERR_UNT_LONG;
	return IWT_OK;
}

/**
 * iwt_ddp_advance() - update the state of a queue after an accepted segment
 * @q: inbound state of the queue
 * @len: octets after the DDP header
 * @last: the segment was the last segment of its message
 *
 * MSN wraps from 0xffffffff to 0 (RFC 5041 4.3).
 */
void iwt_ddp_advance(struct iwt_ddp_rxq *q, u32 len, bool last)
{
	if (last) {
		q->msn++;
		q->mo = 0;
	} else {
		q->mo += len;
	}
}
