// SPDX-License-Identifier: GPL-2.0
/* The operations of iw_cm on connections. */
#include "cm.h"

#include <compat/iw_order.h>
#include <rdma/iw_cm.h>

#include "cm_ep.h"
#include "dev.h"
#include "sock.h"
#include "stats.h"

/*
 * This module calls iw_cm only through pointers in its objects, so the module loader does not
 * know that it needs iw_cm; and events may still be under way when the last user of iw_cm is
 * gone. A reference to one of its symbols keeps iw_cm loaded.
 */
static const char *(* const pin_iw_cm)(int reason) __used = iwcm_reject_msg;

static int begin_connect(struct iwt_ep *ep, struct iw_cm_id *id,
			 const struct iw_cm_conn_param *param)
	__must_hold(&ep->lock)
{
	struct iwt_dev *dev = to_iwt_dev(id->device);
	struct iwt_qp *qp;
	int err;

	ep->dev = dev;
	ep->initiator = true;
	ep->local = id->local_addr;
	ep->remote = id->remote_addr;
	iwt_ep_load_settings(ep);
	iwt_ep_wish_depths(ep, param->ird, param->ord);
	err = iwt_ep_build_request(ep, param->private_data,
				   param->private_data_len);
	if (err)
		return err;
	qp = iwt_caller_qp(id, param->qpn);
	if (!qp)
		return -EINVAL;
	iwt_ep_take_qp(ep, qp);
	err = iwt_ep_publish(ep, dev);
	/* destroyed before iwt_cm_qp_abandon() could find this endpoint */
	if (!err && xa_load(&dev->qps, param->qpn) != qp)
		err = -EINVAL;
	if (!err)
		err = iwt_ep_dial(ep, id);
	if (err)
		return err;
	id->add_ref(id);
	ep->cm_id = id;
	iwt_ep_arm(ep, IWT_CM_CONNECT_MS);
	return 0;
}

/**
 * iwt_cm_connect() - begin a connection
 * @id: iw_cm's object; its mapped addresses count
 * @param: what the ULP wants; its private data are copied
 *
 * Process context; sleeps for memory, not for the network. Exactly one CONNECT_REPLY follows a
 * return of 0, and none any other return. The port mapper does not change ports
 * (IW_F_NO_PORT_MAP).
 *
 * Return: 0, -EINVAL for a bad queue pair or too long private data, or what TCP says.
 */
int iwt_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iwt_ep *ep = iwt_ep_alloc(IWT_CM_CONNECTING);
	int err;

	if (!ep)
		return -ENOMEM;
	/* as soon as the endpoint is unlocked, its last work may run */
	iwt_ep_get(ep);
	mutex_lock(&ep->lock);
	err = begin_connect(ep, id, param);
	compat_iw_connecting(id, !err && ep->qp->user);
	if (err)
		iwt_ep_abandon(ep);
	mutex_unlock(&ep->lock);
	/* it may be connected already, or has to be finished */
	iwt_ep_raise(ep, IWT_EP_SOCK);
	iwt_ep_put(ep);
	return err;
}

/* iw_cm forgets a connection whose accept fails: reject it on behalf of the ULP. */
static void give_up(struct iwt_ep *ep, int err)
	__must_hold(&ep->lock)
{
	iwt_count(ep->dev, IWT_C_CONN_FAILED);
	if (iwt_ep_refuse(ep, NULL, 0))
		iwt_ep_step(ep, IWT_CME_LOST, err);
	else
		iwt_ep_step(ep, IWT_CME_REJECT, err);
	iwt_ep_let_go_qp(ep);
}

static int attach_and_reply(struct iwt_ep *ep, const void *pd, u16 pd_len)
	__must_hold(&ep->lock)
{
	struct iwt_mpa_frame rep;
	int err = iwt_ep_attach_responder(ep, &rep);

	if (err) {
		give_up(ep, err);
		return err;
	}
	return iwt_ep_accept_reply(ep, &rep, pd, pd_len);
}

/* The connection belongs to the process from now on. */
static bool take_over(struct iwt_ep *ep)
	__must_hold(&ep->lock)
{
	const struct iwt_sock_owner owner = { .memcg = ep->qp->memcg, .uid = ep->qp->uid };

	return !ep->qp->user || iwt_sock_set_owner(ep->sock, &owner);
}

