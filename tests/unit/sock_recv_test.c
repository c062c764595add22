// SPDX-License-Identifier: GPL-2.0
/*
 * Checks sock_recv.c: it must find each received byte that was not consumed, in TCP's queue or
 * among the bytes that were set aside, and must not search the whole queue for new data.
 */
#include "recv/sock.h"

#include <linux/minmax.h>

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

/*
 * Makes a queue without overlaps. Some buffers consist of several segments. Sets @begins[i] if a
 * segment begins at the byte i of the stream.
 */
static void make_segments(struct world *w, bool *begins)
{
	struct sk_buff *prev = (struct sk_buff *)&w->sk.sk_receive_queue, *skb;
	struct sk_buff **link = &w->q.first;
	u32 i, n, len, size;

	*w = (struct world){ .q.any = choose, .q.seq = any(), .s.sk = &w->sk };
	for (i = 0; i < RXQUEUE_STREAM; i++)
		w->q.stream[i] = any();
	for (i = 0; i < RXQUEUE_BUFFERS; i++) {
		len = 1 + any() % (RXQUEUE_STREAM / RXQUEUE_BUFFERS);
		size = any() % 3 ? 1 + any() % 10 : 0;
		skb = rxqueue_buffer(&w->q, w->q.len, w->q.len + len);
		skb->si.gso_size = size;
		for (n = 0; n < len; n++)
			begins[w->q.len++] = !n || (size && !(n % size));
		skb->prev = prev;
		*link = skb;
		link = &skb->next;
		prev = skb;
	}
	w->last = prev;
	*link = (struct sk_buff *)&w->sk.sk_receive_queue;
	w->sk.sk_receive_queue = (struct sk_buff_head){ w->q.first, w->last };
	w->sk.copied_seq = w->q.seq;
	w->s.readable = w->q.seq;
	w->sk.rcv_nxt = w->q.seq + w->q.len;
}

/* Sets the bytes aside that have arrived in some of the buffers that TCP still has. */
static void set_more_aside(struct world *w)
{
	u32 all = w->sk.rcv_nxt, off;
	struct sk_buff *skb = tcp_recv_skb(&w->sk, w->sk.copied_seq, &off);

	if (!skb)
		return;
	while (skb->next != (void *)&w->sk.sk_receive_queue && any() % 2)
		skb = skb->next;
	w->sk.rcv_nxt = skb->cb.end_seq;
	iwt_sock_set_aside(&w->s);
	w->sk.rcv_nxt = all;
}

/*
 * Checks the boundaries of segments at all positions. A boundary in the bytes that were set aside
 * is known only at the first of these bytes, which is @aside_at of the stream. Return: number of
 * errors.
 */
static u32 wrong_begins(struct world *w, const bool *begins, u32 aside_at)
{
	u32 used, stride, n, i, sum, bad = 0, avail;
	struct iwt_sock_cursor cur;
	bool known;

	for (used = 0; used < w->q.len - w->at; used++) {
		avail = iwt_sock_peek(&w->s, &cur);
		if (avail != w->q.len - w->at || !iwt_cursor_skip(&cur.c, used))
			return 1;
		if (cur.aside)
			known = !used && w->at == aside_at && begins[w->at];
		else
			known = begins[w->at + used];
		bad += iwt_sock_begins_segment(&w->s, &cur, used) != known;
		if (!cur.c.len)
			continue;
		stride = 1 + any() % cur.c.len;
		n = any() % 2 ? cur.c.len / stride : 1;
		for (i = 1, sum = known; i < n; i++)
			sum += !cur.aside && begins[w->at + used + i * stride];
		bad += iwt_sock_count_begins(&w->s, &cur, used, stride, n) != sum;
	}
	return bad;
}

/* The bytes that are set aside grow while some of them are consumed. */
static void test_begins(void)
{
	u32 i, n, aside_at, grown = 0, bad = 0;
	bool begins[RXQUEUE_STREAM];
	struct world w;

	tap_begin("receive queue: where segments begin, in the queue and among octets set aside");
	unit_get = UINT32_MAX;
	for (i = 0; i < QUEUES / 20; i++) {
		make_segments(&w, begins);
		aside_at = 0;
		while (w.at < w.q.len) {
			n = w.s.aside.len;
			if (any() % 2)
				set_more_aside(&w);
			if (!n)
				aside_at = w.at;
			grown += n && w.s.aside.len > n;
			bad += wrong_begins(&w, begins, aside_at) + !finds(&w, any() % (w.q.len - w.at));
			n = 1 + any() % min_t(u32, w.q.len - w.at, 60);
			iwt_sock_consume(&w.s, n);
			w.at += n;
		}
		drop(&w);
	}
	CHECK_EQ(bad, 0);
	CHECK(grown > 100);
	CHECK_EQ(unit_held, 0);
	CHECK_EQ(iwt_sock_bytes_aside(), 0);
	unit_get = 0;
	tap_end();
}

