// SPDX-License-Identifier: GPL-2.0
/* An initiator's TCP connection: its addresses, and how it is opened. */
#include "cm_ep.h"

#include <net/ip.h>
#include <rdma/iw_cm.h>

#include "dev.h"
#include "sock.h"

static void set_port(struct sockaddr_storage *a, __be16 port)
{
	if (a->ss_family == AF_INET)
		((struct sockaddr_in *)a)->sin_port = port;
	else
		((struct sockaddr_in6 *)a)->sin6_port = port;
}

/*
 * Let connect(2), not bind(2), reserve the local port. @port: the port, in host byte order; 0:
 * TCP chooses a port.
 */
static void take_late(struct iwt_sock_addr *addr, u16 port)
{
	set_port(&addr->local, 0);
	addr->late = true;
	addr->late_port = port;
}

static u16 get_port(const struct sockaddr_storage *a)
{
	return be16_to_cpu(a->ss_family == AF_INET ?
			   ((const struct sockaddr_in *)a)->sin_port :
			   ((const struct sockaddr_in6 *)a)->sin6_port);
}

/* Is @port in the range from which TCP chooses local ports? See connect_from_wish(). */
static bool port_is_free_choice(struct net *net, u16 port)
{
	int low, high;

	inet_get_local_port_range(net, &low, &high);
	return port >= low && port <= high;
}

static int connect_from(struct iwt_ep *ep, struct net *net,
			const struct iwt_sock_addr *addr)
	__must_hold(&ep->lock)
{
	return iwt_sock_connect(net, addr, &iwt_ep_sock_ops, ep, &ep->sock);
}

static bool port_is_taken(int err)
{
	return err == -EADDRINUSE || err == -EADDRNOTAVAIL;
}

/*
 * Connect from a port of the range from which TCP chooses local ports. If a ULP does not choose a
 * local port, rdma_cm chooses a port of this range. rdma_cm does not know which ports ordinary
 * TCP sockets use, so the port may be in use. The driver cannot know whether the ULP or rdma_cm
 * has chosen the port. So the driver tries the following, in this order:
 *
 * 1. TCP takes the port at connect(2), as if TCP had chosen the port itself. So other programs
 *    that do not choose a local port can use the port as well, to other destinations.
 * 2. Bind the socket to the port. The bind also succeeds if other sockets with SO_REUSEADDR are
 *    bound to the port and do not listen, if a connection to the same destination is in the state
 *    TIME_WAIT, or if the port is in ip_local_reserved_ports. In steps 1 and 3 a BPF program that
 *    checks the bind sees port 0. Such a program may refuse port 0, but allow the chosen port.
 * 3. TCP chooses another port at connect(2).
 *
 * The error -ENOPROTOOPT means that step 1 is not possible with this kernel (iwt_sock_bind()).
 */
static int connect_from_wish(struct iwt_ep *ep, struct net *net,
			     struct iwt_sock_addr *addr)
	__must_hold(&ep->lock)
{
	u16 port = get_port(&addr->local);
	int err;

	take_late(addr, port);
	err = connect_from(ep, net, addr);
	if (port_is_taken(err) || err == -EPERM || err == -ENOPROTOOPT) {
		set_port(&addr->local, cpu_to_be16(port));
		addr->late = false;
		err = connect_from(ep, net, addr);
	}
	if (port_is_taken(err)) {
		take_late(addr, 0);
		err = connect_from(ep, net, addr);
	}
	return err;
}

/**
 * iwt_ep_read_addrs() - store the addresses of both ends, as TCP reports them
 * @ep: endpoint, locked
 *
 * Converts IPv4-mapped addresses to IPv4: iw_cm treats an IPv4 connection of an IPv6 socket as
 * an IPv4 connection. If iwt_sock_names() fails, the stored addresses do not change. Process
 * context, may sleep.
 */
void iwt_ep_read_addrs(struct iwt_ep *ep)
{
	struct sockaddr_storage local = {}, remote = {};

	lockdep_assert_held(&ep->lock);
	if (iwt_sock_names(ep->sock, &local, &remote))
		return;
	iwt_addr_unmap(&local);
	iwt_addr_unmap(&remote);
	ep->local = local;
	ep->remote = remote;
}

/**
 * iwt_ep_dial_to() - begin a TCP connection to an address
 * @ep: endpoint of an initiator, locked, with its queue pair and without a socket
 * @net: namespace of the socket
 * @addr: addresses and options; this function sets the owner, and may change the local port
 *
 * Process context, sleeps for memory.
 *
 * Return: 0, or -errno; after an error the endpoint has no socket.
 */
int iwt_ep_dial_to(struct iwt_ep *ep, struct net *net, struct iwt_sock_addr *addr)
{
	u16 port = get_port(&addr->local);

	lockdep_assert_held(&ep->lock);
	/* the owner of the queue pair, not the calling task, which may be a worker */
	addr->owner = ep->qp->user ? &ep->qp->owner : NULL;
	if (!port)
		take_late(addr, 0);
	return port_is_free_choice(net, port) ? connect_from_wish(ep, net, addr) :
						connect_from(ep, net, addr);
}

/**
 * iwt_ep_dial() - begin the TCP connection of an iw_cm_id
 * @ep: endpoint of an initiator, locked, with its queue pair and without a socket
 * @id: iw_cm_id, with the (mapped) addresses of both ends
 *
 * The socket is created in the caller's namespace, which must be the namespace of the link: if
 * namespaces share devices, rdma_cm may pick a link of another namespace that has the same link
 * layer address or interface number. Process context, sleeps for memory.
 *
 * Return: 0; -EOPNOTSUPP for an unknown caller; -EADDRNOTAVAIL if the link is in another
 * namespace; or another -errno. After an error the endpoint has no socket.
 */
int iwt_ep_dial(struct iwt_ep *ep, struct iw_cm_id *id)
{
	u8 tos = READ_ONCE(ep->dev->conf.tos);
	struct iwt_sock_addr addr = {
		.local		= id->m_local_addr,
		.remote		= id->m_remote_addr,
		.tos		= id->tos_set ? id->tos : tos,
		.tos_set	= id->tos_set || tos,
	};
	struct net *net = iwt_caller_net(id);

	lockdep_assert_held(&ep->lock);
	if (!net)
		return -EOPNOTSUPP;
	if (!iwt_dev_in(ep->dev, net))
		return -EADDRNOTAVAIL;
	if (addr.local.ss_family != addr.remote.ss_family ||
	    (addr.local.ss_family != AF_INET &&
	     addr.local.ss_family != AF_INET6))
		return -EAFNOSUPPORT;
	addr.ifindex = iwt_addr_ifindex(ep->dev, &addr.local, &addr.remote);
	return iwt_ep_dial_to(ep, net, &addr);
}
