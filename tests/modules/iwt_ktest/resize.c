// SPDX-License-Identifier: GPL-2.0
/* Resizes completion queues, in kernels that offer this to kernel consumers. */
#include "kt.h"

#define ROUNDS		60
#define MESSAGES	8

#ifdef KT_RESIZES

/* Sends messages, and does not wait for the completions. */
static int some(struct kt_conn *c)
{
	int i;

	for (i = 0; i < MESSAGES; i++)
		if (kt_bad(c, iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv") ||
		    kt_bad(c, iwt_kt_send(&c->c, NULL, 0, IB_SEND_SIGNALED), "SEND"))
			return -EIO;
	return 0;
}

static int all_came(struct kt_conn *c, u32 from)
{
	u32 i;

	for (i = from; i < from + MESSAGES; i++)
		if (iwt_kt_expect(&c->c, KT_SEND, i, i, IB_WC_SUCCESS, IB_WC_SEND) ||
		    iwt_kt_expect(&c->s, KT_RECV, i, i, IB_WC_SUCCESS, IB_WC_RECV))
			return -EIO;
	return 0;
}

static int change(struct kt_conn *c, struct ib_cq *cq, int cqe)
{
	int err = ib_resize_cq(cq, cqe);

	return kt_bad(c, err || cq->cqe < cqe, "resize to %d: %d, %d", cqe, err, cq->cqe);
}

/* Resizes between completions do not lose, repeat or reorder completions. */
static int beside(struct kt_conn *c)
{
	int first = c->c.cq->cqe, i;

	for (i = 0; i < ROUNDS; i++)
		if (some(c) || change(c, c->c.cq, first << i % 4) ||
		    change(c, c->s.cq, first << (i + 2) % 3) ||
		    all_came(c, i * MESSAGES))
			return -EIO;
	return 0;
}

static int refused(struct kt_conn *c)
{
	struct ib_cq *cq = c->c.cq;
	int before = cq->cqe;

	if (kt_bad(c, ib_resize_cq(cq, 0) != -EINVAL, "to nothing") ||
	    kt_bad(c, ib_resize_cq(cq, -5) != -EINVAL, "to less") ||
	    kt_bad(c, ib_resize_cq(cq, INT_MAX) != -EINVAL, "a resize to too many") ||
	    kt_bad(c, cq->cqe != before, "%d entries", cq->cqe))
		return -EIO;
	/*
	 * The client's queue is not polled, so the completions stay in this queue. Wait until the
	 * server has received all messages.
	 */
	if (some(c) || iwt_kt_wait(&c->s, KT_RECV, MESSAGES))
		return -EIO;
	if (kt_bad(c, ib_resize_cq(cq, MESSAGES - 2) != -EINVAL,
		   "a resize to less than is in use"))
		return -EIO;
	return change(c, cq, 2 * before) ?: all_came(c, 0);
}

const struct kt_case iwt_kt_resize[] = {
	{ "completions arrive once and in order during resizes", beside },
	{ "sizes that are refused", refused, .modes = BIT(KT_DIRECT) },
	{}
};

#else

const struct kt_case iwt_kt_resize[] = { {} };

#endif
