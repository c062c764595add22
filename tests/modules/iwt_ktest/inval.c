// SPDX-License-Identifier: GPL-2.0
/* Tests registration, local and remote invalidation, keys, and lists of work requests. */
#include <linux/bottom_half.h>

#include "kt.h"

#define RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ)

static int with_region(struct kt_end *e, int (*fn)(struct kt_mr *m))
{
	struct kt_mr m;
	int err;

	err = iwt_kt_mr_make(e, &m, e->pd, 200, (KT_PAGES - 1) * PAGE_SIZE) ?:
	      fn(&m);
	iwt_kt_mr_free(&m);
	return err;
}

/* Writes @len bytes from the client to the region @m, and checks that all bytes arrive. */
static int write_to(struct kt_mr *m, u32 len, u32 seed)
{
	struct kt_conn *c = m->end->conn;
	struct ib_sge src = iwt_kt_sge(&c->c, 0, len);

	iwt_kt_mr_fill(m, 0, 0, 0);
	iwt_kt_fill_sges(&c->c, &src, 1, seed);
	if (kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_WRITE, &src, 1, 0,
				  m->mr->iova + 3, m->mr->rkey), "WRITE") ||
	    iwt_kt_sync(&c->c))
		return -EIO;
	return iwt_kt_mr_check(m, 3, len, seed);
}

/*
 * Registers the region 300 times. An STag index has 256 keys, so the first keys are used again.
 */
static int bump(struct kt_mr *m)
{
	struct kt_conn *c = m->end->conn;
	u32 i, first = m->mr->rkey;

	for (i = 0; i < 300; i++) {
		if (iwt_kt_mr_reg(m, RIGHTS) || write_to(m, 100, i) ||
		    iwt_kt_mr_inv(m, IB_SEND_SIGNALED))
			return -EIO;
		if (kt_bad(c, m->mr->rkey >> 8 != first >> 8 ||
			   (u8)(m->mr->rkey - first) != (u8)(i + 1),
			   "key %x after %x", m->mr->rkey, first))
			return -EIO;
	}
	return 0;
}

static int bumps(struct kt_conn *c)
{
	return with_region(&c->s, bump);
}

/*
 * A consumer may invalidate a region that is not valid: before the first REG_MR, a second time
 * after an invalidation, and with a key of the region that no REG_MR has used.
 */
static int inv_first(struct kt_mr *m)
{
	struct kt_conn *c = m->end->conn;
	u32 i;

	for (i = 0; i < 3; i++) {
		if (iwt_kt_mr_inv(m, IB_SEND_SIGNALED) ||
		    iwt_kt_mr_inv(m, IB_SEND_SIGNALED))
			return -EIO;
		ib_update_fast_reg_key(m->mr, ib_inc_rkey(m->mr->rkey));
		if (iwt_kt_mr_inv(m, IB_SEND_SIGNALED) ||
		    iwt_kt_mr_reg(m, RIGHTS) || write_to(m, 100, i))
			return -EIO;
	}
	return kt_bad(c, iwt_kt_mr_inv(m, IB_SEND_SIGNALED), "after use") ?:
	       iwt_kt_sync(&c->s);
}

static int inv_firsts(struct kt_conn *c)
{
	return with_region(&c->s, inv_first);
}

/* ib_map_mr_sg() may map pages for the next REG_MR before the LOCAL_INV has completed. */
static int remap(struct kt_mr *m)
{
	struct ib_reg_wr wr;

	if (iwt_kt_mr_reg(m, RIGHTS) || write_to(m, 5000, 1) ||
	    iwt_kt_mr_inv(m, 0) ||
	    iwt_kt_mr_map(m, &wr, RIGHTS, 0) ||
	    kt_bad(m->end->conn, iwt_kt_post(m->end, &wr.wr), "REG_MR") ||
	    /* a later message has arrived, so the registration is complete */
	    iwt_kt_sync(m->end))
		return -EIO;
	return write_to(m, 6000, 2);
}

static int remaps(struct kt_conn *c)
{
	return with_region(&c->s, remap);
}

