// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests that the device on which they are posted must refuse: the bad request completes
 * with the right status, all later requests are flushed in order, and memory does not change. Also
 * messages for which the peer has posted no receive, or a receive that is too short, and a full
 * completion queue.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "kt.h"

#define RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ)

/*
 * Posts a good SEND, a bad request by @post, and three more SENDs. Checks that the bad request
 * completes with @status.
 */
static int fails(struct kt_conn *c, struct kt_mr *m,
		 int (*post)(struct kt_conn *c, struct kt_mr *m),
		 enum ib_wc_status status)
{
	struct kt_end *e = &c->c;
	u32 at = e->logged[KT_SEND], n = e->posted[KT_SEND], i;
	u32 rs = c->s.posted[KT_RECV];

	for (i = 0; i < 5; i++)
		if (kt_bad(c, iwt_kt_recv(&c->s, NULL, 0) ||
			   iwt_kt_recv(e, NULL, 0), "ib_post_recv"))
			return -EIO;
	if (kt_bad(c, iwt_kt_send(e, NULL, 0, 0), "SEND") ||
	    kt_bad(c, post(c, m), "the verb itself failed"))
		return -EIO;
	for (i = 0; i < 3; i++)
		if (kt_bad(c, iwt_kt_send(e, NULL, 0, 0), "SEND in the error state"))
			return -EIO;
	if (iwt_kt_expect(e, KT_SEND, at, n + 1, status, 0) ||
	    iwt_kt_wait(e, KT_SEND, at + 4) ||
	    iwt_kt_flushed(e, KT_SEND, n + 2, n + 5) ||
	    iwt_kt_wait(e, KT_RECV, 5) || iwt_kt_flushed(e, KT_RECV, 0, 5))
		return -EIO;
	/* the peer has received the first message, and no other */
	if (iwt_kt_expect(&c->s, KT_RECV, rs, rs, IB_WC_SUCCESS, IB_WC_RECV) ||
	    iwt_kt_wait(&c->s, KT_RECV, rs + 5) ||
	    iwt_kt_flushed(&c->s, KT_RECV, rs + 1, rs + 5))
		return -EIO;
	if (kt_bad(c, iwt_kt_wait_flag(c, &e->disconnected), "client stays connected") ||
	    kt_bad(c, iwt_kt_wait_flag(c, &c->s.disconnected), "server stays connected"))
		return -EIO;
	return iwt_kt_mr_check(m, 0, 0, 0);
}

static int with_region(struct kt_conn *c, int rights, bool inv,
		       int (*post)(struct kt_conn *c, struct kt_mr *m),
		       enum ib_wc_status status)
{
	struct kt_mr m;
	int err;

	err = iwt_kt_mr_make(&c->c, &m, c->c.pd, 55,
			     (KT_PAGES - 1) * PAGE_SIZE) ?:
	      iwt_kt_mr_reg(&m, rights) ?:
	      (inv ? iwt_kt_mr_inv(&m, IB_SEND_SIGNALED) : 0) ?:
	      fails(c, &m, post, status);
	iwt_kt_mr_free(&m);
	return err;
}

static int send_from(struct kt_conn *c, struct ib_sge sge)
{
	return iwt_kt_send(&c->c, &sge, 1, 0);
}

static int post_good(struct kt_conn *c, struct kt_mr *m)
{
	return send_from(c, iwt_kt_mr_sge(m, 0, 100));
}

static int post_over(struct kt_conn *c, struct kt_mr *m)
{
	return send_from(c, iwt_kt_mr_sge(m, m->len - 9, 10));
}

static int post_key(struct kt_conn *c, struct kt_mr *m)
{
	struct ib_sge sge = iwt_kt_mr_sge(m, 0, 10);

	sge.lkey++;
	return send_from(c, sge);
}

static int post_read_into(struct kt_conn *c, struct kt_mr *m)
{
	struct ib_sge sge = iwt_kt_mr_sge(m, 0, 10);

	return iwt_kt_rdma(&c->c, IB_WR_RDMA_READ, &sge, 1, 0, 4096, 0x1200);
}

static int post_inv(struct kt_conn *c, u32 key)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = key,
	};

	return iwt_kt_post(&c->c, &wr);
}

static int post_inv_own(struct kt_conn *c, struct kt_mr *m)
{
	return post_inv(c, m->mr->rkey);
}

