// SPDX-License-Identifier: GPL-2.0
/* Operations of RFC 7306: immediate data, and atomic operations with and without masks. */
#include "kt.h"

#define RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define LEN	(KT_PAGES * PAGE_SIZE)
#define ALL	(~0ull)
#define IMM	cpu_to_be32(0x01020304)

/* Calls @fn with a registered region of the server. */
static int with_region(struct kt_conn *c, int rights,
		       int (*fn)(struct kt_conn *c, struct kt_mr *m))
{
	struct kt_mr m;
	int err;

	err = iwt_kt_mr_make(&c->s, &m, c->s.pd, 0, LEN) ?:
	      iwt_kt_mr_reg(&m, rights) ?: fn(c, &m);
	iwt_kt_mr_free(&m);
	return err;
}

static u64 *word_at(struct kt_mr *m, u32 off)
{
	return page_address(m->page[off / PAGE_SIZE]) + off % PAGE_SIZE;
}

static int expect_imm(struct kt_conn *c, u32 i, u32 n, enum ib_wc_opcode op,
		      u32 len)
{
	const struct kt_comp *k = &c->s.log[KT_RECV][i % KT_LOG];

	if (iwt_kt_expect(&c->s, KT_RECV, i, n, IB_WC_SUCCESS, op))
		return -EIO;
	return kt_bad(c, k->flags != IB_WC_WITH_IMM || k->byte_len != len ||
		      (__force __be32)k->inv != IMM,
		      "flags %x, %u octets, immediate data %x", k->flags,
		      k->byte_len, k->inv);
}

static int write_imm(struct kt_conn *c, struct kt_mr *m, u32 off, u32 len)
{
	u32 s = c->c.logged[KT_SEND], ns = c->c.posted[KT_SEND];
	u32 r = c->s.logged[KT_RECV], nr = c->s.posted[KT_RECV];
	struct ib_sge src[4], buf = iwt_kt_sge(&c->s, 0, 100);
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.sg_list = src,
		.wr.num_sge = 4,
		.wr.ex.imm_data = IMM,
		.remote_addr = m->mr->iova + off,
		.rkey = m->mr->rkey,
	};

	iwt_kt_mr_fill(m, 0, 0, 0);
	memset(c->s.buf, KT_GUARD, KT_BUF);
	iwt_kt_split(&c->c, 7, len, src, 4);
	iwt_kt_fill_sges(&c->c, src, 4, len);
	/* the operation consumes a receive, but does not write to the buffer of the receive */
	if (kt_bad(c, iwt_kt_recv(&c->s, &buf, len % 2), "ib_post_recv") ||
	    kt_bad(c, iwt_kt_post(&c->c, &wr.wr), "WRITE_WITH_IMM") ||
	    iwt_kt_expect(&c->c, KT_SEND, s, ns, IB_WC_SUCCESS,
			  IB_WC_RDMA_WRITE) ||
	    expect_imm(c, r, nr, IB_WC_RECV_RDMA_WITH_IMM, len))
		return -EIO;
	if (kt_bad(c, !iwt_kt_is_guard(c->s.buf, KT_BUF), "the buffer was used"))
		return -EIO;
	return iwt_kt_mr_check(m, off, len, len);
}

static int writes_imm(struct kt_conn *c, struct kt_mr *m)
{
	static const u32 lens[] = { 0, 1, 8, 1440, 1449, 4097, 20001 };
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		if (write_imm(c, m, 123 * i, lens[i]))
			return -EIO;
	return 0;
}

static int imm_writes(struct kt_conn *c)
{
	return with_region(c, RIGHTS, writes_imm);
}

static int send_imm(struct kt_conn *c)
{
	struct ib_sge sge = iwt_kt_sge(&c->c, 0, 0);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_IMM,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.ex.imm_data = IMM,
	};
	int err;

	if (kt_bad(c, iwt_kt_recv(&c->s, NULL, 0), "ib_post_recv") ||
	    kt_bad(c, iwt_kt_post(&c->c, &wr), "SEND_WITH_IMM") ||
	    iwt_kt_expect(&c->c, KT_SEND, 0, 0, IB_WC_SUCCESS, IB_WC_SEND) ||
	    expect_imm(c, 0, 0, IB_WC_RECV, 0))
		return -EIO;
	sge.length = 1;
	err = iwt_kt_post(&c->c, &wr);
	if (kt_bad(c, err != -EOPNOTSUPP, "SEND_WITH_IMM with data: %d", err))
		return -EIO;
	return iwt_kt_sync(&c->c);
}

