// SPDX-License-Identifier: GPL-2.0
/* Tests accesses that the peer must refuse: checks completions and events at both sides. */
#include "kt.h"

#define WRITES	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)
#define READS	IB_ACCESS_REMOTE_READ
#define START	300
#define LEN	((KT_PAGES - 1) * PAGE_SIZE)

/* State of the region when it is accessed */
enum kt_region { KT_VALID, KT_NEVER, KT_INVALIDATED, KT_INVALIDATED_REMOTELY,
		 KT_OLD_KEY, KT_OTHER_PD, KT_GONE };

/**
 * struct kt_crime - an access that the peer refuses
 * @op: operation
 * @rights: access rights of the region
 * @region: state of the region
 * @off: offset in the region at which the access begins
 * @len: bytes of the access
 * @key: number that is added to the key of the region
 */
struct kt_crime {
	enum ib_wr_opcode op;
	int rights;
	enum kt_region region;
	s64 off;
	u32 len;
	u32 key;
};

static int prepare(const struct kt_crime *k, struct kt_mr *m, u32 *key)
{
	struct kt_conn *c = m->end->conn;
	u32 n;

	*key = m->mr->rkey;
	if (k->region == KT_NEVER)
		return 0;
	/* do not register: REG_MR fails if the region and the queue pair differ in their PD */
	if (k->region == KT_OTHER_PD)
		return 0;
	if (iwt_kt_mr_reg(m, k->rights))
		return -EIO;
	*key = m->mr->rkey;
	switch (k->region) {
	case KT_INVALIDATED:
		return iwt_kt_mr_inv(m, IB_SEND_SIGNALED);
	case KT_OLD_KEY:
		return iwt_kt_mr_inv(m, IB_SEND_SIGNALED) ?:
		       iwt_kt_mr_reg(m, k->rights);
	case KT_INVALIDATED_REMOTELY:
		n = c->s.posted[KT_RECV];
		if (kt_bad(c, iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv") ||
		    kt_bad(c, iwt_kt_send_inv(&c->c, NULL, 0, 0, *key),
			   "SEND_WITH_INV"))
			return -EIO;
		return iwt_kt_expect(&c->s, KT_RECV, n, n, IB_WC_SUCCESS,
				     IB_WC_RECV);
	case KT_GONE:
		if (kt_bad(c, ib_dereg_mr(m->mr), "ib_dereg_mr"))
			return -EIO;
		m->mr = NULL;
		ib_dma_unmap_sg(m->end->dev, m->sg, KT_PAGES,
				DMA_BIDIRECTIONAL);
		return 0;
	default:
		return 0;
	}
}

/* A refused READ completes with IB_WC_REM_ACCESS_ERR. */
static int judge_read(struct kt_conn *c, u32 at, u32 n)
{
	const struct kt_comp *k = &c->c.log[KT_SEND][at % KT_LOG];

	if (iwt_kt_wait(&c->c, KT_SEND, at + 1))
		return -EIO;
	return kt_bad(c, k->n != n || k->status != IB_WC_REM_ACCESS_ERR,
		      "the READ: %s", ib_wc_status_msg(k->status));
}

/* Posts receives at both ends and the access, and waits until the connection has ended. */
static int commit(const struct kt_crime *k, struct kt_mr *m, u64 to, u32 key)
{
	struct kt_conn *c = m->end->conn;
	struct ib_sge sge = iwt_kt_sge(&c->c, 1000, k->len);
	u32 at = c->c.logged[KT_SEND], n = c->c.posted[KT_SEND], i;
	u32 rc = c->c.posted[KT_RECV], rs = c->s.posted[KT_RECV];
	int err;

	memset(c->c.buf, KT_GUARD, KT_BUF);
	for (i = 0; i < 3; i++)
		if (kt_bad(c, iwt_kt_recv(&c->c, NULL, 0) ||
			   iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv"))
			return -EIO;
	if (k->op == IB_WR_SEND_WITH_INV)
		err = iwt_kt_send_inv(&c->c, NULL, 0, 0, key + k->key);
	else
		err = iwt_kt_rdma(&c->c, k->op, &sge, 1, IB_SEND_SIGNALED, to,
				  key + k->key);
	if (kt_bad(c, err, "post: %d", err))
		return -EIO;
	if (k->op == IB_WR_RDMA_READ && judge_read(c, at, n))
		return -EIO;
	if (kt_bad(c, iwt_kt_wait_flag(c, &c->c.disconnected), "client stays connected") ||
	    kt_bad(c, iwt_kt_wait_flag(c, &c->s.disconnected), "server stays connected"))
		return -EIO;
	/* a refused SEND_WITH_INV uses the first receive, whose status may be another error */
	i = k->op == IB_WR_SEND_WITH_INV;
	if (iwt_kt_wait(&c->c, KT_RECV, rc + 3) ||
	    iwt_kt_wait(&c->s, KT_RECV, rs + 3))
		return -EIO;
	return iwt_kt_flushed(&c->c, KT_RECV, rc, rc + 3) ?:
	       iwt_kt_flushed(&c->s, KT_RECV, rs + i, rs + 3);
}

static int refused(struct kt_conn *c, const struct kt_crime *k)
{
	struct ib_pd *pd = k->region == KT_OTHER_PD ? c->s.other_pd : c->s.pd;
	struct ib_sge none = iwt_kt_sge(&c->c, 0, 0);
	struct kt_mr m;
	u32 key;
	int err;

	err = iwt_kt_mr_make(&c->s, &m, pd, START, LEN) ?:
	      prepare(k, &m, &key) ?:
	      commit(k, &m, (k->region == KT_GONE ? 0 : m.mr->iova) + k->off,
		     key) ?:
	      /* no byte was placed anywhere */
	      iwt_kt_mr_check(&m, 0, 0, 0) ?:
	      iwt_kt_check_sges(&c->c, &none, 1, 0, 0);
	iwt_kt_mr_free(&m);
	return err;
}

#define CRIME(name, ...)						\
static int name(struct kt_conn *c)					\
{									\
	static const struct kt_crime k = { __VA_ARGS__ };		\
									\
	return refused(c, &k);						\
}

CRIME(write_end, IB_WR_RDMA_WRITE, WRITES, KT_VALID, LEN - 9, 10, 0)
CRIME(write_before, IB_WR_RDMA_WRITE, WRITES, KT_VALID, -1, 10, 0)
CRIME(write_wrap, IB_WR_RDMA_WRITE, WRITES, KT_VALID, S64_MAX, 10, 0)
CRIME(write_right, IB_WR_RDMA_WRITE, READS, KT_VALID, 0, 10, 0)
CRIME(write_key, IB_WR_RDMA_WRITE, WRITES, KT_VALID, 0, 10, 1)
CRIME(write_index, IB_WR_RDMA_WRITE, WRITES, KT_VALID, 0, 10, 0x12300)
CRIME(write_never, IB_WR_RDMA_WRITE, WRITES, KT_NEVER, 0, 10, 0)
CRIME(write_inv, IB_WR_RDMA_WRITE, WRITES, KT_INVALIDATED, 0, 10, 0)
CRIME(write_rinv, IB_WR_RDMA_WRITE, WRITES, KT_INVALIDATED_REMOTELY, 0, 10, 0)
CRIME(write_old, IB_WR_RDMA_WRITE, WRITES, KT_OLD_KEY, 0, 10, 0)
CRIME(write_gone, IB_WR_RDMA_WRITE, WRITES, KT_GONE, 0, 10, 0)
CRIME(read_end, IB_WR_RDMA_READ, READS, KT_VALID, LEN - 9, 10, 0)
CRIME(read_right, IB_WR_RDMA_READ, WRITES, KT_VALID, 0, 10, 0)
CRIME(read_key, IB_WR_RDMA_READ, READS, KT_VALID, 0, 10, 255)
CRIME(read_inv, IB_WR_RDMA_READ, READS, KT_INVALIDATED, 0, 10, 0)
CRIME(read_rinv, IB_WR_RDMA_READ, READS, KT_INVALIDATED_REMOTELY, 0, 10, 0)
CRIME(read_gone, IB_WR_RDMA_READ, READS, KT_GONE, 0, 10, 0)
CRIME(inv_key, IB_WR_SEND_WITH_INV, WRITES, KT_VALID, 0, 0, 1)
CRIME(inv_local, IB_WR_SEND_WITH_INV, IB_ACCESS_LOCAL_WRITE, KT_VALID, 0, 0, 9)
CRIME(inv_pd, IB_WR_SEND_WITH_INV, WRITES, KT_OTHER_PD, 0, 0, 0)

/* The peer may not use the local DMA key, which is valid for all kernel memory. */
static int dma_key(struct kt_conn *c, enum ib_wr_opcode op)
{
	struct kt_crime k = { .op = op, .len = 10 };
	struct kt_mr m;
	int err;

	err = iwt_kt_mr_make(&c->s, &m, c->s.pd, START, LEN) ?:
	      commit(&k, &m, c->s.dma, c->s.pd->local_dma_lkey) ?:
	      kt_bad(c, !iwt_kt_is_guard(c->s.buf, KT_BUF),
		     "the server's memory has changed") ?:
	      kt_bad(c, !iwt_kt_is_guard(c->c.buf, KT_BUF),
		     "the server's memory was read");
	iwt_kt_mr_free(&m);
	return err;
}

static int dma_key_write(struct kt_conn *c)
{
	return dma_key(c, IB_WR_RDMA_WRITE);
}

static int dma_key_read(struct kt_conn *c)
{
	return dma_key(c, IB_WR_RDMA_READ);
}

const struct kt_case iwt_kt_errors[] = {
	{ "WRITE across the end of the region is refused", write_end },
	{ "WRITE before the beginning of the region is refused", write_before },
	{ "WRITE far beyond the region is refused", write_wrap },
	{ "WRITE to a read-only region is refused", write_right },
	{ "WRITE with a wrong key is refused", write_key },
	{ "WRITE with a wrong index is refused", write_index },
	{ "WRITE before the first REG_MR is refused", write_never },
	{ "WRITE after LOCAL_INV is refused", write_inv },
	{ "WRITE after SEND_WITH_INV is refused", write_rinv },
	{ "WRITE with the previous key is refused", write_old },
	{ "WRITE after deregistration is refused", write_gone },
	{ "WRITE with the local key of all memory is refused", dma_key_write },
	{ "READ across the end of the region is refused", read_end },
	{ "READ of a region without the right to read is refused", read_right },
	{ "READ with a wrong key is refused", read_key },
	{ "READ after LOCAL_INV is refused", read_inv },
	{ "READ after SEND_WITH_INV is refused", read_rinv },
	{ "READ after deregistration is refused", read_gone },
	{ "READ with the local key of all memory is refused", dma_key_read },
	{ "SEND_WITH_INV of a wrong key is refused", inv_key },
	{ "SEND_WITH_INV of an unused key is refused", inv_local },
	{ "SEND_WITH_INV of another protection domain is refused", inv_pd },
	{}
};
