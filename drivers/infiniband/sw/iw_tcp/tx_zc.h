/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Zero copy: TCP refers to the memory of work requests, so that this memory need not be copied.
 *
 * TCP may have to retransmit bytes until the peer acknowledges them, and a network card may read
 * the bytes even later. So such a work request is completed only when TCP has released the
 * memory. TCP has released the memory when every skb that refers to the memory, and every clone
 * of such an skb, is freed: the bytes were acknowledged, or the connection has ended.
 *
 * The bytes that are passed to TCP together are a batch. Batches are numbered in the order in
 * which they were begun; a work request is done when its last batch and all earlier batches are
 * released.
 */
#ifndef IWT_ZC_H
#define IWT_ZC_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct iwt_zc;

/*
 * Maximum number of pieces of a batch: enough for the largest FPDU, with header and trailer, even
 * if its pages are not contiguous.
 */
#define IWT_ZC_PIECES		20
/* Maximum number of pieces in one skb of TCP. */
#define IWT_ZC_FRAGS		min_t(u32, IWT_ZC_PIECES, MAX_SKB_FRAGS)

/**
 * struct iwt_zc_batch - bytes that are passed to TCP together
 * @ubuf: object that TCP's skbs refer to; one reference for each skb, and one of the engine
 *	until iwt_zc_sent()
 * @zc: object of the queue pair; the batch holds a reference to it
 * @node: entry in the list of @zc; guarded by the lock of @zc
 * @seq: number, in the order of iwt_zc_get()
 * @released: all references to @ubuf were dropped; guarded by the lock of @zc
 * @n: number of pieces
 * @bytes: number of bytes in the pieces
 * @by_ref: number of these bytes that are memory of the consumer
 * @sent: number of bytes that TCP has accepted
 * @piece: the pieces; the batch holds a reference to each page until iwt_zc_sent()
 *
 * Until iwt_zc_sent(), the transmit engine owns all other fields; TCP's skbs also use @ubuf.
 */
struct iwt_zc_batch {
	struct ubuf_info ubuf;
	struct iwt_zc *zc;
	struct list_head node;
	u32 seq;
	bool released;
	u32 n;
	u32 bytes;
	u32 by_ref;
	u32 sent;
	struct bio_vec piece[IWT_ZC_PIECES];
};

#ifdef CONFIG_INFINIBAND_IW_TCP_ZEROCOPY
void iwt_zc_exit(void);
struct iwt_zc *iwt_zc_new(void (*wake)(void *ctx), void *ctx);
void iwt_zc_mute(struct iwt_zc *zc);
void iwt_zc_close(struct iwt_zc *zc);
struct iwt_zc_batch *iwt_zc_get(struct iwt_zc *zc);
/* Return: false if the batch has no room for another piece. */
bool iwt_zc_add(struct iwt_zc_batch *b, struct page *page, u32 off, u32 len);
void iwt_zc_cut(struct iwt_zc_batch *b, u32 bytes);
void iwt_zc_sent(struct iwt_zc_batch *b);
u32 iwt_zc_released_seq(struct iwt_zc *zc);
u32 iwt_zc_last_seq(const struct iwt_zc *zc);
/* Is the oldest batch in flight released? */
bool iwt_zc_any_released(struct iwt_zc *zc);
/* Does TCP still refer to any batch? */
bool iwt_zc_in_flight(struct iwt_zc *zc);
#else
static inline void iwt_zc_exit(void)
{
}

static inline struct iwt_zc *iwt_zc_new(void (*wake)(void *ctx), void *ctx)
{
	return NULL;
}

static inline void iwt_zc_mute(struct iwt_zc *zc)
{
}

static inline void iwt_zc_close(struct iwt_zc *zc)
{
}

static inline u32 iwt_zc_released_seq(struct iwt_zc *zc)
{
	return 0;
}

static inline u32 iwt_zc_last_seq(const struct iwt_zc *zc)
{
	return 0;
}

static inline bool iwt_zc_any_released(struct iwt_zc *zc)
{
	return false;
}

static inline bool iwt_zc_in_flight(struct iwt_zc *zc)
{
	return false;
}
#endif

#endif
