/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes receive queues of many forms that TCP may create: buffers that overlap, that other
 * buffers cover, or that begin before the first unread byte. The bytes are in linear parts,
 * fragments and lists. If two buffers contain the same byte of the stream, the later buffer has a
 * wrong value, so that the test notices if the later buffer is read.
 */
#ifndef IWT_RXQUEUE_H
#define IWT_RXQUEUE_H

#include <linux/skbuff.h>

#define RXQUEUE_STREAM	400
#define RXQUEUE_BUFFERS	12

struct rxqueue {
	u32 (*any)(void *ctx);	/* returns a random number, or a number from the fuzzer's input */
	void *ctx;
	u8 stream[RXQUEUE_STREAM];
	struct sk_buff head;	/* stands for sk_receive_queue: only its address is used */
	struct sk_buff *first;
	u32 seq;		/* sequence number of stream[0] */
	u32 len;		/* bytes that have arrived */
	u32 taken;		/* arrived bytes that the reader has consumed */
	u32 overlaps;		/* number of buffers that contain bytes of earlier buffers */
};

/* Makes a queue. The caller has set ->any and ->ctx. */
void rxqueue_make(struct rxqueue *q);
/* Makes a buffer with the bytes from @from up to, but not including, @to of the stream. */
struct sk_buff *rxqueue_buffer(struct rxqueue *q, u32 from, u32 to);
/*
 * Reads the queue in pieces of at most @step bytes, and skips some bytes. Return: true if the
 * reader gets each byte that it does not skip once, from the first buffer that contains the byte.
 */
bool rxqueue_walk(const struct rxqueue *q, u32 step);
void rxqueue_free(struct rxqueue *q);

#endif
