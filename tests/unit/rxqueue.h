/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive queues as TCP may leave them: buffers that overlap, that other buffers cover, or that
 * begin before the first unread byte. The bytes are in linear parts, fragments and lists. Later
 * copies of a byte have another value, so that the test notices if a later copy is read.
 */
#ifndef IWT_RXQUEUE_H
#define IWT_RXQUEUE_H

#include <linux/skbuff.h>

#define RXQUEUE_STREAM	400
#define RXQUEUE_BUFFERS	12

struct rxqueue {
	u32 (*any)(void *ctx);	/* returns choices: random ones, or a fuzzer's */
	void *ctx;
	u8 stream[RXQUEUE_STREAM];
	struct sk_buff head;	/* as sk_receive_queue: only its address is used */
	struct sk_buff *first;
	u32 seq;		/* sequence number of stream[0] */
	u32 len;		/* bytes that have arrived */
	u32 taken;		/* arrived bytes that the reader has consumed */
	u32 overlaps;
};

/* Makes a queue; the caller has set ->any and ->ctx. */
void rxqueue_make(struct rxqueue *q);
/* Makes a buffer with the bytes @from to @to of the stream; ->len bytes have arrived before. */
struct sk_buff *rxqueue_buffer(struct rxqueue *q, u32 from, u32 to);
/* Does a reader get each byte once, from the first buffer that contains it? */
bool rxqueue_walk(const struct rxqueue *q, u32 step);
void rxqueue_free(struct rxqueue *q);

#endif
