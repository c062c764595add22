// SPDX-License-Identifier: GPL-2.0
/* Checks the walk over the bytes in the receive queue of a TCP socket. */
#include "sock_cursor.h"

#include "rxqueue.h"
#include "unit.h"

#define QUEUES		20000

static u32 choose(void *ctx)
{
	(void)ctx;
	return any();
}

static void test_overlap(void)
{
	u32 i, bad = 0, overlaps = 0;
	struct rxqueue q = { .any = choose };

	tap_begin("receive queue: overlapping segments give each octet once");
	for (i = 0; i < QUEUES; i++) {
		rxqueue_make(&q);
		overlaps += q.overlaps;
		if (!rxqueue_walk(&q, 1 + any() % 100))
			bad++;
		rxqueue_free(&q);
	}
	CHECK_EQ(bad, 0);
	CHECK(overlaps > QUEUES);
	tap_end();
}

/* The walk ends where bytes are missing. */
static void test_gap(void)
{
	struct iwt_sock_cursor cur;
	struct rxqueue q = { .any = choose };
	u32 len, n = 0;

	tap_begin("receive queue: octets behind a gap are not read");
	q.first = rxqueue_buffer(&q, 0, 10);
	q.first->next = rxqueue_buffer(&q, 11, 20);
	q.first->next->next = &q.head;
	iwt_sock_walk(&cur, q.first, &q.head, 0, 0);
	while (iwt_cursor_piece(&cur.c, 100, &len))
		n += len;
	CHECK_EQ(n, 10);
	rxqueue_free(&q);
	tap_end();
}

static const u8 aside[5] = { 1, 2, 3, 4, 5 };

/* A walk over bytes in memory of the driver (set aside), and then over a random buffer */
static void walk_aside(void)
{
	struct iwt_sock_cursor cur, again;
	struct rxqueue q = { .any = choose };
	u8 got[sizeof(aside) + 10];
	u32 i, len;

	for (i = 0; i < 10; i++)
		q.stream[i] = any();
	q.first = rxqueue_buffer(&q, 0, 10);
	q.first->next = &q.head;
	iwt_sock_walk(&cur, q.first, &q.head, 0, 0);
	iwt_sock_walk_aside(&cur, aside, sizeof(aside));
	again = cur;
	CHECK(iwt_cursor_skip(&again.c, 3));
	CHECK(iwt_cursor_copy(&again.c, got, 12));
	CHECK(!memcmp(got, aside + 3, 2) && !memcmp(got + 2, q.stream, 10));
	CHECK(iwt_cursor_copy(&cur.c, got, sizeof(got)));
	CHECK(!memcmp(got, aside, 5) && !memcmp(got + 5, q.stream, 10));
	CHECK(!iwt_cursor_piece(&cur.c, 1, &len));
	rxqueue_free(&q);
}

/* Bytes that were set aside come before the bytes in the buffers; there may be no buffer. */
static void test_aside(void)
{
	struct iwt_sock_cursor cur;
	u8 got[sizeof(aside)];
	u32 i, len;

	tap_begin("receive queue: octets that were set aside are read first");
	for (i = 0; i < 200; i++)
		walk_aside();

	iwt_sock_walk(&cur, NULL, NULL, 0, 0);
	iwt_sock_walk_aside(&cur, aside, sizeof(aside));
	CHECK(iwt_cursor_copy(&cur.c, got, 5) && !memcmp(got, aside, 5));
	CHECK(!iwt_cursor_piece(&cur.c, 1, &len));
	tap_end();
}

/* Two fragments are adjacent in memory, but the stream has another fragment between them. */
static void test_between(void)
{
	static u8 octets[3][4] = { "AAAA", "CCCC", "BBBB" };
	struct rxqueue q = {};
	struct sk_buff skb = { .len = 12, .data_len = 12, .next = &q.head, .si.nr_frags = 3 };
	struct iwt_sock_cursor cur;
	u8 got[12];

	tap_begin("receive queue: a fragment is joined only with the next fragment");
	skb.si.frags[0] = (skb_frag_t){ octets[0], 4 };
	skb.si.frags[1] = (skb_frag_t){ octets[2], 4 };
	skb.si.frags[2] = (skb_frag_t){ octets[1], 4 };
	iwt_sock_walk(&cur, &skb, &q.head, 0, 0);
	CHECK(iwt_cursor_copy(&cur.c, got, 12) && !memcmp(got, "AAAABBBBCCCC", 12));
	tap_end();
}

/* A walk over frag_lists one inside another ends at the last level that iwt_sock_can_walk() allows. */
static void test_levels(void)
{
	struct sk_buff skb[IWT_SKB_LEVELS + 2] = {}, last = {};
	u32 i;

	tap_begin("receive queue: frag_lists one inside another up to the limit");
	for (i = 0; i < IWT_SKB_LEVELS + 1; i++) {
		CHECK(iwt_sock_can_walk(skb));
		skb[i].si.frag_list = &skb[i + 1];
	}
	CHECK(!iwt_sock_can_walk(skb));
	CHECK(iwt_sock_can_walk(skb + 1));
	skb[1].next = &last;
	skb[IWT_SKB_LEVELS].si.frag_list = NULL;
	CHECK(iwt_sock_can_walk(skb));
	unit_unreadable = &last;
	CHECK(!iwt_sock_can_walk(skb));
	unit_unreadable = NULL;
	tap_end();
}

void test_sock_cursor(void)
{
	test_levels();
	test_overlap();
	test_gap();
	test_aside();
	test_between();
}
