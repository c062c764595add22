// SPDX-License-Identifier: GPL-2.0
/* Checks every state with every event against RFC 5040 6 and 7. */
#include "qpfsm.h"
#include "unit.h"

#define ACTIONS	(IWT_QA_FLUSH | IWT_QA_SEND_TERM | IWT_QA_CLOSE | \
		 IWT_QA_ABORT | IWT_QA_REPORT | IWT_QA_REFUSE | \
		 IWT_QA_SEAL | IWT_QA_GRACE | IWT_QA_DRAINED | IWT_QA_WATCH)

static bool conn_gone(enum iwt_qp_event e)
{
	return e == IWT_QE_LOST || e == IWT_QE_PEER_GONE || e == IWT_QE_DETACH;
}

static bool sends(enum iwt_qp_state s)
{
	return s == IWT_QP_RTS || s == IWT_QP_HALF || s == IWT_QP_DRAIN;
}

static void check_cell(enum iwt_qp_state s, enum iwt_qp_event e)
{
	struct iwt_qp_step step = iwt_qpfsm(s, e);
	bool enters = step.next != s;

	tap_about("state %s, event %d", iwt_qp_state_name(s), e);
	if (!CHECK(step.next < IWT_QP_STATES))
		return;
	CHECK(!(step.actions & ~ACTIONS));
	if (step.actions & IWT_QA_REFUSE) {
		CHECK_EQ(step.actions, IWT_QA_REFUSE);
		CHECK(!enters);
	}
	/* A stream has at most one Terminate, and only while this end may still send. */
	if (step.actions & IWT_QA_SEND_TERM) {
		CHECK(sends(s));
		CHECK_EQ(step.next, IWT_QP_TERMINATE);
	}
	if (enters && step.next == IWT_QP_TERMINATE)
		CHECK(step.actions & IWT_QA_SEND_TERM);
	/* Outstanding requests must complete. */
	if (enters && (step.next == IWT_QP_ERROR ||
		       step.next == IWT_QP_TERMINATE))
		CHECK(step.actions & IWT_QA_FLUSH);
	/* No action may use a connection that has ended or never existed. */
	if (conn_gone(e) || s == IWT_QP_IDLE)
		CHECK(!(step.actions & (IWT_QA_SEND_TERM | IWT_QA_CLOSE |
					IWT_QA_ABORT)));
	if (conn_gone(e))
		CHECK(step.next == IWT_QP_IDLE || step.next == IWT_QP_ERROR ||
		      step.next == IWT_QP_GONE);
	/*
	 * Only the end of a direct connection leads to the state GONE. In GONE, the next posted
	 * request must fail.
	 */
	if (enters && step.next == IWT_QP_GONE) {
		CHECK_EQ(e, IWT_QE_PEER_GONE);
		CHECK_EQ(step.actions, IWT_QA_WATCH);
	}
	if (step.next == IWT_QP_RTS && enters) {
		CHECK_EQ(s, IWT_QP_IDLE);
		CHECK_EQ(e, IWT_QE_ATTACH);
	}
	if (s == IWT_QP_ERROR && enters) {
		CHECK_EQ(e, IWT_QE_TO_IDLE);
		CHECK_EQ(step.next, IWT_QP_IDLE);
	}
	if (step.actions & IWT_QA_CLOSE)
		CHECK_EQ(step.next, IWT_QP_CLOSING);
	/* After the consumer's close, or when our FIN is due, posts are not accepted any more. */
	if (enters && (step.next == IWT_QP_CLOSING ||
		       step.next == IWT_QP_DRAIN))
		CHECK(step.actions & IWT_QA_SEAL);
	/* A wait for outstanding work has a deadline. */
	if (s == IWT_QP_RTS && enters && sends(step.next))
		CHECK(step.actions & IWT_QA_GRACE);
	if (e == IWT_QE_ATTACH && s != IWT_QP_IDLE)
		CHECK(step.actions & IWT_QA_REFUSE);
	if (e == IWT_QE_TO_ERROR)
		CHECK(step.next == IWT_QP_ERROR ||
		      step.next == IWT_QP_TERMINATE);
}

static void test_cells(void)
{
	u32 s, e;

	tap_begin("qpfsm: every state with every event");
	for (s = 0; s < IWT_QP_STATES; s++) {
		for (e = 0; e < IWT_QE_COUNT; e++)
			check_cell(s, e);
	}
	tap_end();
}

static struct iwt_qp_step to(enum iwt_qp_state next, u32 actions)
{
	return (struct iwt_qp_step){ next, actions };
}

static struct iwt_qp_step refused(enum iwt_qp_state s)
{
	return to(s, IWT_QA_REFUSE);
}

/* Events from the consumer. */
static struct iwt_qp_step asked(enum iwt_qp_state s, enum iwt_qp_event e)
{
	bool takes = s == IWT_QP_RTS || s == IWT_QP_HALF;

