/* SPDX-License-Identifier: GPL-2.0 */
/* DDP segment headers and the checks of RFC 5041 7.1. Pure functions. */
#ifndef IWT_DDP_H
#define IWT_DDP_H

#include "wire.h"

/* A DDP segment header with the RDMAP control octet, in host byte order. */
struct iwt_ddp {
	bool tagged;
	bool last;
	u8 dv;
	u8 rv;
	u8 opcode;
	u32 stag;	/* tagged: the STag; untagged: the Invalidate STag */
	u64 to;
	u32 qn;
	u32 msn;
	u32 mo;
};

/* Inbound state of one untagged queue. */
struct iwt_ddp_rxq {
	u32 msn;	/* of the next or current message */
	u32 mo;		/* expected offset of the next segment of this message */
};

u32 iwt_ddp_hdr_len(u8 ctrl);
void iwt_ddp_parse(const u8 *hdr, struct iwt_ddp *d);
u32 iwt_ddp_build(const struct iwt_ddp *d, u8 *hdr);
u32 iwt_ddp_check_version(const struct iwt_ddp *d, bool rdmac);
u32 iwt_ddp_check_untagged(const struct iwt_ddp *d, u32 len,
			   const struct iwt_ddp_rxq *q, bool have_buf,
			   u32 buf_len);
void iwt_ddp_advance(struct iwt_ddp_rxq *q, u32 len, bool last);

#endif
