// SPDX-License-Identifier: GPL-2.0
/*
 * The socket lock, and when the engines of a socket run.
 *
 * TCP's lock has two parts: a spinlock, and an owner in process context that may sleep. The
 * engines run with the spinlock held and without an owner. A context that wants to run them calls
 * ops->run at once if the socket has no owner; else the owner calls ops->run when it releases the
 * socket.
 */
#include "sock.h"

#include <linux/lockdep.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/*
 * Delay of a retry in jiffies, if memory is missing or an owner outside of this driver has the
 * socket.
 */
#define RETRY_DELAY	1
/* Maximum number of budgets that a process's doorbell spends before the work queue takes over. */
#define SYNC_RUNS	8
/*
 * Maximum number of received bytes that may wait for the rest of a burst: as many as one run
 * processes. They should still be in a cache of the processor at that time.
 */
#define GATHER_MAX	(1024 << 10)

/* Call ops->run; the spinlock is held, and the socket has no owner. */
static void run(struct iwt_sock *s)
{
	s->run_wanted = false;
	if (s->ops && s->ops->run)
		s->ops->run(s, s->ctx);
}

/*
 * Runs engines. With PREEMPT_RT the queue has ordinary threads: otherwise any thread that runs
 * bottom halves next would run the engines (wake_rt.c).
 */
static struct workqueue_struct *run_wq;

/*
 * Does run_wq have to be a queue of threads? Yes with PREEMPT_RT, and on a kernel without
 * bottom half queues. Sockets end in a WQ_MEM_RECLAIM queue, whose work waits for run_wq; so a
 * run_wq with threads needs WQ_MEM_RECLAIM, too.
 */
static bool needs_queue(void)
{
	const struct workqueue_struct *bh = system_bh_wq;

	return IS_ENABLED(CONFIG_PREEMPT_RT) || bh == system_percpu_wq;
}

/* Run the engines, or leave the run to the owner; the spinlock is held. */
static void sock_run_locked(struct iwt_sock *s)
{
	if (!sock_owned_by_user(s->sk)) {
		run(s);
		return;
	}
	s->run_wanted = true;
	/* owners in this driver check ->run_wanted; other owners, such as ss(8), do not */
	queue_delayed_work(run_wq, &s->retry_work, RETRY_DELAY);
}

static void queue_run(struct iwt_sock *s)
{
	queue_work(run_wq, &s->run_work[READ_ONCE(s->run_by)].work);
}

/*
 * Run the engines now. Waits for the spinlock, but not for long: another processor holds it to
 * receive a segment, which takes less time than handing the run over to that processor. Return:
 * with @go_on, true if the engines have used up their budget and have more to do; then the
 * caller must call again.
 *
 * After cancel_work() the engines must always run: while cancel_work() examines the work, even if
 * the work is not queued, queue_work() on another processor finds it pending and does nothing.
 * tests/unit/run_model.py checks all orders.
 */
static bool sock_run_now(struct iwt_sock *s, bool go_on)
{
	struct work_struct *work;
	bool more;

	local_bh_disable();
	bh_lock_sock(s->sk);
	sock_run_locked(s);
	/* bottom halves are still off, otherwise the work could begin here */
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
 * For a process in its own system call. The caller holds no socket lock, but holds a reference
 * to @s or the RCU read lock.
 */
void iwt_sock_run_sync(struct iwt_sock *s)
{
	int runs = SYNC_RUNS;

	while (sock_run_now(s, --runs))
		;
}

/**
 * iwt_sock_run_here() - run the engines in the caller, and on this processor from now on
 * @s: socket
 *
 * This function cancels the work that is queued on another processor. That work may already have
 * begun, and wait for the lock. Until it has ended, queue_work() would queue it on its old
 * processor again. So from now on queue_run() queues the other one of the two works. Context as
 * iwt_sock_run_sync().
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
 * iwt_sock_run() - run the engines at once if possible, else soon
 * @s: socket
 *
 * Any context. The caller may hold the locks of other sockets: this function only tries to
 * acquire the lock of @s. The caller holds a reference or the RCU read lock.
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
		 * If the work is queued while bottom halves are off, it runs here as soon as they
		 * are on again. If it were queued later, ksoftirqd would run it, and would first
		 * have to wait for a process that polls.
		 */
		queue_run(s);
	}
	local_bh_enable();
}

/**
 * iwt_sock_run_bh() - queue a run of the engines in run_wq
 * @s: socket
 *
 * Any context. For engines that have used up their budget.
 */
void iwt_sock_run_bh(struct iwt_sock *s)
{
	queue_run(s);
}

/*
 * Has the receive buffer room for the data that may arrive before the queued run? TCP can only
 * make room by calling the reader, and drops segments that do not fit.
 */
static bool sock_has_room(struct sock *sk)
{
	return tcp_inq(sk) <= GATHER_MAX &&
	       atomic_read(&sk->sk_rmem_alloc) <= READ_ONCE(sk->sk_rcvbuf) / 2;
}

/*
 * May the engines wait for the rest of the burst to which the last skb belongs? Yes on a far
 * path, where a short delay does not matter; and yes for an skb of many segments from a network
 * card, since it is a part of a stream.
 */
