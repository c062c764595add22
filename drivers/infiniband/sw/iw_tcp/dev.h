/* SPDX-License-Identifier: GPL-2.0 */
/* One RDMA device on one net device. */
#ifndef IWT_DEV_H
#define IWT_DEV_H

#include <linux/atomic.h>
#include <linux/if_ether.h>
#include <linux/llist.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "conf.h"

/*
 * Limits that the device reports and enforces. Rings, and what grows with them, are charged to
 * the process. The objects themselves are allocated by the core and charged to nobody: these
 * limits bound their memory, to half a gigabyte if all are reached.
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
/* Octets of a message; the sum of a list must fit (RFC 5040 4.4). */
#define IWT_MAX_MSG		U32_MAX
#define IWT_MAX_RD_ATOM		128
#define IWT_MAX_FR_PAGES	512

struct iwt_causes;
struct iwt_stats;

/**
 * struct iwt_dev - device
 * @ibdev: verbs object, first
 * @node: in the list of all devices
 * @netdev: the interface below; a reference is held while registered
 * @netdev_tracker: by which the kernel can tell that this reference is not given back
 * @net: network namespace that the link was made in, and where its sockets are; NULL when
 *	@netdev leaves it. No reference: it outlives its net devices by a grace period
 * @coming: the link is being added, or moves: the core tells its clients of it
 * @made: when it was added, in jiffies
 * @moved: the core has taken it from its clients, because it moves or ends
 * @came: ends @coming after that
 * @ends: calls must not wait any longer (mr_prefetch.c)
 * @qps: queue pairs by number
 * @mrs: memory regions and windows by STag index
 * @n_qps: how many there are
 * @n_cqs: completion queues
 * @n_pds: protection domains
 * @n_mrs: memory regions
 * @n_mws: memory windows
 * @n_srqs: shared receive queues
 * @n_eps: endpoints of connections that are its own
 * @n_conns: queue pairs that have a connection
 * @pinned: octets of memory of processes that are pinned for regions, in whole pages
 * @rings: octets of rings that processes map
 * @windows_lock: the lists of all streams' windows; innermost, BH off
 * @conf: settings of this link
 * @stats: counters; a stream may have others (stats_qp.c)
 * @counters: counters of queue pairs by their numbers
 * @next_counter: where the search for a free number begins
 * @causes: what went wrong, by cause
 * @addr: address for the GID and the GUID: the link layer address that there was when the
 *	link was made, or a random one if there was none (lo)
 * @ended: in the list of devices whose memory is to be released
 * @port_state: as last told to the consumers; under RTNL
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
	atomic_t n_mrs;
	atomic_t n_mws;
	atomic_t n_srqs;
	atomic_t n_eps;
	atomic_t n_conns;
	atomic64_t pinned;
	atomic64_t rings;
	spinlock_t windows_lock;
	struct iwt_conf conf;
	struct iwt_stats __percpu *stats;
	struct xarray counters;
	u32 next_counter;
	struct iwt_causes *causes;
	u8 addr[ETH_ALEN];
	struct llist_node ended;
	enum ib_port_state port_state;
};

static inline struct iwt_dev *to_iwt_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct iwt_dev, ibdev);
}

/*
 * May a worker poll for a post, and an engine spin for one? Both have preemption off, for too
 * long for PREEMPT_RT. Any context.
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

/* One more object of a kind? Any context. Return: 0 or -ENOMEM. */
static inline int iwt_dev_take(atomic_t *n, int max)
{
	return atomic_add_unless(n, 1, max) ? 0 : -ENOMEM;
}

/* Process context, may sleep. */
void iwt_dev_enlist(struct iwt_dev *dev);
void iwt_dev_delist(struct iwt_dev *dev);
struct iwt_dev *iwt_dev_get_by_name(const char *name);
bool iwt_dev_any(bool (*is)(const struct iwt_dev *dev, const void *arg), const void *arg);
void iwt_dev_set_addr(struct iwt_dev *dev);

#endif
