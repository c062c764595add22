// SPDX-License-Identifier: GPL-2.0
/* The states of an MPA endpoint, from TCP setup to close (RFC 5044 7, RFC 6581). */
#include "cmfsm.h"

#define STEP(state, acts)	{ IWT_CM_##state, (acts) }

#define FIN		IWT_CMA_FIN
#define DETACH		IWT_CMA_DETACH
#define RELEASE		IWT_CMA_RELEASE
#define RESET		IWT_CMA_RESET
#define GRACE		IWT_CMA_GRACE
#define PATIENCE	IWT_CMA_USER_TIMEOUT
#define UP_REQUEST	IWT_CMA_UP_REQUEST
#define UP_REPLY	IWT_CMA_UP_REPLY
#define UP_ESTABLISHED	IWT_CMA_UP_ESTABLISHED
#define UP_DISCONNECT	IWT_CMA_UP_DISCONNECT

/* FAIL: connecting fails. DONE: a connection ends gracefully. GONE: a connection is reset. */
#define FAIL		(DETACH | RESET | UP_REPLY)
#define DONE		(DETACH | RELEASE | IWT_CMA_UP_CLOSE)
#define GONE		(DETACH | RESET | IWT_CMA_UP_CLOSE)

/*
 * Every cell of the table is written out. A step to the same state without actions means that the
 * event can't happen in the state, or that the event changes nothing. iw_cm relies on these
 * properties: UP_REPLY is sent once, when the initiator leaves CONNECTING or WAIT_REP for a later
 * state; UP_CLOSE is sent once, and only after UP_REPLY with success or after UP_ESTABLISHED; if
 * the ULP has not accepted a Request, no event follows UP_REQUEST.
 *
 * A ULP may answer a Request at any time. A deadline for the answer is set only if the listener
 * is destroyed, because then the ULP may not know of the Request. In the state FULL there is a
 * deadline only while a graceful close waits for outstanding work, or while a Terminate waits
 * until TCP accepts it. A reset would lose the octets that TCP still has to deliver, above all a
 * Terminate. So after FIN is queued, destroying the queue pair causes no reset: the queue pair is
 * detached, and the endpoint reads and discards the data of the peer. In this case a slow peer
 * causes a reset only when the deadline of the state LINGER passes. If the peer does not
 * understand the Request, the initiator returns to the state CONNECTING without an event to
 * iw_cm.
 *
 * A consumer that destroys its queue pair right after its last completion expects the peer to
 * receive the message of this completion. So an abort closes TCP by FIN, and TCP still delivers
 * its octets, unless the peer has sent or sends data that nobody reads: then TCP itself resets
 * the connection. If the stream would end inside an FPDU, or if TCP refers to memory of requests,
 * IWT_CMA_RELEASE closes TCP by RST. After FIN only the second reason remains: the endpoint can't
 * stay in the state LINGER while TCP refers to memory of requests.
 */
