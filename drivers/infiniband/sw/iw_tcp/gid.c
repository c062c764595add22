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

/* Number of entries for IP addresses; the first of these entries is entry 1. */
#define GIDS_OF_IP	(IWT_GIDS - 1 - compat_cm_copies)

/*
 * A walk over the IP addresses of a net device. iwt_gid_refresh() walks twice: the first walk
 * finds the entries whose addresses still exist, and the second walk adds addresses that have no
 * entry. A net device may have more addresses than there are entries, so the walks do not copy
 * the addresses.
 *
 * @t: the table, locked
 * @see: called for each address; returns true to end the walk
 * @kept: bits of the entries whose addresses keep_addr() has found
 * @changed: add_addr() has added an entry
 * @sought: the address that seek_addr() compares
 */
struct walk {
	struct iwt_gid_table *t;
	bool (*see)(struct walk *w, const union ib_gid *gid);
	u32 kept;
	bool changed;
	union ib_gid sought;
};

static const union ib_gid no_gid;

/* Return: index of the entry with this GID, or 0. */
static int find_gid(const struct iwt_gid_table *t, const union ib_gid *gid)
	__must_hold(&t->lock)
{
	int i;

	for (i = 1; i <= GIDS_OF_IP; i++)
		if (!memcmp(&t->gid[i], gid, sizeof(*gid)))
			return i;
	return 0;
}

static bool keep_addr(struct walk *w, const union ib_gid *gid)
	__must_hold(&w->t->lock)
{
	int at = find_gid(w->t, gid);

	if (at)
		w->kept |= BIT(at);
	return false;
}

/* Add an entry for the address, if it has none. Return: true if the table is full. */
static bool add_addr(struct walk *w, const union ib_gid *gid)
	__must_hold(&w->t->lock)
{
	int at = find_gid(w->t, &no_gid);

	if (!at)
		return true;
	if (find_gid(w->t, gid))
		return false;
	w->t->gid[at] = *gid;
	w->changed = true;
	return false;
}

static bool seek_addr(struct walk *w, const union ib_gid *gid)
{
	return !memcmp(gid, &w->sought, sizeof(*gid));
}

static bool walk4(struct net_device *nd, struct walk *w)
	__must_hold(&w->t->lock)
{
	const struct in_device *in = __in_dev_get_rcu(nd);
	const struct in_ifaddr *ifa;
	union ib_gid gid;

	if (!in)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in) {
		gid = iwt_gid_of_ip4(ifa->ifa_local);
		if (w->see(w, &gid))
			return true;
	}
	return false;
}

/* Walk over the IPv6 addresses: the link-local addresses if @link_local, otherwise all others. */
static bool walk6(struct net_device *nd, struct walk *w, bool link_local)
	__must_hold(&w->t->lock)
{
	bool end = false;
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6 = __in6_dev_get(nd);
	const struct inet6_ifaddr *ifa;
	union ib_gid gid;

	if (!in6)
		return false;
	read_lock_bh(&in6->lock);
	list_for_each_entry(ifa, &in6->addr_list, if_list) {
		bool is_local = ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL;

		/* an address that is being removed may still be in the list */
		if (is_local != link_local || ifa->state == INET6_IFADDR_STATE_DEAD ||
		    ifa->flags & IFA_F_DADFAILED)
			continue;
		gid = iwt_gid_of_ip6(&ifa->addr);
		end = w->see(w, &gid);
		if (end)
			break;
	}
	read_unlock_bh(&in6->lock);
#endif
	return end;
}

/* Return: true if @w->see has ended the walk. */
static bool walk(struct net_device *nd, struct walk *w,
		 bool (*see)(struct walk *w, const union ib_gid *gid))
	__must_hold(&w->t->lock)
{
	bool end;

	w->see = see;
	rcu_read_lock();
	end = walk4(nd, w) || walk6(nd, w, false) || walk6(nd, w, true);
	rcu_read_unlock();
	return end;
}

