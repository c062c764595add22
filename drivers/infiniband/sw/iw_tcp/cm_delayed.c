// SPDX-License-Identifier: GPL-2.0
/*
 * Delayed startup (RFC 5044 7.1.3): a process has exchanged data over its own TCP socket, and
 * switches the socket to RDMA.
 *
 * The process sends and receives the startup frames on its socket, and passes the frames to the
 * driver. So this file never waits for a peer. The driver itself sends only a Reply that accepts.
 * The socket stays an ordinary socket until the driver has checked the frames. If the driver
 * refuses the frames, or if one end rejects, the socket is unchanged. The process may exit at any
 * time. The settings of the link determine the contents of the frames that this end sends.
 *
 * After the takeover of the socket the connection has an endpoint, like a connection of iw_cm,
 * but the endpoint reports no events. When the connection ends, the process only sees that its
 * queue pair enters the error state.
 */
#include "cm.h"

#include "cm_ep.h"
#include "dev.h"
#include "sock.h"
#include "stats.h"

/*
 * The endpoints of delayed startup have their own workqueue, because their work may have to wait
 * until a system call of a process releases the socket.
 */
static struct workqueue_struct *delayed_wq;

static void set_wish(struct iwt_ep *ep, const struct iwt_delayed *a)
	__must_hold(&ep->lock)
{
	ep->dev = a->dev;
	iwt_ep_load_settings(ep);
	iwt_ep_wish_depths(ep, a->ird, a->ord);
	/* unlike iw_cm, delayed startup can deliver all private data that fit into a frame */
	ep->wish.pd_max = IWT_MPA_MAX_PD;
	if (a->plain)
		ep->wish.max_rev = 1;
}

/*
 * Check that the driver can take over the socket, and that the link serves the local address of
 * the socket. @unread: set to true if the socket has unread data. Return: 0 or -errno.
 */
static int check_socket(const struct iwt_delayed *a, bool *unread)
{
	struct sockaddr_storage local = {};
	int err;

	err = iwt_sock_look(a->fd, rcu_access_pointer(a->dev->net), unread,
			    &local);
	if (err)
		return err;
	iwt_addr_unmap(&local);
	return iwt_addr_of_dev(a->dev, &local) ? 0 : -EADDRNOTAVAIL;
}

static bool has_length(const u8 *frame, u32 len)
{
	return iwt_mpa_need(frame, len) == len;
}

/* Do the private data of this end fit into the Reply? */
static bool startup_fits(const struct iwt_ep *ep, const struct iwt_delayed *a)
{
	return a->pd_len <= IWT_MPA_MAX_PD -
			    (ep->req.enhanced ? IWT_MPA_ENH_LEN : 0);
}

/*
 * Parse the Request that the peer has sent. Return: 0; -EPROTO if the frame is not a Request,
 * -EOPNOTSUPP if the link does not support what the Request requires, -EINVAL if the private data
 * of this end are too long for the Reply.
 */
static int read_request(struct iwt_ep *ep, const struct iwt_delayed *a)
	__must_hold(&ep->lock)
{
	int v;

	if (!has_length(a->request, a->request_len))
		return -EPROTO;
	v = iwt_mpa_parse(a->request, a->request_len, false, ep->wish.max_rev,
			  &ep->req);
	if (v == IWT_MPA_OK || v == IWT_MPA_BAD_REV)
		v = iwt_mpa_admit(&ep->wish, ep->wish.max_rev, &ep->req);
	if (v == IWT_MPA_UNFIT)
		return -EOPNOTSUPP;
	if (v != IWT_MPA_OK)
		return -EPROTO;
	return startup_fits(ep, a) ? 0 : -EINVAL;
}

/*
 * Parse the Request that the process claims to have sent, and the peer's Reply. The process might
 * have built the Request itself. So check that the Request requests the CRC unless the link's
 * setting crc is off, and that the Request offers large FPDUs only if the setting large_fpdus is
 * on.
 *
 * Return: 0; -EINVAL if the Request is wrong, or if the Reply rejects; -EPROTO if the Reply is
 * wrong.
 */
static int read_both(struct iwt_ep *ep, const struct iwt_delayed *a)
	__must_hold(&ep->lock)
{
	struct iwt_mpa_frame rep;
	int v;

	if (!has_length(a->request, a->request_len))
		return -EINVAL;
	v = iwt_mpa_parse(a->request, a->request_len, false, ep->wish.max_rev,
			  &ep->req);
	if (v != IWT_MPA_OK || (ep->wish.crc && !ep->req.crc) ||
	    (ep->req.large && !ep->wish.large))
		return -EINVAL;
	if (!has_length(a->reply, a->reply_len))
		return -EPROTO;
	v = iwt_mpa_parse(a->reply, a->reply_len, true, ep->req.rev, &rep);
	if (v == IWT_MPA_BAD || v == IWT_MPA_MORE)
		return -EPROTO;
	return rep.reject ? -EINVAL : 0;
}

