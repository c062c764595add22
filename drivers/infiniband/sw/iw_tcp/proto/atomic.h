/* SPDX-License-Identifier: GPL-2.0 */
/* Atomic operations (RFC 7306 5): headers and arithmetic. Pure functions. */
#ifndef IWT_ATOMIC_H
#define IWT_ATOMIC_H

#include "rdmap.h"

/* An Atomic Request in host byte order. */
struct iwt_atomic {
	u8 op;			/* enum iwt_aopcode, or an invalid value that a peer sent */
	u32 id;
	u32 stag;
	u64 to;
	u64 data;		/* value to add or to swap in */
	u64 data_mask;		/* FetchAdd: top bit of each field; swap: bits to replace */
	u64 compare;
	u64 compare_mask;
};

/* @hdr points to the octet after the DDP header */
void iwt_atomic_parse(const u8 *hdr, struct iwt_atomic *a);
void iwt_atomic_build(const struct iwt_atomic *a, u8 *hdr);
void iwt_atomic_parse_resp(const u8 *hdr, u32 *id, u64 *value);
void iwt_atomic_build_resp(u32 id, u64 value, u8 *hdr);
u32 iwt_atomic_check(const struct iwt_atomic *a);
u64 iwt_atomic_result(const struct iwt_atomic *a, u64 old);

#endif
