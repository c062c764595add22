// SPDX-License-Identifier: GPL-2.0
/* The states of a queue pair, which are the states of its RDMAP stream (RFC 5040 6). */
#include "qpfsm.h"

#define STEP(state, acts)	{ IWT_QP_##state, (acts) }
#define REFUSE(state)		STEP(state, IWT_QA_REFUSE)
#define FLUSH			IWT_QA_FLUSH
#define SEAL			IWT_QA_SEAL
#define DRAINED			IWT_QA_DRAINED

/*
 * Every cell of the table is written out: an event that is not allowed has the action REFUSE, an
 * event that changes nothing has no action. Five rules need an explanation. A graceful close
 * first sends the work requests that were posted before the close, and then FIN (RFC 5041 6.2.1).
 * The peer's FIN ends only the peer's direction: this end continues until no work is outstanding.
 * A second error while a Terminate is being sent changes nothing, because a stream has at most
 * one Terminate. When the connection ends, the next state is ERROR, not IDLE, so that requests
 * that are posted later are flushed and do not wait for ever. But if a direct connection ends
 * while no request waits, the next state is GONE: as with InfiniBand, the posted receives are not
 * flushed, and the next request that is posted fails.
 */
static const struct iwt_qp_step steps[IWT_QP_STATES][IWT_QE_COUNT] = {
	[IWT_QP_IDLE] = {
		[IWT_QE_ATTACH]		= STEP(RTS, 0),
		[IWT_QE_CLOSE]		= REFUSE(IDLE),
		[IWT_QE_CLOSE_BUSY]	= REFUSE(IDLE),
		[IWT_QE_TO_ERROR]	= STEP(ERROR, FLUSH),
		[IWT_QE_TO_IDLE]	= STEP(IDLE, 0),
		[IWT_QE_LOCAL_ERROR]	= STEP(ERROR, FLUSH),
		[IWT_QE_TERM_RECEIVED]	= REFUSE(IDLE),
		[IWT_QE_PEER_CLOSED]	= STEP(IDLE, 0),
		[IWT_QE_PEER_BUSY]	= STEP(IDLE, 0),
		[IWT_QE_DRAINED]	= STEP(IDLE, 0),
		[IWT_QE_LOST]		= STEP(IDLE, 0),
		[IWT_QE_PEER_GONE]	= STEP(IDLE, 0),
		[IWT_QE_DETACH]		= STEP(IDLE, 0),
	},
	[IWT_QP_RTS] = {
		[IWT_QE_ATTACH]		= REFUSE(RTS),
		[IWT_QE_CLOSE]		= STEP(CLOSING, SEAL | DRAINED | IWT_QA_CLOSE),
		[IWT_QE_CLOSE_BUSY]	= STEP(DRAIN, SEAL | IWT_QA_GRACE),
		[IWT_QE_TO_ERROR]	= STEP(ERROR, FLUSH | IWT_QA_ABORT),
		[IWT_QE_TO_IDLE]	= REFUSE(RTS),
		[IWT_QE_LOCAL_ERROR]	= STEP(TERMINATE, FLUSH |
					       IWT_QA_SEND_TERM |
					       IWT_QA_REPORT),
		[IWT_QE_TERM_RECEIVED]	= STEP(ERROR, FLUSH | IWT_QA_REPORT),
		[IWT_QE_PEER_CLOSED]	= STEP(CLOSING, SEAL),
		[IWT_QE_PEER_BUSY]	= STEP(HALF, IWT_QA_GRACE),
		[IWT_QE_DRAINED]	= STEP(RTS, 0),
		[IWT_QE_LOST]		= STEP(ERROR, FLUSH),
		[IWT_QE_PEER_GONE]	= STEP(GONE, IWT_QA_WATCH),
		[IWT_QE_DETACH]		= STEP(ERROR, FLUSH),
	},
	[IWT_QP_HALF] = {
		[IWT_QE_ATTACH]		= REFUSE(HALF),
		[IWT_QE_CLOSE]		= STEP(CLOSING, SEAL | DRAINED | IWT_QA_CLOSE),
		[IWT_QE_CLOSE_BUSY]	= STEP(DRAIN, SEAL),
		[IWT_QE_TO_ERROR]	= STEP(ERROR, FLUSH | IWT_QA_ABORT),
		[IWT_QE_TO_IDLE]	= REFUSE(HALF),
		[IWT_QE_LOCAL_ERROR]	= STEP(TERMINATE, FLUSH |
					       IWT_QA_SEND_TERM |
					       IWT_QA_REPORT),
		[IWT_QE_TERM_RECEIVED]	= STEP(ERROR, FLUSH | IWT_QA_REPORT),
		[IWT_QE_PEER_CLOSED]	= STEP(HALF, 0),
		[IWT_QE_PEER_BUSY]	= STEP(HALF, 0),
		[IWT_QE_DRAINED]	= STEP(CLOSING, SEAL | IWT_QA_CLOSE),
		[IWT_QE_LOST]		= STEP(ERROR, FLUSH),
		[IWT_QE_PEER_GONE]	= STEP(GONE, IWT_QA_WATCH),
		[IWT_QE_DETACH]		= STEP(ERROR, FLUSH),
	},
	[IWT_QP_DRAIN] = {
		[IWT_QE_ATTACH]		= REFUSE(DRAIN),
		[IWT_QE_CLOSE]		= STEP(DRAIN, 0),
		[IWT_QE_CLOSE_BUSY]	= STEP(DRAIN, 0),
		[IWT_QE_TO_ERROR]	= STEP(ERROR, FLUSH | IWT_QA_ABORT),
		[IWT_QE_TO_IDLE]	= REFUSE(DRAIN),
		[IWT_QE_LOCAL_ERROR]	= STEP(TERMINATE, FLUSH |
					       IWT_QA_SEND_TERM |
					       IWT_QA_REPORT),
		[IWT_QE_TERM_RECEIVED]	= STEP(ERROR, FLUSH | IWT_QA_REPORT),
		[IWT_QE_PEER_CLOSED]	= STEP(DRAIN, 0),
		[IWT_QE_PEER_BUSY]	= STEP(DRAIN, 0),
		[IWT_QE_DRAINED]	= STEP(CLOSING, SEAL | DRAINED | IWT_QA_CLOSE),
		[IWT_QE_LOST]		= STEP(ERROR, FLUSH),
		[IWT_QE_PEER_GONE]	= STEP(ERROR, FLUSH),
		[IWT_QE_DETACH]		= STEP(ERROR, FLUSH),
	},
	[IWT_QP_CLOSING] = {
		[IWT_QE_ATTACH]		= REFUSE(CLOSING),
		[IWT_QE_CLOSE]		= STEP(CLOSING, DRAINED),
		[IWT_QE_CLOSE_BUSY]	= STEP(CLOSING, DRAINED),
		[IWT_QE_TO_ERROR]	= STEP(ERROR, FLUSH),
		[IWT_QE_TO_IDLE]	= REFUSE(CLOSING),
		[IWT_QE_LOCAL_ERROR]	= STEP(ERROR, FLUSH | IWT_QA_ABORT),
		[IWT_QE_TERM_RECEIVED]	= STEP(ERROR, FLUSH | IWT_QA_REPORT),
		[IWT_QE_PEER_CLOSED]	= STEP(CLOSING, 0),
		[IWT_QE_PEER_BUSY]	= STEP(CLOSING, 0),
		[IWT_QE_DRAINED]	= STEP(CLOSING, 0),
		[IWT_QE_LOST]		= STEP(ERROR, FLUSH),
		[IWT_QE_PEER_GONE]	= STEP(ERROR, FLUSH),
		[IWT_QE_DETACH]		= STEP(ERROR, FLUSH),
	},
	[IWT_QP_TERMINATE] = {
		[IWT_QE_ATTACH]		= REFUSE(TERMINATE),
		[IWT_QE_CLOSE]		= STEP(TERMINATE, 0),
		[IWT_QE_CLOSE_BUSY]	= STEP(TERMINATE, 0),
		[IWT_QE_TO_ERROR]	= STEP(TERMINATE, FLUSH),
		[IWT_QE_TO_IDLE]	= REFUSE(TERMINATE),
		[IWT_QE_LOCAL_ERROR]	= STEP(TERMINATE, 0),
		[IWT_QE_TERM_RECEIVED]	= STEP(ERROR, FLUSH),
		[IWT_QE_PEER_CLOSED]	= STEP(TERMINATE, 0),
		[IWT_QE_PEER_BUSY]	= STEP(TERMINATE, 0),
		[IWT_QE_DRAINED]	= STEP(TERMINATE, 0),
		[IWT_QE_LOST]		= STEP(ERROR, FLUSH),
		[IWT_QE_PEER_GONE]	= STEP(ERROR, FLUSH),
		[IWT_QE_DETACH]		= STEP(ERROR, FLUSH),
	},
	[IWT_QP_GONE] = {
		[IWT_QE_ATTACH]		= REFUSE(GONE),
		[IWT_QE_CLOSE]		= REFUSE(GONE),
		[IWT_QE_CLOSE_BUSY]	= REFUSE(GONE),
		[IWT_QE_TO_ERROR]	= STEP(ERROR, FLUSH),
		[IWT_QE_TO_IDLE]	= STEP(IDLE, FLUSH),
		[IWT_QE_LOCAL_ERROR]	= STEP(ERROR, FLUSH),
		[IWT_QE_TERM_RECEIVED]	= STEP(GONE, 0),
		[IWT_QE_PEER_CLOSED]	= STEP(GONE, 0),
		[IWT_QE_PEER_BUSY]	= STEP(GONE, 0),
		[IWT_QE_DRAINED]	= STEP(GONE, 0),
		[IWT_QE_LOST]		= STEP(GONE, 0),
		[IWT_QE_PEER_GONE]	= STEP(GONE, 0),
		[IWT_QE_DETACH]		= STEP(GONE, 0),
	},
	[IWT_QP_ERROR] = {
		[IWT_QE_ATTACH]		= REFUSE(ERROR),
		[IWT_QE_CLOSE]		= STEP(ERROR, 0),
		[IWT_QE_CLOSE_BUSY]	= STEP(ERROR, 0),
		[IWT_QE_TO_ERROR]	= STEP(ERROR, FLUSH),
		[IWT_QE_TO_IDLE]	= STEP(IDLE, FLUSH),
		[IWT_QE_LOCAL_ERROR]	= STEP(ERROR, 0),
		[IWT_QE_TERM_RECEIVED]	= STEP(ERROR, 0),
		[IWT_QE_PEER_CLOSED]	= STEP(ERROR, 0),
		[IWT_QE_PEER_BUSY]	= STEP(ERROR, 0),
		[IWT_QE_DRAINED]	= STEP(ERROR, 0),
		[IWT_QE_LOST]		= STEP(ERROR, 0),
		[IWT_QE_PEER_GONE]	= STEP(ERROR, 0),
		[IWT_QE_DETACH]		= STEP(ERROR, FLUSH),
	},
};

/**
 * iwt_qpfsm() - look up the step of a queue pair for an event (RFC 5040 6, 7.1)
 * @state: present state
 * @event: event
 *
 * Return: the next state and IWT_QA_* bits; with IWT_QA_REFUSE, the next state is @state.
 */
struct iwt_qp_step iwt_qpfsm(enum iwt_qp_state state, enum iwt_qp_event event)
{
	return steps[state][event];
}

/**
 * iwt_qp_state_name() - name of a state
 * @state: state
 *
 * Return: the name.
 */
const char *iwt_qp_state_name(enum iwt_qp_state state)
{
	static const char * const names[IWT_QP_STATES] = {
		[IWT_QP_IDLE]		= "IDLE",
		[IWT_QP_RTS]		= "RTS",
		[IWT_QP_HALF]		= "HALF",
		[IWT_QP_DRAIN]		= "DRAIN",
		[IWT_QP_CLOSING]	= "CLOSING",
		[IWT_QP_TERMINATE]	= "TERMINATE",
		[IWT_QP_GONE]		= "GONE",
		[IWT_QP_ERROR]		= "ERROR",
	};

	return names[state];
}
