// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues at random, as TCP may leave them: buffers that overlap, are covered
 * by others, begin before what was consumed, with octets in linear parts, fragments
 * and lists. A reader must get each octet of the stream once, from the first buffer
 * that has it. Later copies have other octets, so that to read one is noticed.
 */
#include "sock_cursor.h"

#include <linux/skbuff.h>
#include <stdlib.h>

#include "unit.h"

#define STREAM		400
#define BUFFERS		12
#define QUEUES		20000

struct queue {
	u8 stream[STREAM];
	struct sk_buff head;	/* as sk_receive_queue, only its address counts */
	struct sk_buff *first;
	u32 seq;		/* of stream[0] */
	u32 len;		/* octets that have arrived */
	u32 taken;		/* of them consumed */
	u32 overlaps;
};

/* What the octets from @at are in a buffer that comes when @have are there. */
static u8 *octets(const struct queue *q, u32 at, u32 len, u32 have)
{
	u8 *p = malloc(len ? len : 1);
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = at + i < have ? ~q->stream[at + i] : q->stream[at + i];
	return p;
}

/* Spreads @len octets over @skb: a linear part and fragments, some side by side. */
static void fill(const struct queue *q, struct sk_buff *skb, u32 at, u32 len,
		 u32 have)
{
	u32 done = any() % 3 ? any() % (len + 1) : 0, n;
	skb_frag_t *f;

	skb->data = octets(q, at, done, have);
	skb->len += len;
	skb->data_len += len - done;
	while (done < len) {
		f = &skb->si.frags[skb->si.nr_frags++];
		n = skb->si.nr_frags == MAX_SKB_FRAGS ? len - done :
							1 + any() % (len - done);
		f->address = octets(q, at + done, n, have);
		f->size = n;
		done += n;
		/* two that follow each other in memory are one piece */
		if (n > 1 && skb->si.nr_frags < MAX_SKB_FRAGS && !(any() % 3)) {
			f->size = n / 2;
			f[1].address = f->address + n / 2;
			f[1].size = n - n / 2;
			skb->si.nr_frags++;
		}
	}
}

static struct sk_buff *make(struct queue *q, u32 from, u32 to)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb)), *sub, **link;
	u32 own = to - from, n;

	skb->cb.seq = q->seq + from;
	skb->cb.end_seq = q->seq + to;
	if (!(any() % 4))
		own = any() % (own + 1);
	fill(q, skb, from, own, q->len);
	link = &skb->si.frag_list;
	for (from += own; from < to; from += n) {
		n = 1 + any() % (to - from);
		sub = calloc(1, sizeof(*sub));
		fill(q, sub, from, n, q->len);
		skb->len += n;
		skb->data_len += n;
		*link = sub;
		link = &sub->next;
	}
	return skb;
}

static void make_queue(struct queue *q)
{
	u32 i, from, to, n = 1 + any() % BUFFERS;
	struct sk_buff **link = &q->first;

	memset(q, 0, sizeof(*q));
	for (i = 0; i < STREAM; i++)
		q->stream[i] = any();
	/* often across the end of the sequence space */
	q->seq = any() % 2 ? any() : -(any() % STREAM);
	for (i = 0; i < n; i++) {
		from = any() % 2 ? q->len : q->len - any() % (q->len + 1);
		to = from + 1 + any() % ((STREAM - from) / 3 + 1);
		if (to > STREAM || (!i && to <= from))
			break;
		q->overlaps += from < q->len;
		*link = make(q, from, to);
		link = &(*link)->next;
		if (to > q->len)
			q->len = to;
	}
	*link = &q->head;
	q->taken = any() % (q->first->cb.end_seq - q->first->cb.seq);
}

static void free_frags(struct sk_buff *skb)
{
	const skb_frag_t *f = skb->si.frags;
	u32 i;

	free(skb->data);
	for (i = 0; i < skb->si.nr_frags; i++) {
		/* the second of two side by side went with the first */
		if (!i || f[i].address != f[i - 1].address + f[i - 1].size)
			free(f[i].address);
	}
}

static void free_queue(struct queue *q)
{
	struct sk_buff *skb, *sub;

	while ((skb = q->first) != &q->head) {
		q->first = skb->next;
		while ((sub = skb->si.frag_list)) {
			skb->si.frag_list = sub->next;
			free_frags(sub);
			free(sub);
		}
		free_frags(skb);
		free(skb);
	}
}

/* In steps of at most @step octets, some of them passed over. */
static bool walk(const struct queue *q, u32 step)
{
	struct iwt_sock_cursor cur, again;
	u32 at = q->taken, len;
	const u8 *p;

	iwt_sock_walk(&cur, q->first, &q->head, q->seq + q->taken, q->taken);
	while (at < q->len) {
		again = cur;
		p = iwt_cursor_piece(&cur.c, step, &len);
		if (!p || at + len > q->len || memcmp(p, q->stream + at, len))
			return false;
		if (any() % 2) {
			/* a copy of the position goes its own way */
			cur = again;
			len = 1 + any() % (q->len - at);
			if (!iwt_cursor_skip(&cur.c, len))
				return false;
		}
		at += len;
	}
	return !iwt_cursor_piece(&cur.c, 1, &len);
}

static void test_overlap(void)
{
	u32 i, bad = 0, overlaps = 0;
	struct queue q;

	tap_begin("receive queue: each octet once, whatever overlaps");
	for (i = 0; i < QUEUES; i++) {
		make_queue(&q);
		overlaps += q.overlaps;
		if (!walk(&q, 1 + any() % 100))
			bad++;
		free_queue(&q);
	}
	CHECK_EQ(bad, 0);
	CHECK(overlaps > QUEUES);
	tap_end();
}

/* Octets are missing: the walk ends there. */
static void test_gap(void)
{
	struct iwt_sock_cursor cur;
	struct queue q;
	u32 len, n = 0;

	memset(&q, 0, sizeof(q));
	tap_begin("receive queue: what is behind a gap is not read");
	q.first = make(&q, 0, 10);
	q.first->next = make(&q, 11, 20);
	q.first->next->next = &q.head;
	iwt_sock_walk(&cur, q.first, &q.head, 0, 0);
	while (iwt_cursor_piece(&cur.c, 100, &len))
		n += len;
	CHECK_EQ(n, 10);
	free_queue(&q);
	tap_end();
}

void test_sock_cursor(void)
{
	test_overlap();
	test_gap();
}
