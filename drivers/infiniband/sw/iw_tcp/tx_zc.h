/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of work requests that TCP refers to instead of copying it.
 *
 * TCP may have to send octets again until the peer acknowledges them, and a network card may
 * read them even later. So such a work request is completed only when TCP has released the
 * memory: when every buffer that refers to it, and every copy of such a buffer, is freed,
 * because the octets were acknowledged or because the connection is gone.
 *
 * What goes to TCP together is a batch. Batches are numbered in the order in which they were
 * begun; a work request is done when its last batch and all before it are released.
 */
#ifndef IWT_ZC_H
#define IWT_ZC_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct iwt_zc;

/*
 * Pieces of pages that a batch may have: the largest FPDU from pages that are no neighbours,
 * with its header and trailer.
 */
#define IWT_ZC_PIECES		20
/* Pieces that one buffer of TCP has room for. */
#define IWT_ZC_FRAGS		min_t(u32, IWT_ZC_PIECES, MAX_SKB_FRAGS)

/**
 * struct iwt_zc_batch - octets that go to TCP together
 * @ubuf: what TCP's buffers refer to; as many references as there are of these,
 *	and one until everything was sent
 * @zc: object of its queue pair; a reference
 * @node: in the list of @zc
 * @seq: number, in the order of iwt_zc_get()
 * @released: all references are gone; guarded by the lock of @zc
 * @n: pieces
 * @bytes: octets in them
 * @by_ref: octets of these that are memory of the consumer
 * @sent: octets that TCP has taken
 * @piece: the pieces; a reference to each page, until everything was sent
 *
 * Until iwt_zc_sent() all but @released is the transmit engine's.
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

void iwt_zc_exit(void);
struct iwt_zc *iwt_zc_new(void (*wake)(void *ctx), void *ctx);
void iwt_zc_mute(struct iwt_zc *zc);
void iwt_zc_close(struct iwt_zc *zc);
struct iwt_zc_batch *iwt_zc_get(struct iwt_zc *zc);
bool iwt_zc_add(struct iwt_zc_batch *b, struct page *page, u32 off, u32 len);
void iwt_zc_cut(struct iwt_zc_batch *b, u32 bytes);
void iwt_zc_sent(struct iwt_zc_batch *b);
u32 iwt_zc_released_seq(struct iwt_zc *zc);
u32 iwt_zc_last_seq(const struct iwt_zc *zc);
bool iwt_zc_any_released(struct iwt_zc *zc);
bool iwt_zc_in_flight(struct iwt_zc *zc);

#endif
