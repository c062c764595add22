// SPDX-License-Identifier: GPL-2.0
/*
 * The socket lock, and when the engines of a socket run.
 *
 * TCP's lock has two parts: a spinlock, and an owner in process context that may sleep. The
 * engines run with the spinlock held, while the socket has no owner. If the socket has no owner,
 * iwt_sock_run() and similar functions call ops->run at once. If the socket has an owner, an
 * owner in this driver calls ops->run when it releases the socket (iwt_sock_disown()), and a work
 * item (do_retry_work()) tries again for other owners.
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
 * Delay of a retry in jiffies, if memory is missing or a task outside of this driver owns the
 * socket. A process may own its socket for ever, for example in recv(2) into memory that never
 * arrives. So the delay doubles with each retry that finds an owner, up to the maximum.
 */
#define RETRY_DELAY	1
#define RETRY_MAX	(HZ / 4)
/*
 * Maximum number of consecutive runs of the engines in a system call of a process, such as the
 * doorbell; then run_wq continues.
 */
#define SYNC_RUNS	8
/*
 * Maximum number of received bytes that may wait for the rest of a burst: as many as one run
 * processes, and so few that they are still in a cache of the processor when the run begins.
 */
#define GATHER_MAX	(1024 << 10)

/* Call ops->run. The caller holds the spinlock, and the socket has no owner. */
static void run(struct iwt_sock *s)
{
	s->run_wanted = false;
	s->retry_delay = RETRY_DELAY;
	if (s->ops && s->ops->run)
		s->ops->run(s, s->ctx);
}

/*
 * The workqueue for the work items that run the engines: a bottom half workqueue or, if
 * needs_queue(), a workqueue with ordinary threads. With PREEMPT_RT any thread, even a real time
 * thread, may run the work of a bottom half workqueue (wake_rt.c).
 */
static struct workqueue_struct *run_wq;

/*
 * Does run_wq have to be a workqueue with threads? Yes with PREEMPT_RT, and on a kernel without
 * bottom half workqueues. Such a run_wq needs WQ_MEM_RECLAIM: the workqueue that frees sockets
 * (sock_wq) has this flag, and its work items wait for work items of run_wq.
 */
static bool needs_queue(void)
{
	const struct workqueue_struct *bh = system_bh_wq;

	return IS_ENABLED(CONFIG_PREEMPT_RT) || bh == system_percpu_wq;
}

/* Run the engines now, or leave the run to the owner. The caller holds the spinlock. */
static void sock_run_locked(struct iwt_sock *s)
{
	if (!sock_owned_by_user(s->sk)) {
		run(s);
		return;
	}
	s->run_wanted = true;
	/* only owners in this driver check ->run_wanted; ss(8), for example, does not */
	if (s->ops && queue_delayed_work(run_wq, &s->retry_work, s->retry_delay))
		s->retry_delay = min_t(u32, 2 * s->retry_delay, RETRY_MAX);
}

static void queue_run(struct iwt_sock *s)
{
	queue_work(run_wq, &s->run_work[READ_ONCE(s->run_by)].work);
}

/*
 * Run the engines now. This function spins until it gets the spinlock: if another processor holds
 * the spinlock, that processor usually processes a segment, which takes less time than passing
 * the run to that processor. Return: true if @go_on is true and the engines have used up their
 * budget: then the caller must call this function again.
 *
 * After cancel_work() the engines must always run: while cancel_work() examines the work item,
 * queue_work() on another processor does nothing, because the item seems to be pending, even if
 * it was not queued. The run after cancel_work() replaces the run that was to be queued.
 * tests/unit/run_model.py checks all orders.
 */
static bool sock_run_now(struct iwt_sock *s, bool go_on)
{
	struct work_struct *work;
	bool more;

	local_bh_disable();
	bh_lock_sock(s->sk);
	sock_run_locked(s);
	/* bottom halves are still off, so a queued work item can't begin on this processor */
	work = &s->run_work[s->run_by].work;
	more = go_on && work_pending(work);
	if (more)
		cancel_work(work);
	bh_unlock_sock(s->sk);
	local_bh_enable();
	return more;
}

