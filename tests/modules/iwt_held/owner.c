// SPDX-License-Identifier: GPL-2.0
/* Owns sockets for some time, like a process that has called lock_sock(). */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "held.h"

/* Microseconds: "pulse" owns the socket for at least PULSE_ON, and frees it for PULSE_OFF. */
#define PULSE_ON	300
#define PULSE_OFF	50

struct owner {
	struct list_head list;
	struct sock *sk;
	struct task_struct *thread;
	struct completion begun;
};

static LIST_HEAD(owners);
static bool caught;

static int hold(void *arg)
{
	struct owner *o = arg;

	lock_sock(o->sk);
	complete(&o->begun);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	release_sock(o->sk);
	return 0;
}

static int pulse(void *arg)
{
	struct owner *o = arg;

	complete(&o->begun);
	while (!kthread_should_stop()) {
		lock_sock(o->sk);
		usleep_range(PULSE_ON, 2 * PULSE_ON);
		release_sock(o->sk);
		usleep_range(PULSE_OFF, 2 * PULSE_OFF);
	}
	return 0;
}

/**
 * iwt_held_hold() - own a socket until iwt_held_let_go()
 * @sk: socket; the caller holds a reference
 * @again: take and release the ownership again and again, instead of keeping it
 *
 * May sleep. Return: 0 or -errno.
 */
int iwt_held_hold(struct sock *sk, bool again)
{
	struct owner *o = kzalloc(sizeof(*o), GFP_KERNEL);

	if (!o)
		return -ENOMEM;
	o->sk = sk;
	init_completion(&o->begun);
	o->thread = kthread_run(again ? pulse : hold, o, "iwt_held");
	if (IS_ERR(o->thread)) {
		int err = PTR_ERR(o->thread);

		kfree(o);
		return err;
	}
	list_add(&o->list, &owners);
	wait_for_completion(&o->begun);
	return 0;
}

#ifdef CONFIG_KPROBES
static struct sock *prey, *hunted;

/* regs_get_kernel_argument() needs a symbol that s390 does not export. */
static unsigned long first_argument(struct pt_regs *regs)
{
#ifdef CONFIG_S390
	return regs->gprs[2];
#else
	return regs_get_kernel_argument(regs, 0);
#endif
}

static void catch(struct sock *sk)
{
	if (!spin_trylock(&sk->sk_lock.slock))
		return;
	if (!sk->sk_lock.owned) {
		sk->sk_lock.owned = 1;
		WRITE_ONCE(prey, NULL);
		WRITE_ONCE(caught, true);
	}
	spin_unlock(&sk->sk_lock.slock);
}

/* Called at the beginning of lock_sock_nested(), in a context that must not sleep. */
static int on_lock(struct kprobe *p, struct pt_regs *regs)
{
	struct sock *sk = (struct sock *)first_argument(regs);

	if (sk == READ_ONCE(prey))
		catch(sk);
	return 0;
}

/*
 * Called at the beginning of prepare_to_wait(), in a context that must not sleep. The caller of
 * prepare_to_wait() then checks whether the socket has an owner.
 */
static int on_wait(struct kprobe *p, struct pt_regs *regs)
{
	struct sock *sk = READ_ONCE(prey);

	if (sk && (void *)first_argument(regs) == &sk->sk_lock.wq)
		catch(sk);
	return 0;
}

static struct kprobe probe;

static int lie_in_wait(struct sock *sk, bool bounded)
{
	int err;

	probe = (struct kprobe) {
		.symbol_name = bounded ? "prepare_to_wait" : "lock_sock_nested",
		.pre_handler = bounded ? on_wait : on_lock,
	};
	err = register_kprobe(&probe);
	if (err)
		return err;
	hunted = sk;
	WRITE_ONCE(prey, sk);
	return 0;
}

static void leave(void)
{
	if (!hunted)
		return;
	/* another processor may use the old value of "prey" until unregister_kprobe() returns */
	WRITE_ONCE(prey, NULL);
	unregister_kprobe(&probe);
	if (caught)
		release_sock(hunted);
	WRITE_ONCE(caught, false);
	hunted = NULL;
}
#else
static int lie_in_wait(struct sock *sk, bool bounded)
{
	return -EOPNOTSUPP;
}

static void leave(void)
{
}
#endif

/**
 * iwt_held_ambush() - own a socket just before the next caller can lock it
 * @sk: socket; the caller holds a reference
 * @bounded: act on the next caller that waits for the owner with a time limit, instead of the
 *	next caller of lock_sock()
 *
 * Return: 0, or -errno if the kernel cannot probe lock_sock_nested() or prepare_to_wait().
 */
int iwt_held_ambush(struct sock *sk, bool bounded)
{
	/* With PREEMPT_RT taking the socket's spinlock may sleep, and a probe must not sleep. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return -EOPNOTSUPP;
	return lie_in_wait(sk, bounded);
}

/**
 * iwt_held_caught() - did iwt_held_ambush() take the ownership before a caller?
 *
 * Return: true if this has happened, and iwt_held_let_go() has not been called since.
 */
bool iwt_held_caught(void)
{
	return READ_ONCE(caught);
}

/**
 * iwt_held_let_go() - release all sockets that this module owns
 */
void iwt_held_let_go(void)
{
	struct owner *o, *next;

	list_for_each_entry_safe(o, next, &owners, list) {
		list_del(&o->list);
		kthread_stop(o->thread);
		kfree(o);
	}
	leave();
}
