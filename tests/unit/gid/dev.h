/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stub of dev.h and of the kernel's net devices: what gid.c uses, for the build in user space. A
 * net device has its addresses in two arrays, and counts the addresses that gid.c visits.
 */
#ifndef UNIT_DEV_H
#define UNIT_DEV_H

#include <asm/byteorder.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#define IWT_GIDS	16
#define UNIT_ADDRS	200

#define IS_ENABLED(config)	1
#define __must_hold(lock)

struct in6_addr {
	u8 s6_addr[16];
};

union ib_gid {
	u8 raw[16];
};

struct ib_device {
	int unused;
};

struct task_struct {
	int unused;
};

struct in_ifaddr {
	__be32 ifa_local;
};

struct inet6_ifaddr {
	struct in6_addr addr;
	int state;
	u32 flags;
};

enum { INET6_IFADDR_STATE_DAD, INET6_IFADDR_STATE_DEAD };
#define IFA_F_DADFAILED		0x08
#define IPV6_ADDR_LINKLOCAL	0x20

/* A net device is its own in_device and inet6_dev. */
struct net_device {
	struct in_ifaddr ip4[UNIT_ADDRS];
	struct inet6_ifaddr ip6[UNIT_ADDRS];
	u32 n4, n6;
	u32 visited;
	spinlock_t lock;
	u32 refs;
};

#define in_device	net_device
#define inet6_dev	net_device

struct iwt_gid_table {
	spinlock_t lock;
	union ib_gid gid[IWT_GIDS];
	bool filled;
	const struct task_struct *refilling;
};

struct iwt_dev {
	struct ib_device ibdev;
	struct net_device *netdev;
	struct iwt_gid_table gids;
	u8 addr[6];
};

static inline struct iwt_dev *to_iwt_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct iwt_dev, ibdev);
}

static inline struct net_device *__in_dev_get_rcu(struct net_device *nd)
{
	return nd;
}

static inline struct net_device *__in6_dev_get(struct net_device *nd)
{
	return nd;
}

/* The driver only reads, but this stub counts. */
#define unit_visit(in)	((void)((struct net_device *)(uintptr_t)(in))->visited++)

#define in_dev_for_each_ifa_rcu(ifa, in) \
	for ((ifa) = (in)->ip4; (ifa) < (in)->ip4 + (in)->n4 && (unit_visit(in), true); (ifa)++)

/* only for the list of the addresses of a struct inet6_dev */
#define addr_list	n6
#define list_for_each_entry(ifa, head, member) \
	for ((ifa) = in6->ip6; (ifa) < in6->ip6 + *(head) && (unit_visit(in6), true); (ifa)++)

#define read_lock_bh(l)		((void)(l))
#define read_unlock_bh(l)	((void)(l))
#define spin_lock_init(l)	((l)->held = false)
#define dev_hold(nd)		((nd)->refs++)
#define ether_addr_copy(to, from)	memcpy(to, from, 6)
#define addrconf_addr_eui48(to, from)	memcpy(to, from, 6)
/* the running task, which the test sets */
extern const struct task_struct *unit_task;
#define current			unit_task

static inline void ipv6_addr_set_v4mapped(__be32 ip4, struct in6_addr *addr)
{
	*addr = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
	memcpy(addr->s6_addr + 12, &ip4, sizeof(ip4));
}

static inline int ipv6_addr_type(const struct in6_addr *addr)
{
	return addr->s6_addr[0] == 0xfe ? IPV6_ADDR_LINKLOCAL : 1;
}

static inline bool rdma_is_zero_gid(const union ib_gid *gid)
{
	static const union ib_gid zero;

	return !memcmp(gid, &zero, sizeof(zero));
}

#endif
