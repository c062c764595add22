// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbell, and how the engines learn that a process has posted work requests.
 *
 * A process stores a work request in the ring of its send queue and advances the producer index.
 * After that the engines have to read the ring. There are five ways to make the engines read the
 * ring. The ring's flag IWT_RING_NEED_WAKEUP tells the process whether it has to ring the
 * doorbell:
 *
 * 1. The engines run for another reason, and read the ring before they stop. Before they read
 *    the ring for the last time, they set the flag (iwt_ring_sleep()). The process stores the
 *    index, executes a full barrier and reads the flag; the engine stores the flag, executes a
 *    full barrier and reads the index. So the process sees the flag, or the engine sees the
 *    index, or both: no post is missed.
 * 2. If the flag is set, the process rings the doorbell: the system call IWT_METHOD_QP_DOORBELL,
 *    which calls iwt_doorbell() and runs the engines. A process also rings this doorbell after it
 *    has posted a receive, if the flag of the receive queue is set (rx_wait.c).
 * 3. A worker polls the ring, on an idle processor (wake_sqpoll.c). The flag stays clear as long
 *    as the worker polls.
 * 4. The process itself flushes its posts when it polls for completions (wake_cqpoll.c). The flag
 *    stays clear; the completion queue's flag IWT_RING_DEFERRED requests the flush. One system
 *    call serves many requests and many queue pairs.
 * 5. The engine that has delivered a message spins for the reply (wake_reply.c). The flag
 *    stays clear while the engine spins.
 *
 * iwt_stream.pollers counts the pollers of ways 3 and 4. A poller that decrements the count runs
 * the engines once more, and the engines then set the flag as in way 1. tests/unit/ring_model.py
 * tries all orders of these steps.
 *
 * This file classifies each doorbell by what has happened since the last doorbell. The file of
 * each way decides when the way begins, and whether the way has saved time: wake_sqpoll.c (3),
 * wake_cqpoll.c (4), wake_reply.c (5). All thresholds are in wake_habit.h.
 *
 * - If a process posts one request after the other without a pause, each request needs a system
 *   call, since the engines finish a request before the process posts the next request. A worker
 *   polls for this process if a processor is idle (3). If no processor is idle, or if the process
 *   posts to many queue pairs, the process has to flush (4).
 * - A doorbell for a receive, without a new request, has no effect on any of the ways: none of
 *   them would make this doorbell unnecessary.
 * - If a process waits for a message of the peer after each request, and waits by polling, a
 *   worker polls for this process, too: otherwise the time of the system call would add to the
 *   latency. If a process sleeps between posts, a worker gains nothing.
 * - If the posts of a process reply to messages, the engines spin (5).
 *
 * If the link's setting "polling" is off, and always with PREEMPT_RT, ways 3 and 5 are not used:
 * they consume processor time outside of the process, and disable preemption. Way 4 uses the
 * process's own time, and stays in use.
 */
#include "wake.h"

#include <linux/ktime.h>

#include "cq.h"
#include "qp.h"
#include "wake_reply.h"

/*
 * Does the process post without waiting for the peer? The result is false only if the process
 * seems to reply to the peer: the stream has received data since the last doorbell, no other
 * request was in progress, and the process had taken all completions (@ahead is false). Several
 * threads may ring at the same time, and no lock is held: so the result may be wrong, which has
 * an effect only on the speed.
 */
static bool posts_without_waiting(struct iwt_qp *qp, bool ahead)
{
	/* iwt_rx_start() may reset pos at the same time, if the next connection begins */
	u32 pos = data_race(READ_ONCE(qp->stream.rx.pos));
	bool received = pos != READ_ONCE(qp->sqpoll.rx_pos);

	WRITE_ONCE(qp->sqpoll.rx_pos, pos);
	return !received || ahead;
}

/*
 * Has the process posted a request before it has taken the completions of all earlier requests?
 * The caller has not yet run the engines for this request.
 */
static bool is_ahead(const struct iwt_sq *sq)
{
	return iwt_ring_prod(&sq->ring) - READ_ONCE(sq->retire) > 1 ||
	       iwt_cq_untaken(sq->cq);
}

/*
 * Has the process posted a request since the last doorbell? If not, it rings for a receive
 * (rx_wait.c). As in posts_without_waiting(), the result may be wrong.
 */
static bool has_posted(struct iwt_qp *qp)
{
	u32 prod = iwt_ring_prod(&qp->stream.sq.ring);
	bool posted = prod != READ_ONCE(qp->sqpoll.prod);

	WRITE_ONCE(qp->sqpoll.prod, prod);
	return posted;
}

/* Does the process poll for completions? Then neither completion queue is armed for an event. */
static bool polls(const struct iwt_qp *qp)
{
	return !iwt_cq_armed(to_iwt_cq(qp->ibqp.send_cq)) &&
	       !iwt_cq_armed(to_iwt_cq(qp->ibqp.recv_cq));
}

/**
 * iwt_doorbell() - a process rings the doorbell (IWT_METHOD_QP_DOORBELL)
 * @qp: queue pair
 *
 * Process context, the caller holds no socket lock. When this function returns, the engines have
 * read the rings of the queue pair, or will read the rings soon.
 */
void iwt_doorbell(struct iwt_qp *qp)
{
	bool posted = has_posted(qp), ahead = is_ahead(&qp->stream.sq), on;
	u64 before = ktime_get_ns(), now;

	iwt_qp_run_sync(qp);
	if (!posted)
		return;
	on = posts_without_waiting(qp, ahead);
	iwt_reply_spin_rang(&qp->stream, !on);
	now = ktime_get_ns();
	iwt_cqpoll_member_rang(qp, on, before, now);
	iwt_sqpoll_rang(qp, on || polls(qp), now);
}

/**
 * iwt_doorbell_setup() - initialise all ways in which the engines learn of posts
 * @qp: queue pair; the fields that this function initialises are zeroed
 */
void iwt_doorbell_setup(struct iwt_qp *qp)
{
	iwt_sqpoll_setup(&qp->sqpoll);
	iwt_migrate_setup(&qp->migrate);
	iwt_reply_spin_setup(&qp->stream.spin);
	iwt_cqpoll_member_setup(qp);
}

/**
 * iwt_doorbell_join() - allocate bits at the completion queues, if they have free bits
 * @qp: new queue pair; no process can ring its doorbell yet
 *
 * May sleep.
 */
void iwt_doorbell_join(struct iwt_qp *qp)
{
	iwt_cqpoll_member_join(qp);
}

/**
 * iwt_doorbell_end() - wait until no worker polls for a queue pair or runs its engines
 * @qp: queue pair in error; no process can ring its doorbell any more
 *
 * This function also ends the memberships of the queue pair in its completion queues. May sleep.
 */
void iwt_doorbell_end(struct iwt_qp *qp)
{
	iwt_sqpoll_end(qp);
	iwt_migrate_end(qp);
	iwt_cqpoll_member_end(qp);
}
