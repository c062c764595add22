// SPDX-License-Identifier: GPL-2.0
/*
 * Direct connections, for processes that do not use rdma_cm.
 *
 * Such a process exchanges GIDs, queue pair numbers and PSNs with its peer over a socket of its
 * own, and passes these numbers to ibv_modify_qp(). When the queue pair reaches RTR, the driver
 * begins to connect this queue pair, over TCP and MPA, to the peer's queue pair. ibv_modify_qp()
 * does not wait for the connection. Requests that the process posts meanwhile wait in the ring.
 *
 * Both ends know the GIDs and the queue pair numbers of both ends. From these numbers
 * iwt_direct_role() determines which end is the initiator. The responder listens on its address
 * and the link's direct_port, as long as a queue pair waits for a Request. The initiator tries
 * again until the responder's queue pair waits. Each startup frame contains the data of the
 * connection that its sender knows (struct iwt_direct_pd). The responder accepts a Request only
 * if a queue pair waits for exactly this peer, and if the connection comes from the address of
 * the peer's GID. The responder rejects every other Request with the same Reply, which has no
 * private data.
 *
 * A queue pair in RTR does not know all of its attributes yet: the process passes sq_psn and
 * rnr_retry with the change to RTS. So an end that is not in RTS waits IWT_DIRECT_RTS_MS for this
 * change before it connects or accepts. A process that only receives may never change to RTS.
 *
 * If requests are posted, and no connection is established within the time that follows from the
 * attributes timeout and retry_cnt (waits_too_long()), the first request completes with
 * IB_WC_RETRY_EXC_ERR, and the queue pair enters the error state. As long as no request is
 * posted, the driver continues to try.
 *
 * Locking: the mutex iwt_qp.modifying is held while a consumer modifies the queue pair, and while
 * the queue pair is being destroyed. iwt_qp.direct is changed with this mutex and with the lock
 * of the stream held; either lock is sufficient to read iwt_qp.direct. iwt_direct_qp.lock guards
 * the fields of struct iwt_direct_qp; ep->lock and the lock of the listeners (cm_direct_port.c)
 * nest inside iwt_direct_qp.lock. No work takes iwt_qp.modifying, so a task that holds
 * iwt_qp.modifying may wait for a work.
 */
#include "cm_direct.h"

#include <linux/delay.h>
#include <linux/in.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "cm_direct_priv.h"
#include "dev.h"

/*
 * Maximum number of attempts to reset a queue pair while TCP still refers to memory of its work
 * requests, and milliseconds between two attempts.
 */
#define IWT_DIRECT_RESET_TRIES	200
#define IWT_DIRECT_RESET_MS	5

/* Milliseconds from the first attempt to connect to the second. */
#define IWT_DIRECT_PAUSE_MIN_MS	1

/*
 * Is the address the address of one host? If a socket connects to an unspecified address, TCP
 * connects it to this host. So a program that did not set the GID of its peer would connect to
 * its own host.
 */
static bool is_unicast(const struct in6_addr *addr)
{
	const __be32 ip4 = addr->s6_addr32[3];

	if (ipv6_addr_v4mapped(addr))
		return !ipv4_is_zeronet(ip4) && !ipv4_is_multicast(ip4) && !ipv4_is_lbcast(ip4);
	return !ipv6_addr_any(addr) && !ipv6_addr_is_multicast(addr);
}

/*
 * Convert the GID @gid to the address of a socket. @port: in host byte order. Return: false if
 * the GID is not the address of one host.
 */
static bool gid_to_addr(const struct iwt_dev *dev, const u8 *gid, u16 port,
			struct sockaddr_storage *a)
{
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)a;

	*a = (struct sockaddr_storage) {};
	a6->sin6_family = AF_INET6;
	a6->sin6_port = cpu_to_be16(port);
	memcpy(&a6->sin6_addr, gid, sizeof(a6->sin6_addr));
	if (!is_unicast(&a6->sin6_addr))
		return false;
	if (ipv6_addr_type(&a6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		a6->sin6_scope_id = dev->netdev->ifindex;
	iwt_addr_unmap(a);
	return true;
}

/* Attributes of a change from RTR to RTS, and of no other change. */
#define RTS_ATTRS	(IB_QP_SQ_PSN | IB_QP_RNR_RETRY | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |	\
			 IB_QP_MAX_QP_RD_ATOMIC)

