// SPDX-License-Identifier: GPL-2.0
/* Who owns a socket, and for how long. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <net/sock.h>

#include "held.h"

/* Microseconds of a pulse, and until the next. */
#define PULSE_ON	300
#define PULSE_OFF	50

static struct sock *owned;
static struct task_struct *thread;
static DECLARE_COMPLETION(begun);
static bool caught;

static int hold(void *unused)
{
	lock_sock(owned);
	complete(&begun);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	release_sock(owned);
	return 0;
}

static int pulse(void *unused)
{
	complete(&begun);
	while (!kthread_should_stop()) {
		lock_sock(owned);
		usleep_range(PULSE_ON, 2 * PULSE_ON);
		release_sock(owned);
		usleep_range(PULSE_OFF, 2 * PULSE_OFF);
	}
	return 0;
}

/**
 * iwt_held_hold() - own a socket until iwt_held_let_go()
 * @sk: socket, which the caller keeps
 * @again: and again, instead of all the time
 *
 * Return: 0 or -errno.
 */
int iwt_held_hold(struct sock *sk, bool again)
{
	owned = sk;
	reinit_completion(&begun);
	thread = kthread_run(again ? pulse : hold, NULL, "iwt_held");
	if (IS_ERR(thread)) {
		int err = PTR_ERR(thread);

		thread = NULL;
		return err;
	}
	wait_for_completion(&begun);
	return 0;
}

#ifdef CONFIG_KPROBES
static struct sock *prey;

/* s390 does not export to modules what regs_get_kernel_argument() needs there. */
static unsigned long first_argument(struct pt_regs *regs)
{
#ifdef CONFIG_S390
	return regs->gprs[2];
#else
	return regs_get_kernel_argument(regs, 0);
#endif
}

/* Called where lock_sock() begins, with interrupts off. */
static int on_lock(struct kprobe *p, struct pt_regs *regs)
{
	struct sock *sk = (struct sock *)first_argument(regs);

	if (sk != READ_ONCE(prey) || !spin_trylock(&sk->sk_lock.slock))
		return 0;
	if (!sk->sk_lock.owned) {
		sk->sk_lock.owned = 1;
		WRITE_ONCE(prey, NULL);
		WRITE_ONCE(caught, true);
	}
	spin_unlock(&sk->sk_lock.slock);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "lock_sock_nested",
	.pre_handler = on_lock,
};

static int lie_in_wait(struct sock *sk)
{
	int err;

	probe.addr = NULL;
	probe.flags = 0;
	err = register_kprobe(&probe);
	if (err)
		return err;
	owned = sk;
	WRITE_ONCE(prey, sk);
	return 0;
}

static void leave(void)
{
	/* under way there may be one that finds it still */
	WRITE_ONCE(prey, NULL);
	unregister_kprobe(&probe);
	if (caught)
		release_sock(owned);
	WRITE_ONCE(caught, false);
}
#else
static int lie_in_wait(struct sock *sk)
{
	return -EOPNOTSUPP;
}

static void leave(void)
{
}
#endif

/**
 * iwt_held_ambush() - be faster than the next that locks a socket
 * @sk: socket, which the caller keeps
 *
 * Return: 0, or -EOPNOTSUPP where a kernel can't be stopped there.
 */
int iwt_held_ambush(struct sock *sk)
{
	/* the lock may sleep there */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return -EOPNOTSUPP;
	return lie_in_wait(sk);
}

/**
 * iwt_held_caught() - has somebody run into the ambush?
 */
bool iwt_held_caught(void)
{
	return READ_ONCE(caught);
}

/**
 * iwt_held_let_go() - nobody of us owns the socket any more
 */
void iwt_held_let_go(void)
{
	if (!owned)
		return;
	if (thread)
		kthread_stop(thread);
	else
		leave();
	thread = NULL;
	owned = NULL;
}
