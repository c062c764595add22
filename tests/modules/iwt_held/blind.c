// SPDX-License-Identifier: GPL-2.0
/* Marks received bytes as unreadable, as if a network card had put them into device memory. */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/version.h>

#include "held.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static __be16 blinded;

static int on_packet(struct sk_buff *skb, struct net_device *dev,
		     struct packet_type *pt, struct net_device *orig)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *th;

	if (skb->protocol != htons(ETH_P_IP) || skb->pkt_type == PACKET_OUTGOING ||
	    skb_headlen(skb) < sizeof(*ip) || ip->protocol != IPPROTO_TCP)
		goto out;
	th = (const void *)ip + ip->ihl * 4;
	/* the headers always stay readable */
	if (skb_headlen(skb) >= ip->ihl * 4 + sizeof(*th) &&
	    th->dest == READ_ONCE(blinded) && skb->data_len)
		skb->unreadable = 1;
out:
	kfree_skb(skb);
	return 0;
}

static struct packet_type tap = {
	.type = cpu_to_be16(ETH_P_ALL),
	.func = on_packet,
};

/*
 * Return: a net device of the caller's network namespace, with a reference: the last device that
 * is up and is no loopback device; or NULL
 */
static struct net_device *find_netdev(void)
{
	struct net_device *dev, *found = NULL;

	rtnl_lock();
	for_each_netdev(current->nsproxy->net_ns, dev)
		if (!(dev->flags & IFF_LOOPBACK) && dev->flags & IFF_UP)
			found = dev;
	if (found)
		dev_hold(found);
	rtnl_unlock();
	return found;
}

/**
 * iwt_held_blind() - mark data that arrive for an IPv4 port as unreadable from now on
 * @port: destination port
 *
 * Marks only the data after the headers, which TCP leaves in separate pages, and only packets
 * that arrive through one net device of the caller's network namespace (find_netdev()).
 *
 * Return: 0; -EBUSY if the data for a port are marked already; -ENODEV if find_netdev() finds
 * no net device; -EOPNOTSUPP if the kernel does not have unreadable memory.
 */
int iwt_held_blind(u16 port)
{
	if (blinded)
		return -EBUSY;
	/*
	 * This handler needs a device: in newer kernels, a packet handler without a device
	 * receives the packets of one namespace only.
	 */
	tap.dev = find_netdev();
	if (!tap.dev)
		return -ENODEV;
	blinded = htons(port);
	dev_add_pack(&tap);
	return 0;
}

/**
 * iwt_held_see() - stop marking the data that iwt_held_blind() chose
 */
void iwt_held_see(void)
{
	if (!blinded)
		return;
	dev_remove_pack(&tap);
	dev_put(tap.dev);
	blinded = 0;
}
#else
int iwt_held_blind(u16 port)
{
	return -EOPNOTSUPP;
}

void iwt_held_see(void)
{
}
#endif
