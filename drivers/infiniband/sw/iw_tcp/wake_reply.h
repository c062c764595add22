/* SPDX-License-Identifier: GPL-2.0 */
/* Engines that spin for a reply, for a bounded time (wake_reply.c). */
#ifndef IWT_WAKE_REPLY_H
#define IWT_WAKE_REPLY_H

#include <linux/types.h>

struct iwt_reply_spin;
struct iwt_stream;

#ifdef CONFIG_INFINIBAND_IW_TCP_POLLING
void iwt_reply_spin_setup(struct iwt_reply_spin *s);
void iwt_reply_spin_rang(struct iwt_stream *st, bool replies);
void iwt_reply_spin_begin(struct iwt_stream *st, bool receive);
/* Return: true if the spin has found a posted request. */
bool iwt_reply_spin(struct iwt_stream *st);
#else
static inline void iwt_reply_spin_begin(struct iwt_stream *st, bool receive)
{
}

static inline bool iwt_reply_spin(struct iwt_stream *st)
{
	return false;
}
#endif

#endif
