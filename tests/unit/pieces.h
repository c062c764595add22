/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sequence of octets in several pieces. Each piece is allocated separately, so that the address
 * sanitizer reports a read beyond the end of a piece.
 */
#ifndef IWT_PIECES_H
#define IWT_PIECES_H

#include "cursor.h"

#define PIECES_MAX	64

struct pieces {
	u8 *p[PIECES_MAX];
	u32 len[PIECES_MAX];
	u32 count;
};

struct pieces_cursor {
	struct iwt_cursor c;	/* must be first */
	const struct pieces *pieces;
	u32 next;
};

/* Copies @len octets into pieces. @cuts: @count offsets at which to cut, in rising order. */
void pieces_cut(struct pieces *p, const u8 *from, u32 len, const u32 *cuts,
		u32 count);
void pieces_free(struct pieces *p);
struct pieces_cursor pieces_start(const struct pieces *p);

#endif
