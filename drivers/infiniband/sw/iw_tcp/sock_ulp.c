// SPDX-License-Identifier: GPL-2.0
/*
 * A ULP (in the sense of TCP: struct tcp_ulp_ops) that marks a socket as used by this driver, for
 * TCP and ss(8).
 *
 * TCP treats a socket with a ULP as in use: no other ULP (kTLS) can be attached, no program can
 * put the socket into a sockmap, and the socket can't listen. The ULP is not registered, so no
 * process can attach it to a socket (TCP_ULP). The ULP has no other effect.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/* For a socket of a process: the module stays loaded as long as the socket has this ULP. */
static const struct tcp_ulp_ops user_ulp = {
	.name	= "iw_tcp",
	.owner	= THIS_MODULE,
};

/*
 * For a socket that this driver created. Such sockets are released before the module is unloaded,
 * and iwt_sock_ulp_exit() waits for tasks that still read the name.
 */
static const struct tcp_ulp_ops own_ulp = {
	.name	= "iw_tcp",
};

/**
 * iwt_sock_set_ulp() - mark a socket as used by this driver
 * @sk: socket without a ULP, locked
 * @user: a process created the socket
 */
void iwt_sock_set_ulp(struct sock *sk, bool user)
{
	if (user)
		__module_get(THIS_MODULE);
	inet_csk(sk)->icsk_ulp_ops = user ? &user_ulp : &own_ulp;
}

/**
 * iwt_sock_drop_ulp() - remove the ULP of this driver from a socket
 * @sk: socket, locked; nothing happens if it has no ULP of this driver
 *
 * The caller, too, holds a reference to the module, so the module stays loaded.
 */
void iwt_sock_drop_ulp(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	bool user = icsk->icsk_ulp_ops == &user_ulp;

	if (!user && icsk->icsk_ulp_ops != &own_ulp)
		return;
	icsk->icsk_ulp_ops = NULL;
	if (user)
		module_put(THIS_MODULE);
}

/**
 * iwt_sock_ulp_exit() - wait for readers of the ULP at module unload; may sleep
 *
 * The caller has released every socket. A task that lists sockets first reads the pointer to the
 * ULP and then the ULP, without holding the RCU read lock. A preemptible kernel may preempt the
 * task between these two steps. So this function waits until each task has called the scheduler
 * voluntarily.
 */
void iwt_sock_ulp_exit(void)
{
	synchronize_rcu_tasks();
}
