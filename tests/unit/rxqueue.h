/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive queues as TCP may leave them: buffers that overlap, are covered by others, or
 * begin before the first unread octet, with octets in linear parts, fragments and lists.
 * Later copies of an octet have another value, so that the test notices if they are read.
 */
#ifndef IWT_RXQUEUE_H
#define IWT_RXQUEUE_H

#include <linux/skbuff.h>

#define RXQUEUE_STREAM	400
#define RXQUEUE_BUFFERS	12

struct rxqueue {
	u32 (*any)(void *ctx);	/* makes choices: random ones, or a fuzzer's */
	void *ctx;
	u8 stream[RXQUEUE_STREAM];
	struct sk_buff head;	/* as sk_receive_queue, only its address counts */
	struct sk_buff *first;
	u32 seq;		/* sequence number of stream[0] */
	u32 len;		/* octets that have arrived */
	u32 taken;		/* octets of them that are consumed */
	u32 overlaps;
};

/* Makes a queue; the caller has set ->any and ->ctx. */
void rxqueue_make(struct rxqueue *q);
/* A buffer with the octets from @from to @to of the stream, of which ->len have arrived. */
struct sk_buff *rxqueue_buffer(struct rxqueue *q, u32 from, u32 to);
/* Does a reader get each octet once, from the first buffer that has it? */
bool rxqueue_walk(const struct rxqueue *q, u32 step);
void rxqueue_free(struct rxqueue *q);

#endif
