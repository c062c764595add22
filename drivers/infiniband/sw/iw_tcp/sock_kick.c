// SPDX-License-Identifier: GPL-2.0
/* Kicks: who has something to send or to end has the socket's listener called. */
#include "sock.h"

#include <linux/workqueue.h>
#include <net/sock.h>

#include "sock_priv.h"

/* How soon to try again when a stranger owned the socket, in jiffies. */
#define IWT_SOCK_RETRY		1
/* Budgets of the engine that a process's doorbell pays for before others do. */
#define IWT_SOCK_CALL_RUNS	8

/* Called with the socket lock held and nobody owning the socket. */
static void answer_kick(struct iwt_sock *s)
{
	s->kicked = false;
	if (s->ops && s->ops->kick)
		s->ops->kick(s, s->ctx);
}

/* With the spinlock held: answer, or leave it to the owner. */
static void kick_locked(struct iwt_sock *s)
{
	if (!sock_owned_by_user(s->sk)) {
		answer_kick(s);
		return;
	}
	s->kicked = true;
	/* our own owners look at ->kicked; ss(8) and the like do not */
	queue_delayed_work(system_bh_wq, &s->retry_work, IWT_SOCK_RETRY);
}

static void queue_kick(struct iwt_sock *s)
{
	queue_work(system_bh_wq, &s->kick_work[READ_ONCE(s->kick_by)].work);
}

/*
 * Where iwt_sock_kick() would leave the work to somebody else because the socket is being
 * received from at this moment, this waits for the end of that, which takes less than to
 * hand over. Return: with @go_on, true when the engine had more to do than its budget; the
 * caller goes on with that, and nobody else.
 */
static bool call(struct iwt_sock *s, bool go_on)
{
	bool more;

	local_bh_disable();
	bh_lock_sock(s->sk);
	kick_locked(s);
	/* bottom halves are still off, or it would run here as one */
	more = go_on && cancel_work(&s->kick_work[s->kick_by].work);
	bh_unlock_sock(s->sk);
	local_bh_enable();
	return more;
}

/**
 * iwt_sock_call() - ops->kick runs here and now
 * @s: socket
 *
 * For a process in its own system call, which does more of its own work than one budget. It
 * holds no socket's lock, but a reference or the RCU read lock.
 */
void iwt_sock_call(struct iwt_sock *s)
{
	int runs = IWT_SOCK_CALL_RUNS;

	while (call(s, --runs))
		;
}

/**
 * iwt_sock_pull() - as iwt_sock_call(), and from now on here, not where it was run
 * @s: socket
 *
 * What is queued is called off. But it may have begun, and wait for the lock: as long as
 * it has not ended, whatever queued that work again would queue it where it is. So the
 * other one of two is queued from now on.
 */
void iwt_sock_pull(struct iwt_sock *s)
{
	local_bh_disable();
	bh_lock_sock(s->sk);
	cancel_work(&s->kick_work[s->kick_by].work);
	WRITE_ONCE(s->kick_by, !s->kick_by);
	kick_locked(s);
	bh_unlock_sock(s->sk);
	local_bh_enable();
}

static void do_kick_work(struct work_struct *work)
{
	call(container_of(work, struct iwt_sock_work, work)->s, false);
}

static void do_retry_work(struct work_struct *work)
{
	call(container_of(to_delayed_work(work), struct iwt_sock, retry_work), false);
}

/**
 * iwt_sock_kick() - have ops->kick run soon, at once where that is possible
 * @s: socket
 *
 * Any context, the caller may hold other sockets' locks: the lock is only
 * tried. The caller holds a reference or the RCU read lock.
 */
void iwt_sock_kick(struct iwt_sock *s)
{
	if (in_hardirq() || irqs_disabled()) {
		queue_kick(s);
		return;
	}
	local_bh_disable();
	if (spin_trylock(&s->sk->sk_lock.slock)) {
		kick_locked(s);
		spin_unlock(&s->sk->sk_lock.slock);
	} else {
		/*
		 * Queued before bottom halves are on again, the work runs right
		 * here then; afterwards it would need ksoftirqd, which waits
		 * behind a process that polls.
		 */
		queue_kick(s);
	}
	local_bh_enable();
}

/**
 * iwt_sock_kick_later() - have ops->kick run from bottom half work
 * @s: socket
 *
 * Any context; for an engine that has used up its budget.
 */
void iwt_sock_kick_later(struct iwt_sock *s)
{
	queue_kick(s);
}

/**
 * iwt_sock_retry() - have ops->kick run a little later
 * @s: socket
 *
 * Any context; for an engine that got no memory. Bottom half work needs none,
 * while a thread might have to be made for it.
 */
void iwt_sock_retry(struct iwt_sock *s)
{
	queue_delayed_work(system_bh_wq, &s->retry_work, IWT_SOCK_RETRY);
}

/**
 * iwt_sock_kick_setup() - nothing is queued
 * @s: socket, zeroed
 */
void iwt_sock_kick_setup(struct iwt_sock *s)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->kick_work); i++) {
		s->kick_work[i].s = s;
		INIT_WORK(&s->kick_work[i].work, do_kick_work);
	}
	INIT_DELAYED_WORK(&s->retry_work, do_retry_work);
}

/**
 * iwt_sock_kick_end() - wait until no kick is under way
 * @s: socket that nobody has any more
 *
 * May sleep.
 */
void iwt_sock_kick_end(struct iwt_sock *s)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->kick_work); i++)
		cancel_work_sync(&s->kick_work[i].work);
	cancel_delayed_work_sync(&s->retry_work);
}
