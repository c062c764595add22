// SPDX-License-Identifier: GPL-2.0
/*
 * Listening, and the choice of the listener for an inbound connection.
 *
 * To listen on the wildcard address or a loopback address, rdma_cm listens on each device, with
 * the same port. These listeners can't each bind a socket to that port. And a socket that is
 * bound to one net device would not receive connections from this host to the address of the net
 * device, because the packets of such connections arrive on lo. So the listeners of a namespace
 * share one socket for each address and port. An accepted connection is assigned to a listener on
 * an RDMA device that serves the net device with the local address of the connection. If there is
 * no such listener, the connection is reset.
 *
 * For the wildcard address or a loopback address, rdma_cm listens on the devices of all
 * namespaces, but a listener belongs to the namespace of its caller. On a device of another
 * namespace, iwt_cm_create_listen() returns 0 but opens no socket. When a link is added, rdma_cm
 * creates a listener on the link for each of its wildcard and loopback listeners in all
 * namespaces. If one of these calls fails, rdma_cm never uses the link. So if the socket can't be
 * opened at that moment, for example because the address and port are in use, the call succeeds
 * nevertheless, and the listener tries again later.
 *
 * rdma_cm listens on one device after the other, and the first listener opens the socket. Until
 * rdma_cm listens on all devices, connections wait in TCP's accept queue, because a connection
 * may belong to a device on which rdma_cm does not listen yet. The time of the wait is limited,
 * because rdma_cm may never listen on a device.
 *
 * A VRF has its own TCP ports, unless net.ipv4.tcp_l3mdev_accept is set. So listeners on the
 * wildcard address share one socket for each VRF, which serves the links in that VRF.
 *
 * A peer that connects and sends nothing, or that does not close the connection after a reject,
 * occupies a half-open endpoint. The number of half-open endpoints of a listener is limited:
 * beyond the limit the oldest half-open endpoint is evicted. The endpoint of an ordinary peer is
 * half-open for one round trip only, so only a flood of connections can cause its eviction; idle
 * connections can't.
 */
#include "cm.h"

#include <linux/completion.h>
#include <linux/slab.h>
#include <rdma/iw_cm.h>

#include "cm_ep.h"
#include "dawdle.h"
#include "dev.h"
#include "sock.h"

/* Maximum number of connections that one run of the port's work accepts. */
#define IWT_ACCEPT_BUDGET	64

/*
 * Milliseconds until the work of a port runs again, after an accept has failed, or while rdma_cm
 * has not yet created all of its listeners at the port (listen_is_settled()).
 */
#define IWT_ACCEPT_RETRY_MS	100

/* Milliseconds until a listener on a new link tries again to open its socket. */
#define IWT_LISTEN_RETRY_MS	1000

/* Milliseconds within which rdma_cm is expected to listen on all devices. */
#define IWT_LISTEN_ALL_MS	3000

/* Bounds for iwt_listen.limit, which is also the length of TCP's accept queue. */
#define IWT_HALF_OPEN_MIN	128
#define IWT_HALF_OPEN_MAX	4096

/**
 * struct iwt_port - a listening socket
 * @node: entry in the table of ports
 * @net: namespace of the listeners; the socket keeps the namespace alive
 * @addr: address and options of the socket
 * @lock: guards the members marked __guarded_by(&lock); cm_ep.h describes the order of the locks
 * @sock: socket, NULL when it has been closed
 * @accepting: the work uses @sock without the lock
 * @accepted: completed when @accepting ends after close_port() has set @sock to NULL
 * @opened: time when the port was opened, in jiffies
 * @work: accepts connections
 * @listens: listeners that share the socket
 * @end: frees the port, when no callback of the socket can run any more
 */
struct iwt_port {
	struct list_head node;
	struct net *net;
	struct iwt_sock_addr addr;
	struct mutex lock;
	struct iwt_sock *sock __guarded_by(&lock);
	bool accepting __guarded_by(&lock);
	struct completion accepted;
	unsigned long opened __guarded_by(&lock);
	struct delayed_work work;
	struct list_head listens __guarded_by(&lock);
	struct rcu_work end;
};

static DEFINE_MUTEX(iwt_ports_lock);
static struct list_head ports __guarded_by(&iwt_ports_lock) = LIST_HEAD_INIT(ports);

