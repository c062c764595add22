/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transmit engine: work requests and Read Responses become FPDUs, framed many at a time
 * into pages that TCP then takes by reference.
 *
 *	tx.c		send, complete, Terminate
 *	tx_sched.c	which message is next
 *	tx_frame.c	the message becomes FPDUs
 *	tx_src.c	where its octets come from
 *	tx_zc_frame.c	FPDUs whose payload TCP takes from where it is
 */
#ifndef IWT_TX_H
#define IWT_TX_H

#include "stream.h"

/* Octets handed to TCP in one go, at most. */
#define IWT_TX_BATCH		(64 << 10)

/* What a run came to. */
enum iwt_tx_result {
	IWT_TX_IDLE,		/* nothing to do, or waiting for an event */
	IWT_TX_MORE,		/* the budget is used up, there is more */
	IWT_TX_STARVED,		/* no memory: try again a little later */
	IWT_TX_TERM_OUT,	/* TCP has the Terminate */
	IWT_TX_FAILED,		/* the stream can't go on: tx->err says why */
	IWT_TX_LOST,		/* TCP takes nothing more, and will not */
};

void iwt_tx_start(struct iwt_tx *tx, const struct iwt_mpa_terms *terms,
		  bool initiator);
enum iwt_tx_result iwt_tx_run(struct iwt_stream *st)
	__must_hold(&st->lock);
u32 iwt_tx_unsent(const struct iwt_stream *st)
	__must_hold(&st->lock);
void iwt_tx_terminate(struct iwt_tx *tx, u32 err, const u8 *hdr, u32 hdr_len,
		      u16 ulpdu_len);
void iwt_tx_drop_work(struct iwt_tx *tx);
bool iwt_tx_stop(struct iwt_tx *tx);
bool iwt_tx_busy(const struct iwt_stream *st)
	__must_hold(&st->lock);
bool iwt_tx_wanted(const struct iwt_stream *st)
	__must_hold(&st->lock);

#endif
