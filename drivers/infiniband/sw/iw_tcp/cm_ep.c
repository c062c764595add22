// SPDX-License-Identifier: GPL-2.0
/* Endpoints: their life and their steps. */
#include "cm_ep.h"

#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <net/ipv6.h>

#include "cm.h"
#include "dev.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"

struct workqueue_struct *iwt_cm_wq;
struct workqueue_struct *iwt_attach_wq;

/* Every endpoint that belongs to a device, by the number iw_cm knows. */
static DEFINE_XARRAY_ALLOC1(eps);
static u32 next_id;
static DECLARE_WAIT_QUEUE_HEAD(ep_gone);

/**
 * iwt_ep_get() - take a reference
 * @ep: endpoint that the caller knows to live
 */
void iwt_ep_get(struct iwt_ep *ep)
{
	kref_get(&ep->ref);
}

static void free_ep(struct kref *ref)
{
	struct iwt_ep *ep = container_of(ref, struct iwt_ep, ref);

	kfree(ep->frame);
	kfree(ep);
}

/**
 * iwt_ep_put() - drop a reference; any context
 * @ep: endpoint
 */
void iwt_ep_put(struct iwt_ep *ep)
{
	kref_put(&ep->ref, free_ep);
}

/**
 * iwt_ep_raise() - take note of something to look at
 * @ep: endpoint, of which the caller has a reference
 * @bit: what
 *
 * Any context, any locks.
 */
