// SPDX-License-Identifier: GPL-2.0
/* Checks every sequence of events of an endpoint against the rules of iw_cm and TCP. */
#include "cmfsm.h"
#include "unit.h"

#define ACTIONS	(IWT_CMA_FIN | IWT_CMA_DETACH | IWT_CMA_RELEASE | \
		 IWT_CMA_RESET | IWT_CMA_GRACE | IWT_CMA_USER_TIMEOUT | IWT_CMA_UP_MASK)

/*
 * What has happened since the endpoint was created: actions, which happen at most once each, and
 * WAS_FULL, which means that the endpoint was in the state FULL
 */
enum {
	FIN		= 1 << 0,
	DETACHED	= 1 << 1,
	TCP_CLOSED	= 1 << 2,
	REQUESTED	= 1 << 3,
	REPLIED		= 1 << 4,
	ESTABLISHED	= 1 << 5,
	DISCONNECTED	= 1 << 6,
	ULP_CLOSED	= 1 << 7,
	WAS_FULL	= 1 << 8,
	HISTORIES	= 1 << 9,
};

static const struct { u32 action, done; } deeds[] = {
	{ IWT_CMA_FIN, FIN },
	{ IWT_CMA_DETACH, DETACHED },
	{ IWT_CMA_RELEASE | IWT_CMA_RESET, TCP_CLOSED },
	{ IWT_CMA_UP_REQUEST, REQUESTED },
	{ IWT_CMA_UP_REPLY, REPLIED },
	{ IWT_CMA_UP_ESTABLISHED, ESTABLISHED },
	{ IWT_CMA_UP_DISCONNECT, DISCONNECTED },
	{ IWT_CMA_UP_CLOSE, ULP_CLOSED },
};

static bool seen[IWT_CM_STATES][HISTORIES];

/* Checks what was reported and freed when the endpoint is closed. */
static void check_closed(bool initiator, u32 done)
{
	CHECK(done & TCP_CLOSED);
	CHECK_EQ(!!(done & ULP_CLOSED), !!(done & WAS_FULL));
	if (initiator) {
		CHECK(done & REPLIED);
		CHECK(done & DETACHED);
		CHECK(!(done & (REQUESTED | ESTABLISHED)));
	} else {
		CHECK(!(done & REPLIED));
		CHECK_EQ(!!(done & ESTABLISHED), !!(done & WAS_FULL));
		CHECK_EQ(!!(done & DETACHED), !!(done & WAS_FULL));
	}
}

static u32 do_step(struct iwt_cm_step step, u32 done)
{
	u32 i;

	/* No report follows ULP_CLOSED, and no action of the table deeds happens twice. */
	if (done & ULP_CLOSED)
		CHECK(!(step.actions & IWT_CMA_UP_MASK));
	for (i = 0; i < ARRAY_SIZE(deeds); i++) {
		if (!(step.actions & deeds[i].action))
			continue;
		CHECK(!(done & deeds[i].done));
		done |= deeds[i].done;
	}
	if (step.next == IWT_CM_FULL)
		done |= WAS_FULL;
	if (step.actions & (IWT_CMA_UP_DISCONNECT | IWT_CMA_UP_CLOSE))
		CHECK(done & WAS_FULL);
	/* TCP is closed only in a step to CLOSED, by RELEASE or by RESET, not by both. */
	CHECK((step.actions & (IWT_CMA_RELEASE | IWT_CMA_RESET)) !=
	      (IWT_CMA_RELEASE | IWT_CMA_RESET));
	if (step.actions & (IWT_CMA_RELEASE | IWT_CMA_RESET))
		CHECK_EQ(step.next, IWT_CM_CLOSED);
	return done;
}

static void run(bool initiator, enum iwt_cm_state state, u32 done)
{
	struct iwt_cm_step step;
	u32 e;

	if (seen[state][done])
		return;
	seen[state][done] = true;
	if (state == IWT_CM_CLOSED) {
		tap_about("closed, history %x", done);
		check_closed(initiator, done);
	}
	for (e = 0; e < IWT_CME_COUNT; e++) {
		tap_about("state %s, event %u, history %x",
			  iwt_cm_state_name(state), e, done);
		step = iwt_cmfsm(state, e);
		if (!CHECK(step.next < IWT_CM_STATES))
			continue;
		run(initiator, step.next, do_step(step, done));
	}
}