/* Give the socket back to the process because of the error @err. Return: @err. */
static int give_back_socket(struct iwt_ep *ep, int err)
	__must_hold(&ep->lock)
{
	iwt_sock_give_back(ep->sock);
	ep->sock = NULL;
	return err;
}

/*
 * Copy the Reply to ep->frame, into which an endpoint of iw_cm receives its Reply. iwt_ep_look()
 * then processes the Reply as for such an endpoint.
 */
static int delayed_take_reply(struct iwt_ep *ep, const struct iwt_delayed *a)
	__must_hold(&ep->lock)
{
	int err = iwt_sock_keep(ep->sock);

	if (err)
		return give_back_socket(ep, err);
	memcpy(ep->frame, a->reply, a->reply_len);
	ep->len = a->reply_len;
	iwt_ep_look(ep);
	if (ep->state == IWT_CM_FULL)
		return 0;
	return ep->reply_status ?: -ECONNRESET;
}

/*
 * Attach the queue pair, and send the Reply. An error before iwt_sock_keep() has succeeded gives
 * the socket back to the process. A later error ends the connection.
 */
static int delayed_send_reply(struct iwt_ep *ep, const struct iwt_delayed *a)
	__must_hold(&ep->lock)
{
	struct iwt_mpa_frame rep;
	int err;

	err = iwt_ep_attach_responder(ep, &rep);
	if (err)
		goto err_give_back;
	err = iwt_sock_keep(ep->sock);
	if (err)
		goto err_let_go;
	err = iwt_ep_accept_reply(ep, &rep, a->pd, a->pd_len);
	/* convert errors, such as -EBUSY, that would mean that the socket is unchanged */
	if (err)
		return err == -EPROTO || err == -ETIMEDOUT ? err : -ECONNABORTED;
	iwt_ep_step(ep, IWT_CME_ACCEPT, 0);
	return 0;

err_let_go:
	iwt_ep_let_go_qp(ep);
err_give_back:
	return give_back_socket(ep, err);
}

/*
 * Take over the socket, and check it. The descriptor is looked up only once: another thread may
 * make the descriptor refer to another socket at any time.
 */
static int take_socket(struct iwt_ep *ep, const struct iwt_delayed *a)
	__must_hold(&ep->lock)
{
	struct sockaddr_storage local = {}, remote = {};
	bool unread;
	int err;

	err = iwt_sock_take(a->fd, rcu_access_pointer(a->dev->net), &iwt_ep_sock_ops, ep,
			    &unread, &ep->sock);
	if (err)
		return err;
	err = iwt_sock_names(ep->sock, &local, &remote);
	iwt_addr_unmap(&local);
	if (!err && !iwt_addr_of_dev(a->dev, &local))
		err = -EADDRNOTAVAIL;
	/* no bytes may follow the Request before the Reply is sent, see iwt_ep_early() */
	if (!err && unread && !a->reply)
		err = -EPROTO;
	return err ? give_back_socket(ep, err) : 0;
}

static int start_locked(struct iwt_ep *ep, const struct iwt_delayed *a)
	__must_hold(&ep->lock)
{
	struct iwt_dev *dev = a->dev;
	int err;

	set_wish(ep, a);
	ep->initiator = a->reply;
	err = a->reply ? read_both(ep, a) : read_request(ep, a);
	if (err)
		return err;
	err = iwt_ep_publish(ep, dev);
	if (err)
		return err;
	err = take_socket(ep, a);
	if (err)
		return err;
	iwt_ep_read_addrs(ep);
	iwt_qp_get(a->qp);
	err = iwt_ep_take_qp(ep, a->qp);
	if (err) {
		iwt_qp_put(a->qp);
		return give_back_socket(ep, err);
	}
	return a->reply ? delayed_take_reply(ep, a) : delayed_send_reply(ep, a);
}

/* If the takeover has failed, or the socket was given back, end the endpoint. */
static void abandon(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	if (ep->sock || ep->state == IWT_CM_CLOSED)
		return;
	iwt_ep_abandon(ep);
}

/**
 * iwt_cm_delayed_start() - switch the socket of a process to RDMA
 * @a: request of the process, with the frames; if @a->reply is not NULL, this end is the
 *	initiator
 * @terms: receives the negotiated parameters
 *
 * This function sends a responder's Reply after the queue pair has become ready to receive FPDUs
 * (RFC 5044 7.1.2 r2). The caller runs in the context of the process that has the descriptor.
 * Sleeps for memory and for the lock of the socket, not for the network.
 *
 * An error before iwt_sock_keep() has succeeded leaves the socket unchanged. After a later error
 * the connection is being ended; for a responder, a later error is -EPROTO, -ETIMEDOUT or
 * -ECONNABORTED.
 *
 * Return: 0; -EINVAL if the queue pair is not idle or connects directly, if the private data are
 * too long, or if the frames do not match; -EPROTO if a frame is wrong, or if the peer has sent
 * bytes after its Request; -EOPNOTSUPP if the link does not support what the Request requires;
 * -EADDRNOTAVAIL if the link does not serve the local address of the socket; -ENOMEM; an error of
 * iwt_sock_look(); or another error, with which the connection has failed.
 */