/* Invalidates an STag with another index than the region. */
static int post_inv_key(struct kt_conn *c, struct kt_mr *m)
{
	return post_inv(c, m->mr->rkey + 0x4400);
}

/*
 * Invalidates an STag with the index of the valid region, and with another key (its low 8 bits).
 */
static int post_inv_other(struct kt_conn *c, struct kt_mr *m)
{
	return post_inv(c, ib_inc_rkey(m->mr->rkey));
}

/* The region of all kernel memory cannot be invalidated. */
static int post_inv_all(struct kt_conn *c, struct kt_mr *m)
{
	return post_inv(c, c->c.pd->local_dma_lkey);
}

/* Registers a region that is already valid. */
static int post_reg(struct kt_conn *c, struct kt_mr *m)
{
	struct ib_reg_wr wr;

	return iwt_kt_mr_map(m, &wr, RIGHTS, 0) ?: iwt_kt_post(&c->c, &wr.wr);
}

/* Registers the region by an STag with another index. */
static int post_reg_key(struct kt_conn *c, struct kt_mr *m)
{
	struct ib_reg_wr wr;

	if (iwt_kt_mr_map(m, &wr, RIGHTS, 0))
		return -EIO;
	wr.key += 0x7700;
	return iwt_kt_post(&c->c, &wr.wr);
}

static int after_inv(struct kt_conn *c)
{
	return with_region(c, RIGHTS, true, post_good, IB_WC_LOC_PROT_ERR);
}

static int over(struct kt_conn *c)
{
	return with_region(c, RIGHTS, false, post_over, IB_WC_LOC_PROT_ERR);
}

static int wrong_key(struct kt_conn *c)
{
	return with_region(c, RIGHTS, false, post_key, IB_WC_LOC_PROT_ERR);
}

static int no_sink(struct kt_conn *c)
{
	return with_region(c, IB_ACCESS_REMOTE_READ, false, post_read_into,
			   IB_WC_LOC_PROT_ERR);
}

static int inv_unknown(struct kt_conn *c)
{
	return with_region(c, RIGHTS, false, post_inv_key, IB_WC_LOC_QP_OP_ERR);
}

static int inv_other(struct kt_conn *c)
{
	return with_region(c, RIGHTS, false, post_inv_other,
			   IB_WC_LOC_QP_OP_ERR);
}

static int inv_all(struct kt_conn *c)
{
	return with_region(c, RIGHTS, false, post_inv_all, IB_WC_LOC_QP_OP_ERR);
}

/* Invalidates a region of another protection domain. The region was never registered. */
static int inv_pd(struct kt_conn *c)
{
	struct kt_mr m;
	int err;

	err = iwt_kt_mr_make(&c->c, &m, c->c.other_pd, 55,
			     (KT_PAGES - 1) * PAGE_SIZE) ?:
	      fails(c, &m, post_inv_own, IB_WC_LOC_QP_OP_ERR);
	iwt_kt_mr_free(&m);
	return err;
}

static int reg_valid(struct kt_conn *c)
{
	return with_region(c, RIGHTS, false, post_reg, IB_WC_MW_BIND_ERR);
}

static int reg_unknown(struct kt_conn *c)
{
	return with_region(c, RIGHTS, true, post_reg_key, IB_WC_MW_BIND_ERR);
}

/* A message that is longer than its receive ends the connection. */
static int too_small(struct kt_conn *c)
{
	struct ib_sge src = iwt_kt_sge(&c->c, 0, 2001);
	struct ib_sge dst = iwt_kt_sge(&c->s, 0, 2000);
	u32 i;

	memset(c->s.buf, KT_GUARD, KT_BUF);
	for (i = 0; i < 4; i++)
		if (kt_bad(c, iwt_kt_recv(&c->s, &dst, 1), "ib_post_recv"))
			return -EIO;
	if (kt_bad(c, iwt_kt_send(&c->c, &src, 1, 0), "SEND") ||
	    iwt_kt_expect(&c->s, KT_RECV, 0, 0, IB_WC_LOC_LEN_ERR, 0) ||
	    iwt_kt_wait(&c->s, KT_RECV, 4) ||
	    iwt_kt_flushed(&c->s, KT_RECV, 1, 4) ||
	    kt_bad(c, !iwt_kt_is_guard(c->s.buf + 2000, KT_BUF - 2000),
		   "octets behind the receive have changed"))
		return -EIO;
	return kt_bad(c, iwt_kt_wait_flag(c, &c->c.disconnected),
		      "client stays connected");
}

