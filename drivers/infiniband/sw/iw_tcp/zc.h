/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of work requests that TCP has by reference: what was given to it, in
 * which order, and what has come back.
 *
 * TCP may have to send octets again until they are acknowledged, and devices
 * may read them even later. So a work request whose octets were given is not
 * completed before all that was given up to then has come back: every buffer of
 * TCP and every copy of one that refers to it is freed, because the octets were
 * acknowledged, or because the connection is gone.
 */
#ifndef IWT_ZC_H
#define IWT_ZC_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct iwt_zc;

/*
 * Pieces of pages that a batch may have: the largest FPDU from pages that are
 * no neighbours, with its header and trailer.
 */
#define IWT_ZC_PIECES		20
/* Pieces that one buffer of TCP has room for. */
#define IWT_ZC_FRAGS		min_t(u32, IWT_ZC_PIECES, MAX_SKB_FRAGS)

/**
 * struct iwt_zc_batch - octets that go to TCP together
 * @ubuf: what TCP's buffers refer to; as many references as there are of these,
 *	and one until everything was sent
 * @zc: whose it is; a reference
 * @node: in @zc->out
 * @seq: number in order of iwt_zc_get()
 * @back: all references are gone; guarded by @zc->lock
 * @n: pieces
 * @bytes: octets in them
 * @by_ref: octets of those that are somebody else's memory
 * @sent: octets that TCP has taken
 * @piece: the pieces; a reference to each page, until everything was sent
 *
 * But for @back, it is its engine's as long as it is not sent.
 */
struct iwt_zc_batch {
	struct ubuf_info ubuf;
	struct iwt_zc *zc;
	struct list_head node;
	u32 seq;
	bool back;
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
u32 iwt_zc_back(struct iwt_zc *zc);
u32 iwt_zc_given(const struct iwt_zc *zc);
bool iwt_zc_any_back(struct iwt_zc *zc);
bool iwt_zc_any_out(struct iwt_zc *zc);

#endif
