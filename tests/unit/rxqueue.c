// SPDX-License-Identifier: GPL-2.0
#include "rxqueue.h"

#include <linux/string.h>
#include <stdlib.h>

#include "sock_cursor.h"

const struct sk_buff *unit_unreadable;

/*
 * Return: @len bytes of the stream, from offset @at on, for a buffer. Bytes before offset @have
 * have wrong values: an earlier buffer contains them.
 */
static u8 *octets(const struct rxqueue *q, u32 at, u32 len, u32 have)
{
	u8 *p = malloc(len ? len : 1);
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = at + i < have ? ~q->stream[at + i] : q->stream[at + i];
	return p;
}

/* Puts an old entry after the last fragment: a buffer that was cut may have such an entry. */
static void stale(struct sk_buff *skb)
{
	skb_frag_t *f = &skb->si.frags[skb->si.nr_frags];

	if (!skb->si.nr_frags || skb->si.nr_frags == MAX_SKB_FRAGS)
		return;
	f->address = f[-1].address + f[-1].size;
	f->size = 1;
}

/* Spreads @len octets over @skb: a linear part, and fragments, some of which are contiguous. */
static void fill(const struct rxqueue *q, struct sk_buff *skb, u32 at, u32 len,
		 u32 have)
{
	u32 done = q->any(q->ctx) % 3 ? q->any(q->ctx) % (len + 1) : 0, n;
	skb_frag_t *f;

	skb->data = octets(q, at, done, have);
	skb->len += len;
	skb->data_len += len - done;
	while (done < len) {
		f = &skb->si.frags[skb->si.nr_frags++];
		n = skb->si.nr_frags == MAX_SKB_FRAGS ? len - done :
							1 + q->any(q->ctx) % (len - done);
		f->address = octets(q, at + done, n, have);
		f->size = n;
		done += n;
		/* split the fragment into two contiguous fragments, if an entry is free */
		if (n > 1 && skb->si.nr_frags + 1 < MAX_SKB_FRAGS &&
		    !(q->any(q->ctx) % 3)) {
			f->size = n / 2;
			f[1].address = f->address + n / 2;
			f[1].size = n - n / 2;
			skb->si.nr_frags++;
		}
	}
	stale(skb);
}

/* Return: a buffer with up to @levels levels of frag_lists one inside another. */
static struct sk_buff *buffer(struct rxqueue *q, u32 from, u32 to, int levels)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb)), **link;
	u32 own = to - from, n;

	if (levels && !(q->any(q->ctx) % 4))
		own = q->any(q->ctx) % (own + 1);
	fill(q, skb, from, own, q->len);
	link = &skb->si.frag_list;
	for (from += own; from < to; from += n) {
		n = 1 + q->any(q->ctx) % (to - from);
		*link = buffer(q, from, from + n, levels - 1);
		skb->len += n;
		skb->data_len += n;
		link = &(*link)->next;
	}
	return skb;
}

struct sk_buff *rxqueue_buffer(struct rxqueue *q, u32 from, u32 to)
{
	struct sk_buff *skb = buffer(q, from, to, IWT_SKB_LEVELS);

	skb->cb.seq = q->seq + from;
	skb->cb.end_seq = q->seq + to;
	return skb;
}

void rxqueue_make(struct rxqueue *q)
{
	u32 i, from, to, n = 1 + q->any(q->ctx) % RXQUEUE_BUFFERS;
	struct sk_buff **link = &q->first;

	q->len = 0;
	q->overlaps = 0;
	for (i = 0; i < RXQUEUE_STREAM; i++)
		q->stream[i] = q->any(q->ctx);
	/* the stream often crosses the end of the sequence space */
	q->seq = q->any(q->ctx) % 2 ? q->any(q->ctx) : -(q->any(q->ctx) % RXQUEUE_STREAM);
	for (i = 0; i < n; i++) {
		from = q->any(q->ctx) % 2 ? q->len : q->len - q->any(q->ctx) % (q->len + 1);
		to = from + 1 + q->any(q->ctx) % ((RXQUEUE_STREAM - from) / 3 + 1);
		if (to > RXQUEUE_STREAM || (!i && to <= from))
			break;
		q->overlaps += from < q->len;
		*link = rxqueue_buffer(q, from, to);
		link = &(*link)->next;
		if (to > q->len)
			q->len = to;
	}
	*link = &q->head;
	q->taken = q->any(q->ctx) % (q->first->cb.end_seq - q->first->cb.seq);
}

static void free_frags(struct sk_buff *skb)
{
	const skb_frag_t *f = skb->si.frags;
	u32 i;

	free(skb->data);
	for (i = 0; i < skb->si.nr_frags; i++) {
		/* the second of two contiguous fragments was freed with the first */
		if (!i || f[i].address != f[i - 1].address + f[i - 1].size)
			free(f[i].address);
	}
}

static void free_buffer(struct sk_buff *skb)
{
	struct sk_buff *sub;

	while ((sub = skb->si.frag_list)) {
		skb->si.frag_list = sub->next;
		free_buffer(sub);
	}
	free_frags(skb);
	free(skb);
}

void rxqueue_free(struct rxqueue *q)
{
	struct sk_buff *skb;

	while ((skb = q->first) != &q->head) {
		q->first = skb->next;
		free_buffer(skb);
	}
}

bool rxqueue_walk(const struct rxqueue *q, u32 step)
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
		if (q->any(q->ctx) % 2) {
			/* a copy of the position advances independently */
			cur = again;
			len = 1 + q->any(q->ctx) % (q->len - at);
			if (!iwt_cursor_skip(&cur.c, len))
				return false;
		}
		at += len;
	}
	/* a caller may ask again at the end */
	return !iwt_cursor_piece(&cur.c, 1, &len) && !cur.skb && !iwt_cursor_piece(&cur.c, 1, &len);
}
