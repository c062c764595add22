/* SPDX-License-Identifier: GPL-2.0 */
/* Stub of sock_ahead.h, for the build in user space: rx_place_test.c has the bytes. */
#ifndef UNIT_SOCK_AHEAD_H
#define UNIT_SOCK_AHEAD_H

struct iwt_ahead_cursor {
	struct iwt_sock_cursor at;
	bool (*more)(struct iwt_cursor *c);
};

u32 iwt_sock_peek_ahead(const void *s, u32 *off, struct iwt_ahead_cursor *cur);

#endif
