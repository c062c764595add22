// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for a receive, on a direct connection.
 *
 * With InfiniBand, the sender repeats a Send for which no receive is posted. Here the Send and
 * all data after it stay in TCP's queue until the consumer posts a receive, just as an FPDU waits
 * for absent memory. The receive engine reads the FPDU again only after a receive was posted, or
 * at the time limit, so a peer can't make this end compute the CRC of the FPDU again and again.
 *
 * If the ring's flag IWT_RING_NEED_WAKEUP is set, a process rings a doorbell after it has posted
 * a receive: the doorbell of the queue pair, or the doorbell of the shared receive queue (srq.c),
 * which wakes some of the streams that wait. tests/unit/recv_model.py tries all orders of these
 * steps.
 */
#include "rx_priv.h"

#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>

#include "sock.h"
#include "srq.h"

/* Queue a run of the engines. Any context; the caller may hold any lock. */
static void resume(struct iwt_recv_wait *w)
{
	struct iwt_stream *st = container_of(w, struct iwt_stream, recv_wait);
	struct iwt_sock *s;

	rcu_read_lock();
	s = READ_ONCE(st->sock);
	if (s)
		iwt_sock_run_bh(s);
	rcu_read_unlock();
}

static void on_srq_wake(struct iwt_srq_waiter *w)
{
	resume(container_of(w, struct iwt_recv_wait, srq));
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	resume(container_of(timer, struct iwt_recv_wait, timer));
	return HRTIMER_NORESTART;
}

/* Prepare a new stream for waits. @w: member recv_wait of the stream, zeroed. Does not sleep. */
void iwt_rx_wait_setup(struct iwt_recv_wait *w)
{
	INIT_LIST_HEAD(&w->srq.node);
	w->srq.wake = on_srq_wake;
	hrtimer_setup(&w->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

/**
 * iwt_rx_wait_quiesce() - wait until the timer of the stream has ended
 * @w: member recv_wait of a stream without a socket
 *
 * May sleep.
 */
void iwt_rx_wait_quiesce(struct iwt_recv_wait *w)
{
	hrtimer_cancel(&w->timer);
}

/*
 * Take a receive of the stream's own queue. @wait: if the queue is empty, set the flag that makes
 * a poster ring the doorbell. Return: as iwt_rq_next().
 */
static int own_recv(struct iwt_rq *rq, struct iwt_rwqe *wqe, bool wait)
{
	int got = iwt_rq_next(rq, wqe);

	if (!got && wait && !iwt_ring_sleep(&rq->ring, rq->cons))
		got = iwt_rq_next(rq, wqe);
	if (got > 0 && iwt_ring_asleep(&rq->ring))
		iwt_ring_awake(&rq->ring);
	return got;
}

static void begin_wait(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_rx *rx = &st->rx;

	if (rx->wait_recv)
		return;
	rx->wait_recv = true;
	iwt_stream_count(st, IWT_C_RX_WAIT_RECV);
	if (rx->rnr_ms == U32_MAX)
		return;
	rx->wait_until = ktime_get_ns() + (u64)rx->rnr_ms * NSEC_PER_MSEC;
	hrtimer_start(&st->recv_wait.timer, ms_to_ktime(rx->rnr_ms), HRTIMER_MODE_REL_SOFT);
}

/**
 * iwt_rx_next_recv() - take the next receive; if no receive is posted, begin a wait
 * @st: stream of a direct connection on which messages may wait for a receive (rx.rnr_ms is not
 *	0); the lock of the stream is held
 * @wqe: receives the private copy
 *
 * Never sleeps. If no receive is posted, this function sets st->rx.wait_recv, and arranges that a
 * later post or the timer runs the engines. After the time limit (rx.wait_over), this function
 * begins no wait.
 *
 * Return: as iwt_rq_next(). If 0 and st->rx.wait_recv is true, the message has to wait.
 */
int iwt_rx_next_recv(struct iwt_stream *st, struct iwt_rwqe *wqe)
{
	struct iwt_rx *rx = &st->rx;
	struct iwt_rq *rq = &st->rq;
	bool wait = !rx->wait_over && (rq->srq || rq->entries);
	int got;

	lockdep_assert_held(&st->lock);
	if (rq->srq)
		got = iwt_srq_next_or_wait(rq->srq, wqe, &st->recv_wait.srq, wait);
	else
		got = own_recv(rq, wqe, wait);
	if (got > 0 && rq->srq)
		rq->cons++;
	if (!got && wait) {
		begin_wait(st);
	} else {
		rx->wait_recv = false;
		rx->wait_over = false;
	}
	return got;
}

/*
 * May a message take a receive now? If not, the next poster of a receive rings the doorbell of
 * the queue pair; with a shared receive queue, srq.c wakes @st.
 */
static bool has_recv(const struct iwt_stream *st)
{
	const struct iwt_rq *rq = &st->rq;

	if (rq->srq)
		return !iwt_srq_is_waiting(&st->recv_wait.srq);
	return iwt_ring_prod(&rq->ring) != rq->cons;
}

/**
 * iwt_rx_must_wait() - does the first message in TCP's queue still have to wait for a receive?
 * @st: stream that waits for a receive; the socket lock and the lock of the stream are held
 *
 * Return: true if so; false if a receive is posted, if the time limit of the wait is over, or if
 * a Terminate has arrived (iwt_rx_look_ahead()).
 */
bool iwt_rx_must_wait(struct iwt_stream *st)
{
	struct iwt_rx *rx = &st->rx;

	lockdep_assert_held(&st->lock);
	if (has_recv(st))
		return false;
	rx->wait_over = rx->rnr_ms != U32_MAX && ktime_get_ns() >= rx->wait_until;
	if (!rx->wait_over && st->readq.out_n)
		iwt_rx_look_ahead(st);
	return !rx->wait_over && !rx->discard;
}

/**
 * iwt_rx_end_wait() - the stream has ended: do not wait for a receive any more
 * @st: stream; its lock is held
 *
 * If a shared receive queue has woken the stream for a receive, the queue now wakes the next
 * waiting stream. Never sleeps: the timer may still be running (iwt_rx_wait_quiesce()).
 */
void iwt_rx_end_wait(struct iwt_stream *st)
{
	lockdep_assert_held(&st->lock);
	st->rx.wait_recv = false;
	if (st->rq.srq)
		iwt_srq_leave(st->rq.srq, &st->recv_wait.srq);
	hrtimer_try_to_cancel(&st->recv_wait.timer);
}
