/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A read position in received octets that are stored in several pieces.
 *
 * The owner of the pieces embeds struct iwt_cursor as the first member of its own cursor struct,
 * and supplies more(). A copy of the embedding struct is an independent position: the parser
 * moves a copy, and so reads the octets without consuming them.
 */
#ifndef IWT_CURSOR_H
#define IWT_CURSOR_H

#include <linux/types.h>

#define IWT_CURSOR_MAX	128	/* maximum size of an embedding struct */

/**
 * struct iwt_cursor - read position
 * @p: next octet of the current piece
 * @len: octets left in the current piece
 * @more: makes the next piece, of at least one octet, the current piece, or returns false at the
 *	end; NULL if there is only one piece
 */
struct iwt_cursor {
	const u8 *p;
	u32 len;
	bool (*more)(struct iwt_cursor *c);
};

const u8 *iwt_cursor_piece(struct iwt_cursor *c, u32 max, u32 *len);
/* These three functions return false if fewer than @len octets are left. */
bool iwt_cursor_copy(struct iwt_cursor *c, void *to, u32 len);
bool iwt_cursor_skip_far(struct iwt_cursor *c, u32 len);
bool iwt_cursor_crc(struct iwt_cursor *c, u32 len, u32 *crc);

/**
 * iwt_cursor_skip() - skip octets
 * @c: position, moved
 * @len: number of octets to skip
 *
 * Return: false if fewer than @len octets are left.
 */
static inline bool iwt_cursor_skip(struct iwt_cursor *c, u32 len)
{
	if (len > c->len)
		return iwt_cursor_skip_far(c, len);
	c->p += len;
	c->len -= len;
	return true;
}

#endif
