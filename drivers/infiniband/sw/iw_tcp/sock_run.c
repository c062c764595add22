// SPDX-License-Identifier: GPL-2.0
/*
 * The socket lock, and when the engines of a socket run.
 *
 * TCP's lock has two halves: a spinlock, and an owner in process context that may sleep. The
 * engines run with the spinlock held and without an owner. To run them, one calls ops->run: at
 * once if nobody owns the socket, else the owner calls it when it lets the socket go.
 */
#include "sock.h"

#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/* How soon to try again when an owner outside of this driver has the socket, in jiffies. */
#define RETRY_DELAY	1
/* Budgets of the engines that a process's doorbell pays for before bottom half work goes on. */
#define SYNC_RUNS	8
/*
 * Octets that may wait for what comes with them: as many as one run takes. They should still be
 * in a cache of the processor then.
 */
#define GATHER_MAX	(1024 << 10)

/* With the spinlock held and no owner. */
static void run(struct iwt_sock *s)
{
	s->run_wanted = false;
	if (s->ops && s->ops->run)
		s->ops->run(s, s->ctx);
}

/*
 * Runs engines. With PREEMPT_RT it has ordinary threads: bottom half work would be done by
 * whatever thread runs bottom halves next (wake_rt.c).
 */
static struct workqueue_struct *run_wq;

/*
 * Sockets end in a work for memory reclaim, which waits for their runs. So a queue of threads has
 * to be one for memory reclaim, too. A kernel without queues of bottom halves has only threads.
 */
static bool needs_queue(void)
{
	const struct workqueue_struct *bh = system_bh_wq;

	return IS_ENABLED(CONFIG_PREEMPT_RT) || bh == system_percpu_wq;
}

/* With the spinlock held: run, or leave it to the owner. */
static void sock_run_locked(struct iwt_sock *s)
{
	if (!sock_owned_by_user(s->sk)) {
		run(s);
		return;
	}
	s->run_wanted = true;
	/* owners in this driver look at ->run_wanted; ss(8) and the like do not */
	queue_delayed_work(run_wq, &s->retry_work, RETRY_DELAY);
}

static void queue_run(struct iwt_sock *s)
{
	queue_work(run_wq, &s->run_work[READ_ONCE(s->run_by)].work);
}

/*
 * Waits for the spinlock. That is short: another processor receives a segment, which takes less
 * time than to hand the work over to it. Return: with @go_on, true when the engines have used
 * up their budget and have more to do; then the caller has to go on.
 *
 * Behind cancel_work() the engines always run. While it looks at the work, and even if that is
 * not queued, queue_work() of another processor takes it for queued and does nothing.
 * tests/unit/run_model.py tries all orders.
 */
static bool sock_run_now(struct iwt_sock *s, bool go_on)
{
	struct work_struct *work;
	bool more;

	local_bh_disable();
	bh_lock_sock(s->sk);
	sock_run_locked(s);
	/* bottom halves are still off, or the work would begin here */
	work = &s->run_work[s->run_by].work;
	more = go_on && work_pending(work);
	if (more)
		cancel_work(work);
	bh_unlock_sock(s->sk);
	local_bh_enable();
	return more;
}

/**
 * iwt_sock_run_sync() - run the engines in the caller, for several budgets
 * @s: socket
 *
 * For a process in a system call of its own. The caller holds no socket's lock, but a reference
 * to @s or the RCU read lock.
 */
void iwt_sock_run_sync(struct iwt_sock *s)
{
	int runs = SYNC_RUNS;

	while (sock_run_now(s, --runs))
		;
}

/**
 * iwt_sock_run_here() - run the engines in the caller, and go on here from now on
 * @s: socket
 *
 * Work that is queued on another processor is cancelled. It may have begun already and wait for
 * the lock; until it has ended, to queue it again would queue it on its old processor. So the
 * other one of the two works is queued from now on. Context as iwt_sock_run_sync().
 */
void iwt_sock_run_here(struct iwt_sock *s)
{
	local_bh_disable();
	bh_lock_sock(s->sk);
	cancel_work(&s->run_work[s->run_by].work);
	WRITE_ONCE(s->run_by, !s->run_by);
	sock_run_locked(s);
	bh_unlock_sock(s->sk);
	local_bh_enable();
}

