/* SPDX-License-Identifier: GPL-2.0 */
/* A walk over the buffers that TCP has received and nobody has consumed. */
#ifndef IWT_SOCK_CURSOR_H
#define IWT_SOCK_CURSOR_H

#include "proto/cursor.h"

struct sk_buff;

/**
 * struct iwt_sock_cursor - a walk over what has arrived and was not consumed yet
 * @c: the current piece; first, since proto code sees only this
 * @top: buffer of the receive queue
 * @skb: @top, or a buffer of its list
 * @end: head of the queue
 * @frag: fragment of @skb, -1 for its linear part
 * @seq: sequence number of the octet behind the current piece
 * @seen: octets in front of @top's next piece that an earlier buffer had as well
 * @aside: the current piece is in no buffer
 * @next: the piece that follows it
 * @next_len: octets of that
 */
struct iwt_sock_cursor {
	struct iwt_cursor c;
	const struct sk_buff *top;
	const struct sk_buff *skb;
	const struct sk_buff *end;
	int frag;
	u32 seq;
	u32 seen;
	bool aside;
	const u8 *next;
	u32 next_len;
};

void iwt_sock_walk(struct iwt_sock_cursor *cur, const struct sk_buff *first,
		   const struct sk_buff *end, u32 seq, u32 off);
void iwt_sock_walk_aside(struct iwt_sock_cursor *cur, const u8 *p, u32 len);

#endif
