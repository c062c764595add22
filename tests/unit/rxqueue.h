/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive queues as TCP may leave them: buffers that overlap, are covered by others,
 * begin before what was consumed, with octets in linear parts, fragments and lists.
 * Later copies of an octet are another octet, so that to read one is noticed.
 */
#ifndef IWT_RXQUEUE_H
#define IWT_RXQUEUE_H

#include <linux/skbuff.h>

#define RXQUEUE_STREAM	400
#define RXQUEUE_BUFFERS	12

struct rxqueue {
	u32 (*any)(void *ctx);	/* choices: random, or a fuzzer's */
	void *ctx;
	u8 stream[RXQUEUE_STREAM];
	struct sk_buff head;	/* as sk_receive_queue, only its address counts */
	struct sk_buff *first;
	u32 seq;		/* of stream[0] */
	u32 len;		/* octets that have arrived */
	u32 taken;		/* of them consumed */
	u32 overlaps;
};

/* ->any and ->ctx are set. */
void rxqueue_make(struct rxqueue *q);
/* A buffer with the octets from @from to @to of the stream, of which ->len are there. */
struct sk_buff *rxqueue_buffer(struct rxqueue *q, u32 from, u32 to);
/* Does a reader get each octet once, from the first buffer that has it? */
bool rxqueue_walk(const struct rxqueue *q, u32 step);
void rxqueue_free(struct rxqueue *q);

#endif
