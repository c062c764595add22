/* SPDX-License-Identifier: GPL-2.0 */
/* Whole FPDUs, written with the functions of the protocol layer. */
#ifndef IWT_FRAME_H
#define IWT_FRAME_H

#include "fpdu.h"
#include "txseg.h"

/* The rules of the stream into which a frame is written */
struct frame_rules {
	u32 pos;	/* stream position; each frame advances it */
	bool markers;
	bool crc;	/* false: the CRC field is zero */
};

/* Writes an FPDU that contains @ulpdu. Return: number of octets */
u32 frame_ulpdu(const u8 *ulpdu, u16 len, struct frame_rules *rules, u8 *out);
/*
 * Writes the next FPDU of a message. @payload: payload of the whole message, @len octets. Return:
 * number of octets written.
 */
u32 frame_next(struct iwt_txseg *m, u32 mulpdu, const u8 *payload, u32 len,
	       struct frame_rules *rules, u8 *out);
/* Reads an FPDU from contiguous memory. */
enum iwt_fpdu_status frame_read(const u8 *p, u32 len, u32 pos,
				const struct iwt_fpdu_rules *rules,
				struct iwt_fpdu *f, u32 *err);

#endif