static void do_run_work(struct work_struct *work)
{
	sock_run_now(container_of(work, struct iwt_sock_work, work)->s, false);
}

static void do_retry_work(struct work_struct *work)
{
	sock_run_now(container_of(to_delayed_work(work), struct iwt_sock, retry_work), false);
}

/**
 * iwt_sock_run() - run the engines soon, and at once where that is possible
 * @s: socket
 *
 * Any context. The caller may hold other sockets' locks: this one is only tried. The caller
 * holds a reference or the RCU read lock.
 */
void iwt_sock_run(struct iwt_sock *s)
{
	if (in_hardirq() || irqs_disabled()) {
		queue_run(s);
		return;
	}
	local_bh_disable();
	if (spin_trylock(&s->sk->sk_lock.slock)) {
		sock_run_locked(s);
		spin_unlock(&s->sk->sk_lock.slock);
	} else {
		/*
		 * Queued while bottom halves are off, the work runs here as soon as they are
		 * on again. Queued later it would be ksoftirqd's, which waits behind a process
		 * that polls.
		 */
		queue_run(s);
	}
	local_bh_enable();
}

/**
 * iwt_sock_run_bh() - run the engines from bottom half work
 * @s: socket
 *
 * Any context. For engines that have used up their budget.
 */
void iwt_sock_run_bh(struct iwt_sock *s)
{
	queue_run(s);
}

/*
 * Is there room for what may come until then? TCP has no other way to make room than to call for
 * a reader: of what comes meanwhile it drops what does not fit.
 */
static bool sock_has_room(struct sock *sk)
{
	return tcp_inq(sk) <= GATHER_MAX &&
	       atomic_read(&sk->sk_rmem_alloc) <= READ_ONCE(sk->sk_rcvbuf) / 2;
}

/*
 * Is what has come last worth to wait for what comes with it? On a long path nobody waits for a
 * single segment, and over a network card a buffer of many segments is a part of a stream.
 */
static bool may_gather(const struct iwt_sock *s)
{
	const struct sk_buff *last = skb_peek_tail(&s->sk->sk_receive_queue);

	if (!last)
		return false;
	return iwt_sock_is_far(s) || (s->nic && last->len > 2 * iwt_sock_segment(s));
}

/**
 * iwt_sock_gather() - leave what has come to a run behind all that comes together with it
 * @s: socket; its spinlock is held
 *
 * TCP acknowledges what is taken at once: each buffer of segments that the net device has joined,
 * or each second segment. Where one run takes all that have come together, there is one
 * acknowledgment for these, which is less work for both ends. It is for bottom half work: a
 * thread might wait behind a process that polls.
 *
 * Return: true if a run is queued.
 */
bool iwt_sock_gather(struct iwt_sock *s)
{
	if (needs_queue() || !sock_has_room(s->sk))
		return false;
	if (!work_pending(&s->run_work[s->run_by].work) && !may_gather(s))
		return false;
	queue_run(s);
	return true;
}

/**
 * iwt_sock_retry() - run the engines a little later
 * @s: socket
 *
 * Any context. For engines that got no memory: bottom half work needs none, while a thread
 * might have to be made for other work.
 */
void iwt_sock_retry(struct iwt_sock *s)
{
	queue_delayed_work(run_wq, &s->retry_work, RETRY_DELAY);
}

/**
 * iwt_sock_run_init() - at module load; may sleep
 *
 * Return: 0 or -ENOMEM.
 */
int iwt_sock_run_init(void)
{
	if (needs_queue())
		run_wq = alloc_workqueue("iw_tcp_run", WQ_PERCPU | WQ_MEM_RECLAIM, 0);
	else
		run_wq = system_bh_wq;
	return run_wq ? 0 : -ENOMEM;
}

/**
 * iwt_sock_run_exit() - at module unload, when no socket is left; may sleep
 */
void iwt_sock_run_exit(void)
{
	if (needs_queue())
		destroy_workqueue(run_wq);
}

/**
 * iwt_sock_run_setup() - nothing is queued yet
 * @s: socket, zeroed
 */
