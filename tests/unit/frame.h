/* SPDX-License-Identifier: GPL-2.0 */
/* Whole FPDUs, written with the functions of the protocol layer. */
#ifndef IWT_FRAME_H
#define IWT_FRAME_H

#include "fpdu.h"
#include "txseg.h"

/* What is on the wire where a frame goes. */
struct frame_rules {
	u32 pos;	/* stream position, moved on by each frame */
	bool markers;
	bool crc;	/* else the field is zero */
};

/* An FPDU of these ULPDU octets; returns its octets. */
u32 frame_ulpdu(const u8 *ulpdu, u16 len, struct frame_rules *rules, u8 *out);
/* The next FPDU of a message whose payload is @payload as a whole. */
u32 frame_next(struct iwt_txseg *m, u32 mulpdu, const u8 *payload, u32 len,
	       struct frame_rules *rules, u8 *out);
/* Reads the FPDU that is in one piece; does not touch @out of its bounds. */
enum iwt_fpdu_status frame_read(const u8 *p, u32 len, u32 pos,
				const struct iwt_fpdu_rules *rules,
				struct iwt_fpdu *f, u32 *err);

#endif
