// SPDX-License-Identifier: GPL-2.0
/* MPA startup of an endpoint (RFC 5044 7.1, RFC 6581). */
#include "cm_ep.h"

#include <linux/crc32c.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "dev.h"
#include "proto/marker.h"
#include "proto/term.h"
#include "proto/txseg.h"
#include "sock.h"
#include "stats.h"
#include "stats_errors.h"
#include "trace.h"

/* In the state LINGER: maximum number of received bytes that one run of the work discards. */
#define IWT_EP_DRAIN	4096

static void trace_frame(const struct iwt_ep *ep, bool tx, const u8 *frame)
{
	const struct iwt_mpa_hdr *h = (const void *)frame;

	trace_iwt_mpa(ep->nr, tx, h->rev, h->flags, be16_to_cpu(h->pd_len));
}

/*
 * Send a startup frame or, after the startup, a Terminate. TCP has room: the connection is new,
 * or iwt_sock_take() has checked the room. If TCP accepts only a part of the frame nevertheless,
 * the connection can't be used. Return: 0 or -errno.
 */
static int send_all(struct iwt_ep *ep, const void *buf, u32 len)
	__must_hold(&ep->lock)
{
	int n = iwt_sock_send(ep->sock, buf, len);

	if (n < 0)
		return n;
	return n == len ? 0 : -ENOBUFS;
}

/**
 * iwt_ep_load_settings() - copy the settings of the link
 * @ep: endpoint, locked, that belongs to a device
 *
 * The endpoint keeps this copy until it ends. Until iwt_ep_wish_depths() stores the IRD and the
 * ORD that the ULP requests, the endpoint offers the device's maximum IRD, and an ORD of 0.
 * Process context, does not sleep.
 */
void iwt_ep_load_settings(struct iwt_ep *ep)
{
	const struct iwt_conf *conf = &ep->dev->conf;
	enum iwt_crc_policy crc = READ_ONCE(conf->crc);
	bool ahead = READ_ONCE(conf->ahead);

	lockdep_assert_held(&ep->lock);
	ep->wish = (struct iwt_mpa_wish) {
		.crc		= crc != IWT_CRC_OFF || ahead,
		.crc_required	= crc == IWT_CRC_REQUIRED,
		.markers	= READ_ONCE(conf->markers) || ahead,
		.p2p		= true,
		.max_rev	= READ_ONCE(conf->mpa_rev),
		.rdmac		= READ_ONCE(conf->rdmac),
		.large		= READ_ONCE(conf->large),
		.ird		= IWT_MAX_RD_ATOM,
		.ird_max	= IWT_MAX_RD_ATOM,
		.pd_max		= IWT_CM_PD_MAX,
	};
}

/**
 * iwt_ep_wish_depths() - store the IRD and the ORD that the ULP requests
 * @ep: endpoint, locked
 * @ird: maximum number of inbound Reads; limited to the device's maximum
 * @ord: maximum number of outbound Reads; limited to the device's maximum
 *
 * Process context, does not sleep.
 */
void iwt_ep_wish_depths(struct iwt_ep *ep, u32 ird, u32 ord)
{
	lockdep_assert_held(&ep->lock);
	ep->wish.ird = min_t(u32, ird, IWT_MAX_RD_ATOM);
	ep->wish.ord = min_t(u32, ord, IWT_MAX_RD_ATOM);
}

/**
 * iwt_ep_build_request() - prepare the Request (RFC 5044 7.1.2 r1)
 * @ep: endpoint, locked; ep->wish is complete, see iwt_ep_wish_depths()
 * @pd: private data of the ULP
 * @pd_len: length of @pd in bytes
 *
 * The ULP may reuse its private data when its call returns, but the Request is sent later, when
 * TCP is connected: so the Request is built now. Process context, does not sleep.
 *
 * Return: 0, -EINVAL when the private data do not fit.
 */
int iwt_ep_build_request(struct iwt_ep *ep, const void *pd, u16 pd_len)
{
	lockdep_assert_held(&ep->lock);
	iwt_mpa_request(&ep->wish, &ep->req);
	ep->req.pd_len = pd_len;
	ep->len = iwt_mpa_build(&ep->req, pd, ep->frame);
	return ep->len ? 0 : -EINVAL;
}

