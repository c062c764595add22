// SPDX-License-Identifier: GPL-2.0
/* iwt_verify: tests when a completion must raise an event, and when it must raise no event. */
#include <errno.h>
#include <string.h>
#include "patience.h"
#include "verify.h"

/* Time to wait for an event that must not be raised */
#define SILENCE_MS 150
/* Several times as often as a process may arm a queue without a system call */
#define MANY 150
/* The period of moderation: the longest possible period */
#define PERIOD_US 65535

const char *iwt_event_name(uint32_t which)
{
	static const char *const name[IWT_EV_CASES] = {
		"armed for solicited: an ordinary message raises no event",
		"armed for solicited: a solicited message raises an event",
		"one arm gives one event",
		"the sender of a solicited message gets no solicited event",
		"armed for solicited: a flushed receive raises an event",
		"moderated: an event is delayed, but not longer than the period",
		"arms without a call and with one: each gives one event",
		"completions left in an armed queue raise an event",
	};
	return name[which];
}

static int send_empty(struct iwt_ctx *cx, uint64_t wr_id, unsigned int flags)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | flags };
	struct ibv_wc wc;

	if (iwt_post_one(cx, &wr) || iwt_poll(cx, cx->c.scq, &wc))
		return -1;
	if (wc.status != IBV_WC_SUCCESS || wc.wr_id != wr_id)
		return iwt_fail(cx, "send %llu: %s", (unsigned long long)wc.wr_id,
				ibv_wc_status_str(wc.status));
	return 0;
}