/* No byte is set aside without memory, or while TCP still accepts data. */
static void test_not_aside(void)
{
	bool begins[RXQUEUE_STREAM];
	struct world w;

	tap_begin("receive queue: octets that stay in the queue");
	make_segments(&w, begins);
	unit_get = 0;
	iwt_sock_set_aside(&w.s);
	CHECK(!w.s.aside.len && w.s.retries == 1 && finds(&w, 0));
	unit_get = UINT32_MAX;
	w.sk.icsk_ack.rcv_mss = 8;
	w.sk.window = 9;
	iwt_sock_set_aside(&w.s);
	CHECK(!w.s.aside.len && w.s.retries == 1 && finds(&w, 0));
	w.sk.window = 8;
	iwt_sock_set_aside(&w.s);
	CHECK(w.s.aside.len == w.q.len && w.s.retries == 1 && finds(&w, 0));
	drop(&w);
	CHECK_EQ(unit_held, 0);
	unit_get = 0;
	tap_end();
}

static void test_recv(void)
{
	bool begins[RXQUEUE_STREAM];
	u8 got[RXQUEUE_STREAM];
	struct world w;
	u32 n;

	tap_begin("receive queue: an endpoint reads, and learns why there is nothing to read");
	make_segments(&w, begins);
	for (n = w.q.len; n > 7; n -= 7) {
		CHECK_EQ(iwt_sock_recv(&w.s, got, 7), 7);
		CHECK(!memcmp(got, w.q.stream + w.q.len - n, 7));
	}
	CHECK_EQ(iwt_sock_recv(&w.s, got, sizeof(got)), n);
	CHECK(!memcmp(got, w.q.stream + w.q.len - n, n));
	w.sk.sk_state = TCP_ESTABLISHED;
	w.sk.sk_err = EPIPE;	/* from ICMP */
	CHECK_EQ(iwt_sock_recv(&w.s, got, 1), -EAGAIN);
	w.sk.sk_state = TCP_CLOSE;
	CHECK_EQ(iwt_sock_recv(&w.s, got, 1), -EPIPE);
	w.sk.sk_err = 0;
	CHECK_EQ(iwt_sock_recv(&w.s, got, 1), -ENOTCONN);
	w.sk.sk_shutdown = RCV_SHUTDOWN;
	CHECK_EQ(iwt_sock_recv(&w.s, got, 1), 0);
	w.sk.sk_err = EPIPE;
	CHECK_EQ(iwt_sock_recv(&w.s, got, 1), -EPIPE);
	w.sk.done = true;
	CHECK_EQ(iwt_sock_recv(&w.s, got, 1), 0);
	w.s.blind = true;
	CHECK_EQ(iwt_sock_recv(&w.s, got, 1), -ECONNRESET);
	w.s.sk = NULL;
	CHECK_EQ(iwt_sock_recv(&w.s, got, 1), -EINTR);
	drop(&w);
	tap_end();
}

static void test_unreadable(void)
{
	bool begins[RXQUEUE_STREAM];
	struct iwt_sock_cursor cur;
	struct world w;
	u8 got[1];

	tap_begin("receive queue: nothing is read if the CPU can't read a buffer");
	make_segments(&w, begins);
	w.sk.rcv_nxt = w.last->cb.seq;
	CHECK_EQ(iwt_sock_peek(&w.s, &cur), w.q.len - (w.last->cb.end_seq - w.last->cb.seq));
	CHECK(!iwt_sock_blind(&w.s));
	w.sk.rcv_nxt = w.last->cb.end_seq;
	unit_unreadable = w.last;
	CHECK_EQ(iwt_sock_peek(&w.s, &cur), 0);
	CHECK(iwt_sock_blind(&w.s));
	CHECK_EQ(iwt_sock_recv(&w.s, got, sizeof(got)), -ECONNRESET);
	drop(&w);
	unit_unreadable = NULL;
	tap_end();
}

void test_sock_recv(void)
{
	test_from();
	test_search();
	test_begins();
	test_not_aside();
	test_recv();
	test_unreadable();
}