static int send_request(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	int err = send_all(ep, ep->frame, ep->len);

	if (err)
		return err;
	trace_frame(ep, true, ep->frame);
	ep->len = 0;
	return 0;
}

/*
 * A responder that does not implement RFC 6581 closes the connection when it receives the
 * enhanced Request, as for any improper Request (RFC 6581 10). Then send a Request of revision 1,
 * on a new connection. ep->frame still holds the private data of the ULP, since no byte of a
 * Reply has been received into this buffer.
 */
static void try_plain(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	int err;

	ep->wish.max_rev = 1;
	err = iwt_ep_build_request(ep, ep->frame + ep->req.pd_off,
				   ep->req.pd_len);
	iwt_sock_release(ep->sock, true);
	ep->sock = NULL;
	if (!err)
		err = iwt_ep_dial(ep, ep->cm_id);
	iwt_count(ep->dev, IWT_C_CONN_RETRY_REV1);
	if (err)
		iwt_ep_step(ep, IWT_CME_LOST, err);
	else
		iwt_ep_step(ep, IWT_CME_AGAIN, 0);
}

/* Did the connection end without a Reply, perhaps because the peer does not know RFC 6581? */
static bool may_be_old(const struct iwt_ep *ep, int why)
	__must_hold(&ep->lock)
{
	return (why == -EPIPE || why == -ECONNRESET) && !ep->len &&
	       ep->req.enhanced && ep->cm_id;
}

/*
 * Pass a Reply to TCP (RFC 5044 7.1.2 r2), with the private data of the ULP. Return: 0, -EINVAL
 * if the private data do not fit, or another -errno.
 */
