// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbell, and how the engines hear of what a process posts.
 *
 * A process stores a work request in the ring of its send queue and moves the ring's index.
 * Somebody has to look at the ring then. There are five ways, and the ring's flag
 * IWT_RING_NEED_WAKEUP says whether the process has to do something:
 *
 * 1. The engines run, for any reason: they look at the ring before they stop. Before the last
 *    look they set the flag (iwt_ring_sleep()). The process stores the index, executes a full
 *    barrier and reads the flag; the engine stores the flag, executes a full barrier and reads
 *    the index. So one of them sees the other, and no post is left alone.
 * 2. With the flag set the process rings the doorbell: the system call IWT_METHOD_QP_DOORBELL,
 *    which comes here and runs the engines.
 * 3. A worker polls the ring, on an idle processor (wake_sqpoll.c). The flag stays clear as long
 *    as it does.
 * 4. The process itself flushes its posts when it polls for completions (wake_cqpoll.c). The flag
 *    stays clear; the completion queue's flag IWT_RING_DEFERRED says so. One system call
 *    serves many requests and many queue pairs.
 * 5. The engine that has delivered a message spins for the reply (wake_reply.c). The flag
 *    stays clear for that time.
 *
 * iwt_stream.pollers counts the third and the fourth. Who leaves that count runs the engines
 * once more, which then set the flag as in 1. tests/unit/ring_model.py tries all orders.
 *
 * A doorbell is judged here, by those of the last moments; what it leads to, and whether that has
 * paid, by the file of the way: wake_sqpoll.c (3), wake_cqpoll.c (4), wake_reply.c (5). All
 * thresholds are in wake_habit.h.
 *
 * - A process that posts one request after the other without a pause pays for a system call
 *   each time, since the engines are done with one request before the next is there. It gets a
 *   worker if a processor is idle (3); else, or with many queue pairs, it has to flush (4).
 * - A process that waits for something after each request, and polls for it, gets a worker
 *   too: the system call would be part of what it waits for. For a process that sleeps between
 *   posts a worker gains nothing.
 * - A process whose posts reply to messages makes the engines spin (5).
 *
 * With the link's setting "polling" off, there is neither 3 nor 5, whose time is not the
 * process's own. That of 4 is.
 */
#include "wake.h"

#include <linux/ktime.h>

#include "cq.h"
#include "qp.h"
#include "wake_reply.h"

/*
 * Does the process post without waiting for anything? A process that replies to the peer has
 * received something since the last doorbell; one that waits for each completion has taken the
 * last one and has nothing else under way. Several threads may ring at the same time, and
 * nothing is locked: this is a guess.
 */
static bool posts_without_waiting(struct iwt_qp *qp, bool ahead)
{
	/* iwt_rx_start() clears it meanwhile, if there are connections one after the other */
	u32 pos = data_race(READ_ONCE(qp->stream.rx.pos));
	bool received = pos != READ_ONCE(qp->sqpoll.rx_pos);

	WRITE_ONCE(qp->sqpoll.rx_pos, pos);
	return !received || ahead;
}

/* Has the process posted this before it knew of the end of its last post? */
static bool is_ahead(const struct iwt_sq *sq)
{
	return iwt_ring_prod(&sq->ring) - READ_ONCE(sq->retire) > 1 ||
	       iwt_cq_untaken(sq->cq);
}

/* Does the process poll both completion queues, and asks for no event of either? */
static bool polls(const struct iwt_qp *qp)
{
	return !iwt_cq_armed(to_iwt_cq(qp->ibqp.send_cq)) &&
	       !iwt_cq_armed(to_iwt_cq(qp->ibqp.recv_cq));
}

/**
 * iwt_doorbell() - a process rings
 * @qp: queue pair
 *
 * Process context. When this returns, the engines have looked at the ring, or will soon.
 */
void iwt_doorbell(struct iwt_qp *qp)
{
	bool ahead = is_ahead(&qp->stream.sq), on;
	u64 before = ktime_get_ns(), now;

	iwt_qp_run_sync(qp);
	on = posts_without_waiting(qp, ahead);
	iwt_reply_spin_rang(&qp->stream, !on);
	now = ktime_get_ns();
	iwt_cqpoll_member_rang(qp, on, before, now);
	iwt_sqpoll_rang(qp, on || polls(qp), now);
}

/**
 * iwt_doorbell_setup() - nobody has rung yet
 * @qp: queue pair, zeroed but for its completion queues
 */
void iwt_doorbell_setup(struct iwt_qp *qp)
{
	iwt_sqpoll_setup(&qp->sqpoll);
	iwt_migrate_setup(&qp->migrate);
	iwt_reply_spin_setup(&qp->stream.spin);
	iwt_cqpoll_member_setup(qp);
}

/**
 * iwt_doorbell_join() - get bits at the completion queues, if those have some left
 * @qp: queue pair for which nobody rings yet
 *
 * May sleep.
 */
void iwt_doorbell_join(struct iwt_qp *qp)
{
	iwt_cqpoll_member_join(qp);
}

/**
 * iwt_doorbell_end() - wait until nobody polls or migrates any more
 * @qp: queue pair in error, for which nobody rings any more
 *
 * May sleep.
 */
void iwt_doorbell_end(struct iwt_qp *qp)
{
	iwt_sqpoll_end(qp);
	iwt_migrate_end(qp);
	iwt_cqpoll_member_end(qp);
}