static int accept_locked(struct iwt_ep *ep, struct iw_cm_id *id,
			 const struct iw_cm_conn_param *param)
	__must_hold(&ep->lock)
{
	struct iwt_qp *qp;
	int err;

	if (ep->state != IWT_CM_WAIT_ULP)
		return -ECONNRESET;
	err = iwt_ep_early(ep);
	if (err) {
		iwt_ep_step(ep, err == -EPROTO ? IWT_CME_BAD : IWT_CME_LOST,
			    err);
		return -ECONNRESET;
	}
	iwt_ep_wish_depths(ep, param->ird, param->ord);
	qp = iwt_caller_qp(id, param->qpn);
	if (!qp) {
		give_up(ep, -EINVAL);
		return -EINVAL;
	}
	iwt_ep_take_qp(ep, qp);
	if (!take_over(ep)) {
		/* octets that came just now, see iwt_ep_early() */
		iwt_ep_let_go_qp(ep);
		iwt_ep_step(ep, IWT_CME_BAD, -EPROTO);
		return -ECONNRESET;
	}
	err = attach_and_reply(ep, param->private_data,
			       param->private_data_len);
	if (err)
		return err;
	id->add_ref(id);
	ep->cm_id = id;
	iwt_ep_step(ep, IWT_CME_ACCEPT, 0);
	return 0;
}

/**
 * iwt_cm_accept() - accept what a CONNECT_REQUEST told of
 * @id: iw_cm's object, with the event's provider_data
 * @param: what the ULP wants
 *
 * Process context; sleeps for memory, not for the network. ESTABLISHED and later events follow
 * a return of 0. After any other return there are none: the connection has been ended, since
 * iw_cm forgets it.
 *
 * Return: 0, -ECONNRESET when the peer has gone, -EINVAL for a bad queue pair or too long
 * private data, or another -errno.
 */
int iwt_cm_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iwt_ep *ep = iwt_ep_find((unsigned long)id->provider_data);
	struct compat_iw_taken taken;
	int err;

	if (!ep)
		return -ECONNRESET;
	mutex_lock(&ep->lock);
	err = accept_locked(ep, id, param);
	compat_iw_accepted(&taken, id, !err && ep->qp->user);
	mutex_unlock(&ep->lock);
	iwt_ep_raise(ep, IWT_EP_SOCK);	/* the work delivers events, or finishes */
	iwt_ep_put(ep);
	compat_iw_await(&taken);
	return err;
}

/**
 * iwt_cm_reject() - reject what a CONNECT_REQUEST told of (RFC 5044 7.1.2 r6)
 * @id: iw_cm's object, with the event's provider_data
 * @pd: private data for the peer, or NULL
 * @pd_len: how many octets
 *
 * Nobody could use the TCP connection afterwards, so it is closed when the Reply is sent.
 * Process context; sleeps for memory, not for the network.
 *
 * Return: 0, also when the peer has gone, or -errno when the Reply can't be sent.
 */
int iwt_cm_reject(struct iw_cm_id *id, const void *pd, u8 pd_len)
{
	struct iwt_ep *ep = iwt_ep_find((unsigned long)id->provider_data);
	int err = 0;

	if (!ep)
		return 0;
	mutex_lock(&ep->lock);
	if (ep->state == IWT_CM_WAIT_ULP) {
		iwt_count(ep->dev, IWT_C_CONN_REJECTED);
		err = iwt_ep_refuse(ep, pd, pd_len);
		iwt_ep_step(ep, err ? IWT_CME_LOST : IWT_CME_REJECT, err);
	}
	mutex_unlock(&ep->lock);
	iwt_ep_raise(ep, IWT_EP_SOCK);
	iwt_ep_put(ep);
	return err;
}

/**
 * iwt_cm_qp_abandon() - end what a queue pair is about to lose
 * @qp: queue pair that is being destroyed
 *
 * iw_cm holds a reference to the queue pair while a connect is under way. This lets the connect
 * fail now, so that nobody waits for its deadline. Process context; does not wait.
 */
void iwt_cm_qp_abandon(struct iwt_qp *qp)
{
	iwt_ep_abort_qp(qp);
}

/**
 * iwt_cm_dev_drain() - end every connection of a device
 * @dev: device whose clients are gone
 *
 * The clients have destroyed their iw_cm_ids, so no connection is added; what is left are
 * connections that are being closed. Sleeps until they are gone; no peer can delay that.
 */
void iwt_cm_dev_drain(struct iwt_dev *dev)
{
	iwt_ep_drain_dev(dev);
}
