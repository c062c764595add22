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
 * iwt_rdmap_rule() - look up the format of a message
 * @opcode: RDMAP opcode
 *
 * Return: the rule, never NULL; @known is false for unassigned opcodes.
 */
const struct iwt_rdmap_rule *iwt_rdmap_rule(u8 opcode)
{
	return &rules[opcode & IWT_RDMAP_OP_MASK];
}

/*
 * Check the length of a message that consists of a header only, in one segment. @len: octets
 * after the DDP header. Return: IWT_OK or the error for the Terminate.
 */
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
	/* such a message has one segment, and does not continue a Send on its queue */
	if (len < rule->hdr_len || !d->last || d->mo)
		return IWT_ERR_OP_UNSPEC;
	return IWT_OK;
}

/**
 * iwt_rdmap_room() - length in octets of the buffer for an untagged message
 * @d: a segment of the message
 * @recv: on queue 0, length of the receive buffer for the message; else ignored
 *
 * Immediate Data consumes a receive buffer but is not placed in the buffer, so the length of the
 * buffer does not matter. The messages of RFC 7306 have a fixed length, which iwt_rdmap_check()
 * checks: RFC 7306 has no error code for a wrong length, and the code of DDP would mean that the
 * buffer is too short. So DDP must not check the length of these messages.
 *
 * Return: number of octets that DDP may place.
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
 * iwt_rdmap_check() - is this segment part of a known message?
 * @d: the segment, after the DDP checks (RFC 5040 7.2)
 * @ulpdu_len: length of the ULPDU, DDP header included
 *
 * Checks the RDMAP version, which must equal the DDP version (RFC 5044 C.1), the opcode, whether
 * T and QN fit the opcode, and the length of messages that consist of a header only. RFC 5040 and
 * 7306 have no error code for a wrong length: a Read Request or Terminate that is too long is
 * reported as too long for its buffer, any other wrong length as an unspecified error. The caller
 * checks whether this end has requested a Response.
 *
 * Return: IWT_OK or the error for the Terminate.
 */
u32 iwt_rdmap_check(const struct iwt_ddp *d, u32 ulpdu_len)
{
	const struct iwt_rdmap_rule *rule = iwt_rdmap_rule(d->opcode);
	u32 ddp_len = d->tagged ? IWT_DDP_TAGGED_LEN : IWT_DDP_UNTAGGED_LEN;

	if (d->rv != d->dv)
		return IWT_ERR_OP_VERSION;
	/* RFC 7306 4.1: the messages of RFC 7306 have version 1 */
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
 * @hdr: private copy of the 28 octets after the DDP header
 * @r: request; the function sets all fields
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
 * @r: request
 * @hdr: buffer of 28 octets, after the DDP header
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
