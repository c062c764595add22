/* SPDX-License-Identifier: GPL-2.0 */
/* One RDMA device on one net device. */
#ifndef IWT_DEV_H
#define IWT_DEV_H

#include <linux/atomic.h>
#include <linux/if_ether.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/ratelimit_types.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "conf.h"

/*
 * Limits that the device reports and enforces. Regions, rings, and other memory that grows with
 * the rings, are charged to the process. The RDMA core allocates the other verbs objects without
 * charging a process: these limits bound the memory of these objects, for each device, to half a
 * gigabyte.
 */
#define IWT_MAX_QP		(32 * 1024)
#define IWT_MAX_QP_WR		(16 * 1024)
#define IWT_MAX_CQ		(48 * 1024)
#define IWT_MAX_CQE		(1024 * 1024)
#define IWT_MAX_MR		(1024 * 1024)
#define IWT_MAX_MW		(256 * 1024)
#define IWT_MAX_PD		(32 * 1024)
#define IWT_MAX_SRQ		(32 * 1024)
#define IWT_MAX_SRQ_WR		(256 * 1024)
/* Maximum length of a message, and of the memory of an sg list, in bytes (RFC 5040 4.4). */
#define IWT_MAX_MSG		U32_MAX
#define IWT_MAX_RD_ATOM		128
#define IWT_MAX_FR_PAGES	512

/* Number of entries of the GID table. Addresses that do not fit into the table have no GID. */
#define IWT_GIDS	16
/* Number of bits of the hash value of a user in iwt_dev.direct_free_ms. */
#define IWT_DIRECT_FREE_BITS	6

/**
 * struct iwt_gid_table - GIDs of a link
 * @lock: guards @gid; BH off; innermost of the driver's locks. The kernel's inet6_dev.lock nests
 *	inside @lock (gid.c: walk6())
 * @gid: GIDs of IP addresses; unused entries are zero. Entry 0 is not used here: gid.c computes
 *	its GID from the link layer address
 * @filled: the RDMA core has read entry 0
 * @refilling: task in which the RDMA core reads entry 0 for the second time or later, or NULL;
 *	the pointer is only compared
 */
struct iwt_gid_table {
	spinlock_t lock;
	union ib_gid gid[IWT_GIDS];
	bool filled;
	const struct task_struct *refilling;
};

struct iwt_causes;
struct iwt_stats;

/**
 * struct iwt_dev - device
 * @ibdev: verbs object; must be the first member
 * @node: entry in the list of all devices
 * @netdev: the net device below; a reference is held until dealloc_driver()
 * @netdev_tracker: tracks the reference to @netdev, to detect a leak
 * @net: network namespace of the link and of its sockets; NULL as soon as @netdev is being
 *	unregistered or leaves the namespace. No reference is held: the namespace outlives its net
 *	devices by a grace period
 * @coming: the link is being added or moved, and the RDMA core has not notified all clients yet
 * @made: time when the link was added, in jiffies
 * @moved: the RDMA core has removed the device from its clients, to move or to unregister the
 *	device
 * @came: clears @coming after a move
 * @ends: prefetch calls must not wait any longer (mr_prefetch.c)
 * @qps: queue pairs by number
 * @mrs: memory regions and windows by STag index
 * @n_qps: number of queue pairs
 * @n_cqs: number of completion queues
 * @n_pds: number of protection domains
 * @mr_touches: number of registrations into which data behind a gap were placed (rx_place.c)
 * @n_mrs: number of memory regions
 * @n_mws: number of memory windows
 * @n_srqs: number of shared receive queues
 * @n_eps: number of endpoints that are assigned to this device
 * @n_lingering: number of these endpoints that are in the state LINGER
 * @n_conns: number of queue pairs that have a connection
 * @pinned: bytes of process memory that is pinned for regions, in whole pages
 * @rings: bytes of rings that processes map
 * @windows_lock: guards the lists of windows of all streams; innermost, BH off
 * @conf: settings of this link
 * @stats: counters; a stream that is bound to a counter of queue pairs has other counters
 *	(stats_qp.c)
 * @past: sums of the counters of queue pairs that no longer exist (stats_qp.c)
 * @past_mutex: held while the counts of a counter that ends move to @past, and while a sum is
 *	computed. So the sum includes these counts exactly once
 * @counters: counters of queue pairs by number
 * @next_counter: number at which the search for a free number in @counters begins
 * @causes: for each cause of errors, how many errors it has caused (stats_errors.c)
 * @addr: address for the GID and the GUID, set when the link is added: the link layer address of
 *	@netdev, or a random address if @netdev has no Ethernet address (lo, tunnels)
 * @gids: GIDs (gid.c)
 * @direct_waiting: for each user (uid), how many queue pairs try to connect (cm_direct_pace.c)
 * @direct_free_ms: for each hash value of a user, the time in milliseconds at which the user may
 *	again make IWT_DIRECT_FREE attempts that are not slowed down (cm_direct_pace.c)
 * @ended: entry in the list of devices that are to be freed
 * @announced: the kernel's log has the message that the link was added
 * @memlock_said: limits the rate of messages about RLIMIT_MEMLOCK
 * @port_state: port state that was last reported to the consumers; under RTNL
 */
