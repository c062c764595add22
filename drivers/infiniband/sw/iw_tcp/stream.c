// SPDX-License-Identifier: GPL-2.0
/* What both engines do to their stream. */
#include "stream.h"

#include <linux/rcupdate.h>

#include "sock.h"

/* Work requests completed in one go. */
#define RETIRE_MAX	1024

/* Memory that a direction waited for has come, or will not. Any context, any lock may be held. */
static void stream_resume(struct iwt_fault *f)
{
	struct iwt_sock *s;

	rcu_read_lock();
	s = READ_ONCE(f->stream->sock);
	if (s)
		iwt_sock_run_bh(s);
	rcu_read_unlock();
}

/**
 * iwt_stream_begin() - both engines are set up for a connection
 * @st: stream; its lock is held
 */
void iwt_stream_begin(struct iwt_stream *st)
{
	lockdep_assert_held(&st->lock);
	iwt_fault_init(&st->tx.src_hold.fault, stream_resume, st);
	iwt_fault_init(&st->rx.hold.fault, stream_resume, st);
}

/**
 * iwt_stream_retire() - complete the work requests that are done
 * @st: stream with a socket; its lock is held
 *
 * None while TCP has not taken all that is framed. Thousands of requests may have waited for
 * one Read: the engines run again for those that are left.
 */
void iwt_stream_retire(struct iwt_stream *st)
{
	lockdep_assert_held(&st->lock);
	if (!st->tx.n_chunks && iwt_sq_retire(&st->sq, st->ibqp, RETIRE_MAX))
		iwt_sock_run_bh(st->sock);
}
