// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: references, lookup, state changes, and the limit on half-open endpoints.
 */
#include "cm_ep.h"

#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <net/ipv6.h>

#include "dawdle.h"
#include "dev.h"
#include "proto/first.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"

/* Every endpoint that belongs to a device, indexed by ep->id. */
static DEFINE_XARRAY_ALLOC1(eps);
static u32 next_id = IWT_FIRST_UP_TO(INT_MAX);
static DECLARE_WAIT_QUEUE_HEAD(ep_gone);

/**
 * iwt_ep_get() - take a reference
 * @ep: endpoint; the caller holds a reference, or another reference is known to exist
 *
 * Any context.
 */
void iwt_ep_get(struct iwt_ep *ep)
{
	kref_get(&ep->ref);
}

static void free_ep(struct kref *ref)
{
	struct iwt_ep *ep = container_of(ref, struct iwt_ep, ref);

	if (ep->direct)
		ep->direct->ops->put(ep->direct);
	kfree(ep->frame);
	kfree(ep);
}

/* Drop a reference to an endpoint. Any context. */
void iwt_ep_put(struct iwt_ep *ep)
{
	kref_put(&ep->ref, free_ep);
}

static void free_listen(struct kref *ref)
{
	kfree(container_of(ref, struct iwt_listen, ref));
}

/* Drop a reference to a listener. Any context. */
void iwt_listen_put(struct iwt_listen *l)
{
	kref_put(&l->ref, free_listen);
}

/**
 * iwt_ep_leave_listen() - drop the listener of an endpoint that was accepted or has ended
 * @ep: endpoint, not locked
 *
 * Only the work of the endpoint calls this function. Process context, does not sleep.
 */
void iwt_ep_leave_listen(struct iwt_ep *ep)
{
	struct iwt_listen *l = ep->listen;

	if (!l)
		return;
	WRITE_ONCE(ep->listen, NULL);
	iwt_listen_put(l);
}

/**
 * iwt_ep_raise() - set an event bit, and queue the work that handles it
 * @ep: endpoint; the caller holds a reference
 * @bit: the event
 *
 * Any context; any lock may be held.
 */
void iwt_ep_raise(struct iwt_ep *ep, enum iwt_ep_bit bit)
{
	set_bit(bit, &ep->bits);
	iwt_dawdle();
	iwt_ep_get(ep);
	if (!queue_work(ep->wq, &ep->work))
		iwt_ep_put(ep);
}

static void on_sock(struct iwt_sock *s, void *ctx)
{
	iwt_ep_raise(ctx, IWT_EP_SOCK);
}

const struct iwt_sock_ops iwt_ep_sock_ops = {
	.data_ready	= on_sock,
	.state_change	= on_sock,
};

static void on_llp_event(void *ctx, enum iwt_llp_event ev)
{
	static const u8 bits[] = {
		[IWT_LLP_CLOSE_WANTED]	= IWT_EP_CLOSE_WANTED,
		[IWT_LLP_TERM_PENDING]	= IWT_EP_TERM_PENDING,
		[IWT_LLP_DRAINING]	= IWT_EP_DRAINING,
		[IWT_LLP_TERM_SENT]	= IWT_EP_TERM_SENT,
		[IWT_LLP_ABORT_WANTED]	= IWT_EP_ABORT_WANTED,
		[IWT_LLP_PEER_CLOSED]	= IWT_EP_PEER_CLOSED,
		[IWT_LLP_LOST]		= IWT_EP_LOST,
		[IWT_LLP_TERM_RECEIVED]	= IWT_EP_TERM_RECEIVED,
	};

	iwt_ep_raise(ctx, bits[ev]);
}

const struct iwt_qp_llp_ops iwt_ep_llp_ops = {
	.event = on_llp_event,
};

/**
 * iwt_ep_arm() - set the deadline of the present state
 * @ep: endpoint, locked
 * @ms: milliseconds from now
 *
 * Process context, does not sleep.
 */
