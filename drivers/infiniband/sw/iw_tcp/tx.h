/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transmit engine: work requests and Read Responses become FPDUs, framed
 * many at a time into pages that TCP then takes by reference.
 */
#ifndef IWT_TX_H
#define IWT_TX_H

#include <linux/types.h>

#include "conf.h"
#include "mr.h"
#include "proto/mpa.h"
#include "proto/term.h"
#include "proto/txseg.h"
#include "readq.h"
#include "sgl.h"
#include "sq.h"

struct iwt_qp;
struct iwt_sock;
struct iwt_stage;
struct iwt_zc_batch;
struct page;

/* Framed octets handed to TCP in one go, at most. */
#define IWT_TX_BATCH		(64 << 10)
/*
 * Octets that the smallest piece of memory must have: the FPDU of the smallest
 * MULPDU, with a marker.
 */
#define IWT_TX_MIN_ROOM		(IWT_MULPDU_MIN + 12)
/*
 * Memory that is good enough for an FPDU that need not fit in a segment, or is not
 * to fill one by itself. It takes as much as there is.
 */
#define IWT_TX_LARGE_ROOM	(4 << 10)
/* Large stages that a batch may lie in: pages that one buffer of TCP has room for. */
#define IWT_TX_STAGES		2
/* Pieces of pages that a batch may lie in. */
#define IWT_TX_CHUNKS		16
/* Batches of one run; then others get their turn. */
#define IWT_TX_RUN		4
/* Work requests completed in one go. */
#define IWT_TX_RETIRE		1024
/* Responses in a row while the send queue has work. */
#define IWT_TX_RESPONSES	4

enum iwt_tx_what {
	IWT_TX_NOTHING,
	IWT_TX_WQE,
	IWT_TX_RESPONSE,
	IWT_TX_RTR,
	IWT_TX_TERM,
};

enum iwt_tx_term {
	IWT_TX_TERM_NONE,
	IWT_TX_TERM_PENDING,
	IWT_TX_TERM_FRAMED,
	IWT_TX_TERM_SENT,
};

/* What a run came to. */
enum iwt_tx_result {
	IWT_TX_IDLE,		/* nothing to do, or waiting for an event */
	IWT_TX_MORE,		/* the budget is used up, there is more */
	IWT_TX_STARVED,		/* no memory: try again a little later */
	IWT_TX_TERM_OUT,	/* the Terminate is with TCP */
	IWT_TX_FAILED,		/* tx->err: the stream can't go on */
	IWT_TX_LOST,		/* TCP takes nothing more, and will not */
};

/*
 * Framed octets not yet taken by TCP; a page reference is held. With @eor a
 * segment ends behind them, though it is not full.
 */
struct iwt_tx_chunk {
	struct page *page;
	u32 off;
	u32 len : 31;
	u32 eor : 1;
};

/**
 * struct iwt_tx - transmit engine; guarded by qp->lock
 * @crc: CRC32c is in use
 * @markers: the peer wants markers
 * @large: FPDUs need not fit in a segment
 * @rdmac: the peer is an RDMAC one: version 0 of DDP and RDMAP
 * @hold: responder before the first FPDU of the initiator (RFC 5044 7.1.2)
 * @loaded: @wqe is taken from the ring and not begun
 * @dry: the batch ended for want of messages
 * @lost: TCP has refused octets for good
 * @ended: the last octets of a work request are framed and not all taken by TCP
 * @zerocopy: whether TCP may refer to payload where it is
 * @rtr: ready-to-receive message still to be sent
 * @term: how far the Terminate is
 * @what: message being framed
 * @row: Responses since the last work request
 * @send_msn: MSN of the next Send
 * @read_msn: MSN of the next Read or Atomic Request
 * @resp_msn: MSN of the request being answered
 * @atomic_msn: MSN of the next Atomic Response
 * @msg: its segmentation
 * @pos: its place in the source; of a Read Response only the octets
 * @src: octets at this place, good as long as their region is held
 * @src_len: how many, 0 when nothing is known of them
 * @src_hold: their region
 * @wqe: the send queue's private copy of the work request
 * @idx: its index
 * @unsent: with @ended, the index of the first such work request
 * @resp: request being answered
 * @n_chunks: pieces framed and not yet taken by TCP
 * @bytes: octets in them
 * @fpdus: FPDUs framed by this run of the batch
 * @segs: segments begun with them
 * @room: octets left in the segment under construction, or of a batch that may
 *	have FPDUs over segments; 0 when none is
 * @stream: position of the next octet in the stream, modulo 2^32, for markers
 * @stage: memory being framed in, or NULL
 * @stages: how many large ones the batch has
 * @chunk: the pieces
 * @zcb: batch framed by reference and not yet taken by TCP, or NULL; either this
 *	or the pieces
 * @err: after IWT_TX_FAILED
 * @term_len: octets of @term_ulpdu
 * @term_ulpdu: Terminate after its DDP header
 */
struct iwt_tx {
	bool crc;
	bool markers;
	bool large;
	bool rdmac;
	bool hold;
	bool loaded;
	bool dry;
	bool lost;
	bool ended;
	enum iwt_zerocopy zerocopy;
	enum iwt_mpa_rtr rtr;
	enum iwt_tx_term term;
	enum iwt_tx_what what;
	u32 row;
	u32 send_msn;
	u32 read_msn;
	u32 resp_msn;
	u32 atomic_msn;
	struct iwt_txseg msg;
	struct iwt_sgl_pos pos;
	u8 *src;
	u32 src_len;
	struct iwt_hold src_hold;
	struct iwt_swqe *wqe;
	u32 idx;
	u32 unsent;
	struct iwt_read_in resp;
	u32 n_chunks;
	u32 bytes;
	u32 fpdus;
	u32 segs;
	u32 room;
	u32 stream;
	struct iwt_stage *stage;
	u32 stages;
	struct iwt_tx_chunk chunk[IWT_TX_CHUNKS];
	struct iwt_zc_batch *zcb;
	u32 err;
	u32 term_len;
	u8 term_ulpdu[IWT_TERM_MAX];
};

void iwt_tx_start(struct iwt_tx *tx, const struct iwt_mpa_terms *terms,
		  bool initiator);
enum iwt_tx_result iwt_tx_run(struct iwt_qp *qp);
void iwt_tx_retire(struct iwt_qp *qp);
u32 iwt_tx_unsent(const struct iwt_qp *qp);
void iwt_tx_terminate(struct iwt_tx *tx, u32 err, const u8 *hdr, u32 hdr_len,
		      u16 ulpdu_len);
void iwt_tx_drop_work(struct iwt_tx *tx);
bool iwt_tx_stop(struct iwt_tx *tx);
bool iwt_tx_busy(const struct iwt_qp *qp);
bool iwt_tx_wanted(const struct iwt_qp *qp);

#endif
