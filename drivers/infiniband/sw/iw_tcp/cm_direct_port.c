// SPDX-License-Identifier: GPL-2.0
/*
 * Direct connections: references, and listeners. A listener exists as long as a queue pair waits
 * for a connection to the listener's address.
 */
#include "cm_direct_priv.h"

#include <linux/slab.h>
#include <linux/workqueue.h>

#include "dev.h"

/* Maximum number of half-open connections of a listener. */
#define IWT_DIRECT_BACKLOG	1024

/**
 * struct iwt_direct_port - listener of direct connections on one address of a link
 * @node: entry in the list of all such listeners
 * @dev: device
 * @local: address, with port
 * @listen: the listener
 * @users: number of queue pairs that wait
 */
struct iwt_direct_port {
	struct list_head node;
	struct iwt_dev *dev;
	struct sockaddr_storage local;
	struct iwt_listen *listen;
	unsigned int users;
};

static DEFINE_MUTEX(ports_lock);
static struct list_head ports __guarded_by(&ports_lock) = LIST_HEAD_INIT(ports);

static void free_direct(struct kref *ref)
{
	struct iwt_direct_qp *d = container_of(ref, struct iwt_direct_qp, ref);

	mutex_destroy(&d->lock);
	kfree(d);
}

/* Drop a reference to a direct connection. Any context. */
void iwt_direct_put(struct iwt_direct_qp *d)
{
	kref_put(&d->ref, free_direct);
}

/**
 * iwt_direct_of() - find the direct connection of a queue pair
 * @qp: queue pair
 *
 * Process context or softirq.
 *
 * Return: the direct connection, with a reference; NULL if the queue pair has none.
 */
struct iwt_direct_qp *iwt_direct_of(struct iwt_qp *qp)
{
	struct iwt_direct_qp *d;

	spin_lock_bh(&qp->stream.lock);
	d = qp->direct;
	if (d)
		kref_get(&d->ref);
	spin_unlock_bh(&qp->stream.lock);
	return d;
}

/**
 * iwt_direct_net() - find the namespace of a link
 * @dev: device
 *
 * Any context.
 *
 * Return: the namespace, with a reference; NULL if the link is being removed.
 */
struct net *iwt_direct_net(const struct iwt_dev *dev)
{
	struct net *net;

	rcu_read_lock();
	net = rcu_dereference(dev->net);
	if (net)
		net = maybe_get_net(net);
	rcu_read_unlock();
	return net;
}

static struct iwt_direct_port *find_port(const struct iwt_dev *dev,
					 const struct sockaddr_storage *local)
	__must_hold(&ports_lock)
{
	struct iwt_direct_port *p;

	list_for_each_entry(p, &ports, node)
		if (p->dev == dev && !memcmp(&p->local, local, sizeof(*local)))
			return p;
	return NULL;
}

/* Arguments and result of a work item that opens the listener of @port */
struct opening {
	struct work_struct work;
	struct iwt_direct_port *port;
	struct net *net;
	const struct iwt_direct_ops *ops;
	int err;
};

static void do_open(struct work_struct *work)
{
	struct opening *o = container_of(work, struct opening, work);
	struct iwt_direct_port *p = o->port;
	struct iwt_sock_addr addr = {
		.local		= p->local,
		.v6only		= p->local.ss_family == AF_INET6,
		.ifindex	= iwt_addr_ifindex(p->dev, &p->local, &p->local),
	};

	o->err = iwt_listen_open(p->dev, o->net, &addr, IWT_DIRECT_BACKLOG, o->ops, &p->listen);
}

/*
 * The administrator chooses the port (setting direct_port), perhaps one that only root may bind
 * to, so the rights of the calling process do not count. Queue pairs of other users will share
 * the listener, so it belongs neither to the user nor to the control group of this process: BPF
 * programs of the group would apply to the peers of the other users. So a worker opens the
 * listener, with the rights and the group of the kernel.
 */
static int open_by_worker(struct iwt_direct_port *p, struct net *net,
			  const struct iwt_direct_ops *ops)
{
	struct opening o = { .port = p, .net = net, .ops = ops };

	INIT_WORK_ONSTACK(&o.work, do_open);
	schedule_work(&o.work);
	flush_work(&o.work);
	destroy_work_on_stack(&o.work);
	return o.err;
}

static struct iwt_direct_port *open_port(struct iwt_dev *dev,
					 const struct sockaddr_storage *local,
					 const struct iwt_direct_ops *ops)
	__must_hold(&ports_lock)
{
	struct iwt_direct_port *p = kzalloc_obj(*p);
	struct net *net = iwt_direct_net(dev);
	int err = -ENODEV;

	if (!p || !net)
		goto err_free;
	p->dev = dev;
	p->local = *local;
	err = open_by_worker(p, net, ops);
	if (err)
		goto err_free;
	/* from now on the socket keeps the namespace alive */
	put_net(net);
	list_add(&p->node, &ports);
	return p;

err_free:
	if (net)
		put_net(net);
	if (!p)
		err = -ENOMEM;
	kfree(p);
	return ERR_PTR(err);
}

/**
 * iwt_direct_join() - listen for one more queue pair that waits
 * @dev: device
 * @local: address and port
 * @ops: @ops->request is called for each Request
 *
 * Process context, may sleep.
 *
 * Return: the listener, which several queue pairs may share; or an ERR_PTR(): -ENODEV if the link
 * is being removed, -ENOMEM, or an error of bind(2) or listen(2).
 */
struct iwt_direct_port *iwt_direct_join(struct iwt_dev *dev,
					const struct sockaddr_storage *local,
					const struct iwt_direct_ops *ops)
{
	struct iwt_direct_port *p;

	mutex_lock(&ports_lock);
	p = find_port(dev, local);
	if (!p)
		p = open_port(dev, local, ops);
	if (!IS_ERR(p))
		p->users++;
	mutex_unlock(&ports_lock);
	return p;
}

/**
 * iwt_direct_leave() - stop listening for a queue pair
 * @p: listener from iwt_direct_join(), or NULL; closed if no other queue pair uses the listener
 *
 * Process context, may sleep.
 */
void iwt_direct_leave(struct iwt_direct_port *p)
{
	if (!p)
		return;
	mutex_lock(&ports_lock);
	if (!--p->users) {
		list_del(&p->node);
		iwt_listen_close(p->listen);
		kfree(p);
	}
	mutex_unlock(&ports_lock);
}