void iwt_ep_arm(struct iwt_ep *ep, unsigned int ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	lockdep_assert_held(&ep->lock);
	ep->deadline = jiffies + delay;
	ep->armed = true;
	ep->patient = false;
	if (ep->sock)
		ep->acked = iwt_sock_acked(ep->sock);
	iwt_ep_get(ep);
	if (mod_delayed_work(ep->wq, &ep->timer, delay))
		iwt_ep_put(ep);
}

static void ep_disarm(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	ep->armed = false;
	if (cancel_delayed_work(&ep->timer))
		iwt_ep_put(ep);
	if (cancel_delayed_work(&ep->again))
		iwt_ep_put(ep);
}

static unsigned int state_ms(enum iwt_cm_state state)
{
	switch (state) {
	case IWT_CM_CONNECTING:
		return IWT_CM_CONNECT_MS;
	case IWT_CM_WAIT_REP:
		return IWT_CM_REPLY_MS;
	case IWT_CM_WAIT_REQ:
		return IWT_CM_REQUEST_MS;
	case IWT_CM_CLOSING:
	case IWT_CM_LINGER:
		return IWT_CM_CLOSE_MS;
	default:
		return 0;
	}
}

/**
 * iwt_half_open_add() - add a half-open endpoint to its listener, up to a limit
 * @ep: endpoint of a listener, locked
 *
 * A half-open endpoint uses memory, and no consumer knows of the endpoint. So if the listener
 * already has as many half-open endpoints as its limit, this function evicts the oldest of them.
 * If @ep is already in the list of its listener, nothing changes.
 *
 * Process context, does not sleep.
 */
void iwt_half_open_add(struct iwt_ep *ep)
{
	struct iwt_listen *l = ep->listen;
	struct iwt_ep *victim = NULL;

	lockdep_assert_held(&ep->lock);
	spin_lock_bh(&l->lock);
	if (!list_empty(&ep->half_open)) {
		spin_unlock_bh(&l->lock);
		return;
	}
	if (l->half_opens == l->limit) {
		victim = list_first_entry(&l->half_open, struct iwt_ep,
					  half_open);
		list_del_init(&victim->half_open);
		iwt_ep_get(victim);
	} else {
		l->half_opens++;
	}
	list_add_tail(&ep->half_open, &l->half_open);
	spin_unlock_bh(&l->lock);

	if (victim) {
		trace_iwt_evicted(victim->nr, l->limit);
		iwt_count(l->dev, IWT_C_CONN_EVICTED);
		iwt_ep_raise(victim, IWT_EP_KILLED);
		iwt_ep_put(victim);
	}
}

/**
 * iwt_half_open_del() - remove an endpoint that is not half-open any more from its listener
 * @ep: endpoint, locked; if it is not in the list of a listener, nothing changes
 *
 * Process context, does not sleep.
 */
void iwt_half_open_del(struct iwt_ep *ep)
{
	struct iwt_listen *l = ep->listen;

	lockdep_assert_held(&ep->lock);
	if (!l)
		return;
	spin_lock_bh(&l->lock);
	if (!list_empty(&ep->half_open)) {
		list_del_init(&ep->half_open);
		l->half_opens--;
	}
	spin_unlock_bh(&l->lock);
}

/*
 * May the endpoint enter the state LINGER? In this state it has no queue pair, so the maximum
 * number of queue pairs does not limit the number of such endpoints.
 */
static bool may_linger(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	return !iwt_dev_take(&ep->dev->n_lingering, IWT_CM_LINGER_MAX);
}

static void ep_enter(struct iwt_ep *ep, enum iwt_cm_state state)
	__must_hold(&ep->lock)
{
	unsigned int ms = state_ms(state);

	if (ep->state == IWT_CM_LINGER)
		atomic_dec(&ep->dev->n_lingering);
	if (state == IWT_CM_LINGER && ep->listen)
		iwt_half_open_add(ep);
	else if (state != IWT_CM_WAIT_ULP)
		iwt_half_open_del(ep);
	ep->state = state;
	if (ms)
		iwt_ep_arm(ep, ms);
	else
		ep_disarm(ep);
}