static bool attrs_ok(const struct ib_qp_attr *attr, int mask)
{
	const int need = IB_QP_AV | IB_QP_DEST_QPN | IB_QP_RQ_PSN;

	if ((mask & need) != need || mask & RTS_ATTRS)
		return false;
	return rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH &&
	       attr->dest_qp_num <= 0xffffff && attr->rq_psn <= 0xffffff &&
	       !(mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) &&
	       !(mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > IWT_MAX_RD_ATOM);
}

/*
 * Set the addresses of both ends from the attributes. Return: 0; -EINVAL if a GID is not a usable
 * IP address, or if the GIDs belong to different families; -EADDRNOTAVAIL if the link does not
 * have the local address any more.
 */
static int set_addrs(struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&d->attr.ah_attr);
	u16 port = READ_ONCE(d->dev->conf.direct_port);

	/* GID 0 is made of the link layer address: it is not an IP address */
	if (!grh->sgid_attr || !grh->sgid_index)
		return -EINVAL;
	memcpy(d->end.gid, grh->sgid_attr->gid.raw, IWT_GID_LEN);
	memcpy(d->end.peer_gid, grh->dgid.raw, IWT_GID_LEN);
	d->attr.ah_attr.grh.sgid_attr = NULL;	/* valid only during the call */
	if (!gid_to_addr(d->dev, d->end.gid, port, &d->local) ||
	    !gid_to_addr(d->dev, d->end.peer_gid, port, &d->remote) ||
	    d->local.ss_family != d->remote.ss_family)
		return -EINVAL;
	return iwt_addr_of_dev(d->dev, &d->local) ? 0 : -EADDRNOTAVAIL;
}

/* Only the responder binds its socket to direct_port; TCP chooses the initiator's port. */
static void clear_port(struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		((struct sockaddr_in *)a)->sin_port = 0;
	else
		((struct sockaddr_in6 *)a)->sin6_port = 0;
}

static int set_up(struct iwt_direct_qp *d, struct iwt_qp *qp, const struct ib_qp_attr *attr)
	__must_hold(&d->lock)
{
	struct iwt_direct_port *port;
	int err;

	d->qp = qp;
	d->dev = qp->stream.dev;
	d->attr = *attr;
	d->end.qpn = qp->ibqp.qp_num;
	d->end.peer_qpn = attr->dest_qp_num;
	d->end.rq_psn = attr->rq_psn;
	err = set_addrs(d);
	if (err)
		return err;
	d->role = iwt_direct_role(&d->end);
	if (d->role == IWT_DIRECT_SELF)
		return -EOPNOTSUPP;
	if (d->role == IWT_DIRECT_INITIATOR) {
		clear_port(&d->local);
		err = iwt_direct_pace_join(d);
		if (!err)
			d->next_try += msecs_to_jiffies(iwt_direct_pace_next(d));
		return err;
	}
	port = iwt_direct_join(d->dev, &d->local, &iwt_direct_events);
	if (IS_ERR(port))
		return PTR_ERR(port);
	d->port = port;
	return 0;
}

/* Keep only the attributes that the call sets: the caller did not initialise the others. */
static struct ib_qp_attr known_attrs(const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr known = {
		.ah_attr = attr->ah_attr,
		.dest_qp_num = attr->dest_qp_num,
		.rq_psn = attr->rq_psn,
		.path_mtu = mask & IB_QP_PATH_MTU ? attr->path_mtu : 0,
		.min_rnr_timer = mask & IB_QP_MIN_RNR_TIMER ? attr->min_rnr_timer : 0,
		.max_dest_rd_atomic = mask & IB_QP_MAX_DEST_RD_ATOMIC ?
				      attr->max_dest_rd_atomic : 0,
	};

	return known;
}