/**
 * iwt_sock_run_sync() - run the engines in the caller, several times if they have more to do
 * @s: socket
 *
 * Process context: a process in its own system call. The caller holds no socket lock, but holds a
 * reference to @s or the RCU read lock.
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
 * This function cancels the work item that is queued on another processor. But that work item may
 * already have begun, and may be waiting for the lock. Until the work item has ended,
 * queue_work() would queue it on its old processor again. So from now on queue_run() queues the
 * other work item of @s->run_work.
 *
 * Process context. The caller holds no socket lock, but holds a reference to @s or the RCU read
 * lock.
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
 * acquire the lock of @s. The caller holds a reference to @s or the RCU read lock.
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
		 * Queue the work item while bottom halves are off: then it runs here as soon as
		 * bottom halves are on again. If this function queued the work item later,
		 * ksoftirqd would run it, and ksoftirqd might first have to wait for a process
		 * that polls.
		 */
		queue_run(s);
	}
	local_bh_enable();
}

/**
 * iwt_sock_run_bh() - queue a run of the engines in run_wq
 * @s: socket
 *
 * Any context. The engines call this function, for example, when they have used up their budget.
 */
void iwt_sock_run_bh(struct iwt_sock *s)
{
	queue_run(s);
}

/*
 * Does the receive buffer have room for the data that may arrive before the queued run begins?
 * TCP drops segments that do not fit.
 */
static bool sock_has_room(struct sock *sk)
{
	return tcp_inq(sk) <= GATHER_MAX &&
	       atomic_read(&sk->sk_rmem_alloc) <= READ_ONCE(sk->sk_rcvbuf) / 2;
}

/*
 * May the engines wait for the rest of the burst to which the last received skb belongs? Yes on a
 * far path, where a short delay does not matter. Yes, too, if a network card has delivered an skb
 * of more than two segments, since more segments usually follow.
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
 * If the engines consume data as soon as the data arrive, TCP sends an acknowledgment for each
 * skb of joined segments, or for each second segment. If one run consumes the whole burst, TCP
 * sends a single acknowledgment, which is less work for both ends. This function queues no run if
 * run_wq has threads: a thread might first have to wait for a process that polls.
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
 * Any context. This function is used when memory is missing, so it must not need an allocation:
 * if run_wq is a bottom half workqueue, run_wq runs the work item without a new thread; if not,
 * WQ_MEM_RECLAIM guarantees that run_wq has a thread.
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

/* Destroy run_wq at module unload, when no socket is left; may sleep. */
void iwt_sock_run_exit(void)
{
	if (needs_queue())
		destroy_workqueue(run_wq);
}

/**
 * iwt_sock_run_setup() - initialize the work items that run the engines
 * @s: object of a new socket, zeroed
 *
 * Any context.
 */
void iwt_sock_run_setup(struct iwt_sock *s)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->run_work); i++) {
		s->run_work[i].s = s;
		INIT_WORK(&s->run_work[i].work, do_run_work);
	}
	INIT_DELAYED_WORK(&s->retry_work, do_retry_work);
	s->retry_delay = RETRY_DELAY;
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
 * The lockdep class of the sockets that this driver has created. A consumer may connect a queue
 * pair while it owns another socket, as SMB Direct may do. If both sockets had the class that all
 * sockets of the kernel share, lockdep would then report a deadlock. This class is for the
 * ownership of a socket only. The spinlock keeps its class, since no thread connects a queue pair
 * while the thread holds the spinlock of a socket.
 */
static struct lock_class_key owner_class;

