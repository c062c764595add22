/* SPDX-License-Identifier: GPL-2.0 */
/* Limit the time for which the kernel's real time threads run the engines, with PREEMPT_RT. */
#ifndef IWT_WAKE_RT_H
#define IWT_WAKE_RT_H

#include <linux/kconfig.h>
#include <linux/types.h>

/* Called only with PREEMPT_RT, by the functions below. */
bool iwt_realtime_may(u64 *since);
void iwt_realtime_did(u64 since);

/*
 * May this thread run an engine? Without PREEMPT_RT the result is always true. The caller has
 * disabled bottom halves. If the result is true, the caller runs the engine, and then calls
 * iwt_realtime_leave() with *@since.
 */
static inline bool iwt_realtime_enter(u64 *since)
{
	*since = 0;
	return !IS_ENABLED(CONFIG_PREEMPT_RT) || iwt_realtime_may(since);
}

/* The engine has run: account its time if @since is set. */
static inline void iwt_realtime_leave(u64 since)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && since)
		iwt_realtime_did(since);
}

#endif
