/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of an MPA endpoint, from TCP setup to close (RFC 5044 7, RFC 6581). Pure functions.
 */
#ifndef IWT_CMFSM_H
#define IWT_CMFSM_H

#include <linux/types.h>

enum iwt_cm_state {
	IWT_CM_CONNECTING,	/* initiator: TCP is being set up */
	IWT_CM_WAIT_REP,	/* initiator: Request sent */
	IWT_CM_WAIT_REQ,	/* responder: TCP is up, no Request yet */
	IWT_CM_WAIT_ULP,	/* responder: the ULP has to answer the Request */
	IWT_CM_FULL,		/* the stream belongs to a queue pair */
	IWT_CM_CLOSING,		/* FIN sent, the queue pair waits for the peer's FIN */
	IWT_CM_LINGER,		/* FIN sent, no queue pair; waiting for the peer's FIN */
	IWT_CM_CLOSED,
	IWT_CM_STATES
};

enum iwt_cm_event {
	IWT_CME_TCP_UP,		/* connected, and TCP has the Request */
	IWT_CME_AGAIN,		/* no Reply: TCP is set up anew for a Request of revision 1 */
	/* responder: acceptable Request; initiator: good Reply, and the queue pair is attached */
	IWT_CME_GOOD,
	/* initiator: the Reply has R set; responder: this end has sent a Reply with R */
	IWT_CME_REFUSED,
	IWT_CME_UNFIT,		/* good Reply, but this end can't use the connection */
	IWT_CME_BAD,		/* malformed MPA startup frame */
	IWT_CME_ACCEPT,		/* ULP accepts: queue pair attached, TCP has the Reply */
	IWT_CME_REJECT,		/* ULP rejects: TCP has the Reply */
	IWT_CME_FIN,		/* the peer's direction has ended */
	IWT_CME_LOST,		/* reset, unreachable, timed out in TCP, local error */
	IWT_CME_TIMEOUT,	/* the deadline of the state has passed */
	IWT_CME_CLOSE,		/* queue pair: close gracefully */
	IWT_CME_DRAINING,	/* queue pair: close waits for outstanding work */
	IWT_CME_TERM_PENDING,	/* queue pair: Terminate waits for TCP */
	IWT_CME_TERM_SENT,	/* queue pair: TCP has the Terminate */
	IWT_CME_TERM_RECEIVED,	/* queue pair: the peer sent a Terminate */
	IWT_CME_ABORT,		/* queue pair: end now, because it failed or is destroyed */
	IWT_CME_ABORT_ZC,	/* as ABORT, while TCP refers to memory of the requests */
	IWT_CME_KILL,		/* the device is removed, or this endpoint is evicted */
	IWT_CME_ORPHAN,		/* the listener is destroyed */
	IWT_CME_COUNT
};

/*
 * Actions of a step, carried out in this order. No action can fail. No step has both
 * IWT_CMA_GRACE and IWT_CMA_USER_TIMEOUT.
 */
enum iwt_cm_action {
	IWT_CMA_FIN		= 1 << 0,	/* end the sending direction */
	IWT_CMA_DETACH		= 1 << 1,	/* detach and drop the queue pair */
	/* close TCP by FIN, or by RST if IWT_CMA_DETACH has found a reason for RST */
	IWT_CMA_RELEASE		= 1 << 2,
	IWT_CMA_RESET		= 1 << 3,	/* close TCP by RST */
	IWT_CMA_GRACE		= 1 << 4,	/* the state stays, but has a new deadline */
	IWT_CMA_USER_TIMEOUT	= 1 << 5,	/* as GRACE, with the link's user_timeout */
	/* events to iw_cm */
	IWT_CMA_UP_REQUEST	= 1 << 8,
	IWT_CMA_UP_REPLY	= 1 << 9,
	IWT_CMA_UP_ESTABLISHED	= 1 << 10,
	IWT_CMA_UP_DISCONNECT	= 1 << 11,
	IWT_CMA_UP_CLOSE	= 1 << 12,
	IWT_CMA_UP_MASK		= 0x1f << 8,
};

struct iwt_cm_step {
	enum iwt_cm_state next;
	u32 actions;
};

struct iwt_cm_step iwt_cmfsm(enum iwt_cm_state state, enum iwt_cm_event event);
const char *iwt_cm_state_name(enum iwt_cm_state state);

#endif