static const struct iwt_cm_step steps[IWT_CM_STATES][IWT_CME_COUNT] = {
	[IWT_CM_CONNECTING] = {
		[IWT_CME_TCP_UP]	= STEP(WAIT_REP, 0),
		[IWT_CME_AGAIN]		= STEP(CONNECTING, 0),
		[IWT_CME_GOOD]		= STEP(CONNECTING, 0),
		[IWT_CME_REFUSED]	= STEP(CONNECTING, 0),
		[IWT_CME_UNFIT]		= STEP(CONNECTING, 0),
		[IWT_CME_BAD]		= STEP(CONNECTING, 0),
		[IWT_CME_ACCEPT]	= STEP(CONNECTING, 0),
		[IWT_CME_REJECT]	= STEP(CONNECTING, 0),
		[IWT_CME_FIN]		= STEP(CLOSED, FAIL),
		[IWT_CME_LOST]		= STEP(CLOSED, FAIL),
		[IWT_CME_TIMEOUT]	= STEP(CLOSED, FAIL),
		[IWT_CME_CLOSE]		= STEP(CONNECTING, 0),
		[IWT_CME_DRAINING]	= STEP(CONNECTING, 0),
		[IWT_CME_TERM_PENDING]	= STEP(CONNECTING, 0),
		[IWT_CME_TERM_SENT]	= STEP(CONNECTING, 0),
		[IWT_CME_TERM_RECEIVED]	= STEP(CONNECTING, 0),
		[IWT_CME_ABORT]		= STEP(CLOSED, DETACH | RELEASE |
					       UP_REPLY),
		[IWT_CME_ABORT_ZC]	= STEP(CLOSED, DETACH | RELEASE |
					       UP_REPLY),
		[IWT_CME_KILL]		= STEP(CLOSED, FAIL),
		[IWT_CME_ORPHAN]	= STEP(CONNECTING, 0),
	},
	[IWT_CM_WAIT_REP] = {
		[IWT_CME_TCP_UP]	= STEP(WAIT_REP, 0),
		[IWT_CME_AGAIN]		= STEP(CONNECTING, 0),
		[IWT_CME_GOOD]		= STEP(FULL, UP_REPLY),
		[IWT_CME_REFUSED]	= STEP(CLOSED, DETACH | RELEASE |
					       UP_REPLY),
		[IWT_CME_UNFIT]		= STEP(LINGER, FIN | DETACH | UP_REPLY),
		[IWT_CME_BAD]		= STEP(CLOSED, FAIL),
		[IWT_CME_ACCEPT]	= STEP(WAIT_REP, 0),
		[IWT_CME_REJECT]	= STEP(WAIT_REP, 0),
		[IWT_CME_FIN]		= STEP(CLOSED, FAIL),
		[IWT_CME_LOST]		= STEP(CLOSED, FAIL),
		[IWT_CME_TIMEOUT]	= STEP(CLOSED, FAIL),
		[IWT_CME_CLOSE]		= STEP(WAIT_REP, 0),
		[IWT_CME_DRAINING]	= STEP(WAIT_REP, 0),
		[IWT_CME_TERM_PENDING]	= STEP(WAIT_REP, 0),
		[IWT_CME_TERM_SENT]	= STEP(WAIT_REP, 0),
		[IWT_CME_TERM_RECEIVED]	= STEP(WAIT_REP, 0),
		[IWT_CME_ABORT]		= STEP(CLOSED, DETACH | RELEASE |
					       UP_REPLY),
		[IWT_CME_ABORT_ZC]	= STEP(CLOSED, DETACH | RELEASE |
					       UP_REPLY),
		[IWT_CME_KILL]		= STEP(CLOSED, FAIL),
		[IWT_CME_ORPHAN]	= STEP(WAIT_REP, 0),
	},
	[IWT_CM_WAIT_REQ] = {
		[IWT_CME_TCP_UP]	= STEP(WAIT_REQ, 0),
		[IWT_CME_AGAIN]		= STEP(WAIT_REQ, 0),
		[IWT_CME_GOOD]		= STEP(WAIT_ULP, UP_REQUEST),
		[IWT_CME_REFUSED]	= STEP(LINGER, FIN),
		[IWT_CME_UNFIT]		= STEP(WAIT_REQ, 0),
		[IWT_CME_BAD]		= STEP(CLOSED, RESET),
		[IWT_CME_ACCEPT]	= STEP(WAIT_REQ, 0),
		[IWT_CME_REJECT]	= STEP(WAIT_REQ, 0),
		[IWT_CME_FIN]		= STEP(CLOSED, RESET),
		[IWT_CME_LOST]		= STEP(CLOSED, RESET),
		[IWT_CME_TIMEOUT]	= STEP(CLOSED, RESET),
		[IWT_CME_CLOSE]		= STEP(WAIT_REQ, 0),
		[IWT_CME_DRAINING]	= STEP(WAIT_REQ, 0),
		[IWT_CME_TERM_PENDING]	= STEP(WAIT_REQ, 0),
		[IWT_CME_TERM_SENT]	= STEP(WAIT_REQ, 0),
		[IWT_CME_TERM_RECEIVED]	= STEP(WAIT_REQ, 0),
		[IWT_CME_ABORT]		= STEP(WAIT_REQ, 0),
		[IWT_CME_ABORT_ZC]	= STEP(WAIT_REQ, 0),
		[IWT_CME_KILL]		= STEP(CLOSED, RESET),
		[IWT_CME_ORPHAN]	= STEP(CLOSED, RESET),
	},
	[IWT_CM_WAIT_ULP] = {
		[IWT_CME_TCP_UP]	= STEP(WAIT_ULP, 0),
		[IWT_CME_AGAIN]		= STEP(WAIT_ULP, 0),
		[IWT_CME_GOOD]		= STEP(WAIT_ULP, 0),
		[IWT_CME_REFUSED]	= STEP(WAIT_ULP, 0),
		[IWT_CME_UNFIT]		= STEP(WAIT_ULP, 0),
		[IWT_CME_BAD]		= STEP(CLOSED, RESET),
		[IWT_CME_ACCEPT]	= STEP(FULL, UP_ESTABLISHED),
		[IWT_CME_REJECT]	= STEP(LINGER, FIN),
		[IWT_CME_FIN]		= STEP(CLOSED, RESET),
		[IWT_CME_LOST]		= STEP(CLOSED, RESET),
		[IWT_CME_TIMEOUT]	= STEP(CLOSED, RESET),
		[IWT_CME_CLOSE]		= STEP(WAIT_ULP, 0),
		[IWT_CME_DRAINING]	= STEP(WAIT_ULP, 0),
		[IWT_CME_TERM_PENDING]	= STEP(WAIT_ULP, 0),
		[IWT_CME_TERM_SENT]	= STEP(WAIT_ULP, 0),
		[IWT_CME_TERM_RECEIVED]	= STEP(WAIT_ULP, 0),
		[IWT_CME_ABORT]		= STEP(WAIT_ULP, 0),
		[IWT_CME_ABORT_ZC]	= STEP(WAIT_ULP, 0),
		[IWT_CME_KILL]		= STEP(CLOSED, RESET),
		[IWT_CME_ORPHAN]	= STEP(WAIT_ULP, GRACE),
	},
	[IWT_CM_FULL] = {
		[IWT_CME_TCP_UP]	= STEP(FULL, 0),
		[IWT_CME_AGAIN]		= STEP(FULL, 0),
		[IWT_CME_GOOD]		= STEP(FULL, 0),
		[IWT_CME_REFUSED]	= STEP(FULL, 0),
		[IWT_CME_UNFIT]		= STEP(FULL, 0),
		[IWT_CME_BAD]		= STEP(FULL, 0),
		[IWT_CME_ACCEPT]	= STEP(FULL, 0),
		[IWT_CME_REJECT]	= STEP(FULL, 0),
		[IWT_CME_FIN]		= STEP(CLOSED, DONE | UP_DISCONNECT),
		[IWT_CME_LOST]		= STEP(CLOSED, GONE | UP_DISCONNECT),
		[IWT_CME_TIMEOUT]	= STEP(CLOSED, GONE | UP_DISCONNECT),
		[IWT_CME_CLOSE]		= STEP(CLOSING, FIN),
		[IWT_CME_DRAINING]	= STEP(FULL, PATIENCE),
		[IWT_CME_TERM_PENDING]	= STEP(FULL, GRACE),
		[IWT_CME_TERM_SENT]	= STEP(CLOSING, FIN | UP_DISCONNECT),
		[IWT_CME_TERM_RECEIVED]	= STEP(CLOSED, DONE | UP_DISCONNECT),
		[IWT_CME_ABORT]		= STEP(CLOSED, DONE),
		[IWT_CME_ABORT_ZC]	= STEP(CLOSED, DONE),
		[IWT_CME_KILL]		= STEP(CLOSED, GONE | UP_DISCONNECT),
		[IWT_CME_ORPHAN]	= STEP(FULL, 0),
	},
	[IWT_CM_CLOSING] = {
		[IWT_CME_TCP_UP]	= STEP(CLOSING, 0),
		[IWT_CME_AGAIN]		= STEP(CLOSING, 0),
		[IWT_CME_GOOD]		= STEP(CLOSING, 0),
		[IWT_CME_REFUSED]	= STEP(CLOSING, 0),
		[IWT_CME_UNFIT]		= STEP(CLOSING, 0),
		[IWT_CME_BAD]		= STEP(CLOSING, 0),
		[IWT_CME_ACCEPT]	= STEP(CLOSING, 0),
		[IWT_CME_REJECT]	= STEP(CLOSING, 0),
		[IWT_CME_FIN]		= STEP(CLOSED, DONE),
		[IWT_CME_LOST]		= STEP(CLOSED, GONE),
		[IWT_CME_TIMEOUT]	= STEP(CLOSED, DONE),
		[IWT_CME_CLOSE]		= STEP(CLOSING, 0),
		[IWT_CME_DRAINING]	= STEP(CLOSING, 0),
		[IWT_CME_TERM_PENDING]	= STEP(CLOSING, 0),
		[IWT_CME_TERM_SENT]	= STEP(CLOSING, 0),
		[IWT_CME_TERM_RECEIVED]	= STEP(CLOSED, DONE),
		[IWT_CME_ABORT]		= STEP(LINGER, DETACH |
					       IWT_CMA_UP_CLOSE),
		[IWT_CME_ABORT_ZC]	= STEP(CLOSED, GONE),
		[IWT_CME_KILL]		= STEP(CLOSED, GONE),
		[IWT_CME_ORPHAN]	= STEP(CLOSING, 0),
	},
	[IWT_CM_LINGER] = {
		[IWT_CME_TCP_UP]	= STEP(LINGER, 0),
		[IWT_CME_AGAIN]		= STEP(LINGER, 0),
		[IWT_CME_GOOD]		= STEP(LINGER, 0),
		[IWT_CME_REFUSED]	= STEP(LINGER, 0),
		[IWT_CME_UNFIT]		= STEP(LINGER, 0),
		[IWT_CME_BAD]		= STEP(LINGER, 0),
		[IWT_CME_ACCEPT]	= STEP(LINGER, 0),
		[IWT_CME_REJECT]	= STEP(LINGER, 0),
		[IWT_CME_FIN]		= STEP(CLOSED, RELEASE),
		[IWT_CME_LOST]		= STEP(CLOSED, RESET),
		[IWT_CME_TIMEOUT]	= STEP(CLOSED, RESET),
		[IWT_CME_CLOSE]		= STEP(LINGER, 0),
		[IWT_CME_DRAINING]	= STEP(LINGER, 0),
		[IWT_CME_TERM_PENDING]	= STEP(LINGER, 0),
		[IWT_CME_TERM_SENT]	= STEP(LINGER, 0),
		[IWT_CME_TERM_RECEIVED]	= STEP(LINGER, 0),
		[IWT_CME_ABORT]		= STEP(LINGER, 0),
		[IWT_CME_ABORT_ZC]	= STEP(LINGER, 0),
		[IWT_CME_KILL]		= STEP(CLOSED, RESET),
		[IWT_CME_ORPHAN]	= STEP(LINGER, 0),
	},
	[IWT_CM_CLOSED] = {
		[IWT_CME_TCP_UP]	= STEP(CLOSED, 0),
		[IWT_CME_AGAIN]		= STEP(CLOSED, 0),
		[IWT_CME_GOOD]		= STEP(CLOSED, 0),
		[IWT_CME_REFUSED]	= STEP(CLOSED, 0),
		[IWT_CME_UNFIT]		= STEP(CLOSED, 0),
		[IWT_CME_BAD]		= STEP(CLOSED, 0),
		[IWT_CME_ACCEPT]	= STEP(CLOSED, 0),
		[IWT_CME_REJECT]	= STEP(CLOSED, 0),
		[IWT_CME_FIN]		= STEP(CLOSED, 0),
		[IWT_CME_LOST]		= STEP(CLOSED, 0),
		[IWT_CME_TIMEOUT]	= STEP(CLOSED, 0),
		[IWT_CME_CLOSE]		= STEP(CLOSED, 0),
		[IWT_CME_DRAINING]	= STEP(CLOSED, 0),
		[IWT_CME_TERM_PENDING]	= STEP(CLOSED, 0),
		[IWT_CME_TERM_SENT]	= STEP(CLOSED, 0),
		[IWT_CME_TERM_RECEIVED]	= STEP(CLOSED, 0),
		[IWT_CME_ABORT]		= STEP(CLOSED, 0),
		[IWT_CME_ABORT_ZC]	= STEP(CLOSED, 0),
		[IWT_CME_KILL]		= STEP(CLOSED, 0),
		[IWT_CME_ORPHAN]	= STEP(CLOSED, 0),
	},
};

/**
 * iwt_cmfsm() - look up the step of an endpoint for an event (RFC 5044 7.1, 7.2)
 * @state: present state
 * @event: event
 *
 * Return: the next state and IWT_CMA_* bits.
 */
struct iwt_cm_step iwt_cmfsm(enum iwt_cm_state state, enum iwt_cm_event event)
{
	return steps[state][event];
}

/**
 * iwt_cm_state_name() - name of a state
 * @state: state
 *
 * Return: the name.
 */
const char *iwt_cm_state_name(enum iwt_cm_state state)
{
	static const char * const names[IWT_CM_STATES] = {
		[IWT_CM_CONNECTING]	= "CONNECTING",
		[IWT_CM_WAIT_REP]	= "WAIT_REP",
		[IWT_CM_WAIT_REQ]	= "WAIT_REQ",
		[IWT_CM_WAIT_ULP]	= "WAIT_ULP",
		[IWT_CM_FULL]		= "FULL",
		[IWT_CM_CLOSING]	= "CLOSING",
		[IWT_CM_LINGER]		= "LINGER",
		[IWT_CM_CLOSED]		= "CLOSED",
	};

	return names[state];
}
