// SPDX-License-Identifier: GPL-2.0
/*
 * A cursor that walks over the received data that the driver has not consumed yet. tests/unit
 * builds this file in user space.
 */
#include "sock_cursor.h"

#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <net/tcp.h>

/*
 * Make @skb the current skb. The sequence ranges of consecutive skbs in the receive queue may
 * overlap: if an skb closes a gap, TCP appends the skbs that have arrived earlier, behind the
 * gap, even if their ranges overlap with the range of this skb. As in tcp_recvmsg(), each skb is
 * read from the sequence number where the previous skb ended. Return: false if bytes are missing
 * between the previous skb and @skb, which TCP prevents.
 */
static bool enter_buffer(struct iwt_sock_cursor *cur, const struct sk_buff *skb)
{
	cur->top = skb;
	cur->seen = cur->seq - TCP_SKB_CB(skb)->seq;
	return !WARN_ON_ONCE((s32)cur->seen < 0);
}

/*
 * Advance to the next skb of a frag_list or of the receive queue. An skb comes before the skbs in
 * its frag_list. Return: false at the end.
 */
static bool next_skb(struct iwt_sock_cursor *cur)
{
	cur->frag = -1;
	if (skb_has_frag_list(cur->skb) && cur->level < IWT_SKB_LEVELS) {
		cur->up[cur->level++] = cur->skb;
		cur->skb = skb_shinfo(cur->skb)->frag_list;
		return true;
	}
	while (cur->level) {
		if (cur->skb->next) {
			cur->skb = cur->skb->next;
			return true;
		}
		cur->skb = cur->up[--cur->level];
	}
	cur->skb = cur->top->next;
	if (cur->skb != cur->end && enter_buffer(cur, cur->skb))
		return true;
	/* @end may be the head of the queue, which is no skb: no later call may look at @end */
	cur->skb = NULL;
	return false;
}

static void set_piece(struct iwt_sock_cursor *cur, const void *p, u32 len)
{
	cur->c.p = p;
	cur->c.len = len;
}

/* Make one piece of fragments that are adjacent in memory. This driver sends such fragments. */
static void join_frags(struct iwt_sock_cursor *cur)
{
	const struct skb_shared_info *si = skb_shinfo(cur->skb);

	while (cur->frag + 1 < si->nr_frags) {
		const skb_frag_t *f = &si->frags[cur->frag + 1];

		if (skb_frag_address(f) != cur->c.p + cur->c.len)
			break;
		cur->c.len += skb_frag_size(f);
		cur->frag++;
	}
}

/* Remove bytes that are to be skipped (see @seen) from the front of the piece; update @seq. */
static void cut_seen(struct iwt_sock_cursor *cur)
{
	u32 n = min(cur->seen, cur->c.len);

	cur->c.p += n;
	cur->c.len -= n;
	cur->seen -= n;
	cur->seq += cur->c.len;
}

static void first_piece(struct iwt_sock_cursor *cur)
{
	set_piece(cur, cur->skb->data, skb_headlen(cur->skb));
	cut_seen(cur);
}

static bool more(struct iwt_cursor *c)
{
	struct iwt_sock_cursor *cur = container_of(c, struct iwt_sock_cursor, c);

	if (cur->aside) {
		cur->aside = false;
		set_piece(cur, cur->next, cur->next_len);
		if (c->len)
			return true;
	}
	if (!cur->skb)
		return false;
	do {
		if (++cur->frag < skb_shinfo(cur->skb)->nr_frags) {
			const skb_frag_t *f;

			f = &skb_shinfo(cur->skb)->frags[cur->frag];
			set_piece(cur, skb_frag_address(f), skb_frag_size(f));
			join_frags(cur);
			cut_seen(cur);
		} else if (next_skb(cur)) {
			first_piece(cur);
		} else {
			return false;
		}
	} while (!c->len);
	return true;
}

/* As iwt_sock_can_walk(); @levels is the maximum number of frag_lists one inside another. */
static bool can_walk(const struct sk_buff *skb, int levels)
{
	const struct sk_buff *sub = skb_shinfo(skb)->frag_list;

	if (!skb_frags_readable(skb) || (sub && !levels))
		return false;
	for (; sub; sub = sub->next) {
		if (!can_walk(sub, levels - 1))
			return false;
	}
	return true;
}

/**
 * iwt_sock_can_walk() - can a cursor walk over an skb?
 * @skb: the skb
 *
 * The CPU can't read payload that a network card has placed in device memory, and a cursor can't
 * walk over frag_lists with more than IWT_SKB_LEVELS levels. Any context.
 *
 * Return: true if so.
 */
bool iwt_sock_can_walk(const struct sk_buff *skb)
{
	return can_walk(skb, IWT_SKB_LEVELS);
}

/**
 * iwt_sock_walk() - set a cursor to the first received byte that was not consumed
 * @cur: the cursor
 * @first: skb with the first byte, or NULL if no skb has unconsumed data; iwt_sock_can_walk() is
 *	true for @first and the skbs after it
 * @end: value of ->next in the last skb that the cursor reads; for the receive queue, the head
 *	of the queue
 * @seq: sequence number of the first byte
 * @off: offset of the first byte in @first
 *
 * Any context; the caller holds the socket lock as long as it uses the cursor.
 */
void iwt_sock_walk(struct iwt_sock_cursor *cur, const struct sk_buff *first,
		   const struct sk_buff *end, u32 seq, u32 off)
{
	cur->c.more = more;
	cur->top = first;
	cur->skb = first;
	cur->end = end;
	cur->level = 0;
	cur->frag = -1;
	cur->seq = seq;
	cur->seen = off;
	cur->aside = false;
	if (first)
		first_piece(cur);
	else
		set_piece(cur, NULL, 0);
}

/**
 * iwt_sock_walk_aside() - make a cursor begin with the bytes that were set aside
 * @cur: cursor from iwt_sock_walk()
 * @p: address of the bytes
 * @len: number of bytes, at least 1
 *
 * As iwt_sock_walk(), for any context; the caller holds the socket lock.
 */
void iwt_sock_walk_aside(struct iwt_sock_cursor *cur, const u8 *p, u32 len)
{
	cur->next = cur->c.p;
	cur->next_len = cur->c.len;
	cur->aside = true;
	set_piece(cur, p, len);
}