/* Waits for an empty Read, which the peer answers after it has delivered all earlier messages. */
static int read_nothing(struct iwt_ctx *cx)
{
	struct ibv_send_wr wr = { .wr_id = MANY + 1, .opcode = IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	if (iwt_post_one(cx, &wr) || iwt_poll(cx, cx->c.scq, &wc))
		return -1;
	if (wc.status != IBV_WC_SUCCESS)
		return iwt_fail(cx, "read: %s", ibv_wc_status_str(wc.status));
	return 0;
}

static int arm(struct iwt_ctx *cx, struct ibv_cq *cq, int solicited)
{
	return ibv_req_notify_cq(cq, solicited) ? iwt_fail(cx, "ibv_req_notify_cq") : 0;
}

static int expect_event(struct iwt_ctx *cx, const char *when)
{
	struct patience p = {};
	int n;

	while (!(n = iwt_channel_ready(cx, 200))) {
		if (iwt_peer_gave_up(cx))
			return iwt_fail(cx, "the peer gave up");
		if (!patient(&p, cx->o.timeout, 0))
			return iwt_fail(cx, "timeout: no event %s", when);
	}
	return n < 0 ? -1 : 0;
}

static int expect_silence(struct iwt_ctx *cx, const char *when)
{
	int n = iwt_channel_ready(cx, SILENCE_MS);

	if (n > 0)
		iwt_fail(cx, "an event %s", when);
	return n ? -1 : 0;
}

static int take(struct iwt_ctx *cx, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	if (iwt_poll(cx, cx->c.rcq, &wc))
		return -1;
	if (wc.wr_id != wr_id || wc.status != status)
		return iwt_fail(cx, "receive %llu: %s", (unsigned long long)wc.wr_id,
				ibv_wc_status_str(wc.status));
	return 0;
}

static int requester(struct iwt_ctx *cx, uint32_t which)
{
	uint64_t i;

	if (which == IWT_EV_SENDER && arm(cx, cx->c.scq, 1))
		return -1;
	if (iwt_sync(cx, NULL, NULL))
		return -1;
	switch (which) {
	case IWT_EV_UNSOLICITED:
		if (send_empty(cx, 1, 0) || iwt_sync(cx, NULL, NULL))
			return -1;
		return send_empty(cx, 2, IBV_SEND_SOLICITED);
	case IWT_EV_SOLICITED:
		return send_empty(cx, 1, IBV_SEND_SOLICITED);
	case IWT_EV_ONCE:
		if (send_empty(cx, 1, 0) || send_empty(cx, 2, 0) || send_empty(cx, 3, 0) ||
		    iwt_sync(cx, NULL, NULL))
			return -1;
		return send_empty(cx, 4, 0);
	case IWT_EV_SENDER:
		if (send_empty(cx, 1, IBV_SEND_SOLICITED))
			return -1;
		return expect_silence(cx, "at the sender's queue");
	case IWT_EV_MODERATED:
		if (send_empty(cx, 1, 0) || iwt_sync(cx, NULL, NULL) || send_empty(cx, 2, 0) ||
		    send_empty(cx, 3, 0) || iwt_sync(cx, NULL, NULL))
			return -1;
		return send_empty(cx, 4, 0);
	case IWT_EV_MANY:
		for (i = 1; i <= MANY; i++)
			if (send_empty(cx, i, 0) || iwt_sync(cx, NULL, NULL))
				return -1;
		return 0;
	case IWT_EV_BACKLOG:
		for (i = 1; i <= 3; i++)
			if (send_empty(cx, i, 0))
				return -1;
		/*
		 * Wait until the peer has received the Sends: iwt_sync() uses the control
		 * channel, and its message might arrive before the Sends.
		 */
		if (read_nothing(cx))
			return -1;
		return iwt_sync(cx, NULL, NULL);
	case IWT_EV_ERROR:
		if (rdma_disconnect(cx->c.id))
			return iwt_fail(cx, "rdma_disconnect: %s", strerror(errno));
		return iwt_wait_disconnected(cx);
	}
	return iwt_fail(cx, "no such case");
}

static int responder_unsolicited(struct iwt_ctx *cx)
{
	if (take(cx, 1, IBV_WC_SUCCESS) || expect_silence(cx, "after an ordinary message"))
		return -1;
	/* the queue is still armed */
	if (iwt_sync(cx, NULL, NULL) || expect_event(cx, "after a solicited message"))
		return -1;
	return take(cx, 2, IBV_WC_SUCCESS);
}

static int responder_once(struct iwt_ctx *cx)
{
	if (expect_event(cx, "after a message") || take(cx, 1, IBV_WC_SUCCESS) ||
	    take(cx, 2, IBV_WC_SUCCESS) || take(cx, 3, IBV_WC_SUCCESS) ||
	    expect_silence(cx, "more than one after one arm"))
		return -1;
	if (arm(cx, cx->c.rcq, 0) || iwt_sync(cx, NULL, NULL) ||
	    expect_event(cx, "after arming again"))
		return -1;
	return take(cx, 4, IBV_WC_SUCCESS);
}

static int moderate(struct iwt_ctx *cx, uint16_t count)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = PERIOD_US },
	};
	int rc = ibv_modify_cq(cx->c.rcq, &attr);

	return rc ? iwt_fail(cx, "ibv_modify_cq: %s", strerror(rc)) : 0;
}

/*
 * First the queue is moderated to one event for three completions, and there is one completion:
 * an event must be raised, but not before the period is over. Then the queue is moderated to one
 * event for two completions, and there are two completions: an event must be raised. Then there
 * is no moderation, and one completion must raise an event.
 */
static int responder_moderated(struct iwt_ctx *cx, double start)
{
	if (expect_event(cx, "after a period"))
		return -1;
	if (iwt_now() - start < PERIOD_US * 1e-6)
		return iwt_fail(cx, "an event before the period was over");
	if (take(cx, 1, IBV_WC_SUCCESS) || moderate(cx, 2) || arm(cx, cx->c.rcq, 0) ||
	    iwt_sync(cx, NULL, NULL) || expect_event(cx, "after two completions") ||
	    take(cx, 2, IBV_WC_SUCCESS) || take(cx, 3, IBV_WC_SUCCESS) || moderate(cx, 0) ||
	    arm(cx, cx->c.rcq, 0) || iwt_sync(cx, NULL, NULL) ||
	    expect_event(cx, "without moderation"))
		return -1;
	return take(cx, 4, IBV_WC_SUCCESS);
}

