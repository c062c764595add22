// SPDX-License-Identifier: GPL-2.0
/* Where a connection goes: over a network card, or to a receiver on this machine. */
#include "sock.h"

#include <linux/if_bridge.h>
#include <linux/netdevice.h>
#include <linux/tcp.h>
#include <net/dst.h>
#include <net/sock.h>

#include "sock_priv.h"

/*
 * TCP has as much under way on this machine as it sends in a millisecond at its pace
 * (2^-10 s, see tcp_small_queue_check()), for network cards that are late to say what they
 * have sent. Where there is none these are megabytes that wait for a receiver on the same
 * processor, out of its cache when their turn comes, and stages that do not come back: an
 * eighth of it is enough, 2^-13 s.
 */
#define IWT_SOCK_NEAR_SHIFT	13

/* Octets that wait there for their turn, instead of as many as memory allows. */
#define IWT_SOCK_NEAR_UNSENT	(128 << 10)

/*
 * A device of software that has no other below it hands buffers to a receiver on
 * this machine, which for that has them copied; one with hardware has a parent.
 */
static int is_no_nic(struct net_device *dev, struct netdev_nested_priv *priv)
{
	if (!(dev->features & NETIF_F_SG) || dev->flags & IFF_LOOPBACK ||
	    netif_is_bridge_master(dev))
		return 1;
	return list_empty(&dev->adj_list.lower) && !dev->dev.parent;
}

/* A network card, or something above nothing else: a bond, a VLAN. */
static bool is_nic(struct net_device *dev)
{
	struct netdev_nested_priv priv = {};

	return !is_no_nic(dev, &priv) &&
	       !netdev_walk_all_lower_dev_rcu(dev, is_no_nic, &priv);
}

/* Limits of the socket's own over network cards, else the above. */
static void set_limits(struct iwt_sock *s)
{
	struct tcp_sock *tp = tcp_sk(s->sk);

	sk_pacing_shift_update(s->sk, s->nic ? s->saved.pacing_shift :
					       IWT_SOCK_NEAR_SHIFT);
	WRITE_ONCE(tp->notsent_lowat, s->nic ? s->saved.notsent_lowat :
					       IWT_SOCK_NEAR_UNSENT);
}

/**
 * iwt_sock_follow_route() - suit the socket to where the connection goes now
 * @s: socket, lock held
 *
 * Before sending. A new route that comes to lie where the last one was is rare,
 * and missed.
 */
void iwt_sock_follow_route(struct iwt_sock *s)
{
	const struct dst_entry *dst;

	rcu_read_lock();
	dst = __sk_dst_get(s->sk);
	if (dst && dst != s->route) {
		s->route = dst;
		s->nic = is_nic(READ_ONCE(dst->dev));
		set_limits(s);
	}
	rcu_read_unlock();
}
