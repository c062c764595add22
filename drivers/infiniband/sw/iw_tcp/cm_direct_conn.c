// SPDX-License-Identifier: GPL-2.0
/* Direct connections: attempts to connect, and Requests of peers. */
#include "cm_direct_priv.h"

#include <net/inet_ecn.h>
#include <net/ipv6.h>

#include "cm_direct.h"
#include "dev.h"
#include "sock.h"
#include "stats.h"

/* Milliseconds that a queue pair in RTR waits for its change to RTS. */
#define IWT_DIRECT_RTS_MS	50
/*
 * Maximum pauses between two attempts, in milliseconds. The pause is doubled each time: up to
 * IWT_DIRECT_PAUSE_SOON_MS in the first IWT_DIRECT_SOON_MS after the change to RTR, and later up
 * to IWT_DIRECT_PAUSE_MAX_MS. Only iwt_direct_pace_next() can require longer pauses.
 */
#define IWT_DIRECT_PAUSE_SOON_MS	200
#define IWT_DIRECT_PAUSE_MAX_MS		1000
#define IWT_DIRECT_SOON_MS		10000
/*
 * Work requests wait for a connection at least IWT_DIRECT_PATIENCE_MS milliseconds, and about
 * IWT_DIRECT_LEAST_TRIES attempts, before they fail.
 */
#define IWT_DIRECT_PATIENCE_MS	5000
#define IWT_DIRECT_LEAST_TRIES	3
/* Milliseconds between two checks whether work requests have waited too long. */
#define IWT_DIRECT_CHECK_MS	1000

/*
 * The workqueue of attempts, and of the endpoints that they create. (The endpoints of responders
 * use iwt_cm_wq.) A process may have thousands of queue pairs that try again and again; these
 * attempts must not delay the connections of rdma_cm. The workqueue is ordered, so the work of a
 * queue pair does not run at the same time as the work of its endpoint.
 */
struct workqueue_struct *iwt_direct_wq;

static struct iwt_direct_qp *to_direct_qp(struct iwt_direct *direct)
{
	return container_of(direct, struct iwt_direct_qp, common);
}

/* Does this end know all attributes of its startup frame, or has it waited long enough? */
static bool is_ready(const struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	return d->end.rts ||
	       time_after(jiffies, d->rtr_at + msecs_to_jiffies(IWT_DIRECT_RTS_MS));
}

/*
 * Request the IRD and the ORD of the consumer, each with IWT_DIRECT_READS more for the Reads of
 * the driver. Before RTS the ORD of the consumer is not known, so request the maximum.
 */
static void wish_depths(const struct iwt_direct_qp *d, struct iwt_ep *ep)
	__must_hold(&d->lock) __must_hold(&ep->lock)
{
	u32 ird = d->attr.max_dest_rd_atomic;
	u32 ord = d->end.rts ? d->attr.max_rd_atomic : IWT_MAX_RD_ATOM;

	ep->wish.ird = min_t(u32, ird, IWT_MAX_RD_ATOM) + IWT_DIRECT_READS;
	ep->wish.ord = min_t(u32, ord, IWT_MAX_RD_ATOM) + IWT_DIRECT_READS;
	ep->wish.ird_max = IWT_MAX_RD_ATOM + IWT_DIRECT_READS;
}

/* Assign the endpoint to the direct connection, and copy the data that its startup needs. */
static void adopt(struct iwt_direct_qp *d, struct iwt_ep *ep)
	__must_hold(&d->lock) __must_hold(&ep->lock)
{
	kref_get(&d->ref);
	ep->direct = &d->common;
	ep->own = d->end;
	ep->min_rnr_timer = d->attr.min_rnr_timer;
	wish_depths(d, ep);
}

static u8 tos_of(const struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	u8 tos = rdma_ah_read_grh(&d->attr.ah_attr)->traffic_class & ~INET_ECN_MASK;

	return tos ?: READ_ONCE(d->dev->conf.tos);
}

