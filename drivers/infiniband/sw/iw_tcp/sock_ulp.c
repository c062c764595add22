// SPDX-License-Identifier: GPL-2.0
/*
 * The mark by which TCP and ss(8) know that a connection is this driver's: a ULP.
 *
 * TCP takes it for a sign that the socket is in use: no other ULP is attached (kTLS), no program
 * puts the socket into a sockmap, and it can't be made to listen. The ULP is not registered, so
 * no process can attach it to a socket (TCP_ULP), and it changes nothing else.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "sock_priv.h"

/* On a socket of a process: the module stays as long as the process has the socket. */
static const struct tcp_ulp_ops user_ulp = {
	.name	= "iw_tcp",
	.owner	= THIS_MODULE,
};

/*
 * On a socket of this driver's own. These are released before the module goes, which then waits
 * for those that still read the name.
 */
static const struct tcp_ulp_ops own_ulp = {
	.name	= "iw_tcp",
};

/**
 * iwt_sock_set_ulp() - mark a socket as this driver's
 * @sk: socket without a ULP, locked
 * @user: a process made it
 */
void iwt_sock_set_ulp(struct sock *sk, bool user)
{
	if (user)
		__module_get(THIS_MODULE);
	inet_csk(sk)->icsk_ulp_ops = user ? &user_ulp : &own_ulp;
}

/**
 * iwt_sock_drop_ulp() - the socket is this driver's no more
 * @sk: socket, locked; nothing happens if it is not marked
 *
 * The caller has another reference to the module.
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
 * iwt_sock_ulp_exit() - at module unload, when every socket has been released
 *
 * A process that shows a socket reads the pointer to the mark, then the mark. Where the kernel
 * may be preempted, it can lose the processor in between, and no lock of RCU is held there. So
 * this waits until each task has given up its processor by itself. May sleep.
 */
void iwt_sock_ulp_exit(void)
{
	synchronize_rcu_tasks();
}
