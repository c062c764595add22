// SPDX-License-Identifier: GPL-2.0
/*
 * Checks sock_recv.c: it must find each received byte that was not consumed, in TCP's queue or
 * among the bytes that were set aside, and must not search the whole queue for new data.
 */
#include "recv/sock.h"

#include "rxqueue.h"
#include "unit.h"

#define QUEUES	20000

u32 unit_looks;

/* A socket, and the position in the stream of the first byte that was not consumed */
struct world {
	struct rxqueue q;
	struct sock sk;
	struct iwt_sock s;
	struct sk_buff *last;
	u32 at;
};

static u32 choose(void *ctx)
{
	(void)ctx;
	return any();
}

struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off)
{
	struct sk_buff *skb = sk->sk_receive_queue.next;

	for (; skb != (void *)&sk->sk_receive_queue; skb = skb->next) {
		*off = seq - skb->cb.seq;
		if (*off < skb->len)
			return skb;
	}
	return NULL;
}

/*
 * Makes a socket with the receive queue @w->q. Return: false if a buffer has only bytes of
 * earlier buffers: TCP drops such a buffer.
 */
static bool make(struct world *w)
{
	struct sk_buff *skb, *prev = (struct sk_buff *)&w->sk.sk_receive_queue;
	bool good = true;
	u32 end;

	*w = (struct world){ .q.any = choose };
	rxqueue_make(&w->q);
	w->s.sk = &w->sk;
	w->at = w->q.taken;
	w->sk.copied_seq = w->q.seq + w->q.taken;
	end = w->q.seq;
	for (skb = w->q.first; skb != &w->q.head; skb = skb->next) {
		good &= after(skb->cb.end_seq, end);
		end = skb->cb.end_seq;
		skb->prev = prev;
		prev = skb;
	}
	w->last = prev;
	w->last->next = (struct sk_buff *)&w->sk.sk_receive_queue;
	w->sk.sk_receive_queue = (struct sk_buff_head){ w->q.first, w->last };
	w->sk.rcv_nxt = end;
	w->s.readable = w->q.seq;
	return good;
}

static void drop(struct world *w)
{
	iwt_sock_free_aside(&w->s);
	w->last->next = &w->q.head;
	rxqueue_free(&w->q);
}

/* Sets the bytes aside that have arrived in some of the first buffers. */
static void set_aside(struct world *w)
{
	u32 all = w->sk.rcv_nxt;
	struct sk_buff *skb = w->q.first;

	while (skb->next != (void *)&w->sk.sk_receive_queue && any() % 2)
		skb = skb->next;
	w->sk.rcv_nxt = skb->cb.end_seq;
	iwt_sock_set_aside(&w->s);
	w->sk.rcv_nxt = all;
}

/* Does iwt_sock_peek_from() find exactly the bytes after the next @skip bytes? */
static bool finds(struct world *w, u32 skip)
{
	u32 left = w->q.len - w->at, len = left > skip ? left - skip : 0, more;
	struct iwt_sock_cursor cur;
	u8 got[RXQUEUE_STREAM];

	if (iwt_sock_peek_from(&w->s, skip, &cur) != len)
		return false;
	return !len || (iwt_cursor_copy(&cur.c, got, len) &&
			!memcmp(got, w->q.stream + w->at + skip, len) &&
			!iwt_cursor_piece(&cur.c, 1, &more));
}

static void test_from(void)
{
	u32 i, n, tried = 0, aside = 0, bad = 0;
	struct world w;

	tap_begin("receive queue: the octets after some octets that stay unconsumed");
	unit_get = UINT32_MAX;
	for (i = 0; i < QUEUES; i++) {
		if (make(&w)) {
			tried++;
			if (any() % 2)
				set_aside(&w);
			aside += !!w.s.aside.len;
			while (w.at < w.q.len) {
				for (n = 0; n < 4; n++)
					bad += !finds(&w, any() % (w.q.len - w.at + 2));
				n = 1 + any() % (w.q.len - w.at);
				iwt_sock_consume(&w.s, n);
				w.at += n;
			}
			bad += !finds(&w, 0);
		}
		drop(&w);
	}
	CHECK_EQ(bad, 0);
	CHECK(tried > QUEUES / 20 && aside > tried / 4);
	CHECK_EQ(unit_held, 0);
	CHECK_EQ(iwt_sock_bytes_aside(), 0);
	unit_get = 0;
	tap_end();
}

/* The number of buffers before the new data must not matter. */
static void test_search(void)
{
	struct iwt_sock_cursor cur;
	struct world w = { .q.any = choose, .s.sk = &w.sk };
	struct sk_buff **link = &w.q.first, *prev = (struct sk_buff *)&w.sk.sk_receive_queue;
	u32 i;

	tap_begin("receive queue: the search for new octets begins at the end");
	for (i = 0; i < 100; i++) {
		*link = rxqueue_buffer(&w.q, 4 * i, 4 * i + 4);
		(*link)->prev = prev;
		prev = *link;
		link = &prev->next;
	}
	w.last = prev;
	*link = (struct sk_buff *)&w.sk.sk_receive_queue;
	w.sk.sk_receive_queue = (struct sk_buff_head){ w.q.first, w.last };
	w.sk.rcv_nxt = 400;
	w.q.len = 400;
	CHECK(finds(&w, 390));		/* now all buffers are known to be readable */
	unit_looks = 0;
	CHECK_EQ(iwt_sock_peek_from(&w.s, 397, &cur), 3);
	CHECK(unit_looks <= 3);
	drop(&w);
	tap_end();
}

void test_sock_recv(void)
{
	test_from();
	test_search();
}