static int dial(struct iwt_direct_qp *d, struct iwt_ep *ep)
	__must_hold(&d->lock) __must_hold(&ep->lock)
{
	u8 tos = tos_of(d);
	struct iwt_sock_addr addr = {
		.local		= d->local,
		.remote		= d->remote,
		.tos		= tos,
		.tos_set	= tos,
		.ifindex	= iwt_addr_ifindex(d->dev, &d->local, &d->remote),
	};
	struct net *net = iwt_direct_net(d->dev);
	int err;

	if (!net)
		return -ENODEV;
	err = iwt_ep_dial_to(ep, net, &addr);
	put_net(net);
	return err;
}

static int begin_attempt(struct iwt_direct_qp *d, struct iwt_ep *ep)
	__must_hold(&d->lock) __must_hold(&ep->lock)
{
	struct iwt_direct_pd pd;
	int err;

	ep->dev = d->dev;
	ep->initiator = true;
	iwt_ep_load_settings(ep);
	/* direct connections need revision 2, so the peer can't be an RDMAC peer */
	ep->wish.max_rev = 2;
	ep->wish.rdmac = false;
	adopt(d, ep);
	iwt_direct_build(&ep->own, &pd);
	err = iwt_ep_build_request(ep, &pd, sizeof(pd));
	if (err)
		return err;
	iwt_qp_get(d->qp);
	err = iwt_ep_take_qp(ep, d->qp);
	if (err) {
		iwt_qp_put(d->qp);
		return err;
	}
	err = iwt_ep_publish(ep, d->dev);
	if (err)
		return err;
	err = dial(d, ep);
	if (!err)
		iwt_ep_arm(ep, IWT_CM_CONNECT_MS);
	return err;
}

/* The attempt has failed: make the next attempt after a pause. */
static void plan_retry(struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	bool soon = time_before(jiffies, d->rtr_at + msecs_to_jiffies(IWT_DIRECT_SOON_MS));
	unsigned int most = soon ? IWT_DIRECT_PAUSE_SOON_MS : IWT_DIRECT_PAUSE_MAX_MS;

	d->trying = false;
	d->next_try = jiffies + msecs_to_jiffies(max(d->pause, iwt_direct_pace_next(d)));
	d->pause = min(2 * d->pause, most);
}

static void attempt(struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	struct iwt_ep *ep = iwt_ep_alloc(IWT_CM_CONNECTING);
	int err;

	iwt_count(d->dev, IWT_C_DIRECT_TRY);
	d->tries++;
	if (!ep) {
		plan_retry(d);
		return;
	}
	/* as soon as the endpoint is unlocked, its last work may drop the first reference */
	iwt_ep_get(ep);
	ep->wq = iwt_direct_wq;
	mutex_lock(&ep->lock);
	err = begin_attempt(d, ep);
	if (err)
		iwt_ep_abandon(ep);
	mutex_unlock(&ep->lock);
	if (err)
		plan_retry(d);
	else
		d->trying = true;
	iwt_ep_raise(ep, IWT_EP_SOCK);
	iwt_ep_put(ep);
}

/*
 * Have work requests waited for the connection longer than the attributes timeout and retry_cnt
 * allow, longer than IWT_DIRECT_PATIENCE_MS, and longer than IWT_DIRECT_LEAST_TRIES attempts
 * usually take? If the attributes set no limit, the answer is always no.
 */
static bool waits_too_long(struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	u64 ms = iwt_direct_retry_ms(d->attr.timeout, d->attr.retry_cnt);
	bool posted = d->end.rts && !iwt_sq_idle(&d->qp->stream.sq);
	unsigned int least;

	if (!posted || !d->posted)
		d->since = jiffies;
	d->posted = posted;
	if (!posted || !ms)
		return false;
	least = max(IWT_DIRECT_PATIENCE_MS, IWT_DIRECT_LEAST_TRIES * iwt_direct_pace_ms(d));
	ms = clamp_t(u64, ms, least, INT_MAX);
	return time_after(jiffies, d->since + msecs_to_jiffies(ms));
}