/* Each time the queue is armed, exactly one event must be raised. */
static int responder_many(struct iwt_ctx *cx)
{
	const struct iwt_buf spare = { .n = 1, .piece[0].len = 1 };
	uint64_t i;

	for (i = 1; i <= MANY; i++) {
		if (expect_event(cx, "after an arm") || take(cx, i, IBV_WC_SUCCESS))
			return -1;
		if (iwt_channel_ready(cx, 0))
			return iwt_fail(cx, "two events after arm %llu",
					(unsigned long long)i);
		if (i < MANY && (iwt_post_recv(cx, i + 1, &spare) || arm(cx, cx->c.rcq, 0)))
			return -1;
		if (iwt_sync(cx, NULL, NULL))
			return -1;
	}
	return 0;
}

/*
 * The queue is armed when it contains three completions. The event must be raised when the first
 * of these completions is polled.
 */
static int responder_backlog(struct iwt_ctx *cx)
{
	if (iwt_sync(cx, NULL, NULL) || arm(cx, cx->c.rcq, 0) ||
	    expect_silence(cx, "before the first completion is polled") || take(cx, 1,
										IBV_WC_SUCCESS) ||
	    expect_event(cx, "for what was left") || take(cx, 2, IBV_WC_SUCCESS) ||
	    take(cx, 3, IBV_WC_SUCCESS))
		return -1;
	return expect_silence(cx, "more than one after one arm");
}

static int responder(struct iwt_ctx *cx, uint32_t which)
{
	const struct iwt_buf spare = { .n = 1, .piece[0].len = 1 };
	bool many = which == IWT_EV_MANY || which == IWT_EV_BACKLOG;
	bool any = which == IWT_EV_ONCE || which == IWT_EV_MODERATED || many;
	double start = iwt_now();
	uint64_t i;

	if (which == IWT_EV_MODERATED && moderate(cx, 3))
		return -1;
	for (i = 1; i <= 4; i++) {
		bool wanted = (any && which != IWT_EV_MANY) || i == 1 || (i == 2 && which == IWT_EV_UNSOLICITED);

		if (wanted && iwt_post_recv(cx, i, &spare))
			return -1;
	}
	if (which != IWT_EV_SENDER && which != IWT_EV_BACKLOG && arm(cx, cx->c.rcq, !any))
		return -1;
	if (iwt_sync(cx, NULL, NULL))
		return -1;
	switch (which) {
	case IWT_EV_UNSOLICITED:
		return responder_unsolicited(cx);
	case IWT_EV_SOLICITED:
		if (expect_event(cx, "after a solicited message"))
			return -1;
		return take(cx, 1, IBV_WC_SUCCESS);
	case IWT_EV_ONCE:
		return responder_once(cx);
	case IWT_EV_MODERATED:
		return responder_moderated(cx, start);
	case IWT_EV_MANY:
		return responder_many(cx);
	case IWT_EV_BACKLOG:
		return responder_backlog(cx);
	case IWT_EV_SENDER:
		return take(cx, 1, IBV_WC_SUCCESS);
	case IWT_EV_ERROR:
		if (iwt_wait_disconnected(cx) || iwt_let_go(cx) ||
		    expect_event(cx, "after the flush"))
			return -1;
		return take(cx, 1, IBV_WC_WR_FLUSH_ERR);
	}
	return iwt_fail(cx, "no such case");
}

int iwt_events_run(struct iwt_ctx *cx, const struct iwt_case *k, bool is_requester)
{
	if (cx->c.use_events || cx->c.one_cq)
		return iwt_fail(cx, "wrong kind of connection for this case");
	return is_requester ? requester(cx, k->arg) : responder(cx, k->arg);
}