/* A message for which no receive is posted ends the connection. */
static int no_receive(struct kt_conn *c)
{
	if (kt_bad(c, iwt_kt_recv(&c->c, NULL, 0), "ib_post_recv") ||
	    kt_bad(c, iwt_kt_send(&c->c, NULL, 0, 0), "SEND") ||
	    iwt_kt_wait(&c->c, KT_RECV, 1) ||
	    iwt_kt_flushed(&c->c, KT_RECV, 0, 1))
		return -EIO;
	if (kt_bad(c, iwt_kt_wait_flag(c, &c->s.disconnected), "server stays connected"))
		return -EIO;
	return kt_bad(c, iwt_kt_wait_flag(c, &c->c.disconnected),
		      "client stays connected");
}

/* Posts an empty WRITE; waits while the send queue is full. */
static int post_patiently(struct kt_end *e)
{
	unsigned long end = jiffies + KT_PATIENCE;
	int err;

	do {
		err = iwt_kt_rdma(e, IB_WR_RDMA_WRITE, NULL, 0,
				  IB_SEND_SIGNALED, 0, 0);
		if (err == -ENOMEM)
			usleep_range(50, 200);
	} while (err == -ENOMEM && time_before(jiffies, end));
	return kt_bad(e->conn, err, "WRITE: %d", err);
}

/*
 * Makes @room + 1 completions, which is more than the completion queue can contain. Does not
 * poll.
 */
static int fill_cq(struct kt_end *e, u32 room)
{
	u32 i;

	/* let the handler run once, so that it does not request the next event */
	if (e->conn->mode == KT_HANDLER) {
		WRITE_ONCE(e->armed, false);
		if (post_patiently(e) ||
		    iwt_kt_expect(e, KT_SEND, 0, 0, IB_WC_SUCCESS,
				  IB_WC_RDMA_WRITE))
			return -EIO;
		while (atomic_read(&e->handlers))
			usleep_range(50, 200);
	}
	for (i = 0; i <= room; i++)
		if (post_patiently(e))
			return -EIO;
	return 0;
}

/* A completion that does not fit into the completion queue ends the connection. */
static int cq_full(struct kt_conn *c)
{
	struct ib_qp_init_attr init;
	struct kt_end *e = &c->c;
	struct ib_qp_attr attr;

	if (fill_cq(e, e->cq->cqe) ||
	    kt_bad(c, iwt_kt_wait_flag(c, &e->qp_fatal), "no error event of the queue pair") ||
	    kt_bad(c, iwt_kt_wait_flag(c, &e->disconnected), "client stays connected") ||
	    kt_bad(c, iwt_kt_wait_flag(c, &c->s.disconnected), "server stays connected"))
		return -EIO;
	if (c->mode == KT_HANDLER &&
	    kt_bad(c, iwt_kt_wait_flag(c, &e->cq_err), "no error event of the completion queue"))
		return -EIO;
	if (kt_bad(c, ib_query_qp(e->qp, &attr, IB_QP_STATE, &init), "query") ||
	    kt_bad(c, attr.qp_state != IB_QPS_ERR, "state %d", attr.qp_state))
		return -EIO;
	/* the server's completion queue was not full */
	return kt_bad(c, c->s.cq_err, "error event of the server's completion queue");
}

const struct kt_case iwt_kt_local[] = {
	{ "SEND from a region after LOCAL_INV fails", after_inv },
	{ "SEND across the end of a region fails", over },
	{ "SEND with a wrong local key fails", wrong_key },
	{ "READ into a read-only region fails", no_sink },
	{ "LOCAL_INV of an unknown key fails", inv_unknown },
	{ "LOCAL_INV of a valid region by another key fails", inv_other },
	{ "LOCAL_INV of the region of all memory fails", inv_all },
	{ "LOCAL_INV of another protection domain fails", inv_pd },
	{ "REG_MR of a region that is valid fails", reg_valid },
	{ "REG_MR with an unknown key fails", reg_unknown },
	{ "a receive that is too small fails with a length error", too_small },
	{ "a message that finds no receive ends the connection", no_receive },
	{ "a full completion queue ends the queue pair", cq_full,
	  BIT(KT_DIRECT) | BIT(KT_HANDLER) },
	{}
};
