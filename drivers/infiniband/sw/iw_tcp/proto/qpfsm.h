/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a queue pair, which are the states of its RDMAP stream (RFC 5040 6). Pure
 * functions.
 */
#ifndef IWT_QPFSM_H
#define IWT_QPFSM_H

#include <linux/types.h>

enum iwt_qp_state {
	IWT_QP_IDLE,		/* no LLP */
	IWT_QP_RTS,		/* RDMA mode */
	IWT_QP_HALF,		/* the peer has sent FIN; this end still sends */
	IWT_QP_DRAIN,		/* graceful close after the posted requests are done */
	IWT_QP_CLOSING,		/* graceful LLP close has begun: only FIN is sent */
	IWT_QP_TERMINATE,	/* a Terminate will be sent or has been sent */
	IWT_QP_GONE,		/* direct connection: the peer has left, and no request waits */
	IWT_QP_ERROR,		/* every work request is flushed */
	IWT_QP_STATES
};

enum iwt_qp_event {
	IWT_QE_ATTACH,		/* startup is done, the queue pair has the socket */
	IWT_QE_CLOSE,		/* ULP: graceful close; no work is outstanding */
	IWT_QE_CLOSE_BUSY,	/* ULP: graceful close; work is outstanding */
	IWT_QE_TO_ERROR,	/* ULP: modify to error */
	IWT_QE_TO_IDLE,		/* ULP: modify to reset */
	IWT_QE_LOCAL_ERROR,	/* a work request or the stream failed here */
	IWT_QE_TERM_RECEIVED,	/* the peer sent a Terminate */
	IWT_QE_PEER_CLOSED,	/* FIN of the peer; no work is outstanding */
	IWT_QE_PEER_BUSY,	/* FIN of the peer; work is outstanding */
	IWT_QE_DRAINED,		/* no work is outstanding any more */
	IWT_QE_LOST,		/* reset or timeout of the connection */
	IWT_QE_PEER_GONE,	/* a direct connection has ended, and no request waits */
	IWT_QE_DETACH,		/* the connection has ended */
	IWT_QE_COUNT
};

/* Actions of the caller besides setting the new state. */
enum iwt_qp_action {
	IWT_QA_FLUSH		= 1 << 0,	/* complete all requests as flushed */
	IWT_QA_SEND_TERM	= 1 << 1,
	IWT_QA_CLOSE		= 1 << 2,	/* request a graceful close */
	IWT_QA_ABORT		= 1 << 3,	/* request an abort */
	IWT_QA_REPORT		= 1 << 4,	/* report an asynchronous event to the ULP */
	IWT_QA_REFUSE		= 1 << 5,	/* the event is not allowed: return -EINVAL */
	IWT_QA_SEAL		= 1 << 6,	/* do not start requests that are posted later */
	IWT_QA_GRACE		= 1 << 7,	/* the close waits: set a deadline */
	IWT_QA_DRAINED		= 1 << 8,	/* report that the send queue is drained */
	IWT_QA_WATCH		= 1 << 9,	/* the next request that is posted must fail */
};

struct iwt_qp_step {
	enum iwt_qp_state next;
	u32 actions;
};

struct iwt_qp_step iwt_qpfsm(enum iwt_qp_state state, enum iwt_qp_event event);
const char *iwt_qp_state_name(enum iwt_qp_state state);

#endif
