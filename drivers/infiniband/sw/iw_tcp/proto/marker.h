/* SPDX-License-Identifier: GPL-2.0 */
/* Inserting markers into an outbound stream (RFC 5044 4.3). Pure functions. */
#ifndef IWT_MARKER_H
#define IWT_MARKER_H

#include "wire.h"

/**
 * struct iwt_marker - position in an outbound FPDU and its stream
 * @pos: stream position of the next octet, modulo 2^32
 * @start: stream position of the FPDU's ULPDU_Length
 */
struct iwt_marker {
	u32 pos;
	u32 start;
};

void iwt_marker_begin(struct iwt_marker *m, u32 pos);
u32 iwt_marker_put(struct iwt_marker *m, u8 *to, u32 *run);
u32 iwt_marker_copy(struct iwt_marker *m, const void *from, u32 len, u8 *to);

#endif
