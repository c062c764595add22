/* SPDX-License-Identifier: GPL-2.0 */
/* Reading bytes that TCP has received behind a gap, while earlier bytes are missing. */
#ifndef IWT_SOCK_AHEAD_H
#define IWT_SOCK_AHEAD_H

#include "sock.h"

/**
 * struct iwt_ahead_cursor - position in the bytes behind a gap
 * @at: position in the current skb; the first member
 * @more: function that makes the next piece of this skb the current piece
 */
struct iwt_ahead_cursor {
	struct iwt_sock_cursor at;
	bool (*more)(struct iwt_cursor *c);
};

/* Needs the socket lock, never sleeps. */
u32 iwt_sock_peek_ahead(const struct iwt_sock *s, u32 *off, struct iwt_ahead_cursor *cur);

#endif