/*
 * Find the listener for a connection to @local. The new rdma_cm_id and the new iw_cm_id must
 * belong to the same device. The new iw_cm_id has the device of the listener. For the new
 * rdma_cm_id, cma_iw_acquire_dev() chooses the same device, but only if the device serves @local.
 */
static struct iwt_listen *pick(struct iwt_port *port,
			       const struct sockaddr_storage *local)
	__must_hold(&port->lock)
{
	struct iwt_listen *l, *found = NULL;
	struct net_device *nd;

	if (!iwt_addr_on_all(&port->addr.local))
		return list_first_entry_or_null(&port->listens,
						struct iwt_listen, node);
	rcu_read_lock();
	nd = iwt_addr_owner(port->net, local);
	list_for_each_entry(l, &port->listens, node) {
		if (nd && iwt_addr_served(l->dev->netdev, nd)) {
			found = l;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/* Assign the endpoint of a new connection to its listener. */
static void assign(struct iwt_port *port, struct iwt_ep *ep)
	__must_hold(&port->lock) __must_hold(&ep->lock)
{
	struct iwt_listen *l;
	u8 tos;

	iwt_ep_read_addrs(ep);
	l = pick(port, &ep->local);
	if (!l || iwt_ep_publish(ep, l->dev)) {
		/* let the work close the socket: closing takes time, and new connections wait */
		iwt_ep_raise(ep, IWT_EP_KILLED);
		return;
	}
	tos = READ_ONCE(l->dev->conf.tos);
	if (tos && !port->addr.tos_set)
		iwt_sock_set_tos(ep->sock, tos);
	iwt_ep_load_settings(ep);
	kref_get(&l->ref);
	WRITE_ONCE(ep->listen, l);
	iwt_half_open_add(ep);
	iwt_ep_arm(ep, IWT_CM_REQUEST_MS);
}

/*
 * Accept one connection from @listener, the socket of the port. The port's lock is not held
 * during the accept: TCP locks the new socket, and a consumer may wait for the port's lock while
 * the consumer owns another socket. Both sockets may have TCP's lockdep class, so lockdep would
 * report a deadlock. The work of the endpoint and the work of the port use the same ordered
 * workqueue, so the work of the endpoint can't run before the endpoint has its socket.
 *
 * Return: 0, -EAGAIN when no connection waits or the port has been closed, or another -errno.
 */
static int take_one(struct iwt_port *port, struct iwt_sock *listener)
{
	struct iwt_ep *ep = iwt_ep_alloc(IWT_CM_WAIT_REQ);
	struct iwt_sock *sock;
	int err;

	if (!ep)
		return -ENOMEM;
	err = iwt_sock_accept(listener, &iwt_ep_sock_ops, ep, &sock);
	if (err) {
		iwt_ep_put(ep);
		return err;
	}
	iwt_doze();
	mutex_lock(&port->lock);
	mutex_lock(&ep->lock);
	ep->sock = sock;
	assign(port, ep);
	err = port->sock ? 0 : -EAGAIN;
	/* as soon as the endpoint is unlocked, its last work may drop the first reference */
	iwt_ep_get(ep);
	mutex_unlock(&ep->lock);
	mutex_unlock(&port->lock);
	/* bytes may have arrived before the callbacks were set; or the endpoint must end */
	iwt_ep_raise(ep, IWT_EP_SOCK);
	iwt_ep_put(ep);
	return err;
}

static bool has_listen(const struct iwt_port *port, const struct iwt_dev *dev)
	__must_hold(&port->lock)
{
	const struct iwt_listen *l;

	list_for_each_entry(l, &port->listens, node)
		if (l->dev == dev)
			return true;
	return false;
}

/* Does the port @arg still have to wait until rdma_cm listens on @dev, too? */
static bool is_missing(const struct iwt_dev *dev, const void *arg)
{
	const struct iwt_port *port = arg;
	unsigned long since;

	lockdep_assert_held(&port->lock);
	since = port->opened;
	if (!iwt_dev_in(dev, port->net) || has_listen(port, dev))
		return false;
	/* a listener on @dev uses the socket of another VRF */
	if (iwt_addr_ifindex(dev, &port->addr.local, &port->addr.local) != port->addr.ifindex)
		return false;
	/*
	 * For a new link the time begins when the link is added: while dev->coming is true,
	 * rdma_cm may still create its listeners on the link. This does not apply to a link
	 * that the RDMA core has removed from its clients (dev->moved): the link may be about to
	 * end, and then connections to other devices would wait without a reason.
	 */
	if (READ_ONCE(dev->coming) && !READ_ONCE(dev->moved))
		since = dev->made;
	return time_before(jiffies, since + msecs_to_jiffies(IWT_LISTEN_ALL_MS));
}

/* Has rdma_cm created all listeners that are expected at the port? */
static bool listen_is_settled(const struct iwt_port *port)
	__must_hold(&port->lock)
{
	const struct iwt_listen *l;

	if (!iwt_addr_on_all(&port->addr.local))
		return true;
	/* rdma_cm does not know of a listener for direct connections */
	list_for_each_entry(l, &port->listens, node)
		if (l->direct)
			return true;
	return !iwt_dev_any(is_missing, port);
}

static void accept_later(struct iwt_port *port, unsigned int ms)
{
	queue_delayed_work(iwt_cm_wq, &port->work, msecs_to_jiffies(ms));
}

/*
 * Return: the socket of the port, which stays open until end_accept(); NULL if the port is
 * closed, or if connections must wait until rdma_cm has created all of its listeners.
 */
static struct iwt_sock *begin_accept(struct iwt_port *port)
{
	struct iwt_sock *sock = NULL;

	mutex_lock(&port->lock);
	if (port->sock && !listen_is_settled(port))
		accept_later(port, IWT_ACCEPT_RETRY_MS);
	else
		sock = port->sock;
	port->accepting = !!sock;
	mutex_unlock(&port->lock);
	return sock;
}

/* The work of the port has accepted connections. Return: true if the port is still open. */
static bool end_accept(struct iwt_port *port)
{
	bool open;

	mutex_lock(&port->lock);
	port->accepting = false;
	open = !!port->sock;
	if (!open)
		complete(&port->accepted);
	mutex_unlock(&port->lock);
	return open;
}

static void do_port_work(struct work_struct *work)
{
	struct iwt_port *port = container_of(to_delayed_work(work),
					     struct iwt_port, work);
	struct iwt_sock *listener = begin_accept(port);
	int budget = IWT_ACCEPT_BUDGET;
	int err = 0;

	if (!listener)
		return;
	while (budget--) {
		err = take_one(port, listener);
		if (err && err != -ECONNABORTED)
			break;
	}
	if (end_accept(port) && err != -EAGAIN)
		accept_later(port, budget < 0 ? 0 : IWT_ACCEPT_RETRY_MS);
}

static void on_connection(struct iwt_sock *s, void *ctx)
{
	struct iwt_port *port = ctx;

	/* run the work at once, even if a retry is pending */
	mod_delayed_work(iwt_cm_wq, &port->work, 0);
}

static const struct iwt_sock_ops port_sock_ops = {
	.data_ready = on_connection,
};

static struct iwt_port *find_port(const struct net *net,
				  const struct iwt_sock_addr *addr)
{
	struct iwt_port *port;

	lockdep_assert_held(&iwt_ports_lock);
	list_for_each_entry(port, &ports, node)
		if (port->net == net && iwt_addr_same(&port->addr, addr))
			return port;
	return NULL;
}

/*
 * No context can queue the work of the port any more. The work of the port and this function use
 * the same ordered workqueue, so the work of the port does not run now, and cancelling it does
 * not wait.
 */
static void do_port_end(struct work_struct *work)
{
	struct iwt_port *port = container_of(to_rcu_work(work), struct iwt_port,
					     end);

	cancel_delayed_work_sync(&port->work);
	mutex_destroy(&port->lock);
	kfree(port);
}

static struct iwt_port *alloc_port(struct net *net,
				   const struct iwt_sock_addr *addr)
	__context_unsafe(/* no other processor can access the port yet */)
{
	struct iwt_port *port = kzalloc_obj(*port);

	if (!port)
		return NULL;
	port->net = net;
	port->addr = *addr;
	port->opened = jiffies;
	mutex_init(&port->lock);
	init_completion(&port->accepted);
	INIT_DELAYED_WORK(&port->work, do_port_work);
	INIT_LIST_HEAD(&port->listens);
	INIT_RCU_WORK(&port->end, do_port_end);
	return port;
}

/* Open a port for its first listener, and add the listener before a connection can arrive. */
static int open_port(struct iwt_listen *l)
	__must_hold(&iwt_ports_lock)
{
	struct iwt_port *port = alloc_port(l->net, &l->addr);
	int err;

	if (!port)
		return -ENOMEM;
	/* connections may arrive before port->sock is set */
	mutex_lock(&port->lock);
	list_add(&l->node, &port->listens);
	err = iwt_sock_listen(port->net, &port->addr, l->limit, &port_sock_ops,
			      port, &port->sock);
	if (err)
		list_del(&l->node);
	mutex_unlock(&port->lock);
	if (err) {
		queue_rcu_work(iwt_cm_wq, &port->end);
		return err;
	}
	l->port = port;
	list_add(&port->node, &ports);
	return 0;
}

/*
 * Close the socket while the table of ports is locked, so that the next listener can bind to the
 * same port. This function may wait for the work that accepts connections, since that work takes
 * neither iwt_ports_lock nor any other lock of the task that ends the listener. The last
 * callbacks of the socket may run until a grace period has elapsed. do_port_end() runs after the
 * grace period, so that no task waits for a grace period while it holds a lock.
 */
static void close_port(struct iwt_port *port)
{
	struct iwt_sock *sock;
	bool accepting;

	lockdep_assert_held(&iwt_ports_lock);
	list_del(&port->node);
	mutex_lock(&port->lock);
	sock = port->sock;
	port->sock = NULL;
	accepting = port->accepting;
	mutex_unlock(&port->lock);
	if (accepting)
		wait_for_completion(&port->accepted);
	iwt_sock_release(sock, false);
	queue_rcu_work(iwt_cm_wq, &port->end);
}

static int join_port(struct iwt_listen *l, struct iwt_port *port)
{
	int err = 0;

	mutex_lock(&port->lock);
	if (has_listen(port, l->dev)) {
		err = -EADDRINUSE;
	} else {
		l->port = port;
		list_add_tail(&l->node, &port->listens);
		/* connections may have waited for this listener */
		mod_delayed_work(iwt_cm_wq, &port->work, 0);
	}
	mutex_unlock(&port->lock);
	return err;
}

static int add_listen(struct iwt_listen *l)
{
	struct iwt_port *port;
	int err;

	mutex_lock(&iwt_ports_lock);
	port = find_port(l->net, &l->addr);
	err = port ? join_port(l, port) : open_port(l);
	mutex_unlock(&iwt_ports_lock);
	return err;
}

static void remove_listen(struct iwt_listen *l)
{
	struct iwt_port *port = l->port;
	bool last;

	if (!port)
		return;
	mutex_lock(&iwt_ports_lock);
	mutex_lock(&port->lock);
	list_del(&l->node);
	last = list_empty(&port->listens);
	mutex_unlock(&port->lock);
	if (last)
		close_port(port);
	mutex_unlock(&iwt_ports_lock);
}

static void try_later(struct iwt_listen *l)
{
	schedule_delayed_work(&l->retry, msecs_to_jiffies(IWT_LISTEN_RETRY_MS));
}

static void do_retry(struct work_struct *work)
{
	struct iwt_listen *l = container_of(to_delayed_work(work),
					    struct iwt_listen, retry);

	if (iwt_dev_in(l->dev, l->net) && add_listen(l))
		try_later(l);
}

/*
 * May a listener wait if its socket can't be opened now? Yes, if the link is being added or
 * moved, and rdma_cm creates listeners for this address on all devices.
 */
static bool may_wait(const struct iwt_listen *l)
{
	return READ_ONCE(l->dev->coming) && iwt_addr_on_all(&l->addr.local);
}

static struct iwt_listen *alloc_listen(struct iwt_dev *dev, unsigned int limit)
	__context_unsafe(/* no other processor can access the listener yet */)
{
	struct iwt_listen *l = kzalloc_obj(*l);

	if (!l)
		return NULL;
	kref_init(&l->ref);
	spin_lock_init(&l->lock);
	init_completion(&l->idle);
	INIT_LIST_HEAD(&l->half_open);
	INIT_DELAYED_WORK(&l->retry, do_retry);
	l->limit = limit;
	l->dev = dev;
	return l;
}

/**
 * iwt_listen_open() - listen for direct connections; process context, may sleep
 * @dev: device
 * @net: namespace of @dev; the caller must keep @net alive only until this function returns
 * @addr: address and options
 * @limit: maximum number of half-open connections
 * @ops: @ops->request is called for each Request
 * @out: receives the listener
 *
 * Return: 0, an error of bind(2) or listen(2), or -ENOMEM.
 */
int iwt_listen_open(struct iwt_dev *dev, struct net *net, const struct iwt_sock_addr *addr,
		    unsigned int limit, const struct iwt_direct_ops *ops, struct iwt_listen **out)
{
	struct iwt_listen *l = alloc_listen(dev, limit);
	int err;

	if (!l)
		return -ENOMEM;
	l->addr = *addr;
	l->net = net;
	l->direct = ops;
	err = add_listen(l);
	if (err)
		iwt_listen_put(l);
	else
		*out = l;
	return err;
}

/* End a listener of iwt_listen_open(). Process context; sleeps, but not for a peer. */
void iwt_listen_close(struct iwt_listen *l)
{
	remove_listen(l);
	iwt_ep_orphan(l);
	iwt_listen_put(l);
}

/**
 * iwt_cm_create_listen() - listen on an address
 * @id: iw_cm_id of the listener, with the (mapped) local address
 * @backlog: number of unanswered Requests that iw_cm can store
 *
 * Process context, may sleep. CONNECT_REQUEST events may be reported before this function
 * returns. If the link is in another namespace than the caller, a listener on a wildcard or
 * loopback address never reports an event, and any other address fails with -EADDRNOTAVAIL.
 *
 * Return: 0; an error of bind(2) or listen(2); -EOPNOTSUPP for an unknown caller; -EAFNOSUPPORT
 * for an address that is neither IPv4 nor IPv6; -EADDRNOTAVAIL (see above); or -ENOMEM.
 */
int iwt_cm_create_listen(struct iw_cm_id *id, int backlog)
{
	struct net *net = iwt_caller_net(id);
	struct iwt_sock_addr addr;
	struct iwt_listen *l;
	int err;

	err = net ? iwt_addr_of_listen(id, &addr) : -EOPNOTSUPP;
	if (err)
		return err;
	if (!iwt_dev_in(to_iwt_dev(id->device), net))
		return iwt_addr_on_all(&addr.local) ? 0 : -EADDRNOTAVAIL;
	l = alloc_listen(to_iwt_dev(id->device),
			 clamp(backlog, IWT_HALF_OPEN_MIN, IWT_HALF_OPEN_MAX));
	if (!l)
		return -ENOMEM;
	l->addr = addr;
	l->net = net;
	l->cm_id = id;
	id->add_ref(id);
	id->provider_data = l;

	err = add_listen(l);
	if (err && may_wait(l)) {
		ibdev_warn_ratelimited(&l->dev->ibdev,
				       "a listener waits for its address and port: error %d\n",
				       err);
		try_later(l);
		err = 0;
	}
	if (err) {
		id->provider_data = NULL;
		id->rem_ref(id);
		iwt_listen_put(l);
	}
	return err;
}

/**
 * iwt_cm_destroy_listen() - stop listening
 * @id: iw_cm_id of the listener
 *
 * No CONNECT_REQUEST follows. Requests that were reported can still be accepted or rejected
 * (iwt_ep_orphan()). Process context; sleeps, but waits neither for iw_cm's work nor for a peer.
 *
 * Return: 0.
 */
int iwt_cm_destroy_listen(struct iw_cm_id *id)
{
	struct iwt_listen *l = id->provider_data;

	if (!l)
		return 0;	/* the link is in another namespace than the listener */
	id->provider_data = NULL;
	cancel_delayed_work_sync(&l->retry);
	remove_listen(l);
	iwt_listen_end_reports(l);
	iwt_doze();
	iwt_ep_orphan(l);
	id->rem_ref(id);
	iwt_listen_put(l);
	return 0;
}
