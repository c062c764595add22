/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_CM_BY_NETDEV_H
#define COMPAT_CM_BY_NETDEV_H

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

/*
 * The rdma_cm of this kernel does not find an iWARP device by its net device, but searches for a
 * GID that consists of the present link layer address only. So entry 0 of the device's GID table
 * is this GID, and changes with the address. (The probe looks for ib_device_get_netdev(), which
 * such a kernel does not export.)
 */
#define compat_cm_by_netdev	false

/*
 * Number of entries at the end of the GID table that are copies of entry 0. The RDMA core
 * replaces the entries one after the other, and rdma_cm searches the whole table: with a copy,
 * rdma_cm always finds one of the two entries.
 */
#define compat_cm_copies	1

/* Can a GID be made of the address of @netdev? A GID of zeros means an empty entry. */
static inline bool compat_cm_has_gid(const struct net_device *netdev)
{
	return memchr_inv(netdev->dev_addr, 0, sizeof(union ib_gid));
}

/* Can rdma_cm find a link on @netdev? rdma_cm finds the link on lo by loopback addresses. */
static inline bool compat_cm_finds(const struct net_device *netdev)
{
	return netdev->type == ARPHRD_LOOPBACK || compat_cm_has_gid(netdev);
}

/* Does rdma_cm search for the same GID on both net devices? */
static inline bool compat_cm_same(const struct net_device *a, const struct net_device *b)
{
	return compat_cm_has_gid(a) &&
	       !memcmp(a->dev_addr, b->dev_addr, sizeof(union ib_gid));
}

/* Set @gid to the GID that rdma_cm searches for; no change if @netdev has no address. */
static inline void compat_cm_gid(const struct net_device *netdev, union ib_gid *gid)
{
	if (compat_cm_has_gid(netdev))
		memcpy(gid, netdev->dev_addr, sizeof(*gid));
}

#include_next <compat/ib_ops.h>

#endif
