// SPDX-License-Identifier: GPL-2.0
/*
 * The work of an endpoint handles the event bits, and executes the steps of proto/cmfsm.c. Then
 * the work reports events to iw_cm, while the work holds no lock.
 */
#include "cm_ep.h"

#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "cm.h"
#include "dawdle.h"
#include "dev.h"
#include "sock.h"

/*
 * The workqueue of listening sockets, of the connections that they accept, and of the connections
 * that rdma_cm begins. The workqueue is ordered: it runs one work at a time, in the order of
 * events. A ULP that opens several connections may rely on the order in which their Requests
 * arrive. The order delays connections only a little: no work waits for the network, and iw_cm
 * also processes one event at a time.
 */
struct workqueue_struct *iwt_cm_wq;

static void do_timer(struct work_struct *work)
{
	struct iwt_ep *ep = container_of(to_delayed_work(work), struct iwt_ep,
					 timer);

	iwt_ep_raise(ep, IWT_EP_EXPIRED);
	iwt_ep_put(ep);
}

/*
 * Is the deadline of closing to be extended? There are three reasons for an extension. First, the
 * peer has acknowledged data since the deadline was set: TCP may still have megabytes to send
 * before FIN or a Terminate, over a slow path or to a slow reader. An acknowledgment of FIN alone
 * (one sequence number) does not count. Second, the peer does not answer, or no segment has
 * arrived for a while (iwt_sock_unanswered()): the path may be dead for some time. Third, the
 * peer did not answer when the deadline was last extended: the peer may have begun to answer only
 * a moment ago. The number of extensions is limited, because a peer may for ever acknowledge
 * single bytes, or send nothing.
 *
 * Return: true if so; the extension is counted.
 */
static bool waits_on(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	bool was_silent = ep->silent;

	if (!ep->sock || ep->patient ||
	    (ep->state != IWT_CM_FULL && ep->state != IWT_CM_CLOSING &&
	     ep->state != IWT_CM_LINGER))
		return false;
	ep->silent = iwt_sock_unanswered(ep->sock);
	if (iwt_sock_acked(ep->sock) - ep->acked <= 1 && !ep->silent && !was_silent)
		return false;
	if (ep->extensions == IWT_CM_CLOSE_EXTENSIONS)
		return false;
	ep->extensions++;
	return true;
}

static void expire(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	/* ignore a timer that was set for a former state */
	if (!ep->armed || time_before(jiffies, ep->deadline))
		return;
	if (waits_on(ep))
		iwt_ep_arm(ep, IWT_CM_CLOSE_MS);
	else
		iwt_ep_step(ep, IWT_CME_TIMEOUT, -ETIMEDOUT);
}

/* Report the Request again if iw_cm has refused the report of the Request. Return: true if so. */
static bool report_again(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	if (!ep->report_tries || ep->state != IWT_CM_WAIT_ULP)
		return false;
	ep->armed = false;
	ep->upcalls |= IWT_CMA_UP_REQUEST;
	return true;
}

/*
 * Return: @event; but IWT_CME_ABORT_ZC for an abort while TCP refers to memory of work requests.
 */
static enum iwt_cm_event exact_event(const struct iwt_ep *ep, enum iwt_cm_event event)
	__must_hold(&ep->lock)
{
	if (event == IWT_CME_ABORT && ep->attached && iwt_qp_zc_in_flight(ep->qp))
		return IWT_CME_ABORT_ZC;
	return event;
}

static void ep_take_bits(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	static const struct {
		u8 bit;
		u8 event;
		int status;
	} map[] = {
		{ IWT_EP_DRAINING,	IWT_CME_DRAINING,	0 },
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
			iwt_ep_step(ep, exact_event(ep, map[i].event), map[i].status);
	if (test_bit(IWT_EP_EXPIRED, &bits) && !report_again(ep))
		expire(ep);
}

/* Free the frame: startup is over, and iw_cm has copied the private data. */
static void drop_frame(struct iwt_ep *ep)
{
	mutex_lock(&ep->lock);
	kfree(ep->frame);
	ep->frame = NULL;
	mutex_unlock(&ep->lock);
}

static void do_ep_work(struct work_struct *work)
{
	struct iwt_ep *ep = container_of(work, struct iwt_ep, work);
	bool last, settled;
	u32 ups;

	mutex_lock(&ep->lock);
	ep_take_bits(ep);
	ups = ep->upcalls;
	ep->upcalls = 0;
	if (ep->state != IWT_CM_WAIT_ULP)
		ups &= ~IWT_CMA_UP_REQUEST;	/* the endpoint left WAIT_ULP before the report */
	last = ep->state == IWT_CM_CLOSED && !ep->finished;
	if (last)
		ep->finished = true;
	settled = ep->state == IWT_CM_FULL || last;
	mutex_unlock(&ep->lock);

	iwt_doze();
	iwt_ep_deliver(ep, ups);
	if (settled)
		drop_frame(ep);
	if (settled)
		iwt_ep_leave_listen(ep);
	if (last)
		iwt_ep_finish(ep);
	iwt_ep_put(ep);
}

static void do_again(struct work_struct *work)
{
	struct iwt_ep *ep = container_of(to_delayed_work(work), struct iwt_ep,
					 again);

	iwt_ep_raise(ep, IWT_EP_SOCK);
	iwt_ep_put(ep);
}

/**
 * iwt_ep_alloc() - allocate an endpoint
 * @state: initial state
 *
 * May sleep.
 *
 * Return: the endpoint, with one reference, which the last work of the endpoint in CLOSED drops;
 * NULL if there is not enough memory.
 */
struct iwt_ep *iwt_ep_alloc(enum iwt_cm_state state)
	__context_unsafe(/* no other processor can access the endpoint yet */)
{
	static atomic_t made;
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
	ep->nr = atomic_inc_return(&made);
	ep->state = state;
	ep->wq = iwt_cm_wq;
	INIT_WORK(&ep->work, do_ep_work);
	INIT_DELAYED_WORK(&ep->timer, do_timer);
	INIT_DELAYED_WORK(&ep->again, do_again);
	INIT_LIST_HEAD(&ep->half_open);
	return ep;
}

/* Create the workqueue at module load; may sleep. Return: 0 or -ENOMEM. */
int iwt_cm_init(void)
{
	iwt_cm_wq = alloc_ordered_workqueue("iw_tcp_cm", WQ_MEM_RECLAIM);
	return iwt_cm_wq ? 0 : -ENOMEM;
}

/**
 * iwt_cm_exit() - end all endpoints at module unload, when no device is left
 *
 * Sleeps until every endpoint has run its last work.
 */
void iwt_cm_exit(void)
{
	iwt_ep_wait_all();
	/* do_port_end() is queued only after a grace period: wait until it is queued */
	rcu_barrier();
	destroy_workqueue(iwt_cm_wq);
}
