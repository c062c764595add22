/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_NET_SOCK_H
#define COMPAT_NET_SOCK_H

#include_next <net/sock.h>

/*
 * This kernel lacks sk_net_refcnt_upgrade(). In newer kernels a kernel socket already holds a
 * passive reference to its namespace; in this kernel it holds no reference.
 */
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	struct net *net = sock_net(sk);

	WARN_ON_ONCE(sk->sk_net_refcnt);
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}

#endif