/**
 * iwt_sock_init_class() - give a new socket the driver's lockdep class
 * @sk: new socket, which no other context can access yet
 *
 * sock_lock_init_class_and_name() would also hold a reference to the module until TCP frees the
 * socket. Then, in a kernel with lockdep, the module could not be unloaded while a listener
 * exists.
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
 * iwt_sock_drop_class() - remove the driver's lockdep class from a socket that is being released
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

/* Become the owner of the socket, as lock_sock() does; process context, may sleep. */
void iwt_sock_own(struct iwt_sock *s)
{
	lock_sock(s->sk);
}

/**
 * iwt_sock_disown() - end the caller's ownership of the socket, and run the engines if they wait
 * @s: socket, owned by the caller
 *
 * Process context. Processes the backlog, so callbacks may be called.
 */
void iwt_sock_disown(struct iwt_sock *s)
{
	release_sock(s->sk);
	if (READ_ONCE(s->run_wanted))
		iwt_sock_run(s);
}

/*
 * Acquire the spinlock if the socket has no owner. Return: true if the spinlock is held, with
 * bottom halves off, as inside lock_sock(); false if the socket has an owner: then no lock is
 * held. __release() hides from sparse that the spinlock is held.
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
 * iwt_sock_lock_within() - wait until a socket has no owner, and acquire its spinlock
 * @sk: socket of a process
 * @ms: milliseconds to wait for the owner; 0: do not wait
 *
 * The owner may be waiting for a page of a process's memory, and that process can delay the page
 * (userfaultfd) without limit. Process context, may sleep.
 *
 * Return: 0: the caller holds the spinlock until iwt_sock_unlock(), and the socket has no owner;
 * -EBUSY after @ms milliseconds; -EINTR for a signal.
 */
int iwt_sock_lock_within(struct sock *sk, unsigned int ms)
{
	long left = msecs_to_jiffies(ms);
	DEFINE_WAIT(wait);
	int err = 0;

	for (;;) {
		/* release_sock() wakes the tasks in this wait queue */
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

/* Release the spinlock that iwt_sock_lock_within() has acquired. */
void iwt_sock_unlock(struct sock *sk)
{
	__acquire(&sk->sk_lock.slock);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/**
 * iwt_sock_own_within() - become the owner of a process's socket, or time out
 * @s: socket
 * @ms: milliseconds to wait for the present owner; 0: do not wait
 *
 * Checking for an owner and then calling lock_sock() is not sufficient: another thread may become
 * the owner in between, and sleep inside a system call. The kernel does not export a lock_sock()
 * with a timeout.
 *
 * Process context, may sleep.
 *
 * Return: 0; -EBUSY after @ms milliseconds; -EINTR for a signal.
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

/* iwt_sock_own(), but for the socket of a process as iwt_sock_own_within() */
static int own(struct iwt_sock *s, unsigned int ms)
{
	if (s->user)
		return iwt_sock_own_within(s, ms);
	iwt_sock_own(s);
	return 0;
}

/**
 * iwt_sock_own_soon() - iwt_sock_own(), with a timeout for the socket of a process
 * @s: socket
 *
 * Until iwt_sock_disown() the caller must not call a function that acquires the lock. Process
 * context; for a socket of a process, sleeps for at most IWT_SOCK_OWNER_MS.
 *
 * Return: 0; for a socket of a process also -EBUSY after the timeout, or -EINTR for a signal.
 */
int iwt_sock_own_soon(struct iwt_sock *s)
{
	return own(s, IWT_SOCK_OWNER_MS);
}

/**
 * iwt_sock_own_now() - iwt_sock_own(), but for the socket of a process without waiting
 * @s: socket
 *
 * Until iwt_sock_disown() the caller must not call a function that acquires the lock. Process
 * context; for a socket of this driver, sleeps until the owner releases the socket.
 *
 * Return: 0; for a socket of a process also -EBUSY if the socket has an owner.
 */
int iwt_sock_own_now(struct iwt_sock *s)
{
	return own(s, 0);
}
