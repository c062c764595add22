// SPDX-License-Identifier: GPL-2.0
/* Functions on the stream that both engines use. */
#include "stream.h"

#include <linux/rcupdate.h>

#include "sock.h"

/* Maximum number of work requests completed in one call. */
#define RETIRE_MAX	1024

/*
 * A fault has ended: the memory that an engine waited for is present, or can't be made present.
 * Run the engines. Any context; the caller may hold any lock.
 */
static void stream_resume(struct iwt_fault *f)
{
	struct iwt_sock *s;

	rcu_read_lock();
	s = READ_ONCE(f->stream->sock);
	if (s)
		iwt_sock_run_bh(s);
	rcu_read_unlock();
}

/* Prepare the stream for page faults of both engines. @st: stream; its lock is held. */
void iwt_stream_begin(struct iwt_stream *st)
{
	lockdep_assert_held(&st->lock);
	iwt_fault_init(&st->tx.src_hold.fault, stream_resume, st);
	iwt_fault_init(&st->rx.hold.fault, stream_resume, st);
}

/**
 * iwt_stream_unsent() - find the first framed work request that TCP has not accepted completely
 * @st: stream; its lock is held
 *
 * Return: index of the request, for iwt_sq_fail(); if there is no such request, the index of the
 * next request to start.
 */
u32 iwt_stream_unsent(const struct iwt_stream *st)
{
	lockdep_assert_held(&st->lock);
	return st->tx.ended ? st->tx.unsent : st->sq.cons;
}

/*
 * Return: index of the first request that may not complete yet, because TCP has perhaps not
 * accepted all of its bytes. If the peer confirms each request, a finished request has even
 * arrived. For zero copy, iwt_sq_retire() checks each request.
 */
static u32 first_held(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	return st->tx.n_chunks && !st->sq.confirm ? iwt_stream_unsent(st) : st->sq.cons;
}

/**
 * iwt_stream_retire() - complete the finished work requests
 * @st: stream with a socket; its lock is held
 *
 * This function completes no request before TCP has accepted all of its bytes. Thousands of
 * finished requests may have waited for one Read that was posted before them: if more than
 * RETIRE_MAX requests are finished, this function queues a run of the engines for the rest. Never
 * sleeps.
 */
void iwt_stream_retire(struct iwt_stream *st)
{
	lockdep_assert_held(&st->lock);
	if (iwt_sq_retire(&st->sq, st->ibqp, first_held(st), RETIRE_MAX))
		iwt_sock_run_bh(st->sock);
}