/**
 * iwt_direct_check_later() - queue the work for the next attempt or the next check
 * @d: direct connection, locked
 *
 * Process context, does not sleep.
 */
void iwt_direct_check_later(struct iwt_direct_qp *d)
{
	unsigned long delay = msecs_to_jiffies(IWT_DIRECT_CHECK_MS);

	lockdep_assert_held(&d->lock);
	if (d->role == IWT_DIRECT_INITIATOR && !d->trying)
		delay = clamp_t(long, d->next_try - jiffies, 1, delay);
	mod_delayed_work(iwt_direct_wq, &d->work, delay);
}

/* Make no further attempt, and fail the posted requests. Return: as iwt_direct_take_port(). */
static struct iwt_direct_port *give_up(struct iwt_direct_qp *d)
	__must_hold(&d->lock)
{
	d->ended = true;
	iwt_direct_pace_leave(d);
	iwt_qp_unreachable(d->qp);
	iwt_ep_abort_qp(d->qp);
	return iwt_direct_take_port(d);
}

/**
 * iwt_direct_work() - make the next attempt, unless requests have waited too long
 * @work: work of a struct iwt_direct_qp
 *
 * Process context, may sleep.
 */
void iwt_direct_work(struct work_struct *work)
{
	struct iwt_direct_qp *d = container_of(to_delayed_work(work), struct iwt_direct_qp, work);
	struct iwt_direct_port *port = NULL;

	mutex_lock(&d->lock);
	if (!d->ended && !d->connected) {
		if (waits_too_long(d)) {
			port = give_up(d);
		} else {
			if (d->role == IWT_DIRECT_INITIATOR && !d->trying && is_ready(d) &&
			    time_after_eq(jiffies, d->next_try))
				attempt(d);
			iwt_direct_check_later(d);
		}
	}
	mutex_unlock(&d->lock);
	iwt_direct_leave(port);
}

/* ---- struct iwt_direct_ops: the work of an endpoint calls these functions ---- */

/* The initiator's startup has ended. @status: 0 if the connection is established, or -errno. */
static void on_reply(struct iwt_ep *ep, int status)
{
	struct iwt_direct_qp *d = to_direct_qp(ep->direct);

	mutex_lock(&d->lock);
	if (!status) {
		d->trying = false;
		d->connected = true;
		iwt_direct_pace_leave(d);
	} else if (!d->ended) {
		plan_retry(d);
		iwt_direct_check_later(d);
	}
	mutex_unlock(&d->lock);
}

