// SPDX-License-Identifier: GPL-2.0
/* The operations by which iw_cm connects, accepts and rejects. */
#include "cm.h"

#include <compat/iw_order.h>
#include <rdma/iw_cm.h>

#include "cm_ep.h"
#include "dev.h"
#include "sock.h"
#include "stats.h"

/*
 * This module calls iw_cm only through pointers in the objects of iw_cm, so the module loader
 * does not see that this module depends on iw_cm. But events may still be in progress after the
 * last user of iw_cm has been unloaded. A reference to a symbol of iw_cm keeps iw_cm loaded.
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
	err = iwt_ep_take_qp(ep, qp);
	if (err) {
		iwt_qp_put(qp);
		return err;
	}
	err = iwt_ep_publish(ep, dev);
	if (err)
		return err;
	/* iwt_destroy_qp() may have called iwt_cm_qp_abandon() too early to find this endpoint */
	if (xa_load(&dev->qps, param->qpn) != qp)
		return -EINVAL;
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
 * @id: iw_cm_id of the connection; its mapped addresses are the addresses of the TCP connection
 * @param: parameters of the ULP; the private data are copied
 *
 * Process context; sleeps for memory, not for the network. If this function returns 0, exactly
 * one event CONNECT_REPLY follows; after an error, no event follows. The mapped addresses have
 * the same ports as the addresses that are not mapped (IW_F_NO_PORT_MAP).
 *
 * Return: 0; -EINVAL if iwt_caller_qp() or iwt_ep_take_qp() refuses the queue pair, if the queue
 * pair is being destroyed, or if the private data are too long; -EADDRNOTAVAIL if the link is in
 * another namespace than the caller; or another -errno.
 */
int iwt_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iwt_ep *ep = iwt_ep_alloc(IWT_CM_CONNECTING);
	int err;

	if (!ep)
		return -ENOMEM;
	/* as soon as the endpoint is unlocked, its last work may drop the first reference */
	iwt_ep_get(ep);
	mutex_lock(&ep->lock);
	err = begin_connect(ep, id, param);
	compat_iw_connecting(id, !err && ep->qp->user);
	if (err)
		iwt_ep_abandon(ep);
	mutex_unlock(&ep->lock);
	/* TCP may be connected already; after an error, the last work must end the endpoint */
	iwt_ep_raise(ep, IWT_EP_SOCK);
	iwt_ep_put(ep);
	return err;
}

/*
 * The ULP's accept fails with the error @err. iw_cm then forgets the connection, so reject the
 * connection here.
 */
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
	err = iwt_ep_take_qp(ep, qp);
	if (err) {
		iwt_qp_put(qp);
		give_up(ep, err);
		return err;
	}
	if (!iwt_ep_set_owner(ep)) {
		/* bytes have arrived since the call of iwt_ep_early() */
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
 * iwt_cm_accept() - accept the connection of a CONNECT_REQUEST event
 * @id: iw_cm_id of the connection, with the provider_data of the CONNECT_REQUEST event
 * @param: parameters of the ULP
 *
 * Process context; sleeps for memory, not for the network.
 * If a process accepts, compat_iw_await() also waits until iw_cm has handled ESTABLISHED.
 * If this function returns 0, ESTABLISHED and later events follow. If this function returns an
 * error, no event follows: iw_cm then forgets the connection, so this function has ended the
 * connection.
 *
 * Return: 0; -ECONNRESET if the connection has ended, or if the peer has sent bytes after its
 * Request; -EINVAL if iwt_caller_qp() or iwt_ep_take_qp() refuses the queue pair, or if the
 * private data are too long; or another -errno.
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
	iwt_ep_raise(ep, IWT_EP_SOCK);	/* the work delivers events, or ends the endpoint */
	iwt_ep_put(ep);
	compat_iw_await(&taken);
	return err;
}

/**
 * iwt_cm_reject() - reject the connection of a CONNECT_REQUEST event (RFC 5044 7.1.2 r6)
 * @id: iw_cm_id of the connection, with the provider_data of the CONNECT_REQUEST event
 * @pd: private data for the peer, or NULL
 * @pd_len: length of @pd in bytes
 *
 * No ULP could use the TCP connection after the reject, so the driver closes the TCP connection
 * when the Reply is sent. Process context; sleeps for memory, not for the network.
 *
 * Return: 0 if the Reply is sent, or if the connection had already ended; -errno if the Reply
 * can't be sent.
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
 * iwt_cm_qp_abandon() - abort the connections of a queue pair that is being destroyed
 * @qp: queue pair
 *
 * iw_cm holds a reference to the queue pair while a connect is in progress. This call makes the
 * connect fail at once, so the destroying task need not wait for the deadline of the connect.
 * Process context; does not wait.
 */
void iwt_cm_qp_abandon(struct iwt_qp *qp)
{
	iwt_ep_abort_qp(qp);
}

/**
 * iwt_cm_dev_drain() - end every connection of a device
 * @dev: device that the RDMA core has removed from all clients
 *
 * The clients have destroyed their iw_cm_ids, so no new connection can begin. The connections
 * that still exist are being closed. This function resets these connections, and sleeps until
 * they have ended; no peer can delay their end.
 */
void iwt_cm_dev_drain(struct iwt_dev *dev)
{
	iwt_ep_drain_dev(dev);
}