/* An atomic operation, and the word in memory before and after it. */
struct kt_atomic {
	enum ib_wr_opcode op;
	enum ib_wc_opcode wc;
	u64 before, compare_add, compare_add_mask, swap, swap_mask, after;
};

#define FA	IB_WR_ATOMIC_FETCH_AND_ADD, IB_WC_FETCH_ADD
#define CS	IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP
#define MFA	IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, IB_WC_MASKED_FETCH_ADD
#define MCS	IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WC_MASKED_COMP_SWAP
#define X8(octet)	(octet * 0x0101010101010101ull)

static const struct kt_atomic atomics[] = {
	/* operations without masks ignore the masks */
	{ FA, 5, 1, 99, 99, 99, 6 },
	{ FA, ALL, 1, 0, 0, 0, 0 },
	{ FA, 0x0102030405060708, 0x1000000000000001, 0, 0, 0,
	  0x1102030405060709 },
	{ CS, 5, 5, 0, 1, 0, 1 },
	{ CS, 5, 6, 0, 1, 0, 5 },
	{ MFA, ALL, 1, 0, 0, 0, 0 },
	{ MFA, 0xffffffff, 1, 1u << 31, 0, 0, 0 },
	{ MFA, X8(0x7f), X8(1), X8(0x80), 0, 0, X8(0x80) },
	{ MFA, ALL, X8(1), X8(0x80), 0, 0, 0 },
	{ MCS, 5, 5, ALL, 1, ALL, 1 },
	{ MCS, 5, 6, ALL, 1, ALL, 5 },
	{ MCS, 0x1122334455667788, 0x55667788, 0xffffffff, 0xaabbccdd00000000,
	  0xffffffff00000000, 0xaabbccdd55667788 },
	{ MCS, 77, 1, 0, 2, ALL, 2 },
};

static int post_atomic(struct kt_conn *c, struct kt_mr *m, u32 off,
		       const struct kt_atomic *k, struct ib_sge *sink)
{
	struct ib_atomic_wr wr = {
		.wr.opcode = k->op,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.sg_list = sink,
		.wr.num_sge = 1,
		.remote_addr = m->mr->iova + off,
		.rkey = m->mr->rkey,
		.compare_add = k->compare_add,
		.compare_add_mask = k->compare_add_mask,
		.swap = k->swap,
		.swap_mask = k->swap_mask,
	};

	return kt_bad(c, iwt_kt_post(&c->c, &wr.wr), "post of an atomic");
}

/* Tests one operation. The sink of the result may have any alignment. */
static int one_atomic(struct kt_conn *c, struct kt_mr *m, u32 off,
		      const struct kt_atomic *k)
{
	u32 s = c->c.logged[KT_SEND], n = c->c.posted[KT_SEND];
	struct ib_sge sink = iwt_kt_sge(&c->c, 1003, 8);
	u64 got;

	memset(c->c.buf, KT_GUARD, KT_BUF);
	iwt_kt_mr_fill(m, 0, 0, 0);
	*word_at(m, off) = k->before;
	if (post_atomic(c, m, off, k, &sink) ||
	    iwt_kt_expect(&c->c, KT_SEND, s, n, IB_WC_SUCCESS, k->wc))
		return -EIO;
	memcpy(&got, c->c.buf + 1003, 8);
	if (kt_bad(c, got != k->before || *word_at(m, off) != k->after ||
		   c->c.log[KT_SEND][s % KT_LOG].byte_len != 8,
		   "operation %d fetched %llx instead of %llx, stored %llx instead of %llx",
		   k->op, got, k->before, *word_at(m, off), k->after))
		return -EIO;
	memset(word_at(m, off), KT_GUARD, 8);
	memset(c->c.buf + 1003, KT_GUARD, 8);
	return iwt_kt_mr_check(m, 0, 0, 0) ?:
	       kt_bad(c, !iwt_kt_is_guard(c->c.buf, KT_BUF),
		      "bytes outside the sink were written");
}

