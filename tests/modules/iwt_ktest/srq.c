// SPDX-License-Identifier: GPL-2.0
/* Tests of the shared receive queue of a kernel consumer. */
#include <linux/delay.h>

#include "kt.h"

#define SLOT	1000	/* bytes of a receive */
#define MOST	64	/* maximum number of posted receives */

static struct ib_sge slot_of(struct kt_end *e, u32 n)
{
	return iwt_kt_sge(e, n % MOST * 2 * SLOT, SLOT);
}

static int post_recvs(struct kt_conn *c, u32 n)
{
	while (n--) {
		struct ib_sge sge = slot_of(&c->s, c->s.posted[KT_RECV]);

		if (kt_bad(c, iwt_kt_recv(&c->s, &sge, 1), "ib_post_srq_recv"))
			return -EIO;
	}
	return 0;
}

/* Sends @n messages, which consume the oldest receives, and compares all bytes. */
static int pass(struct kt_conn *c, u32 n)
{
	while (n--) {
		u32 i = c->s.logged[KT_RECV], s = c->c.posted[KT_SEND];
		struct ib_sge to = slot_of(&c->s, i), from = iwt_kt_sge(&c->c, 0, 7 * i % SLOT);

		memset(c->s.buf, KT_GUARD, KT_BUF);
		iwt_kt_fill_sges(&c->c, &from, 1, i);
		if (kt_bad(c, iwt_kt_send(&c->c, &from, 1, IB_SEND_SIGNALED), "send") ||
		    iwt_kt_expect(&c->c, KT_SEND, s, s, IB_WC_SUCCESS, IB_WC_SEND) ||
		    iwt_kt_expect(&c->s, KT_RECV, i, i, IB_WC_SUCCESS, IB_WC_RECV) ||
		    iwt_kt_check_sges(&c->s, &to, 1, from.length, i))
			return -EIO;
	}
	return 0;
}

static int change(struct kt_conn *c, u32 max_wr, u32 limit, int mask, int want)
{
	struct ib_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit }, now = {};
	int err = ib_modify_srq(c->s.srq, &attr, mask);

	if (kt_bad(c, err != want, "ib_modify_srq(%u, %u, %d): %d", max_wr, limit, mask, err) ||
	    kt_bad(c, ib_query_srq(c->s.srq, &now), "ib_query_srq"))
		return -EIO;
	if (err || !(mask & IB_SRQ_MAX_WR))
		return 0;
	return kt_bad(c, now.max_wr < max_wr || attr.max_wr != now.max_wr || now.max_sge < KT_SGES,
		      "%u receives of %u elements", now.max_wr, now.max_sge);
}

static int begin(struct kt_conn *c)
{
	c->shared = true;
	return kt_bad(c, iwt_kt_establish(c), "connect");
}

static int posts(struct kt_conn *c)
{
	struct ib_recv_wr wr = {}, second = { .num_sge = KT_SGES + 100 };
	const struct ib_recv_wr *bad = NULL;
	int err;

	if (begin(c) || post_recvs(c, 5) || pass(c, 5) || post_recvs(c, 8))
		return -EIO;
	err = ib_post_srq_recv(c->s.srq, &wr, &bad);
	if (kt_bad(c, err != -ENOMEM || bad != &wr,
		   "a post to a full queue: %d", err) || pass(c, 1))
		return -EIO;
	err = ib_post_srq_recv(c->s.srq, &second, &bad);
	if (kt_bad(c, err != -EINVAL || bad != &second,
		   "a receive with too many elements: %d", err))
		return -EIO;
	err = ib_post_recv(c->s.qp, &wr, &bad);
	if (kt_bad(c, err != -EINVAL || bad != &wr,
		   "a post to the receive queue of the queue pair: %d", err))
		return -EIO;
	return pass(c, 7);
}

static int sizes(struct kt_conn *c)
{
	int i;

	if (begin(c) || change(c, 0, 0, IB_SRQ_MAX_WR, -EINVAL) ||
	    change(c, U32_MAX, 0, IB_SRQ_MAX_WR, -EINVAL) || change(c, 1, 0, 1 << 5, -EINVAL))
		return -EIO;
	for (i = 0; i < 20; i++) {
		/* 3 receives remain from the previous round */
		if (change(c, 50, 0, IB_SRQ_MAX_WR, 0) || post_recvs(c, 40) || pass(c, 2) ||
		    change(c, 32, 0, IB_SRQ_MAX_WR, -EINVAL) || pass(c, 10) ||
		    change(c, 32 - i % 2, 0, IB_SRQ_MAX_WR, 0) || pass(c, i ? 28 : 25))
			return -EIO;
	}
	return 0;
}

static int wait_limits(struct kt_conn *c, int want)
{
	unsigned long end = jiffies + KT_PATIENCE;

	while (atomic_read(&c->s.limits) < want && time_before(jiffies, end))
		usleep_range(100, 200);
	return kt_bad(c, atomic_read(&c->s.limits) != want, "%d limits instead of %d",
		      atomic_read(&c->s.limits), want);
}

static int limits(struct kt_conn *c)
{
	if (begin(c) || change(c, 0, 9, IB_SRQ_LIMIT, -EINVAL) ||
	    change(c, 4, 5, IB_SRQ_LIMIT | IB_SRQ_MAX_WR, -EINVAL) || post_recvs(c, 8) ||
	    change(c, 0, 5, IB_SRQ_LIMIT, 0) || pass(c, 3) || wait_limits(c, 0) ||
	    pass(c, 1) || wait_limits(c, 1) || pass(c, 1) ||
	    change(c, 0, 4, IB_SRQ_LIMIT, 0) || wait_limits(c, 2) ||
	    change(c, 16, 3, IB_SRQ_LIMIT | IB_SRQ_MAX_WR, 0) || pass(c, 1))
		return -EIO;
	return wait_limits(c, 3);
}

/*
 * A drain does not flush the receives in the shared queue. IB_EVENT_QP_LAST_WQE_REACHED reports
 * that the queue pair will complete no more receives.
 */
static int drained(struct kt_conn *c)
{
	unsigned long began = jiffies;

	if (begin(c) || post_recvs(c, 6) || pass(c, 2))
		return -EIO;
	ib_drain_qp(c->s.qp);
	if (kt_bad(c, iwt_kt_wait_flag(c, &c->s.last_wqe),
		   "no event that the last receive has completed") ||
	    kt_bad(c, c->s.logged[KT_RECV] != 2, "%u receives completed", c->s.logged[KT_RECV]))
		return -EIO;
	/* RDMA core waits at most a minute for the event */
	return kt_bad(c, time_after(jiffies, began + 55 * HZ),
		      "the core waited for the event in vain");
}

const struct kt_case iwt_kt_srq[] = {
	{ "shared receives are posted and consumed", posts, .idle = true },
	{ "a shared queue changes its size", sizes, .idle = true },
	{ "an event reports that few shared receives remain", limits, .idle = true },
	{ "a queue pair with a shared queue is drained", drained, .idle = true },
	{}
};
