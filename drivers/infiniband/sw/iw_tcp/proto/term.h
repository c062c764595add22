/* SPDX-License-Identifier: GPL-2.0 */
/* The Terminate message (RFC 5040 4.8). Pure functions. */
#ifndef IWT_TERM_H
#define IWT_TERM_H

#include "ddp.h"

/* ULPDU of the longest Terminate: DDP header, control, length, DDP header, Read Request */
#define IWT_TERM_MAX	(IWT_DDP_UNTAGGED_LEN + 6 + IWT_DDP_UNTAGGED_LEN + 28)

/* Contents of a received Terminate. */
struct iwt_term {
	u32 err;		/* as IWT_ERR() */
	bool has_len;
	bool has_ddp;
	bool has_rdmap;
	u16 seg_len;
	struct iwt_ddp ddp;	/* valid if has_ddp is set */
};

/* @out and @ulpdu point to the octet after the DDP header of the Terminate */
u32 iwt_term_build(u32 err, const u8 *hdr, u32 hdr_len, u16 ulpdu_len, u8 *out);
u32 iwt_term_parse(const u8 *ulpdu, u32 len, struct iwt_term *t);

#endif
