/* SPDX-License-Identifier: GPL-2.0 */
/* A cursor that walks over the received data that the driver has not consumed yet. */
#ifndef IWT_SOCK_CURSOR_H
#define IWT_SOCK_CURSOR_H

#include "proto/cursor.h"

/*
 * Maximum number of frag_lists one inside another. A frag_list may contain an skb with a
 * frag_list: IP has reassembled a packet in a tunnel from fragments, and the packet was a
 * fragment of another packet.
 */
#define IWT_SKB_LEVELS	3

struct sk_buff;

/**
 * struct iwt_sock_cursor - position in the received data that were not consumed yet
 * @c: the current piece; must be the first member (proto/cursor.h)
 * @top: current skb of the receive queue
 * @skb: skb with the current piece: @top, or an skb in a frag_list below @top; NULL at the end
 * @up: the skbs from @top down to @skb, without @skb; the frag_list of each contains the next
 * @level: number of these skbs
 * @end: value of ->next in the last skb that the cursor reads; see iwt_sock_walk()
 * @frag: index of the current fragment of @skb, -1 for its linear part
 * @seq: sequence number of the byte after the current piece of @skb
 * @seen: number of bytes still to be skipped from the next piece of @top on, because these bytes
 *	were consumed, or were also in the previous skb
 * @aside: the current piece is in memory of the driver, not in an skb
 * @next: if @aside: the piece of @skb that follows the current piece
 * @next_len: length of @next in bytes
 */
struct iwt_sock_cursor {
	struct iwt_cursor c;
	const struct sk_buff *top;
	const struct sk_buff *skb;
	const struct sk_buff *end;
	const struct sk_buff *up[IWT_SKB_LEVELS];
	int frag;
	u32 seq;
	u32 seen;
	u8 level;
	bool aside;
	const u8 *next;
	u32 next_len;
};

void iwt_sock_walk(struct iwt_sock_cursor *cur, const struct sk_buff *first,
		   const struct sk_buff *end, u32 seq, u32 off);
bool iwt_sock_can_walk(const struct sk_buff *skb);
void iwt_sock_walk_aside(struct iwt_sock_cursor *cur, const u8 *p, u32 len);

#endif