/*
 * Does the calling process belong to the namespace of the link? The sockets of a direct
 * connection belong to this namespace. As long as namespaces share RDMA devices, a process may
 * open a link of another namespace. Through these sockets the process could reach hosts that its
 * own namespace can't reach.
 */
static bool caller_is_in_net(const struct iwt_dev *dev)
{
	return iwt_dev_in(dev, current->nsproxy->net_ns);
}

/*
 * Prepare a direct connection. A responder listens afterwards, but accepts no Request before
 * set_direct(). Return: the direct connection, with the reference that the queue pair will hold;
 * or an ERR_PTR().
 */
static struct iwt_direct_qp *make_direct(struct iwt_qp *qp, const struct ib_qp_attr *attr,
					 int mask)
{
	const struct ib_qp_attr known = known_attrs(attr, mask);
	struct iwt_direct_qp *d;
	int err;

	if (!qp->user || !READ_ONCE(qp->stream.dev->conf.direct_port) ||
	    READ_ONCE(qp->stream.dev->conf.mpa_rev) < 2)
		return ERR_PTR(-EOPNOTSUPP);
	if (!attrs_ok(attr, mask))
		return ERR_PTR(-EINVAL);
	if (!caller_is_in_net(qp->stream.dev))
		return ERR_PTR(-EADDRNOTAVAIL);
	d = kzalloc_obj(*d, GFP_KERNEL_ACCOUNT);
	if (!d)
		return ERR_PTR(-ENOMEM);
	d->common.ops = &iwt_direct_events;
	kref_init(&d->ref);
	mutex_init(&d->lock);
	INIT_DELAYED_WORK(&d->work, iwt_direct_work);
	mutex_lock(&d->lock);
	d->rtr_at = jiffies;
	d->since = jiffies;
	d->next_try = jiffies;
	d->pause = IWT_DIRECT_PAUSE_MIN_MS;
	err = set_up(d, qp, &known);
	mutex_unlock(&d->lock);
	if (!err)
		return d;
	iwt_direct_put(d);
	return ERR_PTR(err);
}

static void set_direct(struct iwt_qp *qp, struct iwt_direct_qp *d)
{
	spin_lock_bh(&qp->stream.lock);
	qp->direct = d;
	spin_unlock_bh(&qp->stream.lock);
}

/*
 * Make no further attempt, and accept no Request. When this function returns, no work uses d->qp.
 * May sleep.
 */
static void stop(struct iwt_direct_qp *d)
{
	struct iwt_direct_port *port;

	mutex_lock(&d->lock);
	d->ended = true;
	iwt_direct_pace_leave(d);
	port = iwt_direct_take_port(d);
	mutex_unlock(&d->lock);
	cancel_delayed_work_sync(&d->work);
	iwt_direct_leave(port);
}

static int to_rtr(struct iwt_qp *qp, const struct ib_qp_attr *attr, int mask,
		  struct iwt_qp_change *c)
	__must_hold(&qp->modifying)
{
	struct iwt_direct_qp *d;
	int err;

	if (qp->direct)
		return -EINVAL;
	d = make_direct(qp, attr, mask);
	if (IS_ERR(d))
		return PTR_ERR(d);
	c->direct = true;
	err = iwt_ep_only_direct(qp) ?: iwt_qp_modify(qp, c);
	if (err) {
		stop(d);
		iwt_direct_put(d);
		return err;
	}
	set_direct(qp, d);
	mutex_lock(&d->lock);
	iwt_direct_check_later(d);
	mutex_unlock(&d->lock);
	return 0;
}

/*
 * Check the attributes of a change to RTS. The startup may already have told the peer the former
 * min_rnr_timer, so this attribute must not change. Return: 0 or -errno.
 */