static int mpa_send_reply(struct iwt_ep *ep, struct iwt_mpa_frame *rep,
			  const void *pd, u16 pd_len)
	__must_hold(&ep->lock)
{
	u8 *buf;
	u32 len;
	int err;

	buf = kmalloc(IWT_MPA_MAX_FRAME, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	rep->pd_len = pd_len;
	len = iwt_mpa_build(rep, pd, buf);
	err = len ? send_all(ep, buf, len) : -EINVAL;
	if (!err)
		trace_frame(ep, true, buf);
	kfree(buf);
	return err;
}

/**
 * iwt_ep_set_owner() - make the process that accepts a connection the owner of the socket
 * @ep: endpoint of a responder, locked, with its queue pair
 *
 * For a kernel consumer nothing changes. Process context, may sleep.
 *
 * Return: false if the peer has sent bytes after the Request; true otherwise.
 */
bool iwt_ep_set_owner(struct iwt_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	return !ep->qp->user || iwt_sock_set_owner(ep->sock, &ep->qp->owner);
}

/*
 * Determine the terms of a direct connection that depend on the private data of the peer's frame
 * @f. Return: false if the private data do not match, if the startup is not enhanced, or if this
 * end may send no Read, and so could not learn what the peer has placed (tx_confirm.c); true
 * otherwise, and always for other connections.
 */
static bool direct_terms(struct iwt_ep *ep, const struct iwt_mpa_frame *f)
	__must_hold(&ep->lock)
{
	struct iwt_direct_end peer;

	if (!ep->direct)
		return true;
	if (!iwt_direct_parse(ep->frame + f->pd_off, f->pd_len, &peer) ||
	    !iwt_direct_match(&ep->own, &peer) || !ep->terms.enhanced || !ep->terms.ord)
		return false;
	ep->terms.rc = true;
	/* a peer that is not in RTS sends no request, and so sets no limit */
	ep->terms.rnr_ms = iwt_direct_rnr_ms(ep->min_rnr_timer,
					     peer.rts ? peer.rnr_retry : IWT_RNR_RETRY_FOREVER);
	return true;
}

/**
 * iwt_ep_attach_responder() - attach the queue pair, on the terms of the Reply
 * @ep: endpoint of a responder, locked, with its queue pair, and ep->req set
 * @rep: receives the Reply for iwt_ep_accept_reply()
 *
 * The queue pair is attached before the Reply is sent, so that the queue pair can receive the
 * FPDUs that the initiator sends as soon as the initiator has the Reply (RFC 5044 7.1.2 r2). The
 * queue pair sends no FPDU before it has received an FPDU (r4), so that no FPDU precedes the
 * Reply. Process context, may sleep.
 *
 * Return: 0; -EPROTO if the Request does not match the direct connection; or an error of
 * iwt_qp_attach(). After an error the queue pair is not attached.
 */
int iwt_ep_attach_responder(struct iwt_ep *ep, struct iwt_mpa_frame *rep)
{
	int err;

	lockdep_assert_held(&ep->lock);
	iwt_mpa_answer(&ep->wish, &ep->req, rep, &ep->terms);
	if (!direct_terms(ep, &ep->req))
		return -EPROTO;
	err = iwt_qp_attach(ep->qp, ep->sock, &ep->terms, false,
			    &iwt_ep_llp_ops, ep);
	if (err)
		return err;
	ep->attached = true;
	return 0;
}

/**
 * iwt_ep_accept_reply() - send the accepting Reply; if sending fails, end the connection
 * @ep: endpoint, locked, after iwt_ep_attach_responder()
 * @rep: the Reply
 * @pd: private data of the ULP
 * @pd_len: length of @pd in bytes
 *
 * If sending fails, TCP may have a part of the Reply already, so that no other Reply can be sent.
 * Process context, sleeps for memory and the socket lock.
 *
 * Return: 0, or the -errno with which the connection is ended.
 */
int iwt_ep_accept_reply(struct iwt_ep *ep, struct iwt_mpa_frame *rep,
			const void *pd, u16 pd_len)
{
	int err;

	lockdep_assert_held(&ep->lock);
	err = mpa_send_reply(ep, rep, pd, pd_len);
	if (err) {
		iwt_ep_let_go_qp(ep);
		iwt_ep_step(ep, IWT_CME_LOST, err);
	}
	return err;
}

/**
 * iwt_ep_refuse() - send a Reply with the R bit (RFC 5044 7.1.2 r6)
 * @ep: endpoint of a responder, locked, with ep->req set
 * @pd: private data of the ULP, or NULL
 * @pd_len: length of @pd in bytes
 *
 * Does not change the state of the endpoint. Process context, may sleep.
 *
 * Return: 0; -EINVAL if the private data do not fit; or another -errno.
 */
int iwt_ep_refuse(struct iwt_ep *ep, const void *pd, u16 pd_len)
{
	struct iwt_mpa_frame rep;

	lockdep_assert_held(&ep->lock);
	iwt_mpa_refuse(&ep->wish, &ep->req, &rep);
	return mpa_send_reply(ep, &rep, pd, pd_len);
}

/**
 * iwt_ep_early() - has the peer sent bytes after the Request, or ended the stream?
 * @ep: endpoint of a responder that has sent no Reply, locked
 *
 * The initiator must wait for the Reply (RFC 5044 7.1.2 r3): a byte that arrives earlier means
 * that the Request has a wrong length. Process context, may sleep.
 *
 * Return: 0 if no byte and no FIN follows the Request; -EPROTO for bytes; -EPIPE for a FIN;
 * -EBUSY if a system call owns the socket of a process; or another -errno if the connection is
 * lost.
 */
int iwt_ep_early(struct iwt_ep *ep)
{
	u8 octet;
	int n;

	lockdep_assert_held(&ep->lock);
	n = iwt_sock_recv(ep->sock, &octet, 1);
	if (n == -EAGAIN)
		return 0;
	if (n > 0)
		return -EPROTO;
	return n ?: -EPIPE;
}

/*
 * Read the Reply if @reply is true, otherwise the Request. Read no byte after the frame, since
 * such a byte may belong to the first FPDU. A Reply must not have a higher revision than the
 * Request.
 *
 * Return: the result of iwt_mpa_parse() or iwt_mpa_admit(); -EAGAIN if the frame is not complete,
 * -EPIPE at the end of the stream, or another -errno.
 */
static int read_frame(struct iwt_ep *ep, bool reply, struct iwt_mpa_frame *f)
	__must_hold(&ep->lock)
{
	u8 max_rev = reply ? ep->req.rev : ep->wish.max_rev;
	u32 need;
	int n;

	for (;;) {
		need = iwt_mpa_need(ep->frame, ep->len);
		if (ep->len < need) {
			n = iwt_sock_recv(ep->sock, ep->frame + ep->len,
					  need - ep->len);
			if (n <= 0)
				return n ?: -EPIPE;
			ep->len += n;
		}
		n = iwt_mpa_parse(ep->frame, ep->len, reply, max_rev, f);
		if (n != IWT_MPA_MORE)
			break;
	}
	if (ep->len >= IWT_MPA_HDR_LEN)
		trace_frame(ep, false, ep->frame);
	if (n == IWT_MPA_OK || n == IWT_MPA_BAD_REV)
		n = iwt_mpa_admit(&ep->wish, max_rev, f);
	return n;
}

/*
 * A system call of a process owns the socket: look at the socket again after IWT_CM_BUSY_MS. The
 * call may own the socket for an unlimited time. If the work waited, each such socket would
 * occupy a thread of the workqueue, and other endpoints would have to wait.
 */
static void look_again(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	iwt_ep_get(ep);
	if (!queue_delayed_work(ep->wq, &ep->again, msecs_to_jiffies(IWT_CM_BUSY_MS)))
		iwt_ep_put(ep);
}

/* Handle a failure @why of read_frame() or iwt_ep_early(). */
static void frame_failed(struct iwt_ep *ep, int why)
	__must_hold(&ep->lock)
{
	switch (why) {
	case -EAGAIN:
		break;
	case -EBUSY:
		look_again(ep);
		break;
	case -EPIPE:
		iwt_ep_step(ep, IWT_CME_FIN, -ECONNRESET);
		break;
	case -EPROTO:
	case IWT_MPA_BAD:
	case IWT_MPA_BAD_REV:
		iwt_count(ep->dev, IWT_C_MPA_BAD);
		iwt_ep_step(ep, IWT_CME_BAD, -EPROTO);
		break;
	default:
		iwt_ep_step(ep, IWT_CME_LOST, why);
	}
}

/* Reject a well-formed Request for which iwt_mpa_admit() has returned IWT_MPA_UNFIT. */
static void refuse_request(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	int err = iwt_ep_refuse(ep, NULL, 0);

	iwt_count(ep->dev, IWT_C_CONN_REJECTED);
	if (err)
		iwt_ep_step(ep, IWT_CME_LOST, err);
	else
		iwt_ep_step(ep, IWT_CME_REFUSED, 0);
}

static void look_for_request(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	int ret = read_frame(ep, false, &ep->req);
	int early = 0;

	if (ret == IWT_MPA_OK || ret == IWT_MPA_UNFIT)
		early = iwt_ep_early(ep);
	if (early)
		frame_failed(ep, early);
	else if (ret == IWT_MPA_OK)
		iwt_ep_step(ep, IWT_CME_GOOD, 0);
	else if (ret == IWT_MPA_UNFIT)
		refuse_request(ep);
	else
		frame_failed(ep, ret);
}

/*
 * Build the first FPDU of a stream at @fpdu; if the peer requested markers, a marker precedes the
 * FPDU. Return: the length of the marker and the FPDU in bytes.
 */
static u32 seal_frame(const struct iwt_txplan *p, const struct iwt_mpa_terms *terms,
		      u8 *fpdu)
{
	u32 len = 0, run = 0;
	struct iwt_marker m;

	if (terms->tx_markers) {
		iwt_marker_begin(&m, 0);
		len = iwt_marker_put(&m, fpdu, &run);
	}
	memcpy(fpdu + len, p->head, p->head_len);
	len += p->head_len;
	memset(fpdu + len, 0, p->pad);
	len += p->pad;
	put_unaligned_le32(terms->crc ? ~crc32c(~0, fpdu, len) : 0, fpdu + len);
	return len + IWT_FPDU_CRC_LEN;
}

/*
 * The Reply accepts, but this end can't use the connection: send a Terminate as the first and
 * only FPDU (RFC 6581 8, 9.3). This function builds the Terminate itself, because no queue pair
 * is attached.
 */
static void send_terminate(struct iwt_ep *ep, u32 err)
	__must_hold(&ep->lock)
{
	u8 term[IWT_TERM_MAX - IWT_DDP_UNTAGGED_LEN];
	u8 fpdu[IWT_MARKER_LEN + sizeof(struct iwt_txplan) +
		IWT_FPDU_CRC_LEN + 3];
	struct iwt_txseg m;
	struct iwt_txplan p;

	iwt_txseg_term(&m, term, iwt_term_build(err, NULL, 0, 0, term));
	iwt_txseg_next(&m, IWT_MULPDU_MIN, &p);
	if (send_all(ep, fpdu, seal_frame(&p, &ep->terms, fpdu)))
		return;
	iwt_count(ep->dev, IWT_C_TERM_TX);
	iwt_cause_term(ep->dev, true, err);
}

/* This end can't use the Reply. Only enhanced startup allows a Terminate (RFC 6581 9.3). */
static void unfit(struct iwt_ep *ep, u32 term_err, int status)
	__must_hold(&ep->lock)
{
	if (ep->terms.enhanced)
		send_terminate(ep, term_err);
	iwt_ep_step(ep, IWT_CME_UNFIT, status);
}

static void mpa_take_reply(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	struct iwt_mpa_terms *t = &ep->terms;
	int err;

	if (t->err != IWT_OK) {
		unfit(ep, t->err, -EPROTO);
		return;
	}
	if (!direct_terms(ep, &ep->rep)) {
		unfit(ep, IWT_ERR_MPA_LOCAL, -EPROTO);
		return;
	}
	err = iwt_qp_attach(ep->qp, ep->sock, t, true, &iwt_ep_llp_ops, ep);
	if (err) {
		unfit(ep, IWT_ERR_MPA_LOCAL, err);
		return;
	}
	ep->attached = true;
	iwt_ep_step(ep, IWT_CME_GOOD, 0);
}

static void look_for_reply(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	int ret = read_frame(ep, true, &ep->rep);

	if (ret == IWT_MPA_OK || ret == IWT_MPA_UNFIT)
		iwt_mpa_conclude(&ep->wish, &ep->req, &ep->rep, &ep->terms);

	if (may_be_old(ep, ret))
		try_plain(ep);
	else if (ret == IWT_MPA_UNFIT)
		unfit(ep, IWT_ERR_MPA_LOCAL, -EPROTO);
	else if (ret != IWT_MPA_OK)
		frame_failed(ep, ret);
	else if (ep->rep.reject)
		iwt_ep_step(ep, IWT_CME_REFUSED, -ECONNREFUSED);
	else
		mpa_take_reply(ep);
}

static void look_for_tcp(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	int err;

	switch (iwt_sock_state(ep->sock)) {
	case IWT_SOCK_CONNECTING:
		return;
	case IWT_SOCK_CLOSED:
		err = iwt_sock_error(ep->sock) ?: -ECONNRESET;
		break;
	default:
		iwt_ep_read_addrs(ep);
		err = send_request(ep);
		if (!err)
			iwt_sock_ask_early(ep->sock);
	}
	if (err)
		iwt_ep_step(ep, IWT_CME_LOST, err);
	else
		iwt_ep_step(ep, IWT_CME_TCP_UP, 0);
}

/* Discard the data that the peer sends, until the peer ends its sending direction. */
static void look_for_end(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	u32 left = IWT_EP_DRAIN;
	u8 octets[256];
	int n;

	do {
		n = iwt_sock_recv(ep->sock, octets, sizeof(octets));
		left -= min_t(u32, left, max(n, 0));
	} while (n > 0 && left);
	if (n > 0)
		iwt_ep_raise(ep, IWT_EP_SOCK);	/* let other work run */
	else if (n == -EBUSY)
		look_again(ep);
	else if (n != -EAGAIN)
		iwt_ep_step(ep, n ? IWT_CME_LOST : IWT_CME_FIN, n);
}

/**
 * iwt_ep_look() - handle the connection state and the received data of the socket
 * @ep: endpoint, locked
 *
 * This function does nothing in the states in which the queue pair uses the socket, and in
 * CLOSED. Process context, does not wait for the network.
 */
void iwt_ep_look(struct iwt_ep *ep)
{
	enum iwt_cm_state was;
	int err;

	lockdep_assert_held(&ep->lock);
	do {
		was = ep->state;
		switch (was) {
		case IWT_CM_CONNECTING:
			look_for_tcp(ep);
			break;
		case IWT_CM_WAIT_REP:
			look_for_reply(ep);
			break;
		case IWT_CM_WAIT_REQ:
			look_for_request(ep);
			break;
		case IWT_CM_WAIT_ULP:
			err = iwt_ep_early(ep);
			if (err)
				frame_failed(ep, err);
			break;
		case IWT_CM_LINGER:
			look_for_end(ep);
			break;
		default:
			return;
		}
	} while (ep->state != was);
}