static void test_runs(void)
{
	memset(seen, 0, sizeof(seen));
	tap_begin("cmfsm: every sequence of events of an initiator");
	run(true, IWT_CM_CONNECTING, 0);
	tap_end();
	memset(seen, 0, sizeof(seen));
	tap_begin("cmfsm: every sequence of events of a responder");
	run(false, IWT_CM_WAIT_REQ, 0);
	tap_end();
}

static void test_cells(void)
{
	struct iwt_cm_step step;
	u32 s, e;

	tap_begin("cmfsm: every state with every event");
	for (s = 0; s < IWT_CM_STATES; s++) {
		for (e = 0; e < IWT_CME_COUNT; e++) {
			tap_about("state %s, event %u", iwt_cm_state_name(s),
				  e);
			step = iwt_cmfsm(s, e);
			CHECK(step.next < IWT_CM_STATES);
			CHECK(!(step.actions & ~ACTIONS));
			if (s == IWT_CM_CLOSED) {
				CHECK_EQ(step.next, IWT_CM_CLOSED);
				CHECK_EQ(step.actions, 0);
				continue;
			}
			/* These two events close the endpoint in any state. */
			if (e == IWT_CME_KILL || e == IWT_CME_LOST) {
				CHECK_EQ(step.next, IWT_CM_CLOSED);
				CHECK(step.actions & IWT_CMA_RESET);
			}
			if (e == IWT_CME_TIMEOUT)
				CHECK_EQ(step.next, IWT_CM_CLOSED);
			/* A close waits for outstanding work up to the link's user_timeout. */
			if (e == IWT_CME_DRAINING)
				CHECK_EQ(step.actions, s == IWT_CM_FULL ?
					 IWT_CMA_USER_TIMEOUT : 0);
			/* A Terminate that TCP cannot send yet gets a deadline. */
			if (e == IWT_CME_TERM_PENDING)
				CHECK_EQ(step.actions, s == IWT_CM_FULL ?
					 IWT_CMA_GRACE : 0);
			/* RFC 5044 8: a bad startup frame closes the connection at once. */
			if (e == IWT_CME_BAD && s < IWT_CM_FULL &&
			    s != IWT_CM_CONNECTING) {
				CHECK_EQ(step.next, IWT_CM_CLOSED);
				CHECK(!(step.actions & IWT_CMA_FIN));
			}
			/* only an initiator that waits for a Reply can start again */
			if (e == IWT_CME_AGAIN && s != IWT_CM_WAIT_REP) {
				CHECK_EQ(step.next, s);
				CHECK_EQ(step.actions, 0);
			}
			CHECK(e != IWT_CME_FIN || step.next == IWT_CM_CLOSED);
		}
	}
	tap_end();
}

static struct iwt_cm_step to(enum iwt_cm_state next, u32 actions)
{
	return (struct iwt_cm_step){ next, actions };
}

/* The expected step of an end by a reset: TCP cannot or must not end the stream gracefully. */
static struct iwt_cm_step forced(enum iwt_cm_state s)
{
	u32 reset = IWT_CMA_RESET, qp = IWT_CMA_RESET | IWT_CMA_DETACH;

	switch (s) {
	case IWT_CM_CONNECTING:
	case IWT_CM_WAIT_REP:
		return to(IWT_CM_CLOSED, qp | IWT_CMA_UP_REPLY);
	case IWT_CM_FULL:
		return to(IWT_CM_CLOSED,
			  qp | IWT_CMA_UP_DISCONNECT | IWT_CMA_UP_CLOSE);
	case IWT_CM_CLOSING:
		return to(IWT_CM_CLOSED, qp | IWT_CMA_UP_CLOSE);
	default:
		return to(IWT_CM_CLOSED, s == IWT_CM_CLOSED ? 0 : reset);
	}
}

/* The expected step of a graceful end. During its startup an endpoint ends by a reset instead. */
static struct iwt_cm_step peaceful(enum iwt_cm_state s)
{
	struct iwt_cm_step step = forced(s);

	if (s >= IWT_CM_FULL && s < IWT_CM_CLOSED)
		step.actions ^= IWT_CMA_RESET | IWT_CMA_RELEASE;
	return step;
}

