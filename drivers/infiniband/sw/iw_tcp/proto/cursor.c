// SPDX-License-Identifier: GPL-2.0
/* A read position in received octets that are stored in several pieces. */
#include "cursor.h"

#include <linux/crc32c.h>
#include <linux/minmax.h>
#include <linux/string.h>

/**
 * iwt_cursor_piece() - return the next contiguous octets
 * @c: position, moved past the returned octets
 * @max: maximum number of octets to return
 * @len: set to the number of returned octets: 0 if the function returns NULL, else at least 1
 *
 * Any context; sleeps only if @c->more sleeps.
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
 * @to: destination of at least @len octets
 * @len: number of octets to copy
 *
 * Return: false if fewer than @len octets are left; then these octets were copied.
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
 * iwt_cursor_skip_far() - skip octets, also beyond the end of the current piece
 * @c: position, moved
 * @len: number of octets to skip
 *
 * Return: false if fewer than @len octets are left.
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
 * iwt_cursor_crc() - compute a CRC32c over octets
 * @c: position, moved
 * @len: number of octets
 * @crc: register of crc32c(), updated: the caller sets the register to all ones before the first
 *	call; the complement of its last value is the CRC
 *
 * crc32c() is called only once for each piece, because each call has a fixed cost.
 *
 * Return: false if fewer than @len octets are left.
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
