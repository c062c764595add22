// SPDX-License-Identifier: GPL-2.0
/* A read position in received octets that lie in several pieces. */
#include "cursor.h"

#include <linux/crc32c.h>
#include <linux/minmax.h>
#include <linux/string.h>

/**
 * iwt_cursor_piece() - take the octets that lie in one piece
 * @c: position, moved past what is returned
 * @max: most octets wanted
 * @len: octets returned, at least one unless the end was reached
 *
 * Any context; does not sleep unless @c->more does.
 *
 * Return: the octets, NULL at the end or when @max is 0.
 */
const u8 *iwt_cursor_piece(struct iwt_cursor *c, u32 max, u32 *len)
{
	const u8 *p;

	*len = 0;
	if (!max)
		return NULL;
	while (!c->len) {
		if (!c->more || !c->more(c))
			return NULL;
	}
	*len = min(max, c->len);
	p = c->p;
	c->p += *len;
	c->len -= *len;
	return p;
}

/**
 * iwt_cursor_copy() - copy octets out
 * @c: position, moved
 * @to: where to, of at least @len octets
 * @len: octets to copy
 *
 * Return: false when the pieces end early; what there was has been copied.
 */
bool iwt_cursor_copy(struct iwt_cursor *c, void *to, u32 len)
{
	u8 *at = to;
	const u8 *p;
	u32 n;

	while (len) {
		p = iwt_cursor_piece(c, len, &n);
		if (!p)
			return false;
		memcpy(at, p, n);
		at += n;
		len -= n;
	}
	return true;
}

/**
 * iwt_cursor_skip_far() - iwt_cursor_skip() beyond the current piece
 * @c: position, moved
 * @len: octets to pass
 *
 * Return: false when the pieces end early.
 */
bool iwt_cursor_skip_far(struct iwt_cursor *c, u32 len)
{
	u32 n;

	while (len) {
		if (!iwt_cursor_piece(c, len, &n))
			return false;
		len -= n;
	}
	return true;
}

/**
 * iwt_cursor_crc() - run octets through a CRC32c
 * @c: position, moved
 * @len: octets to take
 * @crc: the register, as crc32c() takes and returns it: all ones at the
 *	beginning, and the complement of its last value is the CRC
 *
 * Each piece goes to crc32c() in one call, because a call has a fixed price.
 *
 * Return: false when the pieces end early.
 */
bool iwt_cursor_crc(struct iwt_cursor *c, u32 len, u32 *crc)
{
	const u8 *p;
	u32 n;

	while (len) {
		p = iwt_cursor_piece(c, len, &n);
		if (!p)
			return false;
		*crc = crc32c(*crc, p, n);
		len -= n;
	}
	return true;
}