void iwt_ep_raise(struct iwt_ep *ep, enum iwt_ep_bit bit)
{
	set_bit(bit, &ep->bits);
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
		/* to the endpoint the same: the last octets take their time */
		[IWT_LLP_DRAINING]	= IWT_EP_TERM_PENDING,
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
 */
void iwt_ep_arm(struct iwt_ep *ep, unsigned int ms)
{
	unsigned long delay = msecs_to_jiffies(ms);

	ep->deadline = jiffies + delay;
	ep->armed = true;
	if (ep->sock)
		ep->acked = iwt_sock_acked(ep->sock);
	iwt_ep_get(ep);
	if (mod_delayed_work(ep->wq, &ep->timer, delay))
		iwt_ep_put(ep);
}

static void disarm(struct iwt_ep *ep)
{
	ep->armed = false;
	if (cancel_delayed_work(&ep->timer))
		iwt_ep_put(ep);
}

static void do_timer(struct work_struct *work)
{
	struct iwt_ep *ep = container_of(to_delayed_work(work), struct iwt_ep,
					 timer);

	iwt_ep_raise(ep, IWT_EP_EXPIRED);
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

static void enter(struct iwt_ep *ep, enum iwt_cm_state state)
{
	unsigned int ms = state_ms(state);

	if (state == IWT_CM_LINGER && ep->listen)
		iwt_listen_crowd(ep);
	else if (state != IWT_CM_WAIT_ULP)
		iwt_listen_settle(ep);
	ep->state = state;
	if (ms)
		iwt_ep_arm(ep, ms);
	else
		disarm(ep);
}

/**
 * iwt_ep_take_qp() - the endpoint is one of a queue pair from now on
 * @ep: endpoint, locked, without one
 * @qp: queue pair, with a reference that becomes the endpoint's
 *
 * Process context. iwt_cm_qp_abandon() finds it then.
 */
void iwt_ep_take_qp(struct iwt_ep *ep, struct iwt_qp *qp)
{
	xa_lock(&eps);
	ep->qp = qp;
	hlist_add_head(&ep->of_qp, &qp->eps);
	xa_unlock(&eps);
}

/**
 * iwt_ep_let_go_qp() - detach the queue pair, if it is, and drop it
 * @ep: endpoint, locked, that still has its socket
 *
 * Process context, may sleep. Return: true when the stream cannot end in order
 * any more, because it would end inside an FPDU.
 */
bool iwt_ep_let_go_qp(struct iwt_ep *ep)
{
	struct iwt_qp *qp = ep->qp;
	bool cut = false;

	if (ep->attached)
		cut = iwt_qp_detach(qp);
	ep->attached = false;
	if (!qp)
		return cut;
	xa_lock(&eps);
	hlist_del_init(&ep->of_qp);
	ep->qp = NULL;
	xa_unlock(&eps);
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
		else if (event == IWT_CME_REFUSED)
			iwt_count(ep->dev, IWT_C_CONN_REJECTED);
		else
			iwt_count(ep->dev, IWT_C_CONN_FAILED);
	}
	if (event == IWT_CME_TIMEOUT)
		iwt_count(ep->dev, IWT_C_CONN_TIMEOUT);
}

/*
 * What is left to be sent before the end gets on, or a Terminate waits: the deadline
 * begins anew, but all of it is over after the link's patience.
 */
static void give_grace(struct iwt_ep *ep)
{
	u32 patience = READ_ONCE(ep->dev->conf.patience);

	if (!ep->armed)
		ep->until = jiffies + msecs_to_jiffies(patience * MSEC_PER_SEC);
	else if (patience && time_after(jiffies + msecs_to_jiffies(IWT_CM_CLOSE_MS),
					ep->until))
		return;
	iwt_ep_arm(ep, IWT_CM_CLOSE_MS);
}

static void take_step(struct iwt_ep *ep, enum iwt_cm_event event, int status)
{
	struct iwt_cm_step s = iwt_cmfsm(ep->state, event);
	u32 acts = s.actions;
	bool cut = false;

	lockdep_assert_held(&ep->lock);
	trace_iwt_cm(ep, ep->state, s.next, event, status);
	count_step(ep, event, acts, status);
	if (s.next != ep->state)
		enter(ep, s.next);

	if (acts & IWT_CMA_FIN)
		iwt_sock_shutdown(ep->sock);
	if (acts & IWT_CMA_DETACH)
		cut = iwt_ep_let_go_qp(ep);
	if (acts & IWT_CMA_DETACH && s.next == IWT_CM_LINGER) {
		iwt_sock_set_ops(ep->sock, &iwt_ep_sock_ops, ep);
		iwt_ep_raise(ep, IWT_EP_SOCK);
	}
	if (acts & (IWT_CMA_RELEASE | IWT_CMA_RESET) && ep->sock) {
		/*
		 * A consumer that drops its queue pair right after its last
		 * completion means the peer to have that message: what TCP has
		 * is only thrown away when the stream makes no sense any more.
		 */
		if (event == IWT_CME_ABORT && !cut)
			acts &= ~IWT_CMA_RESET;
		iwt_sock_release(ep->sock, cut || acts & IWT_CMA_RESET);
		ep->sock = NULL;
	}
	if (acts & IWT_CMA_GRACE && s.next == IWT_CM_FULL)
		give_grace(ep);
	else if (acts & IWT_CMA_GRACE)
		iwt_ep_arm(ep, IWT_CM_ORPHAN_MS);
	if (acts & IWT_CMA_UP_REPLY)
		ep->reply_status = status;
	if (acts & IWT_CMA_UP_CLOSE)
		ep->close_status = status;
	ep->upcalls |= acts & IWT_CMA_UP_MASK;
}

/*
 * A queue pair that goes while TCP has its memory by reference leaves nothing to
 * linger: only a reset brings the memory back.
 */
static enum iwt_cm_event harden(const struct iwt_ep *ep, enum iwt_cm_event event)
{
	if (event == IWT_CME_ABORT && ep->state == IWT_CM_CLOSING &&
	    ep->attached && iwt_qp_zc_in_flight(ep->qp))
		return IWT_CME_KILL;
	return event;
}

/**
 * iwt_ep_step() - something happened: take the step that the table prescribes
 * @ep: endpoint, locked; the work must run afterwards, to deliver upcalls
 * @event: what happened
 * @status: what iw_cm is told, 0 or -errno
 *
 * A queue pair that is let go can be gone only when the socket is, if that is
 * part of the step: until then TCP may send its memory. Process context, may
 * sleep.
 */
void iwt_ep_step(struct iwt_ep *ep, enum iwt_cm_event event, int status)
{
	struct iwt_qp *qp = ep->qp;

	if (qp)
		iwt_qp_get(qp);
	take_step(ep, harden(ep, event), status);
	if (qp)
		iwt_qp_put(qp);
}

/*
 * Has the peer been taking what comes before FIN or a Terminate? TCP may have
 * megabytes of it, for a slow path or reader. FIN alone is not much, and one who
 * takes an octet at a time is not waited for without end.
 */
static bool takes(struct iwt_ep *ep)
{
	if (!ep->sock || (ep->state != IWT_CM_FULL &&
			  ep->state != IWT_CM_CLOSING &&
			  ep->state != IWT_CM_LINGER))
		return false;
	if (ep->state == IWT_CM_FULL && READ_ONCE(ep->dev->conf.patience) &&
	    time_after_eq(jiffies, ep->until))
		return false;
	if (iwt_sock_acked(ep->sock) - ep->acked <= 1 ||
	    ep->extensions == IWT_CM_CLOSE_EXTENSIONS)
		return false;
	ep->extensions++;
	return true;
}

static void expire(struct iwt_ep *ep)
{
	/* a late one, of a state that has been left, does not count */
	if (!ep->armed || time_before(jiffies, ep->deadline))
		return;
	if (takes(ep))
		iwt_ep_arm(ep, IWT_CM_CLOSE_MS);
	else
		iwt_ep_step(ep, IWT_CME_TIMEOUT, -ETIMEDOUT);
}

/* With ep->lock held: is a Request to be reported that could not be before? */
static bool report_again(struct iwt_ep *ep)
{
	if (!ep->report_tries || ep->state != IWT_CM_WAIT_ULP)
		return false;
	ep->armed = false;
	ep->upcalls |= IWT_CMA_UP_REQUEST;
	return true;
}

static void take_bits(struct iwt_ep *ep)
{
	static const struct {
		u8 bit;
		u8 event;
		int status;
	} map[] = {
		{ IWT_EP_TERM_PENDING,	IWT_CME_TERM_PENDING,	0 },
		{ IWT_EP_TERM_SENT,	IWT_CME_TERM_SENT,	0 },
		{ IWT_EP_CLOSE_WANTED,	IWT_CME_CLOSE,		0 },
		{ IWT_EP_TERM_RECEIVED,	IWT_CME_TERM_RECEIVED,	-ECONNABORTED },
		{ IWT_EP_PEER_CLOSED,	IWT_CME_FIN,		0 },
		{ IWT_EP_LOST,		IWT_CME_LOST,		-ECONNRESET },
		{ IWT_EP_ABORT_WANTED,	IWT_CME_ABORT,		-ECONNABORTED },
		{ IWT_EP_ORPHANED,	IWT_CME_ORPHAN,		0 },
		{ IWT_EP_KILLED,	IWT_CME_KILL,		-ECONNABORTED },
	};
	unsigned long bits = xchg(&ep->bits, 0);
	int i;

	if (test_bit(IWT_EP_SOCK, &bits) && ep->dev)
		iwt_ep_look(ep);
	for (i = 0; i < ARRAY_SIZE(map); i++)
		if (test_bit(map[i].bit, &bits))
			iwt_ep_step(ep, map[i].event, map[i].status);
	if (test_bit(IWT_EP_EXPIRED, &bits) && !report_again(ep))
		expire(ep);
}

static void finish(struct iwt_ep *ep)
{
	if (ep->id) {
		/* from now on the device may go */
		xa_erase(&eps, ep->id);
		atomic_dec(&ep->dev->n_eps);
		wake_up_all(&ep_gone);
	}
	iwt_ep_put(ep);
}

/* Startup is over, and what came with it has been delivered. */
static void drop_frame(struct iwt_ep *ep)
{
	mutex_lock(&ep->lock);
	kfree(ep->frame);
	ep->frame = NULL;
	mutex_unlock(&ep->lock);
}

static void do_work(struct work_struct *work)
{
	struct iwt_ep *ep = container_of(work, struct iwt_ep, work);
	bool last, settled;
	u32 ups;

	mutex_lock(&ep->lock);
	take_bits(ep);
	ups = ep->upcalls;
	ep->upcalls = 0;
	if (ep->state != IWT_CM_WAIT_ULP)
		ups &= ~IWT_CMA_UP_REQUEST;	/* over before it was told */
	last = ep->state == IWT_CM_CLOSED && !ep->finished;
	if (last)
		ep->finished = true;
	settled = ep->state == IWT_CM_FULL || last;
	mutex_unlock(&ep->lock);

	iwt_ep_deliver(ep, ups);
	if (settled)
		drop_frame(ep);
	if (settled && ep->listen)
		iwt_listen_leave(ep);
	if (last)
		finish(ep);
	iwt_ep_put(ep);
}

/**
 * iwt_ep_alloc() - make an endpoint
 * @state: where it begins
 *
 * May sleep. Return: the endpoint, with one reference that ends with its last
 * work in CLOSED, or NULL.
 */
struct iwt_ep *iwt_ep_alloc(enum iwt_cm_state state)
{
	struct iwt_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	ep->frame = kmalloc(IWT_MPA_MAX_FRAME, GFP_KERNEL);
	if (!ep->frame) {
		kfree(ep);
		return NULL;
	}
	kref_init(&ep->ref);
	mutex_init(&ep->lock);
	ep->state = state;
	ep->wq = iwt_cm_wq;
	INIT_WORK(&ep->work, do_work);
	INIT_DELAYED_WORK(&ep->timer, do_timer);
	INIT_LIST_HEAD(&ep->half_open);
	return ep;
}

/**
 * iwt_ep_publish() - assign an endpoint to a device
 * @ep: endpoint, locked
 * @dev: device
 *
 * From now on it is found by iwt_cm_accept() and iwt_cm_dev_drain(). May sleep.
 * Return: 0 or -errno.
 */
int iwt_ep_publish(struct iwt_ep *ep, struct iwt_dev *dev)
{
	int err;

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
 * iwt_ep_find() - the endpoint of a number
 * @id: number
 *
 * Process context. Return: it with a reference, or NULL when it is gone.
 */
struct iwt_ep *iwt_ep_find(u32 id)
{
	struct iwt_ep *ep;

	xa_lock(&eps);
	ep = xa_load(&eps, id);
	if (ep && !kref_get_unless_zero(&ep->ref))
		ep = NULL;
	xa_unlock(&eps);
	return ep;
}

/**
 * iwt_ep_orphan() - a listener is gone
 * @listen: listener
 *
 * What it has not reported is dropped; what it has may live on. Process context,
 * does not sleep.
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
 * iwt_cm_qp_abandon() - end what a queue pair is about to lose
 * @qp: queue pair that is being destroyed
 *
 * iw_cm holds a reference to the queue pair while a connect is under way; this
 * lets the connect fail now, so that nobody waits for its deadline. Process
 * context; does not wait.
 */
void iwt_cm_qp_abandon(struct iwt_qp *qp)
{
	struct iwt_ep *ep;

	xa_lock(&eps);
	hlist_for_each_entry(ep, &qp->eps, of_qp)
		iwt_ep_raise(ep, IWT_EP_ABORT_WANTED);
	xa_unlock(&eps);
}

/* All of a device, or all. */
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
 * iwt_cm_dev_drain() - end every connection of a device
 * @dev: device whose clients are gone, so that none is added
 *
 * The clients have destroyed their iw_cm_ids; what is left are connections
 * that are being closed. Sleeps until they are gone; that depends on no peer.
 */
void iwt_cm_dev_drain(struct iwt_dev *dev)
{
	kill_all(dev);
	wait_event(ep_gone, !atomic_read(&dev->n_eps));
}

/**
 * iwt_cm_init() - at module load; may sleep
 *
 * One work at a time, in the order of events: a ULP that makes several connections
 * may count on their Requests arriving in its order. None waits for the network, and
 * iw_cm takes one at a time as well. The sockets of processes have a queue of their
 * own: a work waits there for a moment where a system call holds a socket's lock.
 * Return: 0 or -ENOMEM.
 */
int iwt_cm_init(void)
{
	iwt_cm_wq = alloc_ordered_workqueue("iw_tcp_cm", WQ_MEM_RECLAIM);
	iwt_attach_wq = alloc_workqueue("iw_tcp_attach",
					WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (iwt_cm_wq && iwt_attach_wq)
		return 0;
	if (iwt_cm_wq)
		destroy_workqueue(iwt_cm_wq);
	if (iwt_attach_wq)
		destroy_workqueue(iwt_attach_wq);
	return -ENOMEM;
}

/**
 * iwt_cm_exit() - at module unload, when no device is left
 *
 * Sleeps until every endpoint has done its last work.
 */
void iwt_cm_exit(void)
{
	kill_all(NULL);
	wait_event(ep_gone, xa_empty(&eps));
	/* ports that wait for a grace period are not in the queue yet */
	rcu_barrier();
	destroy_workqueue(iwt_attach_wq);
	destroy_workqueue(iwt_cm_wq);
}