void iwt_sock_run_setup(struct iwt_sock *s)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->run_work); i++) {
		s->run_work[i].s = s;
		INIT_WORK(&s->run_work[i].work, do_run_work);
	}
	INIT_DELAYED_WORK(&s->retry_work, do_retry_work);
}

/**
 * iwt_sock_run_end() - wait until nothing runs or is queued
 * @s: socket that nobody has any more
 *
 * May sleep.
 */
void iwt_sock_run_end(struct iwt_sock *s)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->run_work); i++)
		cancel_work_sync(&s->run_work[i].work);
	cancel_delayed_work_sync(&s->retry_work);
}

/**
 * iwt_sock_own() - become the owner of the socket; may sleep
 * @s: socket
 */
void iwt_sock_own(struct iwt_sock *s)
{
	lock_sock(s->sk);
}

/**
 * iwt_sock_disown() - let the socket go, and run the engines if they had to wait
 * @s: socket, owned by the caller
 */
void iwt_sock_disown(struct iwt_sock *s)
{
	release_sock(s->sk);
	if (READ_ONCE(s->run_wanted))
		iwt_sock_run(s);
}

/* Return: true with the spinlock held, as lock_sock() has it; for sparse nothing is held. */
static bool lock_if_free(struct sock *sk)
{
	spin_lock_bh(&sk->sk_lock.slock);
	if (!sock_owned_by_user(sk)) {
		__release(&sk->sk_lock.slock);
		return true;
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	return false;
}

/**
 * iwt_sock_lock_within() - wait for the owner of a socket, but not for ever
 * @sk: socket, of a process
 * @ms: milliseconds; with 0 it does not wait at all
 *
 * The owner may wait for a page of a process's memory, for as long as that process likes.
 * Process context, may sleep.
 *
 * Return: 0 with the spinlock held and no owner, for iwt_sock_unlock(); -EBUSY, or -EINTR for a
 * signal.
 */
int iwt_sock_lock_within(struct sock *sk, unsigned int ms)
{
	long left = msecs_to_jiffies(ms);
	DEFINE_WAIT(wait);
	int err = 0;

	for (;;) {
		/* the last owner wakes this queue */
		prepare_to_wait(&sk->sk_lock.wq, &wait, TASK_INTERRUPTIBLE);
		if (lock_if_free(sk))
			break;
		if (!left)
			err = -EBUSY;
		else if (signal_pending(current))
			err = -EINTR;
		if (err)
			break;
		left = schedule_timeout(left);
	}
	finish_wait(&sk->sk_lock.wq, &wait);
	return err;
}

/**
 * iwt_sock_unlock() - release what iwt_sock_lock_within() has locked
 * @sk: socket
 */
void iwt_sock_unlock(struct sock *sk)
{
	__acquire(&sk->sk_lock.slock);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/**
 * iwt_sock_own_within() - become the owner of a process's socket, or give up
 * @s: socket
 * @ms: milliseconds, as for iwt_sock_lock_within()
 *
 * To see that there is no owner and then call lock_sock() would not do: a thread that sleeps
 * inside of a system call may become the owner in between. The kernel would have to export a
 * lock_sock() that gives up.
 *
 * Process context, may sleep.
 *
 * Return: 0, -EBUSY or -EINTR.
 */
int iwt_sock_own_within(struct iwt_sock *s, unsigned int ms)
{
	int err = iwt_sock_lock_within(s->sk, ms);

	if (err)
		return err;
	/* as lock_sock() does it */
	mutex_acquire(&s->sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	s->sk->sk_lock.owned = 1;
	iwt_sock_unlock(s->sk);
	return 0;
}

/**
 * iwt_sock_own_soon() - iwt_sock_own(), with a bound on how long a process may delay it
 * @s: socket
 *
 * What runs until iwt_sock_disown() must not take the lock itself. Process context, sleeps for
 * less than a second.
 *
 * Return: 0; for a socket of a process also -EBUSY, or -EINTR for a signal.
 */
int iwt_sock_own_soon(struct iwt_sock *s)
{
	if (s->user)
		return iwt_sock_own_within(s, IWT_SOCK_OWNER_MS);
	iwt_sock_own(s);
	return 0;
}