/* Does the event end the endpoint? If so, @step becomes the expected step. */
static bool ends(enum iwt_cm_state s, enum iwt_cm_event e,
		 struct iwt_cm_step *step)
{
	bool stream = s == IWT_CM_FULL || s == IWT_CM_CLOSING;
	bool starts = s == IWT_CM_CONNECTING || s == IWT_CM_WAIT_REP;

	switch (e) {
	case IWT_CME_LOST:
	case IWT_CME_KILL:
		*step = forced(s);
		return true;
	case IWT_CME_TIMEOUT:
		/* No reset in CLOSING: FIN is sent, and TCP continues to deliver the data. */
		*step = s == IWT_CM_CLOSING ? peaceful(s) : forced(s);
		return true;
	case IWT_CME_FIN:
		*step = peaceful(s);
		return true;
	case IWT_CME_TERM_RECEIVED:
		*step = peaceful(s);
		return stream;
	case IWT_CME_BAD:
		*step = forced(s);
		return s > IWT_CM_CONNECTING && s < IWT_CM_FULL;
	case IWT_CME_ORPHAN:
		*step = forced(s);
		return s == IWT_CM_WAIT_REQ;
	case IWT_CME_ABORT:
	case IWT_CME_ABORT_ZC:
		*step = forced(s);
		/*
		 * After FIN the connection is not reset, except if TCP refers to memory of
		 * requests: only a reset makes TCP release the memory.
		 */
		if (s == IWT_CM_CLOSING)
			return e == IWT_CME_ABORT_ZC;
		/* RELEASE: TCP delivers its data, unless the stream would end inside an FPDU. */
		step->actions ^= IWT_CMA_RESET | IWT_CMA_RELEASE;
		/* The queue pair itself requested the end, so it gets no report. */
		step->actions &= ~IWT_CMA_UP_DISCONNECT;
		return starts || s == IWT_CM_FULL;
	default:
		return false;
	}
}

/* The steps that ends() does not cover: each event has such a step in one or two states only */
static const struct {
	enum iwt_cm_event event;
	enum iwt_cm_state from;
	struct iwt_cm_step step;
} moves[] = {
	{ IWT_CME_TCP_UP, IWT_CM_CONNECTING, { IWT_CM_WAIT_REP, 0 } },
	{ IWT_CME_AGAIN, IWT_CM_WAIT_REP, { IWT_CM_CONNECTING, 0 } },
	{ IWT_CME_GOOD, IWT_CM_WAIT_REP, { IWT_CM_FULL, IWT_CMA_UP_REPLY } },
	{ IWT_CME_GOOD, IWT_CM_WAIT_REQ,
	  { IWT_CM_WAIT_ULP, IWT_CMA_UP_REQUEST } },
	{ IWT_CME_REFUSED, IWT_CM_WAIT_REP,
	  { IWT_CM_CLOSED, IWT_CMA_DETACH | IWT_CMA_RELEASE |
			   IWT_CMA_UP_REPLY } },
	{ IWT_CME_REFUSED, IWT_CM_WAIT_REQ, { IWT_CM_LINGER, IWT_CMA_FIN } },
	{ IWT_CME_UNFIT, IWT_CM_WAIT_REP,
	  { IWT_CM_LINGER, IWT_CMA_FIN | IWT_CMA_DETACH | IWT_CMA_UP_REPLY } },
	{ IWT_CME_ACCEPT, IWT_CM_WAIT_ULP,
	  { IWT_CM_FULL, IWT_CMA_UP_ESTABLISHED } },
	{ IWT_CME_REJECT, IWT_CM_WAIT_ULP, { IWT_CM_LINGER, IWT_CMA_FIN } },
	{ IWT_CME_CLOSE, IWT_CM_FULL, { IWT_CM_CLOSING, IWT_CMA_FIN } },
	{ IWT_CME_DRAINING, IWT_CM_FULL, { IWT_CM_FULL, IWT_CMA_USER_TIMEOUT } },
	{ IWT_CME_TERM_PENDING, IWT_CM_FULL, { IWT_CM_FULL, IWT_CMA_GRACE } },
	{ IWT_CME_TERM_SENT, IWT_CM_FULL,
	  { IWT_CM_CLOSING, IWT_CMA_FIN | IWT_CMA_UP_DISCONNECT } },
	{ IWT_CME_ABORT, IWT_CM_CLOSING,
	  { IWT_CM_LINGER, IWT_CMA_DETACH | IWT_CMA_UP_CLOSE } },
	{ IWT_CME_ORPHAN, IWT_CM_WAIT_ULP, { IWT_CM_WAIT_ULP, IWT_CMA_GRACE } },
};