static int send_inv(struct kt_mr *m)
{
	struct kt_conn *c = m->end->conn;
	struct ib_sge src = iwt_kt_sge(&c->c, 0, 10);
	struct ib_sge dst = iwt_kt_sge(&c->s, 500, 20);
	const struct kt_comp *k;
	u32 i, n;

	for (i = 0; i < 40; i++) {
		int flags = i % 2 ? IB_SEND_SOLICITED : 0;

		memset(c->s.buf, KT_GUARD, KT_BUF);
		n = c->s.posted[KT_RECV];
		if (iwt_kt_mr_reg(m, RIGHTS) || write_to(m, 100, i))
			return -EIO;
		n = c->s.posted[KT_RECV];
		iwt_kt_fill_sges(&c->c, &src, 1, i);
		if (kt_bad(c, iwt_kt_recv(&c->s, &dst, 1), "ib_post_recv") ||
		    kt_bad(c, iwt_kt_send_inv(&c->c, &src, 1, flags,
					      m->mr->rkey), "SEND_WITH_INV") ||
		    iwt_kt_expect(&c->s, KT_RECV, n, n, IB_WC_SUCCESS,
				  IB_WC_RECV))
			return -EIO;
		k = &c->s.log[KT_RECV][n % KT_LOG];
		if (kt_bad(c, !(k->flags & IB_WC_WITH_INVALIDATE) ||
			   k->inv != m->mr->rkey || k->byte_len != 10,
			   "flags %x, key %x of %x, %u octets", k->flags,
			   k->inv, m->mr->rkey, k->byte_len) ||
		    iwt_kt_check_sges(&c->s, &dst, 1, 10, i))
			return -EIO;
	}
	return 0;
}

static int send_invs(struct kt_conn *c)
{
	return with_region(&c->s, send_inv);
}

