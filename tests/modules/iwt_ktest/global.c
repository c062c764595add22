// SPDX-License-Identifier: GPL-2.0
/* A region of all kernel memory, as RDMA core creates it for IB_PD_UNSAFE_GLOBAL_RKEY. */
#include "kt.h"

#define LEN	5001
#define OFF	103

/* The rights that RDMA core requests. (The consumer itself uses local_dma_lkey.) */
#define RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

static int with_all(struct kt_conn *c, int access,
		    int (*use)(struct kt_conn *c, struct ib_mr *mr))
{
	struct ib_pd *pd = c->s.pd;
	struct ib_mr *mr = pd->device->ops.get_dma_mr(pd, access);
	int err;

	if (kt_bad(c, IS_ERR(mr), "get_dma_mr: %ld", PTR_ERR(mr)))
		return -EIO;
	mr->device = pd->device;
	mr->pd = pd;
	mr->type = IB_MR_TYPE_DMA;
	err = use(c, mr);
	if (pd->device->ops.dereg_mr(mr, NULL))
		return kt_bad(c, true, "dereg_mr");
	return err;
}

static int there_and_back(struct kt_conn *c, struct ib_mr *mr)
{
	struct ib_sge from = iwt_kt_sge(&c->c, 7, LEN);
	struct ib_sge there = iwt_kt_sge(&c->s, OFF, LEN);
	struct ib_sge back = iwt_kt_sge(&c->c, 60000, LEN);
	u32 at, n;

	memset(c->s.buf, KT_GUARD, KT_BUF);
	iwt_kt_fill_sges(&c->c, &from, 1, 5);
	if (kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_WRITE, &from, 1,
				  IB_SEND_SIGNALED, c->s.dma + OFF, mr->rkey),
		   "WRITE") ||
	    iwt_kt_expect(&c->c, KT_SEND, 0, 0, IB_WC_SUCCESS,
			  IB_WC_RDMA_WRITE) ||
	    iwt_kt_sync(&c->c) ||
	    iwt_kt_check_sges(&c->s, &there, 1, LEN, 5))
		return -EIO;
	at = c->c.logged[KT_SEND];
	n = c->c.posted[KT_SEND];
	memset(c->c.buf, KT_GUARD, KT_BUF);
	if (kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_READ, &back, 1,
				  IB_SEND_SIGNALED, c->s.dma + OFF, mr->rkey),
		   "READ") ||
	    iwt_kt_expect(&c->c, KT_SEND, at, n, IB_WC_SUCCESS,
			  IB_WC_RDMA_READ))
		return -EIO;
	return iwt_kt_check_sges(&c->c, &back, 1, LEN, 5);
}

static int all_rights(struct kt_conn *c)
{
	return with_all(c, RIGHTS, there_and_back);
}

static int refused_write(struct kt_conn *c, struct ib_mr *mr)
{
	struct ib_sge from = iwt_kt_sge(&c->c, 7, LEN);

	memset(c->s.buf, KT_GUARD, KT_BUF);
	if (kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_WRITE, &from, 1, 0,
				  c->s.dma + OFF, mr->rkey), "WRITE") ||
	    kt_bad(c, iwt_kt_wait_flag(c, &c->c.disconnected), "client stays connected") ||
	    kt_bad(c, iwt_kt_wait_flag(c, &c->s.disconnected), "server stays connected"))
		return -EIO;
	return kt_bad(c, !iwt_kt_is_guard(c->s.buf, KT_BUF),
		      "the server's memory has changed");
}

static int read_only(struct kt_conn *c)
{
	return with_all(c, IB_ACCESS_REMOTE_READ, refused_write);
}

static int core_asks(struct kt_conn *c)
{
	struct ib_pd *pd = ib_alloc_pd(c->s.dev, IB_PD_UNSAFE_GLOBAL_RKEY);

	if (kt_bad(c, IS_ERR(pd), "ib_alloc_pd: %ld", PTR_ERR(pd)))
		return -EIO;
	ib_dealloc_pd(pd);
	return 0;
}

const struct kt_case iwt_kt_global[] = {
	{ "WRITE and READ with a key of all memory", all_rights },
	{ "WRITE with a read-only key of all memory is refused", read_only },
	{ "a protection domain with a key of all memory", core_asks },
	{}
};
