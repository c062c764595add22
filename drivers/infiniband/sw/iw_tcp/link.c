// SPDX-License-Identifier: GPL-2.0
/* Links: `rdma link add` creates devices, and each device follows its net device. */
#include "link.h"

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/net_namespace.h>
#include <rdma/iw_tcp-abi.h>
#include <rdma/rdma_netlink.h>

#include <compat/ib_ops.h>

#include "dev.h"
#include "device.h"
#include "gid.h"
#include "stats.h"

/*
 * newlink() holds this mutex from the check for an existing link until catch_up() returns, so
 * that a net device never has two links.
 */
static DEFINE_MUTEX(add_mutex);

/* Find the device on @netdev. Return: the device with a reference, or NULL. */
static struct iwt_dev *get_by_netdev(struct net_device *netdev)
{
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev(netdev,
					(enum rdma_driver_id)RDMA_DRIVER_IW_TCP);
	return ibdev ? to_iwt_dev(ibdev) : NULL;
}

static void put_dev(struct iwt_dev *dev)
{
	ib_device_put(&dev->ibdev);
}

/* Notify the consumers if the state of the port has changed. The caller holds RTNL. */
static void update_port(struct iwt_dev *dev)
{
	enum ib_port_state state = ib_get_curr_port_state(dev->netdev);

	ASSERT_RTNL();
	if (state == dev->port_state)
		return;
	if (dev->port_state == IB_PORT_ACTIVE)
		iwt_count(dev, IWT_C_LINK_DOWN);
	dev->port_state = state;
	ib_dispatch_port_state_event(&dev->ibdev, dev->netdev);
}

/* Request that the RDMA core read the GID table again. Any context. */
static void gid_changed(struct iwt_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = IB_EVENT_GID_CHANGE,
	};

	ib_dispatch_event(&event);
}

/* The IP address @gid of @netdev was added or removed. Any context. */
static void addr_changed(struct net_device *netdev, const union ib_gid *gid)
{
	struct iwt_dev *dev = get_by_netdev(netdev);

	if (!dev)
		return;
	if (iwt_gid_change(dev, gid))
		gid_changed(dev);
	put_dev(dev);
}

static int addr4_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct in_ifaddr *ifa = info;
	const union ib_gid gid = iwt_gid_of_ip4(ifa->ifa_local);

	addr_changed(ifa->ifa_dev->dev, &gid);
	return NOTIFY_DONE;
}

static struct notifier_block addr4_nb = {
	.notifier_call = addr4_event,
};

#if IS_ENABLED(CONFIG_IPV6)
/* May be called in atomic context. */
static int addr6_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct inet6_ifaddr *ifa = info;
	const union ib_gid gid = iwt_gid_of_ip6(&ifa->addr);

	addr_changed(ifa->idev->dev, &gid);
	return NOTIFY_DONE;
}

static struct notifier_block addr6_nb = {
	.notifier_call = addr6_event,
};

static int addr6_register(void)
{
	return register_inet6addr_notifier(&addr6_nb);
}

static void addr6_unregister(void)
{
	unregister_inet6addr_notifier(&addr6_nb);
}
#else
static int addr6_register(void) { return 0; }
static void addr6_unregister(void) {}
#endif

/*
 * The net device is being unregistered, or moves to another namespace: stop creating sockets for
 * the link, and remove the link. The caller holds RTNL.
 */
static void link_leave(struct iwt_dev *dev)
{
	ASSERT_RTNL();
	RCU_INIT_POINTER(dev->net, NULL);
	ib_unregister_device_queued(&dev->ibdev);
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);
	struct iwt_dev *dev = get_by_netdev(netdev);

	if (!dev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		update_port(dev);
		break;
	case NETDEV_CHANGEADDR:
		/* only for kernels in which rdma_cm finds the device by the address in the GID */
		if (!compat_cm_by_netdev) {
			iwt_dev_set_addr(dev);
			gid_changed(dev);
		}
		break;
	case NETDEV_UNREGISTER:
		/* also sent when the net device moves to another namespace */
		link_leave(dev);
		break;
	}
	put_dev(dev);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = {
	.notifier_call = netdev_event,
};

static int add_link(const char *name, struct net_device *netdev, struct net *net)
{
	struct iwt_dev *dev = get_by_netdev(netdev);

	if (dev) {
		put_dev(dev);
		return -EEXIST;
	}
	return iwt_dev_add(name, netdev, net);
}

/*
 * Log that a link was added; dealloc_driver() logs the removal. Only administrators add links, so
 * nobody else can flood the log.
 */
static void announce(struct iwt_dev *dev)
{
	dev->announced = true;
	ibdev_info(&dev->ibdev, "iw_tcp link on %s added\n", netdev_name(dev->netdev));
}