/**
 * iwt_ep_take_qp() - assign a queue pair to an endpoint
 * @ep: endpoint, locked, without a queue pair
 * @qp: queue pair; if this function returns 0, the endpoint takes over the caller's reference
 *
 * From now on iwt_cm_qp_abandon() finds the endpoint. Process context.
 *
 * Return: 0; -EINVAL if the queue pair connects directly, and @ep belongs to no direct
 * connection.
 */
int iwt_ep_take_qp(struct iwt_ep *ep, struct iwt_qp *qp)
{
	int err = 0;

	lockdep_assert_held(&ep->lock);
	xa_lock(&eps);
	if (qp->only_direct && !ep->direct) {
		err = -EINVAL;
	} else {
		ep->qp = qp;
		hlist_add_head(&ep->of_qp, &qp->eps);
	}
	xa_unlock(&eps);
	return err;
}

/**
 * iwt_ep_only_direct() - from now on assign a queue pair only to direct connections
 * @qp: queue pair; the caller holds @qp->modifying
 *
 * The lock of the endpoint table orders this function and iwt_ep_take_qp(), so a queue pair never
 * has endpoints of both kinds. Process context.
 *
 * Return: 0; -EBUSY if the queue pair has an endpoint that belongs to no direct connection.
 */
int iwt_ep_only_direct(struct iwt_qp *qp)
{
	int err = 0;

	lockdep_assert_held(&qp->modifying);
	xa_lock(&eps);
	if (!qp->only_direct && !hlist_empty(&qp->eps))
		err = -EBUSY;
	else
		WRITE_ONCE(qp->only_direct, true); /* read in iwt_cm_delayed_request() */
	xa_unlock(&eps);
	return err;
}

/**
 * iwt_ep_let_go_qp() - detach the queue pair from the socket, and drop the queue pair
 * @ep: endpoint, locked; if its queue pair is attached, the endpoint must still have its socket
 *
 * An endpoint without a queue pair does not change. Process context, may sleep.
 *
 * Return: true when the connection must be reset, because a FIN would end the stream inside an
 * FPDU, or because TCP still refers to memory of work requests.
 */
bool iwt_ep_let_go_qp(struct iwt_ep *ep)
{
	struct iwt_qp *qp;
	bool cut = false;

	lockdep_assert_held(&ep->lock);
	qp = ep->qp;
	if (ep->attached)
		cut = iwt_qp_detach(qp);
	ep->attached = false;
	if (!qp)
		return cut;
	xa_lock(&eps);
	hlist_del_init(&ep->of_qp);
	ep->qp = NULL;
	xa_unlock(&eps);
	wake_up_all(&ep_gone);
	iwt_qp_put(qp);
	return cut;
}

static void count_step(struct iwt_ep *ep, enum iwt_cm_event event, u32 acts,
		       int status)
{
	if (!ep->dev)
		return;
	if (acts & IWT_CMA_UP_ESTABLISHED)
		iwt_count(ep->dev, IWT_C_CONN_PASSIVE);
	if (acts & IWT_CMA_UP_REPLY) {
		if (!status)
			iwt_count(ep->dev, IWT_C_CONN_ACTIVE);
		else if (ep->direct)
			;	/* cm_direct_conn.c counts the attempts, and tries again */
		else if (event == IWT_CME_REFUSED)
			iwt_count(ep->dev, IWT_C_CONN_REJECTED);
		else
			iwt_count(ep->dev, IWT_C_CONN_FAILED);
	}
	if (event == IWT_CME_TIMEOUT)
		iwt_count(ep->dev, IWT_C_CONN_TIMEOUT);
}

/*
 * Closing the connection waits for work requests that are not complete. The wait lasts at most as
 * long as the link's user_timeout, even if the peer acknowledges data meanwhile. Without a
 * user_timeout only TCP or the consumer ends the connection.
 */
static void be_patient(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	u32 user_timeout = READ_ONCE(ep->dev->conf.user_timeout);

	if (user_timeout)
		iwt_ep_arm(ep, user_timeout * MSEC_PER_SEC);
	ep->patient = true;
}

