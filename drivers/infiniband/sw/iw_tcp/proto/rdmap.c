// SPDX-License-Identifier: GPL-2.0
/* RDMAP opcodes and headers (RFC 5040 4, RFC 7306). */
#include "rdmap.h"

#include <asm/byteorder.h>

#define IWT_TERM_HDR_MAX	52	/* control, length, DDP header, Read Request */

static const struct iwt_rdmap_rule rules[IWT_RDMAP_OP_MASK + 1] = {
	[IWT_OP_WRITE] = { .known = true, .tagged = true, .payload = true },
	[IWT_OP_READ_REQ] = {
		.known = true,
		.qn = IWT_QN_READ_REQ,
		.hdr_len = sizeof(struct iwt_read_req),
	},
	[IWT_OP_READ_RESP] = { .known = true, .tagged = true, .payload = true },
	[IWT_OP_SEND] = { .known = true, .payload = true },
	[IWT_OP_SEND_INV] = {
		.known = true, .payload = true, .invalidates = true,
	},
	[IWT_OP_SEND_SE] = { .known = true, .payload = true, .solicited = true },
	[IWT_OP_SEND_SE_INV] = {
		.known = true,
		.payload = true,
		.solicited = true,
		.invalidates = true,
	},
	[IWT_OP_TERM] = {
		.known = true,
		.qn = IWT_QN_TERM,
		.hdr_len = sizeof(struct iwt_term_hdr),
	},
	[IWT_OP_IMM] = {
		.known = true,
		.exact = true,
		.hdr_len = sizeof(struct iwt_imm),
	},
	[IWT_OP_IMM_SE] = {
		.known = true,
		.exact = true,
		.hdr_len = sizeof(struct iwt_imm),
		.solicited = true,
	},
	[IWT_OP_ATOMIC_REQ] = {
		.known = true,
		.exact = true,
		.qn = IWT_QN_READ_REQ,
		.hdr_len = sizeof(struct iwt_atomic_req),
	},
	[IWT_OP_ATOMIC_RESP] = {
		.known = true,
		.exact = true,
		.qn = IWT_QN_ATOMIC,
		.hdr_len = sizeof(struct iwt_atomic_resp),
	},
};

/**
 * iwt_rdmap_rule() - what a message must look like
 * @opcode: RDMAP opcode
 *
 * Return: its rule, never NULL; @known is false for unassigned opcodes.
 */
const struct iwt_rdmap_rule *iwt_rdmap_rule(u8 opcode)
{
	return &rules[opcode & IWT_RDMAP_OP_MASK];
}

/* The length of a message that is all header and so has one segment. */
static u32 rdmap_check_len(const struct iwt_ddp *d,
			   const struct iwt_rdmap_rule *rule, u32 len)
{
	u32 most = rule->hdr_len;

	if (rule->payload)
		return IWT_OK;
	if (d->opcode == IWT_OP_TERM)
		most = IWT_TERM_HDR_MAX;
	if (len > most)
		return rule->exact ? IWT_ERR_OP_UNSPEC : IWT_ERR_UNT_LONG;
	/* the tail of a Send that has begun is no Immediate Data */
	if (len < rule->hdr_len || !d->last || d->mo)
		return IWT_ERR_OP_UNSPEC;
	return IWT_OK;
}

/**
 * iwt_rdmap_room() - octets that DDP may place for an untagged message
 * @d: its first or next segment
 * @recv: octets of the receive buffer that it takes, on queue 0
 *
 * Immediate Data takes a buffer but does not go there, so that any buffer will do. What RFC
 * 7306 gives a fixed length has that judged by RDMAP: it knows no code for it, and DDP's would
 * blame the buffer.
 *
 * Return: octets.
 */
u32 iwt_rdmap_room(const struct iwt_ddp *d, u32 recv)
{
	const struct iwt_rdmap_rule *rule = iwt_rdmap_rule(d->opcode);

	if (rule->exact && rule->qn == d->qn)
		return ~0u;
	if (d->qn == IWT_QN_SEND)
		return recv;
	if (d->qn == IWT_QN_READ_REQ)
		return sizeof(struct iwt_read_req);
	return IWT_TERM_HDR_MAX;
}

/**
 * iwt_rdmap_check() - is this segment a part of a known message?
 * @d: the segment; its DDP checks come first (RFC 5040 7.2)
 * @ulpdu_len: octets of the ULPDU, DDP header included
 *
 * RDMAP version, which is that of DDP (RFC 5044 C.1), opcode, agreement of opcode with T and
 * QN, and the length of the messages that consist of a header only. RFC 5040 and 7306 have no
 * code for the latter: a Read Request or Terminate that is too long is too long for the buffer
 * of a header, all else is unspecified. Whether a Response was asked for is the caller's
 * question.
 *
 * Return: IWT_OK or what a Terminate is to say.
 */
u32 iwt_rdmap_check(const struct iwt_ddp *d, u32 ulpdu_len)
{
	const struct iwt_rdmap_rule *rule = iwt_rdmap_rule(d->opcode);
	u32 ddp_len = d->tagged ? IWT_DDP_TAGGED_LEN : IWT_DDP_UNTAGGED_LEN;

	if (d->rv != d->dv)
		return IWT_ERR_OP_VERSION;
	/* RFC 7306 4.1: its messages are of version 1 */
	if (!rule->known || (rule->exact && d->rv != IWT_DDP_VERSION))
		return IWT_ERR_OP_OPCODE;
	if (d->tagged != rule->tagged)
		return IWT_ERR_OP_OPCODE;
	if (!d->tagged && d->qn != rule->qn)
		return IWT_ERR_OP_OPCODE;
	if (ulpdu_len < ddp_len)
		return IWT_ERR_DDP_LOCAL;
	return rdmap_check_len(d, rule, ulpdu_len - ddp_len);
}

/**
 * iwt_rdmap_parse_read() - read a Read Request header (RFC 5040 4.4)
 * @hdr: the 28 octets that follow the DDP header, a private copy
 * @r: all of it is set
 */
void iwt_rdmap_parse_read(const u8 *hdr, struct iwt_rdmap_read *r)
{
	const struct iwt_read_req *w = (const void *)hdr;

	r->sink_stag = be32_to_cpu(w->sink_stag);
	r->sink_to = be64_to_cpu(w->sink_to);
	r->size = be32_to_cpu(w->size);
	r->src_stag = be32_to_cpu(w->src_stag);
	r->src_to = be64_to_cpu(w->src_to);
}

/**
 * iwt_rdmap_build_read() - write a Read Request header (RFC 5040 4.4)
 * @r: what to write
 * @hdr: room for 28 octets, those that follow the DDP header
 */
void iwt_rdmap_build_read(const struct iwt_rdmap_read *r, u8 *hdr)
{
	struct iwt_read_req *w = (void *)hdr;

	w->sink_stag = cpu_to_be32(r->sink_stag);
	w->sink_to = cpu_to_be64(r->sink_to);
	w->size = cpu_to_be32(r->size);
	w->src_stag = cpu_to_be32(r->src_stag);
	w->src_to = cpu_to_be64(r->src_to);
}
