// SPDX-License-Identifier: GPL-2.0
/*
 * Reading bytes that TCP has received behind a gap, while earlier bytes are missing.
 *
 * TCP keeps such bytes in a tree of skbs, sorted by sequence number. Only this file knows the
 * tree. TCP has no callback for these bytes. But TCP processes a segment behind a gap on its slow
 * path, at the end of which it calls sk_write_space if SOCK_NOSPACE is set, whether or not the
 * send buffer has room. So this file keeps SOCK_NOSPACE set. If TCP does not call sk_write_space,
 * no byte is lost: the bytes are then only received in order.
 *
 * This file only reads. TCP may join, cut or free the skbs of the tree when it processes the next
 * segment, and under memory pressure it drops bytes that it has acknowledged selectively. So no
 * pointer into the tree may be used after the callback has returned.
 */
#include "sock_ahead.h"

#include <linux/container_of.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/*
 * Maximum number of skbs that one call of iwt_sock_peek_ahead() passes. A peer can send segments
 * of one byte; the time to process a segment must not depend on the number of segments before it.
 */
#define SKBS_MAX	64

/* Return: sequence number after the data of @skb; end_seq would include a FIN */
static u32 data_end(const struct sk_buff *skb)
{
	return TCP_SKB_CB(skb)->seq + skb->len;
}

/*
 * Return: the first skb whose data end after the sequence number @seq, or NULL. TCP removes an
 * skb if other skbs contain all of its data, so the ends of the skbs are in the same order as
 * their beginnings.
 */
static const struct sk_buff *skb_after(const struct sock *sk, u32 seq)
{
	const struct rb_node *n = tcp_sk(sk)->out_of_order_queue.rb_node;
	const struct sk_buff *skb, *first = NULL;

	while (n) {
		skb = rb_to_skb(n);
		if (after(data_end(skb), seq)) {
			first = skb;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	return first;
}

/*
 * Find the end of the bytes that begin with @skb, have no gap, and can be read by the processor.
 * Return: the sequence number after these bytes, or after a part of them, if they are in more
 * than SKBS_MAX skbs; the sequence number of @skb if the processor can't read @skb
 */
static u32 reach(const struct sk_buff *skb)
{
	u32 end = TCP_SKB_CB(skb)->seq;
	int n;

	for (n = 0; n < SKBS_MAX && skb; n++) {
		if (after(TCP_SKB_CB(skb)->seq, end) || !iwt_sock_can_walk(skb))
			break;
		if (after(data_end(skb), end))
			end = data_end(skb);
		skb = skb_rb_next(skb);
	}
	return end;
}

static bool more(struct iwt_cursor *c);

/*
 * Begin to read @skb at the sequence number @seq. As long as @skb is in the tree, @skb->next
 * points to no skb, because @skb->next shares its memory with the tree's node. The cursor of
 * iwt_sock_walk() ends when @skb->next is equal to the end of the queue. So this function passes
 * @skb->next as the end of the queue: the cursor then ends after @skb.
 */
static void enter(struct iwt_ahead_cursor *cur, const struct sk_buff *skb, u32 seq)
{
	iwt_sock_walk(&cur->at, skb, skb->next, seq, seq - TCP_SKB_CB(skb)->seq);
	cur->more = cur->at.c.more;
	cur->at.c.more = more;
}

static bool more(struct iwt_cursor *c)
{
	struct iwt_ahead_cursor *cur = container_of(c, struct iwt_ahead_cursor, at.c);
	const struct sk_buff *skb;

	while (!cur->more(c)) {
		if (!cur->at.top)
			return false;
		skb = skb_rb_next(cur->at.top);
		if (!skb || after(TCP_SKB_CB(skb)->seq, cur->at.seq)) {
			cur->at.top = NULL;
			return false;
		}
		enter(cur, skb, cur->at.seq);
		if (c->len)
			return true;
	}
	return true;
}

/**
 * iwt_sock_peek_ahead() - find received bytes behind a gap
 * @s: socket, lock held
 * @off: position, counted in bytes from the first byte that was not consumed: the search begins
 *	at this position; set to the position of the bytes that were found
 * @cur: set to a cursor at these bytes; valid until the lock is released
 *
 * Bytes before the first gap are not found. Any context.
 *
 * Return: number of bytes from the cursor on, up to the next gap, or fewer if they are in many
 * skbs; 0 if there are no bytes, or if the processor can't read them.
 */
u32 iwt_sock_peek_ahead(const struct iwt_sock *s, u32 *off, struct iwt_ahead_cursor *cur)
{
	u32 first = tcp_sk(s->sk)->copied_seq - s->aside.len;
	u32 seq = first + *off, end;
	const struct sk_buff *skb;

	sock_owned_by_me(s->sk);
	skb = skb_after(s->sk, seq);
	if (!skb)
		return 0;
	if (before(seq, TCP_SKB_CB(skb)->seq))
		seq = TCP_SKB_CB(skb)->seq;
	end = reach(skb);
	if (!after(end, seq))
		return 0;
	enter(cur, skb, seq);
	*off = seq - first;
	return end - seq;
}

/*
 * Callback sk_write_space, in place of iwt_sock_write_space(). If a segment has arrived behind a
 * gap, call ops->ahead.
 */
static void ahead_write_space(struct sock *sk)
{
	const struct iwt_sock_ops *ops;
	struct iwt_sock *s;

	rcu_read_lock();
	ops = iwt_sock_ops_of(sk, &s);
	if (ops && ops->ahead && s->ooopack != tcp_sk(sk)->rcv_ooopack) {
		s->ooopack = tcp_sk(sk)->rcv_ooopack;
		ops->ahead(s, s->ctx);
	}
	rcu_read_unlock();
	iwt_sock_write_space(sk);
	if (sk->sk_socket)
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}

/**
 * iwt_sock_watch_ahead() - call ops->ahead when bytes arrive behind a gap
 * @s: connected socket
 *
 * TCP then also calls ops->write_space more often than necessary, increases the send buffer
 * earlier, and reports to ss(8) that the send buffer has limited the connection for a longer
 * time. If a system call of the process that created the socket does not release the socket,
 * ops->ahead is never called. Process context, may sleep.
 */
void iwt_sock_watch_ahead(struct iwt_sock *s)
{
	struct sock *sk = s->sk;

	if (iwt_sock_own_soon(s))
		return;
	s->ooopack = tcp_sk(sk)->rcv_ooopack;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_write_space = ahead_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	if (sk->sk_socket)
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	iwt_sock_disown(s);
}
