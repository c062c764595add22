/* SPDX-License-Identifier: GPL-2.0 */
/* The GIDs of a link, made of the link layer address and the IP addresses of its net device. */
#ifndef IWT_GID_H
#define IWT_GID_H

#include <linux/string.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

struct iwt_dev;
struct net_device;

void iwt_gid_setup(struct iwt_dev *dev);
bool iwt_gid_refresh(struct iwt_dev *dev);
bool iwt_gid_change(struct iwt_dev *dev, const union ib_gid *gid);
int iwt_query_gid(struct ib_device *ibdev, u32 port, int idx, union ib_gid *gid);
struct net_device *iwt_get_netdev(struct ib_device *ibdev, u32 port);

/* Return: the GID of an IPv6 address, or of an IPv4 address (IPv4-mapped). */
static inline union ib_gid iwt_gid_of_ip6(const struct in6_addr *addr)
{
	union ib_gid gid;

	memcpy(&gid, addr, sizeof(gid));
	return gid;
}

static inline union ib_gid iwt_gid_of_ip4(__be32 ip4)
{
	struct in6_addr addr;

	ipv6_addr_set_v4mapped(ip4, &addr);
	return iwt_gid_of_ip6(&addr);
}

#endif
