/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transmit engine: frames work requests and Responses as FPDUs, many at a time, in pages to
 * which TCP then refers.
 *
 *	tx.c		sends batches, completes work requests, and prepares the Terminate
 *	tx_sched.c	selects the next message
 *	tx_confirm.c	Reads that let the peer confirm messages
 *	tx_frame.c	frames the message as FPDUs
 *	tx_src.c	reads the payload of the message
 *	tx_zc_frame.c	frames FPDUs without copying the payload (zero copy)
 */
#ifndef IWT_TX_H
#define IWT_TX_H

#include "stream.h"

/* Maximum number of bytes in a batch for TCP. */
#define IWT_TX_BATCH		(64 << 10)

/* Result of a run. */
enum iwt_tx_result {
	IWT_TX_IDLE,		/* nothing to do, or waiting for an event */
	IWT_TX_MORE,		/* the budget is used up, and more work may be left */
	IWT_TX_STARVED,		/* memory is missing: retry after a short delay */
	IWT_TX_TERM_OUT,	/* TCP has accepted the Terminate */
	IWT_TX_FAILED,		/* the stream must end: tx->err is the error */
	IWT_TX_LOST,		/* TCP will never accept more bytes */
};

void iwt_tx_start(struct iwt_tx *tx, const struct iwt_mpa_terms *terms,
		  bool initiator);
enum iwt_tx_result iwt_tx_run(struct iwt_stream *st)
	__must_hold(&st->lock);
void iwt_tx_terminate(struct iwt_tx *tx, u32 err, const u8 *hdr, u32 hdr_len,
		      u16 ulpdu_len);
void iwt_tx_drop_work(struct iwt_tx *tx);
/* Return: true if the stream may end inside an FPDU. */
bool iwt_tx_stop(struct iwt_tx *tx);
/* Is work outstanding that a graceful close would cut off? */
bool iwt_tx_busy(const struct iwt_stream *st)
	__must_hold(&st->lock);
/* Does iwt_tx_run() perhaps have work? */
bool iwt_tx_wanted(const struct iwt_stream *st)
	__must_hold(&st->lock);

#endif