	if (e == IWT_QE_TO_ERROR) {
		/* A reset must not cut off a Terminate that is being sent, or a FIN. */
		if (s == IWT_QP_TERMINATE)
			return to(s, IWT_QA_FLUSH);
		return to(IWT_QP_ERROR,
			  IWT_QA_FLUSH | (sends(s) ? IWT_QA_ABORT : 0));
	}
	if (e == IWT_QE_TO_IDLE) {
		if (s == IWT_QP_IDLE)
			return to(s, 0);
		return s == IWT_QP_ERROR || s == IWT_QP_GONE ?
		       to(IWT_QP_IDLE, IWT_QA_FLUSH) : refused(s);
	}
	if (s == IWT_QP_IDLE || s == IWT_QP_GONE)
		return refused(s);
	/* a repeated close in CLOSING reports at once that all work is done */
	if (!takes)
		return to(s, s == IWT_QP_CLOSING ? IWT_QA_DRAINED : 0);
	if (e == IWT_QE_CLOSE)
		return to(IWT_QP_CLOSING, IWT_QA_SEAL | IWT_QA_CLOSE | IWT_QA_DRAINED);
	/* In HALF, the peer's FIN has already set the deadline. */
	return to(IWT_QP_DRAIN, IWT_QA_SEAL |
		  (s == IWT_QP_RTS ? IWT_QA_GRACE : 0));
}

/* Errors, at this end or at the peer. */
static struct iwt_qp_step failed(enum iwt_qp_state s, enum iwt_qp_event e)
{
	if (s == IWT_QP_ERROR || (s == IWT_QP_GONE && e == IWT_QE_TERM_RECEIVED))
		return to(s, 0);
	if (e == IWT_QE_TERM_RECEIVED) {
		if (s == IWT_QP_IDLE)
			return refused(s);
		/* In TERMINATE our own error has already been reported. */
		return to(IWT_QP_ERROR, IWT_QA_FLUSH |
			  (s == IWT_QP_TERMINATE ? 0 : IWT_QA_REPORT));
	}
	if (sends(s))
		return to(IWT_QP_TERMINATE, IWT_QA_FLUSH | IWT_QA_SEND_TERM |
			  IWT_QA_REPORT);
	/* After our FIN no Terminate can be sent. */
	if (s == IWT_QP_CLOSING)
		return to(IWT_QP_ERROR, IWT_QA_FLUSH | IWT_QA_ABORT);
	return s == IWT_QP_IDLE || s == IWT_QP_GONE ? to(IWT_QP_ERROR, IWT_QA_FLUSH) : to(s, 0);
}

/* Events from the connection. */
static struct iwt_qp_step connection(enum iwt_qp_state s, enum iwt_qp_event e)
{
	switch (e) {
	case IWT_QE_ATTACH:
		return s == IWT_QP_IDLE ? to(IWT_QP_RTS, 0) : refused(s);
	case IWT_QE_PEER_CLOSED:
		return s == IWT_QP_RTS ? to(IWT_QP_CLOSING, IWT_QA_SEAL) :
					 to(s, 0);
	case IWT_QE_PEER_BUSY:
		return s == IWT_QP_RTS ? to(IWT_QP_HALF, IWT_QA_GRACE) :
					 to(s, 0);
	case IWT_QE_DRAINED:
		if (s == IWT_QP_HALF || s == IWT_QP_DRAIN)
			return to(IWT_QP_CLOSING, IWT_QA_SEAL | IWT_QA_CLOSE |
				  (s == IWT_QP_DRAIN ? IWT_QA_DRAINED : 0));
		return to(s, 0);
	default:
		break;
	}
	if (s == IWT_QP_IDLE || s == IWT_QP_GONE || (s == IWT_QP_ERROR && e != IWT_QE_DETACH))
		return to(s, 0);
	if (e == IWT_QE_PEER_GONE && (s == IWT_QP_RTS || s == IWT_QP_HALF))
		return to(IWT_QP_GONE, IWT_QA_WATCH);
	return to(IWT_QP_ERROR, IWT_QA_FLUSH);
}

/*
 * The expected step of an event in a state. Here the rules are sorted by event, whereas the
 * tested table is sorted by state.
 */
static struct iwt_qp_step expected(enum iwt_qp_state s, enum iwt_qp_event e)
{
	switch (e) {
	case IWT_QE_CLOSE:
	case IWT_QE_CLOSE_BUSY:
	case IWT_QE_TO_ERROR:
	case IWT_QE_TO_IDLE:
		return asked(s, e);
	case IWT_QE_LOCAL_ERROR:
	case IWT_QE_TERM_RECEIVED:
		return failed(s, e);
	default:
		return connection(s, e);
	}
}

static void test_events(void)
{
	struct iwt_qp_step step, want;
	u32 s, e;

	tap_begin("qpfsm: every event in every state");
	for (e = 0; e < IWT_QE_COUNT; e++) {
		for (s = 0; s < IWT_QP_STATES; s++) {
			tap_about("event %d, state %s", e,
				  iwt_qp_state_name(s));
			step = iwt_qpfsm(s, e);
			want = expected(s, e);
			CHECK_EQ(step.next, want.next);
			CHECK_EQ(step.actions, want.actions);
		}
	}
	tap_end();
}

