// SPDX-License-Identifier: GPL-2.0
/* iwt_queues: timestamps of completions. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "patience.h"
#include "queues.h"

#define MESSAGES	200

static uint64_t raw(struct link *l)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	if (ibv_query_rt_values_ex(l->verbs, &values) || values.comp_mask != IBV_VALUES_MASK_RAW_CLOCK)
		die("ibv_query_rt_values_ex");
	return values.raw_clock.tv_sec * 1000000000ull + values.raw_clock.tv_nsec;
}

static uint64_t wallclock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void start(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {};
	struct patience p = {};

	while ((errno = ibv_start_poll(cq, &attr)))
		if (errno != ENOENT || !patient(&p, PATIENCE, 0))
			die("ibv_start_poll");
}

/*
 * Reads both clocks before each request and after its completion. The timestamps of the
 * completion must be between these values.
 */
static void try_clocks(struct link *l, struct conn *c, struct ibv_cq_ex *cq, struct ibv_cq *far_cq)
{
	int i, raw_bad = 0, wall_bad = 0, order_bad = 0;
	uint64_t last = 0;
	struct ibv_wc wc;

	for (i = 0; i < MESSAGES; i++) {
		uint64_t raw_before, wall_before = wallclock(), ts, ns;

		if (i == MESSAGES / 2 && ibv_resize_cq(ibv_cq_ex_to_cq(cq), 1000))
			die("ibv_resize_cq");
		raw_before = raw(l);
		if (post_recv(c->far->qp, i, NULL) ||
		    post_send(c->near->qp, IBV_WR_SEND, i, IBV_SEND_SIGNALED, NULL))
			die("posting");
		start(cq);
		ts = ibv_wc_read_completion_ts(cq);
		ns = ibv_wc_read_completion_wallclock_ns(cq);
		if (cq->status || cq->wr_id != (uint64_t)i)
			order_bad++;
		ibv_end_poll(cq);
		raw_bad += ts < raw_before || ts > raw(l);
		/* this check is reliable, because nothing sets the wall clock during the test */
		wall_bad += ns < wall_before || ns > wallclock();
		order_bad += ts < last;
		last = ts;
		reap(far_cq, &wc, 1);
	}
	report(!raw_bad, "%d raw timestamps are between two reads of the device's clock",
	       MESSAGES);
	report(!wall_bad, "%d timestamps are between two reads of the wall clock", MESSAGES);
	report(!order_bad, "the timestamps are in order");
}

static struct ibv_cq_ex *make(struct link *l, uint64_t wc_flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = wc_flags };

	errno = 0;
	return ibv_create_cq_ex(l->verbs, &attr);
}

void test_times(struct link *l)
{
	struct ibv_cq_ex *cq = make(l, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_STANDARD_FLAGS |
				       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	struct ibv_cq *far_cq = cq_make(l->verbs, 16, NULL);
	struct ibv_qp_init_attr_ex near = qp_attr(l->pd, NULL, 16), far = qp_attr(l->pd, far_cq, 16);
	struct ibv_device_attr_ex dev;
	struct conn c;

	if (!cq)
		die("ibv_create_cq_ex");
	near.send_cq = near.recv_cq = ibv_cq_ex_to_cq(cq);
	report(!ibv_query_device_ex(l->verbs, NULL, &dev) && dev.hca_core_clock == 1000000 &&
	       dev.completion_timestamp_mask == UINT64_MAX, "the clock counts nanoseconds");
	conn_make(&c, &near, &far);
	try_clocks(l, &c, cq, far_cq);
	conn_drop(&c);
	cq_drop(ibv_cq_ex_to_cq(cq));
	cq_drop(far_cq);
}