/*
 * The expected step of an event in a state. Here the rules are sorted by event, whereas the
 * tested table is sorted by state.
 */
static struct iwt_cm_step expected(enum iwt_cm_state s, enum iwt_cm_event e)
{
	struct iwt_cm_step step;
	u32 i;

	if (ends(s, e, &step))
		return step;
	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		if (moves[i].event == e && moves[i].from == s)
			return moves[i].step;
	}
	return to(s, 0);
}

static void test_events(void)
{
	struct iwt_cm_step step, want;
	u32 s, e;

	tap_begin("cmfsm: every event in every state");
	for (e = 0; e < IWT_CME_COUNT; e++) {
		for (s = 0; s < IWT_CM_STATES; s++) {
			tap_about("event %u, state %s", e,
				  iwt_cm_state_name(s));
			step = iwt_cmfsm(s, e);
			want = expected(s, e);
			CHECK_EQ(step.next, want.next);
			CHECK_EQ(step.actions, want.actions);
		}
	}
	tap_end();
}

static void test_startup(void)
{
	struct iwt_cm_step step;

	tap_begin("cmfsm: startups of RFC 5044 7.1");
	step = iwt_cmfsm(IWT_CM_CONNECTING, IWT_CME_TCP_UP);
	CHECK_EQ(step.next, IWT_CM_WAIT_REP);
	step = iwt_cmfsm(step.next, IWT_CME_GOOD);
	CHECK_EQ(step.next, IWT_CM_FULL);
	CHECK_EQ(step.actions, IWT_CMA_UP_REPLY);
	step = iwt_cmfsm(IWT_CM_WAIT_REQ, IWT_CME_GOOD);
	CHECK_EQ(step.next, IWT_CM_WAIT_ULP);
	CHECK_EQ(step.actions, IWT_CMA_UP_REQUEST);
	step = iwt_cmfsm(step.next, IWT_CME_ACCEPT);
	CHECK_EQ(step.next, IWT_CM_FULL);
	CHECK_EQ(step.actions, IWT_CMA_UP_ESTABLISHED);
	/*
	 * The responder knows only revision 1 and closes. The initiator silently connects again.
	 */
	step = iwt_cmfsm(IWT_CM_WAIT_REP, IWT_CME_AGAIN);
	CHECK_EQ(step.next, IWT_CM_CONNECTING);
	CHECK_EQ(step.actions, 0);
	/* The Reply with the ULP's reject is sent before a graceful end. */
	step = iwt_cmfsm(IWT_CM_WAIT_ULP, IWT_CME_REJECT);
	CHECK_EQ(step.actions, IWT_CMA_FIN);
	CHECK_EQ(iwt_cmfsm(step.next, IWT_CME_FIN).actions, IWT_CMA_RELEASE);
	step = iwt_cmfsm(IWT_CM_WAIT_REP, IWT_CME_REFUSED);
	CHECK_EQ(step.next, IWT_CM_CLOSED);
	CHECK(step.actions & IWT_CMA_RELEASE);
	/* A reset must not cut off the Terminate that reports missing resources. */
	step = iwt_cmfsm(IWT_CM_WAIT_REP, IWT_CME_UNFIT);
	CHECK(step.actions & IWT_CMA_FIN);
	CHECK(!(step.actions & IWT_CMA_RESET));
	tap_end();
}

static void test_names(void)
{
	u32 s, t;

	tap_begin("cmfsm: no two states have the same name");
	for (s = 0; s < IWT_CM_STATES; s++) {
		CHECK(iwt_cm_state_name(s));
		for (t = 0; t < s; t++)
			CHECK(strcmp(iwt_cm_state_name(s),
				     iwt_cm_state_name(t)));
	}
	tap_end();
}

void test_cmfsm(void)
{
	test_cells();
	test_events();
	test_runs();
	test_startup();
	test_names();
}
