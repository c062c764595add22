/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive engine: consumes whole FPDUs from the socket's queue, checks them completely, and
 * only then places and delivers them.
 *
 *	rx.c		consumes FPDUs
 *	rx_alike.c	consumes many similar segments of a message together
 *	rx_tagged.c	Writes and Read Responses
 *	rx_untagged.c	Sends, Immediate Data, Read and Atomic Requests, Atomic Responses
 *	rx_term.c	Terminates
 *	rx_wait.c	waiting for a receive, on a direct connection
 *	rx_place.c	placing FPDUs that have arrived behind a gap
 *	rx_ahead.c	confirmations, or a Terminate, behind a message that waits for a receive
 */
#ifndef IWT_RX_H
#define IWT_RX_H

#include "stream.h"

/* Result of a run. */
enum iwt_rx_result {
	IWT_RX_OK,
	IWT_RX_ERROR,		/* the error is rx->err, the offending FPDU is rx->bad */
	IWT_RX_TERMINATED,	/* the peer sent a Terminate with the error rx->term_err */
};

void iwt_rx_start(struct iwt_rx *rx, const struct iwt_mpa_terms *terms,
		  bool initiator);
enum iwt_rx_result iwt_rx_run(struct iwt_stream *st)
	__must_hold(&st->lock);
/* rx_wait.c: only iwt_rx_wait_quiesce() may sleep */
void iwt_rx_wait_setup(struct iwt_recv_wait *w);
void iwt_rx_wait_quiesce(struct iwt_recv_wait *w);
void iwt_rx_end_wait(struct iwt_stream *st)
	__must_hold(&st->lock);

/* rx_ahead.c: needs the socket lock, too */
bool iwt_rx_unanswered(const struct iwt_stream *st)
	__must_hold(&st->lock);

/* rx_place.c: needs the socket lock, too */
#ifdef CONFIG_INFINIBAND_IW_TCP_AHEAD
void iwt_rx_place_ahead(struct iwt_stream *st)
	__must_hold(&st->lock);
struct iwt_ahead *iwt_rx_place_new(gfp_t gfp);
void iwt_rx_place_begin(struct iwt_stream *st, struct iwt_ahead *a)
	__must_hold(&st->lock);
#else
static inline void iwt_rx_place_ahead(struct iwt_stream *st) {}
static inline struct iwt_ahead *iwt_rx_place_new(gfp_t gfp) { return NULL; }
static inline void iwt_rx_place_begin(struct iwt_stream *st, struct iwt_ahead *a) {}
#endif

/* Return: true if receives are left. */
bool iwt_rx_flush(struct iwt_stream *st, u32 max)
	__must_hold(&st->lock);

#endif
