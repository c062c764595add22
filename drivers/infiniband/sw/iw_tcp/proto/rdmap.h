/* SPDX-License-Identifier: GPL-2.0 */
/* RDMAP opcodes and headers (RFC 5040 4, RFC 7306). Pure functions. */
#ifndef IWT_RDMAP_H
#define IWT_RDMAP_H

#include "ddp.h"

/* The format on the wire of the messages with an opcode. */
struct iwt_rdmap_rule {
	bool known;
	bool tagged;
	u8 qn;
	u8 hdr_len;	/* length of the RDMAP header; Terminate: minimum */
	bool payload;	/* ULP payload may follow */
	bool exact;	/* fixed length: any other length is an unspecified error */
	bool solicited;
	bool invalidates;
};

/* A Read Request in host byte order. */
struct iwt_rdmap_read {
	u32 sink_stag;
	u64 sink_to;
	u32 size;
	u32 src_stag;
	u64 src_to;
};

const struct iwt_rdmap_rule *iwt_rdmap_rule(u8 opcode);
u32 iwt_rdmap_check(const struct iwt_ddp *d, u32 ulpdu_len);
u32 iwt_rdmap_room(const struct iwt_ddp *d, u32 recv);
/* @hdr points to the octet after the DDP header */
void iwt_rdmap_parse_read(const u8 *hdr, struct iwt_rdmap_read *r);
void iwt_rdmap_build_read(const struct iwt_rdmap_read *r, u8 *hdr);

#endif