static int all_atomics(struct kt_conn *c, struct kt_mr *m)
{
	static const u32 offs[] = { 0, 8, PAGE_SIZE - 8, PAGE_SIZE, LEN - 8 };
	int i, k;

	for (k = 0; k < ARRAY_SIZE(atomics); k++)
		for (i = 0; i < ARRAY_SIZE(offs); i++)
			if (one_atomic(c, m, offs[i], &atomics[k]))
				return -EIO;
	return 0;
}

static int plain_and_masked(struct kt_conn *c)
{
	return with_region(c, RIGHTS, all_atomics);
}

#define MIXED	100

/*
 * Alternates atomic adds of 1 and READs of the same word, and posts more requests than the ORD
 * allows at a time. Each READ must fetch exactly the sum of the adds before the READ.
 */
static int reads_between(struct kt_conn *c, struct kt_mr *m)
{
	static const struct kt_atomic add = { FA, .compare_add = 1 };
	u32 n = c->c.posted[KT_SEND], i;
	struct ib_sge sink;
	u64 want;

	*word_at(m, 0) = 0;
	for (i = 0; i < MIXED; i++) {
		sink = iwt_kt_sge(&c->c, 8 * i, 8);
		if (i % 2 ? kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_READ, &sink,
						  1, IB_SEND_SIGNALED,
						  m->mr->iova, m->mr->rkey),
				   "READ") :
			    post_atomic(c, m, 0, &add, &sink))
			return -EIO;
	}
	for (i = 0; i < MIXED; i++) {
		want = (i + 1) / 2;
		if (iwt_kt_expect(&c->c, KT_SEND, n + i, n + i, IB_WC_SUCCESS,
				  i % 2 ? IB_WC_RDMA_READ : IB_WC_FETCH_ADD) ||
		    kt_bad(c, memcmp(c->c.buf + 8 * i, &want, 8),
			   "request %u did not fetch %llu", i, want))
			return -EIO;
	}
	return 0;
}

static int in_order(struct kt_conn *c)
{
	return with_region(c, RIGHTS, reads_between);
}

/* A fenced SEND from the sink of the atomic operation before it must send the fetched value. */
static int send_the_sink(struct kt_conn *c, struct kt_mr *m)
{
	static const struct kt_atomic add = { FA, .compare_add = 1 };
	struct ib_sge sink = iwt_kt_sge(&c->c, 64, 8);
	struct ib_sge dst = iwt_kt_sge(&c->s, 0, 8);
	u32 i, r = c->s.posted[KT_RECV];
	u64 want;

	for (i = 0; i < 20; i++) {
		want = 0x1122334455667788ull * (i + 1);
		*word_at(m, 16) = want;
		if (kt_bad(c, iwt_kt_recv(&c->s, &dst, 1), "ib_post_recv") ||
		    post_atomic(c, m, 16, &add, &sink) ||
		    kt_bad(c, iwt_kt_send(&c->c, &sink, 1, IB_SEND_FENCE), "SEND") ||
		    iwt_kt_expect(&c->s, KT_RECV, r + i, r + i, IB_WC_SUCCESS,
				  IB_WC_RECV) ||
		    kt_bad(c, memcmp(c->s.buf, &want, 8), "the SEND did not wait"))
			return -EIO;
	}
	return 0;
}

static int fence(struct kt_conn *c)
{
	return with_region(c, RIGHTS, send_the_sink);
}

/*
 * Posts an operation that the peer or this side must refuse. The word must not change, and the
 * connection must end.
 */
static int refused(struct kt_conn *c, struct kt_mr *m, u32 off,
		   struct ib_sge *sink, enum ib_wc_status status)
{
	static const struct kt_atomic add = { FA, .compare_add = 1 };
	u32 s = c->c.logged[KT_SEND], n = c->c.posted[KT_SEND];

	iwt_kt_mr_fill(m, 0, 0, 0);
	memset(c->c.buf, KT_GUARD, KT_BUF);
	if (post_atomic(c, m, off, &add, sink) ||
	    kt_bad(c, iwt_kt_send(&c->c, NULL, 0, IB_SEND_SIGNALED), "SEND") ||
	    iwt_kt_expect(&c->c, KT_SEND, s, n, status, 0) ||
	    iwt_kt_expect(&c->c, KT_SEND, s + 1, n + 1, IB_WC_WR_FLUSH_ERR, 0) ||
	    kt_bad(c, iwt_kt_wait_flag(c, &c->c.disconnected), "client stays connected") ||
	    kt_bad(c, iwt_kt_wait_flag(c, &c->s.disconnected), "server stays connected"))
		return -EIO;
	return iwt_kt_mr_check(m, 0, 0, 0) ?:
	       kt_bad(c, !iwt_kt_is_guard(c->c.buf, KT_BUF), "the sink was written");
}

