// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_windows: a long list of requests that send no message. The device must complete the first
 * requests of the list before it executes the last ones; a script checks this in the kernel's
 * trace.
 */
#include <errno.h>
#include <stdio.h>

#include "windows.h"

#define LENGTH	4096

static struct ibv_send_wr list[LENGTH];

/* Links the requests: each invalidates a window that is not bound, which changes nothing. */
static void compose(const struct ibv_mw *mw)
{
	int i;

	for (i = 0; i < LENGTH; i++)
		list[i] = (struct ibv_send_wr) {
			.wr_id = i,
			.next = i < LENGTH - 1 ? &list[i + 1] : NULL,
			.opcode = IBV_WR_LOCAL_INV,
			.send_flags = i < LENGTH - 1 ? 0 : IBV_SEND_SIGNALED,
			.invalidate_rkey = mw->rkey,
		};
}

void test_list(struct bench *b)
{
	struct ibv_cq *cq = cq_make(b->verbs, 16, NULL);
	struct ibv_qp_init_attr_ex near = qp_attr(b->pd[0], cq, LENGTH);
	struct ibv_qp_init_attr_ex far = qp_attr(b->pd[0], cq, 4);
	struct ibv_mw *mw = window(b, 0, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad;
	struct conn c;
	struct ibv_wc wc;

	conn_make(&c, &near, &far);
	compose(mw);
	errno = ibv_post_send(c.near->qp, list, &bad);
	if (errno)
		die("ibv_post_send");
	reap(cq, &wc, 1);
	report(!wc.status && wc.wr_id == LENGTH - 1, "a list of %d requests without a message", LENGTH);
	conn_drop(&c);
	cq_drop(cq);
	if (ibv_dealloc_mw(mw))
		die("ibv_dealloc_mw");
}