static int check_rts_attrs(struct iwt_direct_qp *d, const struct ib_qp_attr *attr, int mask)
	__must_hold(&d->lock)
{
	const int allowed = IB_QP_MIN_RNR_TIMER | (d->end.rts ? 0 : RTS_ATTRS);

	if (mask & IWT_DIRECT_ATTRS & ~allowed)
		return -EINVAL;
	if (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer != d->attr.min_rnr_timer)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_SQ_PSN && attr->sq_psn > 0xffffff) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > IWT_RNR_RETRY_FOREVER) ||
	    (mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > IWT_MAX_RD_ATOM))
		return -EINVAL;
	return 0;
}

static int to_rts(struct iwt_direct_qp *d, struct iwt_qp *qp, const struct ib_qp_attr *attr,
		  int mask, struct iwt_qp_change *c)
	__must_hold(&qp->modifying)
{
	int err;

	mutex_lock(&d->lock);
	err = check_rts_attrs(d, attr, mask);
	mutex_unlock(&d->lock);
	if (err)
		return err;
	c->direct = true;
	err = iwt_qp_modify(qp, c);
	if (err)
		return err;
	mutex_lock(&d->lock);
	if (!d->end.rts) {
		d->attr.sq_psn = mask & IB_QP_SQ_PSN ? attr->sq_psn : 0;
		d->attr.rnr_retry = mask & IB_QP_RNR_RETRY ? attr->rnr_retry : 0;
		d->attr.timeout = mask & IB_QP_TIMEOUT ? attr->timeout : 0;
		d->attr.retry_cnt = mask & IB_QP_RETRY_CNT ? attr->retry_cnt : 0;
		d->attr.max_rd_atomic = mask & IB_QP_MAX_QP_RD_ATOMIC ? attr->max_rd_atomic : 0;
		d->end.sq_psn = d->attr.sq_psn;
		d->end.rnr_retry = d->attr.rnr_retry;
		d->end.rts = true;
		if (!d->ended && !d->connected)
			mod_delayed_work(iwt_direct_wq, &d->work, 0);
	}
	mutex_unlock(&d->lock);
	return 0;
}

/*
 * Reset the queue pair: flush the posted requests, and end the connection without waiting for the
 * peer, so that the queue pair can connect again. After the end of the connection TCP may refer
 * to memory of work requests for a moment; meanwhile iwt_qp_modify() returns -EBUSY. Return: 0 or
 * -errno.
 */
static int to_reset(struct iwt_direct_qp *d, struct iwt_qp *qp, struct iwt_qp_change *c)
	__must_hold(&qp->modifying)
{
	const struct iwt_qp_change end = { .mask = IB_QP_STATE, .to = IB_QPS_ERR };
	const struct iwt_qp_change no_change = {
		.mask = c->mask & (IB_QP_CUR_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY), .from = c->from,
	};
	int tries = IWT_DIRECT_RESET_TRIES;
	int err;

	/* check the attributes first: a refused reset must not end the connection */
	err = iwt_qp_modify(qp, &no_change);
	if (err)
		return err;
	c->mask &= ~IB_QP_CUR_STATE;
	stop(d);
	iwt_qp_modify(qp, &end);
	iwt_ep_end_qp(qp);
	err = iwt_qp_modify(qp, c);
	while (err == -EBUSY && --tries) {
		msleep(IWT_DIRECT_RESET_MS);
		err = iwt_qp_modify(qp, c);
	}
	if (err)
		return err;
	set_direct(qp, NULL);
	iwt_direct_put(d);
	return 0;
}

