/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the files of the receive engine. */
#ifndef IWT_RX_PRIV_H
#define IWT_RX_PRIV_H

#include <linux/limits.h>
#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "rx.h"

struct iwt_sock_cursor;

/* Total length, in bytes, of the buffers of the current receive: the longest Send that fits. */
static inline u32 iwt_rx_recv_room(const struct iwt_rx *rx)
{
	return min_t(u64, rx->recv->len, U32_MAX);
}

/* Return: the place in the consumer's memory for the next bytes of the Response to @out. */
static inline struct iwt_place iwt_rx_sink(struct iwt_stream *st, const struct iwt_read_out *out)
{
	return (struct iwt_place) {
		.actor = &st->actor,
		.hold = &st->rx.hold,
		.sge = &out->sink,
		.n = 1,
		.need = IWT_LOCAL_WRITE,
		.pos.off = out->got,
	};
}

/* rx_alike.c */
u32 iwt_rx_alike(struct iwt_stream *st, struct iwt_fpdu *f, const struct iwt_cursor *at, u32 max)
	__must_hold(&st->lock);

/* rx_tagged.c */
u32 iwt_rx_tagged(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_cursor *at)
	__must_hold(&st->lock);
void iwt_rx_note_write(struct iwt_stream *st, const struct iwt_fpdu *f, u32 len)
	__must_hold(&st->lock);
u32 iwt_rx_finish_read(struct iwt_stream *st, struct iwt_read_out *out)
	__must_hold(&st->lock);

/* rx_untagged.c */
u32 iwt_rx_untagged(struct iwt_stream *st, struct iwt_fpdu *f, struct iwt_cursor *at)
	__must_hold(&st->lock);
void iwt_rx_fail_recv(struct iwt_stream *st, enum ib_wc_status status)
	__must_hold(&st->lock);

/* rx_term.c */
void iwt_rx_term(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock);

/* rx_ahead.c */
void iwt_rx_look_ahead(struct iwt_stream *st)
	__must_hold(&st->lock);
u32 iwt_rx_answered(struct iwt_stream *st, const struct iwt_fpdu *f)
	__must_hold(&st->lock);

/* rx_place.c */
#ifdef CONFIG_INFINIBAND_IW_TCP_AHEAD
/* Does the stream also place FPDUs that have arrived behind a gap? */
static inline bool iwt_rx_places(const struct iwt_rx *rx)
{
	return unlikely(rx->place);
}

enum iwt_fpdu_status iwt_rx_read_placing(struct iwt_stream *st, struct iwt_fpdu *f,
					 struct iwt_sock_cursor *at, u32 left, u32 *err)
	__must_hold(&st->lock);
#else
static inline bool iwt_rx_places(const struct iwt_rx *rx)
{
	return false;
}

static inline enum iwt_fpdu_status iwt_rx_read_placing(struct iwt_stream *st, struct iwt_fpdu *f,
						       struct iwt_sock_cursor *at, u32 left,
						       u32 *err)
{
	return IWT_FPDU_BAD;
}
#endif

/* rx_wait.c */
int iwt_rx_next_recv(struct iwt_stream *st, struct iwt_rwqe *wqe)
	__must_hold(&st->lock);
/* Does the first message in TCP's queue still have to wait for a receive? */
bool iwt_rx_must_wait(struct iwt_stream *st)
	__must_hold(&st->lock);

#endif