static void ep_take_step(struct iwt_ep *ep, enum iwt_cm_event event, int status)
	__must_hold(&ep->lock)
{
	struct iwt_cm_step s = iwt_cmfsm(ep->state, event);
	bool cut = false;
	u32 acts;

	lockdep_assert_held(&ep->lock);
	/* if too many endpoints linger, let TCP finish the connection without an endpoint */
	if (s.next == IWT_CM_LINGER && ep->state != IWT_CM_LINGER && !may_linger(ep))
		s = (struct iwt_cm_step){ IWT_CM_CLOSED, s.actions | IWT_CMA_RELEASE };
	acts = s.actions;
	trace_iwt_cm(ep->nr, ep->state, s.next, event, status);
	count_step(ep, event, acts, status);
	if (s.next != ep->state)
		ep_enter(ep, s.next);

	if (acts & IWT_CMA_FIN)
		iwt_sock_shutdown(ep->sock);
	if (acts & IWT_CMA_DETACH)
		cut = iwt_ep_let_go_qp(ep);
	if (acts & IWT_CMA_DETACH && s.next == IWT_CM_LINGER) {
		iwt_sock_set_ops(ep->sock, &iwt_ep_sock_ops, ep);
		iwt_ep_raise(ep, IWT_EP_SOCK);
	}
	if (acts & (IWT_CMA_RELEASE | IWT_CMA_RESET) && ep->sock) {
		iwt_sock_release(ep->sock, cut || acts & IWT_CMA_RESET);
		ep->sock = NULL;
	}
	if (acts & IWT_CMA_USER_TIMEOUT)
		be_patient(ep);
	if (acts & IWT_CMA_GRACE)
		iwt_ep_arm(ep, s.next == IWT_CM_FULL ? IWT_CM_CLOSE_MS : IWT_CM_ORPHAN_MS);
	if (acts & IWT_CMA_UP_REPLY)
		ep->reply_status = status;
	if (acts & IWT_CMA_UP_CLOSE)
		ep->close_status = status;
	ep->upcalls |= acts & IWT_CMA_UP_MASK;
}

/**
 * iwt_ep_step() - handle an event: execute the step that iwt_cmfsm() prescribes
 * @ep: endpoint, locked; its work must run afterwards, to report events to iw_cm
 * @event: the event
 * @status: status for iw_cm, 0 or -errno
 *
 * A step that drops the queue pair and closes the socket keeps a reference to the queue pair
 * until the socket is closed: until then TCP may send memory of the queue pair. Process context,
 * may sleep.
 */
void iwt_ep_step(struct iwt_ep *ep, enum iwt_cm_event event, int status)
{
	struct iwt_qp *qp;

	lockdep_assert_held(&ep->lock);
	qp = ep->qp;
	if (qp)
		iwt_qp_get(qp);
	ep_take_step(ep, event, status);
	if (qp)
		iwt_qp_put(qp);
}

/**
 * iwt_ep_abandon() - after a failed startup, change the state of an endpoint to CLOSED
 * @ep: endpoint, locked, without a socket; its work must run afterwards
 *
 * Process context, may sleep.
 */
void iwt_ep_abandon(struct iwt_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	iwt_ep_let_go_qp(ep);
	ep->state = IWT_CM_CLOSED;
}

/**
 * iwt_ep_finish() - remove an endpoint from its device, and drop the first reference
 * @ep: endpoint in CLOSED; may be freed when this function returns
 *
 * The last work of the endpoint calls this function. Process context.
 */
void iwt_ep_finish(struct iwt_ep *ep)
{
	if (ep->id) {
		xa_erase(&eps, ep->id);
		/* after this decrement the device may be freed */
		atomic_dec(&ep->dev->n_eps);
		wake_up_all(&ep_gone);
	}
	iwt_ep_put(ep);
}