/*
 * netdev_event() has missed the events that occurred before the device was registered: handle
 * them now. If the net device has been unregistered, or moved to another namespace, remove the
 * link. Return: 0, or -ENODEV if the link is removed.
 */
static int catch_up(struct net_device *netdev, struct net *net)
{
	struct iwt_dev *dev;
	int ret = 0;

	rtnl_lock();
	dev = get_by_netdev(netdev);
	if (!dev) {
		ret = -ENODEV;
	} else {
		if (netdev->reg_state != NETREG_REGISTERED ||
		    !net_eq(dev_net(netdev), net)) {
			link_leave(dev);
			ret = -ENODEV;
		} else {
			WRITE_ONCE(dev->coming, false);
			update_port(dev);
			if (iwt_gid_refresh(dev))
				gid_changed(dev);
			announce(dev);
		}
		put_dev(dev);
	}
	rtnl_unlock();
	return ret;
}

/*
 * Return: the namespace of a net device, with a reference; NULL if the net device or the
 * namespace is being destroyed.
 */
static struct net *get_home(const struct net_device *netdev)
{
	struct net *net = NULL;

	rtnl_lock();
	if (netdev->reg_state == NETREG_REGISTERED)
		net = maybe_get_net(dev_net(netdev));
	rtnl_unlock();
	return net;
}

/*
 * Why can't a net device carry a link? The net device must carry IP packets, and rdma_cm must be
 * able to find the link.
 *
 * Return: the reason, or NULL if the net device can carry a link.
 */
static const char *unfit(const struct net_device *netdev)
{
	switch (netdev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_IEEE802:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:	/* WireGuard, tun */
	case ARPHRD_PPP:
	case ARPHRD_RAWIP:
	case ARPHRD_TUNNEL:	/* ipip, vti */
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
	case ARPHRD_IPGRE:
	case ARPHRD_IP6GRE:
		break;
	case ARPHRD_INFINIBAND:
		return "rdma_cm connects over it by InfiniBand only";
	default:
		return "net devices of this type are not supported";
	}
	if (!compat_cm_finds(netdev))
		return "rdma_cm of this kernel needs a link layer address";
	return NULL;
}

/*
 * If netdev_event() is removing the link of @netdev, because the net device has moved to another
 * namespace: return after the link has been removed. Otherwise do nothing. May sleep.
 */
static void finish_leaving(struct net_device *netdev)
{
	struct iwt_dev *dev = get_by_netdev(netdev);

	if (!dev)
		return;
	if (rcu_access_pointer(dev->net))
		put_dev(dev);
	else
		ib_unregister_device_and_put(&dev->ibdev);
}

/* `rdma link add`; the RDMA core holds a reference to @netdev. May sleep. */
static int newlink(const char *name, struct net_device *netdev)
{
	const char *why = unfit(netdev);
	struct net *net;
	int ret;

	if (why) {
		pr_warn_ratelimited("iw_tcp %s: no link on %s (type %u): %s\n",
				    name, netdev_name(netdev), netdev->type, why);
		return -EOPNOTSUPP;
	}
	net = get_home(netdev);
	if (!net)
		return -ENODEV;
	/* add_mutex is not held: the consumers of the old link may need long to release it */
	finish_leaving(netdev);
	mutex_lock(&add_mutex);
	ret = add_link(name, netdev, net);
	if (ret)
		goto out_unlock;
	ret = catch_up(netdev, net);
out_unlock:
	mutex_unlock(&add_mutex);
	put_net(net);
	return ret;
}

static struct rdma_link_ops link_ops = {
	.type = "iw_tcp",
	.newlink = newlink,
};

/**
 * iwt_link_init() - register the link type, so that links can be added
 *
 * Process context, may sleep.
 *
 * Return: 0 or -errno.
 */
int iwt_link_init(void)
{
	int ret = register_netdevice_notifier(&netdev_nb);

	if (ret)
		return ret;
	ret = register_inetaddr_notifier(&addr4_nb);
	if (ret)
		goto err_netdev;
	ret = addr6_register();
	if (ret)
		goto err_addr4;
	rdma_link_register(&link_ops);
	return 0;

err_addr4:
	unregister_inetaddr_notifier(&addr4_nb);
err_netdev:
	unregister_netdevice_notifier(&netdev_nb);
	return ret;
}

/**
 * iwt_link_exit() - unregister the link type, and remove all links
 *
 * May sleep. Returns when every device has been unregistered.
 */
void iwt_link_exit(void)
{
	rdma_link_unregister(&link_ops);
	addr6_unregister();
	unregister_inetaddr_notifier(&addr4_nb);
	unregister_netdevice_notifier(&netdev_nb);
	ib_unregister_driver((enum rdma_driver_id)RDMA_DRIVER_IW_TCP);
}