static bool may_gather(const struct iwt_sock *s)
{
	const struct sk_buff *last = skb_peek_tail(&s->sk->sk_receive_queue);

	if (!last)
		return false;
	return iwt_sock_is_far(s) || (s->nic && last->len > 2 * iwt_sock_segment(s));
}

/**
 * iwt_sock_gather() - queue one run of the engines for all segments of a burst
 * @s: socket; its spinlock is held
 *
 * If the engines consume data at once, TCP sends an acknowledgment for each skb of joined
 * segments, or for each second segment. If one run consumes the whole burst, TCP sends a single
 * acknowledgment, which is less work for both ends. This function queues no run where threads run
 * the engines: a thread might have to wait for a process that polls.
 *
 * Return: true if a run is queued; false if the caller has to run the engines.
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
 * Any context. For engines that failed to allocate memory: bottom half work runs without an
 * allocation, while other work might need a new thread.
 */
void iwt_sock_retry(struct iwt_sock *s)
{
	queue_delayed_work(run_wq, &s->retry_work, RETRY_DELAY);
}

/**
 * iwt_sock_run_init() - create run_wq at module load; may sleep
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

/* Destroy run_wq at module unload, when no socket is left; may sleep */
void iwt_sock_run_exit(void)
{
	if (needs_queue())
		destroy_workqueue(run_wq);
}

/**
 * iwt_sock_run_setup() - initialize the works that run the engines
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
 * iwt_sock_run_end() - cancel queued runs of the engines, and wait for a run in progress
 * @s: socket that is not in use any more
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

#ifdef CONFIG_LOCKDEP
/*
 * The class of the sockets that this driver has made, for lockdep. In the class of all sockets
 * of the kernel, lockdep would report a deadlock if a consumer connects while it owns another
 * socket, as SMB Direct may. Only the ownership has a class of its own, because no thread
 * connects while it holds the spinlock of a socket.
 */
static struct lock_class_key owner_class;

/**
 * iwt_sock_init_class() - give a new socket the driver's lockdep class
 * @sk: socket that nobody else knows
 *
 * sock_lock_init_class_and_name() would also hold a reference to the module until TCP frees the
 * socket. In a kernel with lockdep nobody could unload the module then while a listener exists.
 */
void iwt_sock_init_class(struct sock *sk)
{
	lockdep_init_map(&sk->sk_lock.dep_map, "sk_lock-iw_tcp", &owner_class, 0);
}

/**
 * iwt_sock_set_class() - give an accepted socket the driver's lockdep class
 * @sk: socket, in TCP's class, that the caller owns
 */
void iwt_sock_set_class(struct sock *sk)
{
	lock_set_class(&sk->sk_lock.dep_map, "sk_lock-iw_tcp", &owner_class, 0, _THIS_IP_);
}

/**
 * iwt_sock_drop_class() - take the driver's lockdep class from a socket that is left to TCP
 * @sk: socket that the caller owns
 *
 * The key and the name of the class are in the memory of this module, and TCP may use the socket
 * after the module has been unloaded. TCP's own keys are not exported, so lockdep ignores this
 * socket from now on.
 */
void iwt_sock_drop_class(struct sock *sk)
{
	lock_set_class(&sk->sk_lock.dep_map, sk->sk_prot->name, &__lockdep_no_validate__, 0,
		       _THIS_IP_);
}
#endif

/* Acquire ownership of the socket; may sleep */
void iwt_sock_own(struct iwt_sock *s)
{
	lock_sock(s->sk);
}

/**
 * iwt_sock_disown() - release the socket, and run the engines if they had to wait
 * @s: socket, owned by the caller
 */
void iwt_sock_disown(struct iwt_sock *s)
{
	release_sock(s->sk);
	if (READ_ONCE(s->run_wanted))
		iwt_sock_run(s);
}

/*
 * Return: true with the spinlock held, bottom halves off and no owner, as inside lock_sock().
 * sparse does not see that the lock is held.
 */
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
 * iwt_sock_lock_within() - acquire the spinlock of a socket without an owner, or time out
 * @sk: socket of a process
 * @ms: milliseconds to wait for the owner; 0: do not wait
 *
 * The owner may be waiting for a page of a process's memory, and that process can delay the page
 * (userfaultfd) without limit. Process context, may sleep.
 *
 * Return: 0 with the spinlock held and no owner, until iwt_sock_unlock(); -EBUSY, or -EINTR for a
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

/* Release the spinlock that iwt_sock_lock_within() has acquired */
void iwt_sock_unlock(struct sock *sk)
{
	__acquire(&sk->sk_lock.slock);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/**
 * iwt_sock_own_within() - become the owner of a process's socket, or time out
 * @s: socket
 * @ms: milliseconds, as for iwt_sock_lock_within()
 *
 * Checking for an owner and then calling lock_sock() is not sufficient: another thread may become
 * the owner in between, and sleep inside a system call. The kernel does not export a lock_sock()
 * with a timeout.
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
	/* the same as lock_sock() does */
	mutex_acquire(&s->sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	s->sk->sk_lock.owned = 1;
	iwt_sock_unlock(s->sk);
	return 0;
}

/**
 * iwt_sock_own_soon() - iwt_sock_own(), with a timeout for the socket of a process
 * @s: socket
 *
 * Until iwt_sock_disown() the caller must not call a function that acquires the lock. Process
 * context, sleeps for less than a second.
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