/* The states that some sequence of events reaches from @from, as a bit mask. */
static u32 reach(u32 from)
{
	u32 seen = 1u << from, before, s, e;

	do {
		before = seen;
		for (s = 0; s < IWT_QP_STATES; s++) {
			if (!(seen & 1u << s))
				continue;
			for (e = 0; e < IWT_QE_COUNT; e++)
				seen |= 1u << iwt_qpfsm(s, e).next;
		}
	} while (seen != before);
	return seen;
}

static void test_reach(void)
{
	u32 s;

	tap_begin("qpfsm: each state can be reached and left");
	for (s = 0; s < IWT_QP_STATES; s++) {
		tap_about("from %s", iwt_qp_state_name(s));
		CHECK_EQ(reach(s), (1u << IWT_QP_STATES) - 1);
	}
	tap_end();
}

static void test_lives(void)
{
	struct iwt_qp_step step;

	tap_begin("qpfsm: typical sequences of states of a stream");
	step = iwt_qpfsm(IWT_QP_IDLE, IWT_QE_ATTACH);
	CHECK_EQ(step.next, IWT_QP_RTS);
	/* A local error sends a Terminate, flushes the requests and informs the ULP. */
	step = iwt_qpfsm(IWT_QP_RTS, IWT_QE_LOCAL_ERROR);
	CHECK_EQ(step.next, IWT_QP_TERMINATE);
	CHECK_EQ(step.actions, IWT_QA_SEND_TERM | IWT_QA_FLUSH | IWT_QA_REPORT);
	/* A second error does not send a Terminate, and does not inform the ULP. */
	step = iwt_qpfsm(step.next, IWT_QE_LOCAL_ERROR);
	CHECK_EQ(step.next, IWT_QP_TERMINATE);
	CHECK_EQ(step.actions & (IWT_QA_SEND_TERM | IWT_QA_REPORT), 0);
	step = iwt_qpfsm(step.next, IWT_QE_DETACH);
	CHECK_EQ(step.next, IWT_QP_ERROR);
	/* No Terminate answers the peer's Terminate. */
	step = iwt_qpfsm(IWT_QP_RTS, IWT_QE_TERM_RECEIVED);
	CHECK_EQ(step.next, IWT_QP_ERROR);
	CHECK(step.actions & IWT_QA_REPORT);
	/* A graceful close without outstanding work. */
	step = iwt_qpfsm(IWT_QP_RTS, IWT_QE_CLOSE);
	CHECK_EQ(step.next, IWT_QP_CLOSING);
	CHECK_EQ(step.actions, IWT_QA_SEAL | IWT_QA_CLOSE | IWT_QA_DRAINED);
	/* Outstanding work is sent first, then FIN. */
	step = iwt_qpfsm(IWT_QP_RTS, IWT_QE_CLOSE_BUSY);
	CHECK_EQ(step.next, IWT_QP_DRAIN);
	CHECK_EQ(step.actions & (IWT_QA_FLUSH | IWT_QA_CLOSE | IWT_QA_DRAINED), 0);
	step = iwt_qpfsm(step.next, IWT_QE_DRAINED);
	CHECK_EQ(step.next, IWT_QP_CLOSING);
	CHECK(step.actions & IWT_QA_CLOSE);
	/* The same after the peer's FIN; before its own close, the consumer may still post. */
	step = iwt_qpfsm(IWT_QP_RTS, IWT_QE_PEER_BUSY);
	CHECK_EQ(step.next, IWT_QP_HALF);
	CHECK_EQ(step.actions, IWT_QA_GRACE);
	CHECK_EQ(iwt_qpfsm(step.next, IWT_QE_CLOSE_BUSY).next, IWT_QP_DRAIN);
	step = iwt_qpfsm(step.next, IWT_QE_DRAINED);
	CHECK_EQ(step.next, IWT_QP_CLOSING);
	CHECK(step.actions & IWT_QA_CLOSE);
	/* A reset or a timeout of a connection in use. */
	step = iwt_qpfsm(IWT_QP_RTS, IWT_QE_LOST);
	CHECK_EQ(step.next, IWT_QP_ERROR);
	CHECK(step.actions & IWT_QA_FLUSH);
	step = iwt_qpfsm(IWT_QP_ERROR, IWT_QE_TO_IDLE);
	CHECK_EQ(step.next, IWT_QP_IDLE);
	tap_end();
}

static void test_names(void)
{
	u32 s, t;

	tap_begin("qpfsm: no two states have the same name");
	for (s = 0; s < IWT_QP_STATES; s++) {
		CHECK(iwt_qp_state_name(s));
		for (t = 0; t < s; t++)
			CHECK(strcmp(iwt_qp_state_name(s),
				     iwt_qp_state_name(t)));
	}
	tap_end();
}

void test_qpfsm(void)
{
	test_cells();
	test_events();
	test_reach();
	test_lives();
	test_names();
}
