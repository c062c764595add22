// SPDX-License-Identifier: GPL-2.0
/*
 * The GIDs of a link. The GID of entry 0 is made of the link layer address; rdma_cm needs this
 * entry. The other entries are the IP addresses of the net device, for programs that connect
 * without rdma_cm (cm_direct.c). An address keeps its entry as long as the address exists.
 */
#include "gid.h"

#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/sched.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include <rdma/ib_cache.h>

#include <compat/ib_ops.h>

#include "dev.h"

/*
 * Is the entry @idx a copy of entry 0? On older kernels rdma_cm searches the whole table for the
 * GID of the link layer address. The RDMA core replaces the entries one after the other, so with
 * a copy of this GID in the last entry, rdma_cm always finds one of these two entries.
 */
static bool is_copy(int idx)
{
	if (!compat_cm_by_netdev)
		return idx == IWT_GIDS - 1;
	return false;
}

/* Number of entries for IP addresses; the first of these entries is entry 1. */
static int gids_of_ip(void)
{
	if (!compat_cm_by_netdev)
		return IWT_GIDS - 2;
	return IWT_GIDS - 1;
}

/* IP addresses of a net device, as GIDs. */
struct addrs {
	int n;
	union ib_gid gid[IWT_GIDS];
};

static void add_addr(struct addrs *a, const struct in6_addr *addr)
{
	if (a->n < gids_of_ip())
		memcpy(&a->gid[a->n++], addr, sizeof(*addr));
}

static void collect4(struct net_device *nd, struct addrs *a)
{
	const struct in_device *in = __in_dev_get_rcu(nd);
	const struct in_ifaddr *ifa;
	struct in6_addr addr;

	if (!in)
		return;
	in_dev_for_each_ifa_rcu(ifa, in) {
		ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
		add_addr(a, &addr);
	}
}

/* Collect the IPv6 addresses: the link-local addresses if @link_local, otherwise all others. */
static void collect6(struct net_device *nd, struct addrs *a, bool link_local)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6 = __in6_dev_get(nd);
	const struct inet6_ifaddr *ifa;

	if (!in6)
		return;
	read_lock_bh(&in6->lock);
	list_for_each_entry(ifa, &in6->addr_list, if_list) {
		bool is_local = ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL;

		/* an address that is being removed may still be in the list */
		if (is_local == link_local && ifa->state != INET6_IFADDR_STATE_DEAD &&
		    !(ifa->flags & IFA_F_DADFAILED))
			add_addr(a, &ifa->addr);
	}
	read_unlock_bh(&in6->lock);
#endif
}

static bool has(const union ib_gid *gids, int n, const union ib_gid *gid)
{
	while (n--)
		if (!memcmp(&gids[n], gid, sizeof(*gid)))
			return true;
	return false;
}

/* Remove the GIDs that are not in @a. Return: true if the table has changed. */
static bool remove_others(struct iwt_gid_table *t, const struct addrs *a)
	__must_hold(&t->lock)
{
	bool changed = false;
	int i;

	for (i = 1; i <= gids_of_ip(); i++) {
		if (rdma_is_zero_gid(&t->gid[i]) || has(a->gid, a->n, &t->gid[i]))
			continue;
		memset(&t->gid[i], 0, sizeof(t->gid[i]));
		changed = true;
	}
	return changed;
}

/* Return: true if the GID has been added; false if it exists, or if the table is full. */
static bool add_gid(struct iwt_gid_table *t, const union ib_gid *gid)
	__must_hold(&t->lock)
{
	int i;

	if (has(t->gid + 1, gids_of_ip(), gid))
		return false;
	for (i = 1; i <= gids_of_ip(); i++) {
		if (rdma_is_zero_gid(&t->gid[i])) {
			t->gid[i] = *gid;
			return true;
		}
	}
	return false;
}

/**
 * iwt_gid_refresh() - update the table after the addresses of the net device have changed
 * @dev: device
 *
 * Process context or softirq.
 *
 * Return: true if the table has changed, so that the RDMA core has to read it.
 */
