/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive engine: whole FPDUs are taken off the socket's queue, checked completely, and
 * only then placed and delivered.
 *
 *	rx.c		takes FPDUs
 *	rx_alike.c	takes many alike segments of a message at once
 *	rx_tagged.c	Writes and Read Responses
 *	rx_untagged.c	Sends, Immediate Data, Read and Atomic Requests, Terminates
 */
#ifndef IWT_RX_H
#define IWT_RX_H

#include "stream.h"

/* What a run came to. */
enum iwt_rx_result {
	IWT_RX_OK,
	IWT_RX_ERROR,		/* rx->err; rx->bad is the offending FPDU */
	IWT_RX_TERMINATED,	/* rx->term_err: the peer ended the stream */
};

void iwt_rx_start(struct iwt_rx *rx, const struct iwt_mpa_terms *terms,
		  bool initiator);
enum iwt_rx_result iwt_rx_run(struct iwt_stream *st)
	__must_hold(&st->lock);
bool iwt_rx_flush(struct iwt_stream *st, u32 max)
	__must_hold(&st->lock);

#endif