struct iwt_dev {
	struct ib_device ibdev;
	struct list_head node;
	struct net_device *netdev;
	netdevice_tracker netdev_tracker;
	struct net __rcu *net;
	bool coming;
	unsigned long made;
	bool moved;
	struct delayed_work came;
	bool ends;
	struct xarray qps;
	struct xarray mrs;
	atomic_t n_qps;
	atomic_t n_cqs;
	atomic_t n_pds;
	atomic_t mr_touches;
	atomic_t n_mrs;
	atomic_t n_mws;
	atomic_t n_srqs;
	atomic_t n_eps;
	atomic_t n_lingering;
	atomic_t n_conns;
	atomic64_t pinned;
	atomic64_t rings;
	spinlock_t windows_lock;
	struct iwt_conf conf;
	struct iwt_stats __percpu *stats;
	u64 *past;
	struct mutex past_mutex;
	struct xarray counters;
	u32 next_counter;
	struct iwt_causes *causes;
	u8 addr[ETH_ALEN];
	struct iwt_gid_table gids;
	struct xarray direct_waiting;
	u64 direct_free_ms[1 << IWT_DIRECT_FREE_BITS];
	struct llist_node ended;
	bool announced;
	struct ratelimit_state memlock_said;
	enum ib_port_state port_state;
};

static inline struct iwt_dev *to_iwt_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct iwt_dev, ibdev);
}

/*
 * May a worker poll for a post, and may an engine spin for a reply? Both disable preemption for a
 * time that is too long for PREEMPT_RT. Any context.
 */
static inline bool iwt_dev_may_poll(const struct iwt_dev *dev)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && READ_ONCE(dev->conf.polling);
}

/* Is @net the namespace of the link? Any context. */
static inline bool iwt_dev_in(const struct iwt_dev *dev, const struct net *net)
{
	return rcu_access_pointer(dev->net) == net;
}

/* Increment @n, a number of objects. Any context. Return: 0, or -ENOMEM if @n is already @max. */
static inline int iwt_dev_take(atomic_t *n, int max)
{
	return atomic_add_unless(n, 1, max) ? 0 : -ENOMEM;
}

/* Process context, may sleep. iwt_dev_any(): does @is() return true for at least one device? */
void iwt_dev_enlist(struct iwt_dev *dev);
void iwt_dev_delist(struct iwt_dev *dev);
struct iwt_dev *iwt_dev_get_by_name(const char *name, const struct net *net);
bool iwt_dev_any(bool (*is)(const struct iwt_dev *dev, const void *arg), const void *arg);
void iwt_dev_set_addr(struct iwt_dev *dev);

#endif
