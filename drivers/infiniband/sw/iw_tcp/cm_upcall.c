// SPDX-License-Identifier: GPL-2.0
/* Reports the events of an endpoint to iw_cm, or to a direct connection. */
#include "cm_ep.h"

#include <rdma/iw_cm.h>

#include "dev.h"

static u8 depth(u16 n)
{
	return min_t(u16, n, U8_MAX);
}

/* An IRD or ORD that was not negotiated is reported as the device's limit. */
static u8 peer_depth(const struct iwt_mpa_frame *f, u16 n)
{
	if (!f->enhanced || n == IWT_MPA_ENH_DEPTH)
		return IWT_MAX_RD_ATOM;
	return depth(n);
}

/*
 * Add the private data of the frame @f to an event. iwt_mpa_admit() has refused every frame with
 * more private data than iw_cm can deliver, except a Reply that rejects. If such a Reply has more
 * private data, none of its private data are delivered, but the reject is reported.
 */
static void give_pd(struct iw_cm_event *ev, struct iwt_ep *ep,
		    const struct iwt_mpa_frame *f)
{
	if (!f->pd_len || f->pd_len > IWT_CM_PD_MAX)
		return;
	ev->private_data_len = f->pd_len;
	ev->private_data = ep->frame + f->pd_off;
}

/*
 * Report a Request, unless the listener has ended. Return: 0, or -errno if the Request is not
 * reported.
 */
static int tell_listener(struct iwt_listen *l, struct iw_cm_event *ev)
{
	bool dead;
	int err;

	spin_lock_bh(&l->lock);
	dead = l->dead;
	if (!dead)
		l->reporting++;
	spin_unlock_bh(&l->lock);
	if (dead)
		return -ECONNABORTED;

	err = l->cm_id->event_handler(l->cm_id, ev);

	spin_lock_bh(&l->lock);
	if (!--l->reporting && l->dead)
		complete(&l->idle);
	spin_unlock_bh(&l->lock);
	return err;
}

/**
 * iwt_listen_end_reports() - stop reporting the Requests of a listener
 * @l: listener
 *
 * When this function returns, no report is in progress. Process context, may sleep.
 */
void iwt_listen_end_reports(struct iwt_listen *l)
{
	bool wait;

	spin_lock_bh(&l->lock);
	l->dead = true;
	wait = l->reporting;
	spin_unlock_bh(&l->lock);
	if (wait)
		wait_for_completion(&l->idle);
}

/*
 * The backlog of a listener limits how many unanswered Requests iw_cm stores. If the backlog is
 * full, do not reject the peer: the peer waits, and the work reports the Request again later.
 */
static void wait_to_report(struct iwt_ep *ep)
{
	mutex_lock(&ep->lock);
	if (ep->state == IWT_CM_WAIT_ULP)
		iwt_ep_arm(ep, IWT_CM_REPORT_MS);
	mutex_unlock(&ep->lock);
}

/* iw_cm has stored the Request, and the ULP may already have accepted or rejected the Request. */
static void reported(struct iwt_ep *ep)
{
	mutex_lock(&ep->lock);
	ep->report_tries = 0;
	if (ep->state == IWT_CM_WAIT_ULP)
		iwt_half_open_del(ep);
	mutex_unlock(&ep->lock);
}

/* The event carries the IRD and the ORD from the peer's Request (RFC 6581 9.1). */
static void report_request(struct iwt_ep *ep)
{
	struct iw_cm_event ev = {
		.event		= IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr	= ep->local,
		.remote_addr	= ep->remote,
		.provider_data	= (void *)(unsigned long)ep->id,
		.ird		= peer_depth(&ep->req, ep->req.ird),
		.ord		= peer_depth(&ep->req, ep->req.ord),
	};
	int err;

	if (ep->listen->direct) {
		ep->listen->direct->request(ep);
		return;
	}
	give_pd(&ev, ep, &ep->req);
	err = tell_listener(ep->listen, &ev);
	if (!err)
		reported(ep);
	else if (err == -ENOMEM && ep->report_tries++ < IWT_CM_REPORT_TRIES)
		wait_to_report(ep);
	else
		iwt_ep_raise(ep, IWT_EP_KILLED);
}

/*
 * The event carries the IRD and the ORD from the peer's Reply, also if the Reply rejects
 * (RFC 6581 9.1).
 */
static void report_reply(struct iwt_ep *ep)
{
	struct iw_cm_event ev = {
		.event		= IW_CM_EVENT_CONNECT_REPLY,
		.status		= ep->reply_status,
		.local_addr	= ep->local,
		.remote_addr	= ep->remote,
	};

	if (!ev.status || ep->rep.reject) {
		ev.ird = peer_depth(&ep->rep, ep->rep.ird);
		ev.ord = peer_depth(&ep->rep, ep->rep.ord);
		give_pd(&ev, ep, &ep->rep);
	}
	if (ep->cm_id->event_handler(ep->cm_id, &ev)) {
		/* iw_cm could not copy the private data: report the event without them */
		ev.private_data_len = 0;
		ev.private_data = NULL;
		ep->cm_id->event_handler(ep->cm_id, &ev);
	}
}

/*
 * The event carries the negotiated IRD and ORD from the peer's point of view: ev.ird is the ORD
 * of this end, and ev.ord is the IRD of this end.
 */
static void report(struct iwt_ep *ep, enum iw_cm_event_type type, int status)
{
	struct iw_cm_event ev = {
		.event		= type,
		.status		= status,
		.local_addr	= ep->local,
		.remote_addr	= ep->remote,
		.ird		= depth(ep->terms.ord),
		.ord		= depth(ep->terms.ird),
	};

	ep->cm_id->event_handler(ep->cm_id, &ev);
}

/**
 * iwt_ep_deliver() - report events to iw_cm, or to a direct connection
 * @ep: endpoint, not locked; the work of the endpoint calls this function
 * @ups: IWT_CMA_UP_* bits of the events
 *
 * This function reads fields of @ep without ep->lock. The fields of an event are set before the
 * bit of the event in @ups, and do not change until the event is delivered. Only the work
 * delivers events. Process context, may sleep.
 */
void iwt_ep_deliver(struct iwt_ep *ep, u32 ups)
{
	bool last = ups & IWT_CMA_UP_CLOSE ||
		    (ups & IWT_CMA_UP_REPLY && ep->reply_status);

	if (ups & IWT_CMA_UP_REQUEST)
		report_request(ep);
	if (ep->direct && ups & IWT_CMA_UP_REPLY)
		ep->direct->ops->reply(ep, ep->reply_status);
	if (!ep->cm_id)
		return;	/* delayed startup and direct connections */
	if (ups & IWT_CMA_UP_REPLY)
		report_reply(ep);
	if (ups & IWT_CMA_UP_ESTABLISHED)
		report(ep, IW_CM_EVENT_ESTABLISHED, 0);
	if (ups & IWT_CMA_UP_DISCONNECT)
		report(ep, IW_CM_EVENT_DISCONNECT, 0);
	if (ups & IWT_CMA_UP_CLOSE)
		report(ep, IW_CM_EVENT_CLOSE, ep->close_status);
	if (last) {
		ep->cm_id->rem_ref(ep->cm_id);
		ep->cm_id = NULL;
	}
}
