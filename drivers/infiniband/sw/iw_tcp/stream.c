// SPDX-License-Identifier: GPL-2.0
/* What both engines do to their stream. */
#include "stream.h"

#include "sock.h"

/* Work requests completed in one go. */
#define RETIRE_MAX	1024

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