static int modify_direct(struct iwt_qp *qp, const struct ib_qp_attr *attr, int mask,
			 struct iwt_qp_change *c)
	__must_hold(&qp->modifying)
{
	struct iwt_direct_qp *d = qp->direct;
	bool state = mask & IB_QP_STATE;
	int err;

	if (state && c->to == IB_QPS_RTR && mask & IB_QP_AV)
		return to_rtr(qp, attr, mask, c);
	if (!d)
		return mask & IWT_DIRECT_ATTRS ? -EOPNOTSUPP : iwt_qp_modify(qp, c);
	if (!state)
		return mask & IWT_DIRECT_ATTRS ? -EOPNOTSUPP : iwt_qp_modify(qp, c);
	if (c->to != IB_QPS_RTS && mask & IWT_DIRECT_ATTRS)
		return -EINVAL;
	switch (c->to) {
	case IB_QPS_RTS:
		return to_rts(d, qp, attr, mask, c);
	case IB_QPS_RESET:
		return to_reset(d, qp, c);
	case IB_QPS_ERR:
		err = iwt_qp_modify(qp, c);
		if (!err) {
			stop(d);
			iwt_ep_abort_qp(qp);
		}
		return err;
	case IB_QPS_SQD:
		/* in iWARP, SQD closes the connection; InfiniBand programs do not expect this */
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

/**
 * iwt_direct_modify() - modify a queue pair, with or without a direct connection
 * @qp: queue pair
 * @attr: attributes that the consumer passes
 * @mask: enum ib_qp_attr_mask: members of @attr that are valid
 * @c: the change of state and of rights, for iwt_qp_modify()
 *
 * Process context; may sleep, but not for a peer. If this function returns an error, the state
 * has not changed, with one exception: after -EBUSY of a reset, the state is ERROR. But a change
 * to RTR that failed may have set iwt_qp.only_direct: then rdma_cm and delayed startup can't
 * connect the queue pair any more.
 *
 * Return: 0; -EOPNOTSUPP if the link or the queue pair can have no direct connection, if both
 * ends are the same queue pair, for a change of a direct connection to SQD, for a min_rnr_timer
 * that differs from that of the change to RTR, or for IWT_DIRECT_ATTRS without a direct
 * connection or without a change of state; -EINVAL for a change that is not allowed, for
 * attributes that do not belong to the change, or for GIDs that are not IP addresses;
 * -EADDRNOTAVAIL if the link is in another namespace than the caller, or does not have the
 * address of the local GID any more; -EADDRINUSE if another program uses the link's direct_port;
 * -EBUSY if a reset waited too long for TCP to release memory, or for a change to RTR if rdma_cm
 * or a delayed startup uses the queue pair; or another -errno.
 */
int iwt_direct_modify(struct iwt_qp *qp, const struct ib_qp_attr *attr, int mask,
		      struct iwt_qp_change *c)
{
	int err;

	mutex_lock(&qp->modifying);
	err = modify_direct(qp, attr, mask, c);
	mutex_unlock(&qp->modifying);
	return err;
}

/**
 * iwt_direct_query() - report the attributes of a direct connection
 * @qp: queue pair; without a direct connection nothing changes
 * @attr: receives the attributes that the process has set; other members do not change
 *
 * May sleep.
 */
void iwt_direct_query(struct iwt_qp *qp, struct ib_qp_attr *attr)
{
	struct iwt_direct_qp *d = iwt_direct_of(qp);

	if (!d)
		return;
	mutex_lock(&d->lock);
	attr->ah_attr = d->attr.ah_attr;
	attr->dest_qp_num = d->attr.dest_qp_num;
	attr->path_mtu = d->attr.path_mtu ?: attr->path_mtu;
	attr->rq_psn = d->attr.rq_psn;
	attr->sq_psn = d->attr.sq_psn;
	attr->min_rnr_timer = d->attr.min_rnr_timer;
	attr->rnr_retry = d->attr.rnr_retry;
	attr->timeout = d->attr.timeout;
	attr->retry_cnt = d->attr.retry_cnt;
	attr->max_rd_atomic = d->attr.max_rd_atomic;
	attr->max_dest_rd_atomic = d->attr.max_dest_rd_atomic;
	mutex_unlock(&d->lock);
	iwt_direct_put(d);
}

/**
 * iwt_direct_end() - make no further attempt to connect a queue pair that is being destroyed
 * @qp: queue pair that iwt_qp_find() can't find any more
 *
 * Process context; may sleep, but not for a peer.
 */
void iwt_direct_end(struct iwt_qp *qp)
{
	struct iwt_direct_qp *d;

	mutex_lock(&qp->modifying);
	d = qp->direct;
	if (d) {
		stop(d);
		set_direct(qp, NULL);
		iwt_direct_put(d);
	}
	mutex_unlock(&qp->modifying);
}