/* Posts REG_MR, a SEND from the region, LOCAL_INV and another SEND in one call. */
static int chain(struct kt_mr *m)
{
	struct kt_conn *c = m->end->conn;
	u32 n = c->s.posted[KT_RECV], s = c->c.posted[KT_SEND];
	u32 at = c->c.logged[KT_SEND];
	struct ib_sge src, dst = iwt_kt_sge(&c->s, 0, 9000);
	struct ib_reg_wr reg;
	struct ib_send_wr wr[2] = {}, inv = { .opcode = IB_WR_LOCAL_INV };
	const struct ib_send_wr *bad;

	memset(c->s.buf, KT_GUARD, KT_BUF);
	iwt_kt_mr_fill(m, 9, 8000, s);
	if (kt_bad(c, iwt_kt_recv(&c->s, &dst, 1), "ib_post_recv") ||
	    kt_bad(c, iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv") ||
	    iwt_kt_mr_map(m, &reg, 0, 0))
		return -EIO;
	src = iwt_kt_mr_sge(m, 9, 8000);
	wr[0].opcode = IB_WR_SEND;
	wr[0].sg_list = &src;
	wr[0].num_sge = 1;
	wr[1].opcode = IB_WR_SEND;
	wr[1].send_flags = IB_SEND_SIGNALED;
	inv.ex.invalidate_rkey = m->mr->rkey;
	reg.wr.next = &wr[0];
	wr[0].next = &inv;
	inv.next = &wr[1];
	if (kt_bad(c, iwt_kt_post_list(&c->c, &reg.wr, &bad), "list") ||
	    iwt_kt_expect(&c->c, KT_SEND, at, s + 3, IB_WC_SUCCESS, IB_WC_SEND) ||
	    iwt_kt_expect(&c->s, KT_RECV, n + 1, n + 1, IB_WC_SUCCESS, IB_WC_RECV))
		return -EIO;
	return iwt_kt_check_sges(&c->s, &dst, 1, 8000, s);
}

static int chain_often(struct kt_mr *m)
{
	int i;

	for (i = 0; i < 30; i++)
		if (chain(m))
			return -EIO;
	return 0;
}

static int chains(struct kt_conn *c)
{
	return with_region(&c->c, chain_often);
}

/*
 * A list with a bad request: the verb reports the bad request, and posts the requests before it.
 */
static int bad_list(struct kt_conn *c)
{
	struct ib_sge sge[KT_SGES + 30] = {};
	struct ib_send_wr wr[3] = {
		{ .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED },
		{ .opcode = IB_WR_SEND, .sg_list = sge,
		  .num_sge = ARRAY_SIZE(sge) },
		{ .opcode = IB_WR_SEND },
	};
	struct ib_recv_wr rwr[2] = { {}, {
		.sg_list = sge, .num_sge = ARRAY_SIZE(sge) } };
	const struct ib_send_wr *bad = NULL;
	const struct ib_recv_wr *rbad = NULL;

	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	if (kt_bad(c, iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv") ||
	    kt_bad(c, !iwt_kt_post_list(&c->c, wr, &bad),
		   "a SEND with too many elements was posted") ||
	    kt_bad(c, bad != &wr[1], "wrong bad_wr") ||
	    iwt_kt_expect(&c->c, KT_SEND, 0, 0, IB_WC_SUCCESS, IB_WC_SEND))
		return -EIO;
	wr[0].next = NULL;
	wr[0].opcode = IB_WR_LSO;
	if (kt_bad(c, !iwt_kt_post_list(&c->c, wr, &bad), "an unknown operation was posted") ||
	    kt_bad(c, bad != wr, "wrong bad_wr"))
		return -EIO;
	rwr[0].wr_cqe = &c->c.wr[KT_RECV][0].cqe;
	rwr[0].next = &rwr[1];
	if (kt_bad(c, !ib_post_recv(c->c.qp, rwr, &rbad),
		   "a receive with too many elements was posted") ||
	    kt_bad(c, rbad != &rwr[1], "wrong bad_wr of receives"))
		return -EIO;
	c->c.posted[KT_RECV]++;
	return iwt_kt_expect(&c->s, KT_RECV, 0, 0, IB_WC_SUCCESS, IB_WC_RECV);
}

/*
 * A full queue refuses requests. After earlier requests have completed, the queue accepts
 * requests again.
 */
static int full(struct kt_conn *c)
{
	struct ib_sge src = iwt_kt_sge(&c->c, 0, KT_BUF);
	struct kt_mr m;
	u32 i = 0;
	int err;

	err = iwt_kt_mr_make(&c->s, &m, c->s.pd, 0, KT_PAGES * PAGE_SIZE) ?:
	      iwt_kt_mr_reg(&m, RIGHTS);
	src.length = m.len;
	/* READs wait for the peer's answers, which need bottom halves */
	local_bh_disable();
	while (!err && i++ < 4 * KT_WRS)
		err = iwt_kt_rdma(&c->c, IB_WR_RDMA_READ, &src, 1,
				  IB_SEND_SIGNALED, m.mr->iova, m.mr->rkey);
	local_bh_enable();
	if (err == -ENOMEM)
		err = 0;
	else
		err = kt_bad(c, true, "the queue is never full: %d", err);
	if (!err)
		err = iwt_kt_wait(&c->c, KT_SEND, c->c.posted[KT_SEND]) ?:
		      iwt_kt_success_then_flush(&c->c, KT_SEND) ?:
		      iwt_kt_sync(&c->c);
	iwt_kt_mr_free(&m);
	return err;
}

const struct kt_case iwt_kt_inval[] = {
	{ "REG_MR and LOCAL_INV 300 times, all keys", bumps },
	{ "LOCAL_INV of a region that is not valid succeeds", inv_firsts },
	{ "new pages are mapped behind a LOCAL_INV", remaps },
	{ "SEND_WITH_INV: flag, key, and the region can be registered", send_invs },
	{ "REG_MR, SEND from it, LOCAL_INV, SEND in one list", chains },
	{ "bad_wr points to the request that is not posted", bad_list },
	{ "a full send queue refuses requests until it has room", full },
	{}
};
