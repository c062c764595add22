/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffers that FPDUs are framed in. TCP refers to their pages. When the peer has acknowledged
 * all octets of a page, and they have been read if the peer is on this machine, the page is
 * used again: it is still in the cache, and need not be freed, allocated and cleared.
 */
#ifndef IWT_TX_BUF_H
#define IWT_TX_BUF_H

#include <linux/types.h>

#include <asm/page.h>

struct page;

/* Octets of a large buffer, unless memory is short. */
#define IWT_TXBUF_SIZE		(32 << 10)
/* Octets of a small one: a batch in it that is never acknowledged keeps no more memory. */
#define IWT_TXBUF_SMALL		PAGE_SIZE

/**
 * enum iwt_txbuf_kind - what is framed
 * @IWT_TXBUF_SHORT: messages with no more than IWT_TXBUF_SMALL octets
 * @IWT_TXBUF_NEAR: more, for a receiver that seems to be on this machine: few buffers, which
 *	are in the cache
 * @IWT_TXBUF_FAR: more, for another receiver: as many buffers as are under way
 */
enum iwt_txbuf_kind { IWT_TXBUF_SHORT, IWT_TXBUF_NEAR, IWT_TXBUF_FAR };

/**
 * struct iwt_txbuf - memory that one engine at a time frames in
 * @page: its page, or NULL; for octets that are handed to TCP a reference is taken
 * @off: first octet that is free
 * @size: octets of the page
 * @order: of the page that is wanted
 * @home: its place while no engine has it
 */
struct iwt_txbuf {
	struct page *page;
	u32 off;
	u32 size;
	u32 order;
	struct iwt_txbuf **home;
};

int iwt_txbuf_init(void);
void iwt_txbuf_exit(void);
struct iwt_txbuf *iwt_txbuf_get(u32 min, enum iwt_txbuf_kind kind);
void iwt_txbuf_put(struct iwt_txbuf *b);
u64 iwt_txbuf_bytes(void);

static inline u32 iwt_txbuf_room(const struct iwt_txbuf *b)
{
	return b->size - b->off;
}

#endif
