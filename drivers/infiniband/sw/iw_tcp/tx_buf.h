/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffers for framed FPDUs. TCP refers to the pages of the buffers. When the peer has
 * acknowledged all bytes of a page, and, if the peer is on this machine, has also read these
 * bytes, the page is used again: the page is still in the cache, and need not be freed, allocated
 * and cleared.
 */
#ifndef IWT_TX_BUF_H
#define IWT_TX_BUF_H

#include <linux/types.h>

#include <asm/page.h>

struct page;

/* Size of a large buffer in bytes; smaller if memory is short. */
#define IWT_TXBUF_SIZE		(32 << 10)
/*
 * Size of a small buffer in bytes, and so the memory that stays in use if a peer never
 * acknowledges a short batch.
 */
#define IWT_TXBUF_SMALL		PAGE_SIZE

/**
 * enum iwt_txbuf_kind - kind of the batch to frame
 * @IWT_TXBUF_SHORT: a batch of at most IWT_TXBUF_SMALL bytes
 * @IWT_TXBUF_NEAR: a longer batch for a receiver that is probably on this machine: few buffers,
 *	which stay in the cache
 * @IWT_TXBUF_FAR: a longer batch for any other receiver: as many buffers as the data in flight
 *	need
 */
enum iwt_txbuf_kind { IWT_TXBUF_SHORT, IWT_TXBUF_NEAR, IWT_TXBUF_FAR };

/**
 * struct iwt_txbuf - memory in which one engine at a time frames FPDUs
 * @page: page of the buffer, or NULL; each piece that is passed to TCP has its own reference
 * @off: offset of the first free byte
 * @size: size of the page
 * @order: order of the page to allocate
 * @home: slot of the buffer, which contains a pointer to the buffer while no engine uses it
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