/* Remove the entries that the first walk has not found. Return: true if there were any. */
static bool remove_others(const struct walk *w)
	__must_hold(&w->t->lock)
{
	bool changed = false;
	int i;

	for (i = 1; i <= GIDS_OF_IP; i++) {
		if (rdma_is_zero_gid(&w->t->gid[i]) || w->kept & BIT(i))
			continue;
		memset(&w->t->gid[i], 0, sizeof(w->t->gid[i]));
		changed = true;
	}
	return changed;
}

/**
 * iwt_gid_refresh() - update the table from all addresses of the net device
 * @dev: device
 *
 * Process context or softirq.
 *
 * Return: true if the table has changed, so that the RDMA core has to read it.
 */
bool iwt_gid_refresh(struct iwt_dev *dev)
{
	struct walk w = { .t = &dev->gids };
	bool changed;

	/* walk with the lock held, so that the last of several updates sees all changes */
	spin_lock_bh(&w.t->lock);
	walk(dev->netdev, &w, keep_addr);
	changed = remove_others(&w);
	walk(dev->netdev, &w, add_addr);
	spin_unlock_bh(&w.t->lock);
	return changed || w.changed;
}

/**
 * iwt_gid_change() - update the table after an address was added or removed
 * @dev: device
 * @gid: the address
 *
 * A net device may have thousands of addresses, and the kernel removes them one by one with RTNL
 * held. So this function must not compare all addresses with all entries. If the table is full,
 * and the address has no entry, there is nothing to do. Otherwise this function looks for this
 * one address. The address may exist twice, with two prefixes, or may have been added again: so
 * the caller does not say whether the address was added or removed. Process context or softirq.
 *
 * Return: as iwt_gid_refresh().
 */
bool iwt_gid_change(struct iwt_dev *dev, const union ib_gid *gid)
{
	struct walk w = { .t = &dev->gids, .sought = *gid };
	bool exists;
	int at;

	spin_lock_bh(&w.t->lock);
	at = find_gid(w.t, gid);
	if (at || find_gid(w.t, &no_gid)) {
		exists = walk(dev->netdev, &w, seek_addr);
		if (at && !exists) {
			w.t->gid[at] = no_gid;
			w.changed = true;
		}
		if (exists != !!at)
			walk(dev->netdev, &w, add_addr);
	}
	spin_unlock_bh(&w.t->lock);
	return w.changed;
}

/* Initialise the table of a new device, before it is registered. Process context. */
void iwt_gid_setup(struct iwt_dev *dev)
{
	spin_lock_init(&dev->gids.lock);
	iwt_gid_refresh(dev);
}

/*
 * Compute the GID of entry 0. The first half of the GID begins with the address of the device
 * (struct iwt_dev). The second half is the EUI-64 of this address, because some programs ignore a
 * GID if the second half is zero.
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
 * Only the RDMA core calls this function, in process context and with a lock held, when it fills
 * its copy of the table. To update its copy, the RDMA core deletes each entry, and adds the entry
 * again. But rdma_cm needs entry 0 at any time, and uses entry 0 without the lock. So the RDMA
 * core must fill entry 0 only once. When the RDMA core adds entry 0 again, iwt_get_netdev(),
 * which the RDMA core calls next in the same task, returns NULL, and the RDMA core skips the
 * entry.
 *
 * Return: 0, or -EINVAL if the table has no such entry.
 */
int iwt_query_gid(struct ib_device *ibdev, u32 port, int idx, union ib_gid *gid)
{
	struct iwt_dev *dev = to_iwt_dev(ibdev);
	struct iwt_gid_table *t = &dev->gids;

	if (idx < 0 || idx >= IWT_GIDS)
		return -EINVAL;
	if (!compat_cm_by_netdev && idx > GIDS_OF_IP)
		idx = 0;
	if (!idx) {
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