int iwt_cm_delayed_start(const struct iwt_delayed *a, struct iwt_mpa_terms *terms)
{
	struct iwt_ep *ep = iwt_ep_alloc(a->reply ? IWT_CM_WAIT_REP :
						    IWT_CM_WAIT_ULP);
	int err;

	if (!ep)
		return -ENOMEM;
	/* as soon as the endpoint is unlocked, its last work may drop the first reference */
	iwt_ep_get(ep);
	ep->wq = delayed_wq;
	mutex_lock(&ep->lock);
	err = start_locked(ep, a);
	if (err)
		abandon(ep);
	*terms = ep->terms;
	mutex_unlock(&ep->lock);
	iwt_ep_raise(ep, IWT_EP_SOCK);
	iwt_ep_put(ep);
	return err;
}

/*
 * Call @write to build a frame, with a temporary endpoint for which set_wish() was called.
 * Return: length of the frame in bytes, or -errno.
 */
static int write_frame(const struct iwt_delayed *a, u8 *frame,
		       int (*write)(struct iwt_ep *ep,
				    const struct iwt_delayed *a, u8 *frame))
{
	struct iwt_ep *ep = iwt_ep_alloc(IWT_CM_CLOSED);
	int err;

	if (!ep)
		return -ENOMEM;
	mutex_lock(&ep->lock);
	set_wish(ep, a);
	err = write(ep, a, frame);
	mutex_unlock(&ep->lock);
	iwt_ep_put(ep);
	return err;
}

static int write_request(struct iwt_ep *ep, const struct iwt_delayed *a,
			 u8 *frame)
	__must_hold(&ep->lock)
{
	int err = iwt_ep_build_request(ep, a->pd, a->pd_len);

	if (err)
		return err;
	memcpy(frame, ep->frame, ep->len);
	return ep->len;
}

/**
 * iwt_cm_delayed_request() - build the Request that an initiator has to send
 * @a: request of the process
 * @frame: receives the Request; IWT_MPA_MAX_FRAME bytes
 *
 * This function also checks the socket and the queue pair, so that the process does not send a
 * Request if the startup can't succeed. The process must have read all earlier data of the peer
 * (RFC 5044 7.1.5). The caller runs in the context of the process that has the descriptor. May
 * sleep.
 *
 * Return: length of the Request in bytes; -ENOTEMPTY when the socket has unread data, -EINVAL for
 * a queue pair that is not idle or connects directly, or private data that are too long,
 * -EADDRNOTAVAIL if the link does not serve the local address of the socket, -ENOMEM, or an error
 * of iwt_sock_look().
 */
int iwt_cm_delayed_request(const struct iwt_delayed *a, u8 *frame)
{
	bool unread;
	int err;

	err = check_socket(a, &unread);
	if (err)
		return err;
	if (unread)
		return -ENOTEMPTY;
	if (READ_ONCE(a->qp->state) != IWT_QP_IDLE || READ_ONCE(a->qp->only_direct))
		return -EINVAL;
	return write_frame(a, frame, write_request);
}

static int write_reject(struct iwt_ep *ep, const struct iwt_delayed *a,
			u8 *frame)
	__must_hold(&ep->lock)
{
	struct iwt_mpa_frame rep;
	int err;

	err = read_request(ep, a);
	if (err && err != -EOPNOTSUPP)
		return err;
	iwt_mpa_refuse(&ep->wish, &ep->req, &rep);
	rep.pd_len = a->pd_len;
	iwt_count(ep->dev, IWT_C_CONN_REJECTED);
	return iwt_mpa_build(&rep, a->pd, frame) ?: -EINVAL;
}

/**
 * iwt_cm_delayed_reject() - build the Reply with which a responder rejects a Request
 * @a: the Request and private data
 * @frame: receives the Reply; IWT_MPA_MAX_FRAME bytes
 *
 * The Reply ends the MPA startup; the TCP connection continues without RDMA (RFC 5044 7.1.2 r2).
 * May sleep.
 *
 * Return: length of the Reply in bytes; -EPROTO for an improper Request, -EINVAL for private data
 * that are too long, -ENOMEM.
 */
int iwt_cm_delayed_reject(const struct iwt_delayed *a, u8 *frame)
{
	return write_frame(a, frame, write_reject);
}

/* Create the workqueue at module load; may sleep. Return: 0 or -ENOMEM. */
int iwt_cm_delayed_init(void)
{
	delayed_wq = alloc_workqueue("iw_tcp_delayed", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return delayed_wq ? 0 : -ENOMEM;
}

/* Destroy the workqueue at module unload, when no endpoint is left; may sleep. */
void iwt_cm_delayed_exit(void)
{
	destroy_workqueue(delayed_wq);
}
