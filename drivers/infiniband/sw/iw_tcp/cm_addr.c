// SPDX-License-Identifier: GPL-2.0
/* Addresses of sockets, and the devices that serve these addresses. */
#include "cm_ep.h"

#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <rdma/ib_addr.h>
#include <rdma/iw_cm.h>

#include <compat/ib_ops.h>

#include "dev.h"
#include "sock.h"

/**
 * iwt_addr_unmap() - convert an IPv4-mapped IPv6 address to an IPv4 address
 * @a: address to convert; an address that is not IPv4-mapped stays unchanged
 *
 * Any context.
 */
void iwt_addr_unmap(struct sockaddr_storage *a)
{
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)a;
	struct sockaddr_in a4 = {
		.sin_family	= AF_INET,
		.sin_port	= a6->sin6_port,
	};

	if (a->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&a6->sin6_addr))
		return;
	a4.sin_addr.s_addr = a6->sin6_addr.s6_addr32[3];
	memset(a, 0, sizeof(*a));
	memcpy(a, &a4, sizeof(a4));
}

/**
 * iwt_addr_on_all() - does rdma_cm listen on all devices for an address?
 * @a: IPv4 or IPv6 address
 *
 * rdma_cm listens on all devices for the wildcard address, and for loopback addresses, since each
 * namespace has a device lo with these addresses. This function returns the same result as
 * cma_any_addr() in rdma_cm. Any context.
 *
 * Return: true if so.
 */
bool iwt_addr_on_all(const struct sockaddr_storage *a)
{
	const struct in6_addr *a6 = &((const struct sockaddr_in6 *)a)->sin6_addr;
	__be32 a4 = ((const struct sockaddr_in *)a)->sin_addr.s_addr;

	if (a->ss_family == AF_INET)
		return ipv4_is_zeronet(a4) || ipv4_is_loopback(a4);
	return ipv6_addr_any(a6) || ipv6_addr_loopback(a6);
}

static struct net_device *owner4(struct net *net,
				 const struct sockaddr_storage *a)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;

	return __ip_dev_find(net, a4->sin_addr.s_addr, false);
}

static bool is_link_local(const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;

	return a->ss_family == AF_INET6 &&
	       ipv6_addr_type(&a6->sin6_addr) & IPV6_ADDR_LINKLOCAL;
}

/*
 * ipv6_dev_find() does not find the addresses of net devices in VRFs, so search all net devices
 * for these addresses. Several net devices may have the same link-local address: return the first
 * of these net devices, as rdma_cm does.
 */
static struct net_device *owner6(struct net *net,
				 const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	struct net_device *nd;

	if (!IS_ENABLED(CONFIG_IPV6))
		return NULL;
	if (!is_link_local(a)) {
		nd = ipv6_dev_find(net, &a6->sin6_addr, NULL);
		if (nd)
			return nd;
	}
	for_each_netdev_rcu(net, nd)
		if (ipv6_chk_addr(net, &a6->sin6_addr, nd, 1))
			return nd;
	return NULL;
}

/**
 * iwt_addr_served() - does the RDMA device on one net device serve the addresses of another?
 * @nd: net device of the RDMA device
 * @owner: net device that has the addresses, in the same namespace
 *
 * Returns the same result as cma_validate_port() in rdma_cm. cma_validate_port() accepts three
 * kinds of owners: @nd itself; a VLAN device on top of @nd; and, if @nd is a VLAN device, the net
 * device below @nd. On older kernels cma_validate_port() compares link layer addresses.
 *
 * The caller holds the RCU read lock.
 *
 * Return: true if so.
 */
bool iwt_addr_served(struct net_device *nd, struct net_device *owner)
{
	if (nd == owner)
		return true;
	if (!compat_cm_by_netdev)
		return compat_cm_same(nd, owner);
	return rdma_vlan_dev_real_dev(owner) == nd ||
	       rdma_vlan_dev_real_dev(nd) == owner;
}

/**
 * iwt_addr_owner() - find the net device that has an address
 * @net: network namespace
 * @a: address
 *
 * The caller holds the RCU read lock.
 *
 * Return: the net device, or NULL.
 */
struct net_device *iwt_addr_owner(struct net *net,
				  const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? owner4(net, a) : owner6(net, a);
}

/**
 * iwt_addr_of_dev() - does a device serve the local address of a connection?
 * @dev: device
 * @local: local address of the connection
 *
 * Any context.
 *
 * Return: true if so.
 */