#define REFUSED(name, rights, off, sink_len, status)			\
static int name ## _run(struct kt_conn *c, struct kt_mr *m)		\
{									\
	struct ib_sge sink = iwt_kt_sge(&c->c, 0, sink_len);		\
									\
	return refused(c, m, off, &sink, status);			\
}									\
static int name(struct kt_conn *c)					\
{									\
	return with_region(c, rights, name ## _run);			\
}

REFUSED(unaligned_1, RIGHTS, 1, 8, IB_WC_REM_OP_ERR)
REFUSED(unaligned_4, RIGHTS, PAGE_SIZE - 4, 8, IB_WC_REM_OP_ERR)
REFUSED(over_the_end, RIGHTS, LEN, 8, IB_WC_REM_ACCESS_ERR)
REFUSED(no_right, RIGHTS & ~IB_ACCESS_REMOTE_ATOMIC, 0, 8,
	IB_WC_REM_ACCESS_ERR)
REFUSED(short_sink, RIGHTS, 0, 7, IB_WC_LOC_LEN_ERR)

/*
 * A queue pair whose access flags were never set allows all accesses. This function sets access
 * flags without IB_ACCESS_REMOTE_ATOMIC at the server's queue pair, which then must refuse the
 * atomic operation.
 */
static int qp_right_run(struct kt_conn *c, struct kt_mr *m)
{
	struct ib_sge sink = iwt_kt_sge(&c->c, 0, 8);
	struct ib_qp_attr attr = {
		.qp_access_flags = IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE,
	};
	int err = ib_modify_qp(c->s.qp, &attr, IB_QP_ACCESS_FLAGS);

	if (kt_bad(c, err, "ib_modify_qp: %d", err))
		return -EIO;
	return refused(c, m, 0, &sink, IB_WC_REM_ACCESS_ERR);
}

static int qp_right(struct kt_conn *c)
{
	return with_region(c, RIGHTS, qp_right_run);
}

static int wrong_sink_run(struct kt_conn *c, struct kt_mr *m)
{
	struct ib_sge sink = iwt_kt_mr_sge(m, 0, 8);

	/* the key of the server's region plus 1: the client has no region with this key */
	sink.lkey++;
	return refused(c, m, 0, &sink, IB_WC_LOC_PROT_ERR);
}

static int wrong_sink(struct kt_conn *c)
{
	return with_region(c, RIGHTS, wrong_sink_run);
}

/* A message with immediate data, for which no receive is posted, must end the connection. */
static int no_receive(struct kt_conn *c)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_IMM,
		.ex.imm_data = IMM,
	};

	if (kt_bad(c, iwt_kt_post(&c->c, &wr), "SEND_WITH_IMM"))
		return -EIO;
	return kt_bad(c, iwt_kt_wait_flag(c, &c->c.disconnected), "client stays connected") ?:
	       kt_bad(c, iwt_kt_wait_flag(c, &c->s.disconnected), "server stays connected");
}

const struct kt_case iwt_kt_ext[] = {
	{ "WRITE_WITH_IMM delivers octets, immediate data and length", imm_writes },
	{ "SEND_WITH_IMM delivers no data and is refused with data", send_imm },
	{ "atomic operations, with and without masks", plain_and_masked },
	{ "atomic operations and READs stay in order", in_order },
	{ "a fence waits for atomic operations", fence },
	{ "an unaligned atomic operation is refused", unaligned_1 },
	{ "an atomic operation across pages is refused", unaligned_4 },
	{ "an atomic operation beyond the end of the region is refused", over_the_end },
	{ "an atomic operation on a region without the right is refused", no_right },
	{ "an atomic operation at a queue pair without the right is refused", qp_right },
	{ "an atomic operation with too short a sink fails", short_sink },
	{ "an atomic operation with a wrong key of the sink fails", wrong_sink },
	{ "immediate data without a receive ends the connection", no_receive },
	{}
};