/**
 * iwt_ep_publish() - assign an endpoint to a device
 * @ep: endpoint, locked
 * @dev: device
 *
 * From now on iwt_ep_find() and iwt_ep_drain_dev() find the endpoint. May sleep.
 *
 * Return: 0 or -errno.
 */
int iwt_ep_publish(struct iwt_ep *ep, struct iwt_dev *dev)
{
	int err;

	lockdep_assert_held(&ep->lock);
	ep->dev = dev;
	err = xa_alloc_cyclic(&eps, &ep->id, ep, XA_LIMIT(1, INT_MAX),
			      &next_id, GFP_KERNEL);
	if (err < 0) {
		ep->id = 0;
		ep->dev = NULL;
		return err;
	}
	atomic_inc(&dev->n_eps);
	return 0;
}

/**
 * iwt_ep_find() - find an endpoint by its number
 * @id: number
 *
 * Process context.
 *
 * Return: the endpoint with a reference, or NULL when the endpoint has ended.
 */
struct iwt_ep *iwt_ep_find(u32 id)
{
	struct iwt_ep *ep;

	xa_lock(&eps);
	ep = xa_load(&eps, id);
	if (ep && !kref_get_unless_zero(&ep->ref))
		ep = NULL;
	xa_unlock(&eps);
	iwt_doze();
	return ep;
}

/**
 * iwt_ep_orphan() - handle the endpoints of a listener that has ended
 * @listen: listener
 *
 * A Request that was reported to iw_cm can still be accepted, within IWT_CM_ORPHAN_MS; after this
 * time the connection is reset. If the peer has sent no whole Request yet, the connection is
 * reset at once. Process context, does not sleep.
 */
void iwt_ep_orphan(const struct iwt_listen *listen)
{
	unsigned long i;
	struct iwt_ep *ep;

	xa_lock(&eps);
	xa_for_each(&eps, i, ep)
		if (READ_ONCE(ep->listen) == listen)
			iwt_ep_raise(ep, IWT_EP_ORPHANED);
	xa_unlock(&eps);
}

/**
 * iwt_ep_abort_qp() - request the abort of the endpoints of a queue pair
 * @qp: queue pair that is being destroyed, or that ends its direct connection
 *
 * Process context; does not wait.
 */
void iwt_ep_abort_qp(struct iwt_qp *qp)
{
	struct iwt_ep *ep;

	xa_lock(&eps);
	hlist_for_each_entry(ep, &qp->eps, of_qp)
		iwt_ep_raise(ep, IWT_EP_ABORT_WANTED);
	xa_unlock(&eps);
}

/**
 * iwt_ep_end_qp() - abort the endpoints of a queue pair, and wait until all have dropped @qp
 * @qp: queue pair that nobody assigns to an endpoint any more
 *
 * Sleeps; no peer can delay the end of an endpoint. The caller must not hold a lock that the work
 * of an endpoint takes.
 */
void iwt_ep_end_qp(struct iwt_qp *qp)
{
	iwt_ep_abort_qp(qp);
	wait_event(ep_gone, hlist_empty(&qp->eps));
}

/* Request the end of all endpoints of @dev, or of all devices if @dev is NULL; does not wait. */
static void kill_all(const struct iwt_dev *dev)
{
	unsigned long i;
	struct iwt_ep *ep;

	xa_lock(&eps);
	xa_for_each(&eps, i, ep)
		if (!dev || ep->dev == dev)
			iwt_ep_raise(ep, IWT_EP_KILLED);
	xa_unlock(&eps);
}

/**
 * iwt_ep_drain_dev() - end the endpoints of a device, and wait until they have ended
 * @dev: device to which nobody assigns a new endpoint any more
 *
 * Sleeps; no peer can delay the end of an endpoint.
 */
void iwt_ep_drain_dev(struct iwt_dev *dev)
{
	kill_all(dev);
	wait_event(ep_gone, !atomic_read(&dev->n_eps));
}

/* End all endpoints, and wait until they have ended. Sleeps; no peer can delay their end. */
void iwt_ep_wait_all(void)
{
	kill_all(NULL);
	wait_event(ep_gone, xa_empty(&eps));
}