/* Does the connection come from the address of the peer's GID? */
static bool is_from_peer(const struct iwt_direct_qp *d, const struct iwt_ep *ep)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)&d->remote;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)&ep->remote;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)&d->remote;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)&ep->remote;

	if (d->remote.ss_family != ep->remote.ss_family)
		return false;
	if (d->remote.ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/*
 * Accept the Request of @ep for the queue pair of @d. If this function fails, the caller has to
 * refuse the Request, unless the endpoint has left the state WAIT_ULP.
 */
static void accept_for(struct iwt_direct_qp *d, struct iwt_ep *ep)
	__must_hold(&d->lock) __must_hold(&ep->lock)
{
	struct iwt_direct_pd pd;
	struct iwt_mpa_frame rep;

	if (iwt_ep_early(ep))
		return;
	adopt(d, ep);
	iwt_qp_get(d->qp);
	if (iwt_ep_take_qp(ep, d->qp)) {
		iwt_qp_put(d->qp);
		return;
	}
	if (!iwt_ep_set_owner(ep))
		return;
	iwt_sock_set_tos(ep->sock, tos_of(d));
	if (iwt_ep_attach_responder(ep, &rep))
		return;
	/* from now on the queue pair has a connection, even if the Reply can't be sent */
	d->connected = true;
	iwt_direct_build(&ep->own, &pd);
	if (!iwt_ep_accept_reply(ep, &rep, &pd, sizeof(pd)))
		iwt_ep_step(ep, IWT_CME_ACCEPT, 0);
}

/* Return: true if @d waits for exactly the Request of @ep, with the private data @peer. */
static bool awaits(const struct iwt_direct_qp *d, const struct iwt_ep *ep,
		   const struct iwt_direct_end *peer)
	__must_hold(&d->lock) __must_hold(&ep->lock)
{
	return !d->ended && !d->connected && d->role == IWT_DIRECT_RESPONDER && is_ready(d) &&
	       is_from_peer(d, ep) && iwt_direct_match(&d->end, peer);
}

/*
 * Find the direct connection of the queue pair that the peer's Request names. @peer: receives the
 * private data of the Request. Return: the direct connection, with a reference; or NULL.
 */
static struct iwt_direct_qp *find_target(struct iwt_ep *ep, struct iwt_direct_end *peer)
{
	struct iwt_direct_qp *d;
	struct iwt_qp *qp;

	if (!iwt_direct_parse(ep->frame + ep->req.pd_off, ep->req.pd_len, peer))
		return NULL;
	qp = iwt_qp_find(ep->dev, peer->peer_qpn);
	if (!qp)
		return NULL;
	d = iwt_direct_of(qp);
	iwt_qp_put(qp);
	return d;
}

static void refuse(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	int err;

	iwt_count(ep->dev, IWT_C_DIRECT_REFUSED);
	iwt_ep_let_go_qp(ep);
	err = iwt_ep_refuse(ep, NULL, 0);
	iwt_ep_step(ep, err ? IWT_CME_LOST : IWT_CME_REJECT, err);
}

/*
 * If the endpoint still waits for the answer to its Request: accept the Request if @d awaits it,
 * otherwise refuse the Request. If the Reply can't be sent, the connection is lost.
 */
static void answer(struct iwt_direct_qp *d, struct iwt_ep *ep, const struct iwt_direct_end *peer)
	__must_hold(&d->lock)
{
	mutex_lock(&ep->lock);
	if (ep->state == IWT_CM_WAIT_ULP) {
		if (awaits(d, ep, peer))
			accept_for(d, ep);
		if (ep->state == IWT_CM_WAIT_ULP)
			refuse(ep);
	}
	mutex_unlock(&ep->lock);
}

/* A Request has arrived at a listener of direct connections. */
static void on_request(struct iwt_ep *ep)
{
	struct iwt_direct_port *port = NULL;
	struct iwt_direct_end peer;
	struct iwt_direct_qp *d = find_target(ep, &peer);

	if (!d) {
		mutex_lock(&ep->lock);
		if (ep->state == IWT_CM_WAIT_ULP)
			refuse(ep);
		mutex_unlock(&ep->lock);
		iwt_ep_raise(ep, IWT_EP_SOCK);
		return;
	}
	mutex_lock(&d->lock);
	answer(d, ep, &peer);
	if (d->connected)
		port = iwt_direct_take_port(d);
	mutex_unlock(&d->lock);
	iwt_ep_raise(ep, IWT_EP_SOCK);
	iwt_direct_leave(port);
	iwt_direct_put(d);
}

static void on_put(struct iwt_direct *direct)
{
	iwt_direct_put(to_direct_qp(direct));
}

const struct iwt_direct_ops iwt_direct_events = {
	.request = on_request,
	.reply = on_reply,
	.put = on_put,
};

/* Create the workqueue at module load; may sleep. Return: 0 or -ENOMEM. */
int iwt_direct_init(void)
{
	iwt_direct_wq = alloc_ordered_workqueue("iw_tcp_direct", WQ_MEM_RECLAIM);
	return iwt_direct_wq ? 0 : -ENOMEM;
}

/* Destroy the workqueue at module unload, when no endpoint is left; may sleep. */
void iwt_direct_exit(void)
{
	destroy_workqueue(iwt_direct_wq);
}