bool iwt_gid_refresh(struct iwt_dev *dev)
{
	struct iwt_gid_table *t = &dev->gids;
	struct addrs a = {};
	bool changed;
	int i;

	/* collect with the lock held, so that the last of several updates sees all changes */
	spin_lock_bh(&t->lock);
	rcu_read_lock();
	collect4(dev->netdev, &a);
	collect6(dev->netdev, &a, false);
	collect6(dev->netdev, &a, true);
	rcu_read_unlock();
	changed = remove_others(t, &a);
	for (i = 0; i < a.n; i++)
		changed |= add_gid(t, &a.gid[i]);
	spin_unlock_bh(&t->lock);
	return changed;
}

/* Initialise the table of a new device, before it is registered. Process context. */
void iwt_gid_setup(struct iwt_dev *dev)
{
	spin_lock_init(&dev->gids.lock);
	iwt_gid_refresh(dev);
}

/*
 * Compute the GID of entry 0. The first half of the GID begins with the Ethernet address of the
 * net device, or with a random address if the net device has no Ethernet address. The second half
 * is the EUI-64 of this address, because some programs ignore a GID if the second half is zero.
 * The GID does not change when the link layer address changes.
 *
 * But the rdma_cm of older kernels finds the device by a GID that contains only the present link
 * layer address. On these kernels entry 0 is this GID.
 */
static void fill_link_gid(const struct iwt_dev *dev, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	ether_addr_copy(gid->raw, dev->addr);
	if (compat_cm_by_netdev)
		addrconf_addr_eui48(gid->raw + 8, (const char *)dev->addr);
	if (!compat_cm_by_netdev)
		compat_cm_gid(dev->netdev, gid);
}

/**
 * iwt_query_gid() - ib_device operation query_gid
 * @ibdev: device
 * @port: 1
 * @idx: index of the entry
 * @gid: set to the GID; zero if the entry is not used
 *
 * Only the RDMA core calls this function, with a lock held, when it fills its copy of the table.
 * To update its copy, the RDMA core deletes each entry, and adds the entry again. But rdma_cm
 * needs entry 0 at any time, and uses it without the lock. So the RDMA core must fill entry 0
 * only once. When the RDMA core adds entry 0 again, iwt_get_netdev(), which the RDMA core calls
 * next in the same task, returns NULL, and the RDMA core skips the entry.
 *
 * Return: 0, or -EINVAL if the table has no such entry.
 */
int iwt_query_gid(struct ib_device *ibdev, u32 port, int idx, union ib_gid *gid)
{
	struct iwt_dev *dev = to_iwt_dev(ibdev);
	struct iwt_gid_table *t = &dev->gids;

	if (idx < 0 || idx >= IWT_GIDS)
		return -EINVAL;
	if (!idx || is_copy(idx)) {
		fill_link_gid(dev, gid);
	} else {
		spin_lock_bh(&t->lock);
		*gid = t->gid[idx];
		spin_unlock_bh(&t->lock);
	}
	if (!compat_cm_by_netdev)
		return 0;
	WRITE_ONCE(t->refilling, !idx && t->filled ? current : NULL);
	t->filled |= !idx;
	return 0;
}

/**
 * iwt_get_netdev() - ib_device operation get_netdev
 * @ibdev: device
 * @port: 1
 *
 * Any context.
 *
 * The function returns the net device also while the net device is being removed: the driver
 * holds a reference until the device ends. When a network namespace is created, the RDMA core
 * queries the port of each device. If the function returned NULL, this query and so the creation
 * of the namespace would fail.
 *
 * Return: the net device, with a reference; NULL if the RDMA core must skip entry 0 of the GID
 * table (see iwt_query_gid()).
 */
struct net_device *iwt_get_netdev(struct ib_device *ibdev, u32 port)
{
	struct iwt_dev *dev = to_iwt_dev(ibdev);
	struct net_device *nd = dev->netdev;

	if (READ_ONCE(dev->gids.refilling) == current) {
		WRITE_ONCE(dev->gids.refilling, NULL);
		return NULL;
	}
	dev_hold(nd);
	return nd;
}