bool iwt_addr_of_dev(const struct iwt_dev *dev,
		     const struct sockaddr_storage *local)
{
	struct net_device *nd;
	struct net *net;
	bool ret;

	rcu_read_lock();
	net = rcu_dereference(dev->net);
	nd = net ? iwt_addr_owner(net, local) : NULL;
	ret = nd && iwt_addr_served(dev->netdev, nd);
	rcu_read_unlock();
	return ret;
}

static bool is_wildcard(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return ipv4_is_zeronet(((const struct sockaddr_in *)a)->sin_addr.s_addr);
	return ipv6_addr_any(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

/*
 * Does a socket that is not bound to a VRF accept connections to the addresses of all VRFs?
 * Without VRFs in the kernel, the answer is true, so that no socket is bound.
 */
static bool accepts_of_vrfs(const struct net *net)
{
#ifdef CONFIG_NET_L3_MASTER_DEV
	return READ_ONCE(net->ipv4.sysctl_tcp_l3mdev_accept);
#else
	return true;
#endif
}

/*
 * Find a net device of the VRF to which a socket with the local address @a must be bound. For the
 * wildcard address, this is the VRF of @dev, unless sockets that are not bound to a VRF accept
 * the connections to all VRFs. A loopback address (iwt_addr_on_all()) is used outside of VRFs.
 *
 * Return: the net device, or NULL. If the result is NULL or a net device outside of VRFs, the
 * socket must not be bound.
 */
static const struct net_device *vrf_member(const struct iwt_dev *dev, struct net *net,
					   const struct sockaddr_storage *a)
{
	if (is_wildcard(a))
		return accepts_of_vrfs(net) ? NULL : dev->netdev;
	return iwt_addr_on_all(a) ? NULL : iwt_addr_owner(net, a);
}

/**
 * iwt_addr_ifindex() - find the interface to which a socket must be bound
 * @dev: device of the socket
 * @local: local address of the socket
 * @peer: the peer's address, or @local for a listener
 *
 * For a link-local @peer, the result is the interface of @peer. Otherwise the result is the VRF
 * to which the address @local belongs, because only a socket that is bound to a VRF can use an
 * address of the VRF. Any context.
 *
 * Return: the index of the interface, or 0 if the socket must not be bound.
 */
int iwt_addr_ifindex(const struct iwt_dev *dev, const struct sockaddr_storage *local,
		     const struct sockaddr_storage *peer)
{
	const struct net_device *member;
	struct net *net;
	int ret;

	if (is_link_local(peer))
		return ((const struct sockaddr_in6 *)peer)->sin6_scope_id ?:
		       dev->netdev->ifindex;
	rcu_read_lock();
	net = rcu_dereference(dev->net);
	member = net ? vrf_member(dev, net, local) : NULL;
	ret = member ? l3mdev_master_ifindex_rcu(member) : 0;
	rcu_read_unlock();
	return ret;
}

/**
 * iwt_addr_same() - do two listeners need the same socket?
 * @a: address and options of one listener
 * @b: address and options of the other listener
 *
 * They need different sockets if their addresses, ports, interfaces or v6only flags differ. Any
 * context.
 *
 * Return: true if so.
 */
bool iwt_addr_same(const struct iwt_sock_addr *a, const struct iwt_sock_addr *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)&a->local;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)&b->local;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)&a->local;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)&b->local;

	if (a->local.ss_family != b->local.ss_family ||
	    a->ifindex != b->ifindex || a->v6only != b->v6only)
		return false;
	if (a->local.ss_family == AF_INET)
		return a4->sin_port == b4->sin_port &&
		       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
	       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/**
 * iwt_addr_of_listen() - the address on which a listener has to listen
 * @id: iw_cm_id of the listener; the mapped local address of @id is the address to listen on
 * @addr: receives the address and options
 *
 * Any context.
 *
 * Return: 0, or -EAFNOSUPPORT if the address is neither an IPv4 nor an IPv6 address.
 */
int iwt_addr_of_listen(const struct iw_cm_id *id, struct iwt_sock_addr *addr)
{
	*addr = (struct iwt_sock_addr) {
		.local		= id->m_local_addr,
		.tos		= id->tos,
		.tos_set	= id->tos_set,
	};
	if (addr->local.ss_family == AF_INET6)
		addr->v6only = id->afonly;
	else if (addr->local.ss_family != AF_INET)
		return -EAFNOSUPPORT;
	addr->ifindex = iwt_addr_ifindex(to_iwt_dev(id->device), &addr->local, &addr->local);
	return 0;
}
