// SPDX-License-Identifier: GPL-2.0
/* Tests SEND, WRITE, READ and READ_WITH_INV with valid requests: checks data and completions. */
#include "kt.h"

static const u32 sizes[] = {
	0, 1, 3, 4, 5, 255, 1447, 1448, 1460, 4095, 4096, 4097,
	65535, 65536, 65537, 131072,
};

static int send_one(struct kt_end *from, u32 len, int n_from, int n_to)
{
	struct kt_end *to = iwt_kt_peer(from);
	u32 s = from->logged[KT_SEND], ns = from->posted[KT_SEND];
	u32 r = to->logged[KT_RECV], nr = to->posted[KT_RECV];
	struct ib_sge src[KT_SGES], dst[KT_SGES];
	struct kt_conn *c = from->conn;
	const struct kt_comp *k;

	memset(to->buf, KT_GUARD, KT_BUF);
	iwt_kt_split(from, 17, len, src, n_from);
	/* the receive is longer than the message */
	iwt_kt_split(to, 1003, len + 9, dst, n_to);
	iwt_kt_fill_sges(from, src, n_from, len);
	if (kt_bad(c, iwt_kt_recv(to, dst, n_to), "ib_post_recv") ||
	    kt_bad(c, iwt_kt_send(from, src, n_from, IB_SEND_SIGNALED), "SEND") ||
	    iwt_kt_expect(to, KT_RECV, r, nr, IB_WC_SUCCESS, IB_WC_RECV) ||
	    iwt_kt_expect(from, KT_SEND, s, ns, IB_WC_SUCCESS, IB_WC_SEND))
		return -EIO;
	k = &to->log[KT_RECV][r % KT_LOG];
	if (kt_bad(c, k->byte_len != len || k->flags, "byte_len %u of %u, flags %x",
		   k->byte_len, len, k->flags))
		return -EIO;
	return iwt_kt_check_sges(to, dst, n_to, len, len);
}

static int sends(struct kt_conn *c)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (send_one(&c->c, sizes[i], 1, 1) ||
		    send_one(&c->s, sizes[i], 4, KT_SGES) ||
		    send_one(&c->c, sizes[i], KT_SGES, 3))
			return -EIO;
	}
	return 0;
}

/*
 * The data of an inline request are copied before the verb returns. Then the buffer may change.
 */
static int sends_inline(struct kt_conn *c)
{
	static const u32 lens[] = { 0, 1, 100, KT_INLINE };
	struct ib_sge src, dst;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		memset(c->s.buf, KT_GUARD, KT_BUF);
		dst = iwt_kt_sge(&c->s, 5, KT_INLINE);
		src = (struct ib_sge) {
			.addr = (uintptr_t)c->c.buf + 3,
			.length = lens[i],
		};
		iwt_kt_fill(c->c.buf + 3, lens[i], 0, i);
		if (kt_bad(c, iwt_kt_recv(&c->s, &dst, 1), "ib_post_recv"))
			return -EIO;
		err = iwt_kt_send(&c->c, &src, 1,
				  IB_SEND_INLINE | IB_SEND_SIGNALED);
		memset(c->c.buf, 0, KT_INLINE + 3);
		if (kt_bad(c, err, "inline SEND: %d", err) ||
		    iwt_kt_expect(&c->s, KT_RECV, i, i, IB_WC_SUCCESS, IB_WC_RECV) ||
		    iwt_kt_check_sges(&c->s, &dst, 1, lens[i], i))
			return -EIO;
	}
	return iwt_kt_expect(&c->c, KT_SEND, 3, 3, IB_WC_SUCCESS, IB_WC_SEND);
}

/* Chooses offset and length of test @i within a region of @m->len bytes. */
static void place(const struct kt_mr *m, int i, u32 *off, u32 *len)
{
	const u32 places[][2] = {
		{ 0, 1 }, { 0, m->len }, { 1, 4095 }, { 4096 - m->start, 4096 },
		{ 4095, 8195 }, { m->len - 1, 1 }, { m->len - 5000, 5000 },
		{ 77, 0 },
	};

	*off = places[i][0];
	*len = places[i][1];
}

#define PLACES		8
#define REGION_START	123
#define REGION_LEN	((KT_PAGES - 1) * PAGE_SIZE + 1001 - REGION_START)

static int writes_into(struct kt_conn *c, struct kt_mr *m)
{
	struct kt_end *e = &c->c;
	struct ib_sge src[4];
	u32 off, len;
	int i;

	for (i = 0; i < PLACES; i++) {
		u32 s = e->logged[KT_SEND], n = e->posted[KT_SEND];

		place(m, i, &off, &len);
		iwt_kt_mr_fill(m, 0, 0, 0);
		iwt_kt_split(e, 7, len, src, 4);
		iwt_kt_fill_sges(e, src, 4, i);
		if (kt_bad(c, iwt_kt_rdma(e, IB_WR_RDMA_WRITE, src, 4,
					  IB_SEND_SIGNALED, m->mr->iova + off,
					  m->mr->rkey), "WRITE") ||
		    iwt_kt_expect(e, KT_SEND, s, n, IB_WC_SUCCESS,
				  IB_WC_RDMA_WRITE) ||
		    iwt_kt_sync(e) || iwt_kt_mr_check(m, off, len, i))
			return -EIO;
	}
	return 0;
}

static int writes(struct kt_conn *c)
{
	struct kt_mr m;
	int err;

	err = iwt_kt_mr_make(&c->s, &m, c->s.pd, REGION_START, REGION_LEN) ?:
	      iwt_kt_mr_reg(&m, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE) ?:
	      writes_into(c, &m);
	iwt_kt_mr_free(&m);
	return err;
}

static int read_expect(struct kt_end *e, u32 i, u32 n, u32 len)
{
	const struct kt_comp *k = &e->log[KT_SEND][i % KT_LOG];

	if (iwt_kt_expect(e, KT_SEND, i, n, IB_WC_SUCCESS, IB_WC_RDMA_READ))
		return -EIO;
	return kt_bad(e->conn, k->byte_len != len, "byte_len %u, not %u",
		      k->byte_len, len);
}

/*
 * READs from the server's region @src into the client's buffer or into the client's region @sink.
 * In both regions the offset is the same.
 */
static int reads_of(struct kt_conn *c, struct kt_mr *src, struct kt_mr *sink)
{
	struct kt_end *e = &c->c;
	struct ib_sge to;
	u32 off, len;
	int i, op;

	for (i = 0; i < PLACES * 3; i++) {
		u32 s = e->logged[KT_SEND], n = e->posted[KT_SEND];

		place(src, i % PLACES, &off, &len);
		op = i < 2 * PLACES ? IB_WR_RDMA_READ : IB_WR_RDMA_READ_WITH_INV;
		iwt_kt_mr_fill(src, off, len, i);
		iwt_kt_mr_fill(sink, 0, 0, 0);
		memset(e->buf, KT_GUARD, KT_BUF);
		to = i < PLACES ? iwt_kt_sge(e, 99, len) :
				  iwt_kt_mr_sge(sink, off, len);
		if (kt_bad(c, iwt_kt_rdma(e, op, &to, 1, IB_SEND_SIGNALED,
					  src->mr->iova + off, src->mr->rkey),
			   "READ") ||
		    read_expect(e, s, n, len))
			return -EIO;
		if (i < PLACES ? iwt_kt_check_sges(e, &to, 1, len, i) :
				 iwt_kt_mr_check(sink, off, len, i))
			return -EIO;
		/* the region that the READ has invalidated can be registered again at once */
		if (op == IB_WR_RDMA_READ_WITH_INV &&
		    iwt_kt_mr_reg(sink, IB_ACCESS_LOCAL_WRITE |
				  IB_ACCESS_REMOTE_WRITE))
			return -EIO;
	}
	return 0;
}

static int reads(struct kt_conn *c)
{
	struct kt_mr src, sink;
	int err;

	err = iwt_kt_mr_make(&c->s, &src, c->s.pd, REGION_START, REGION_LEN) |
	      iwt_kt_mr_make(&c->c, &sink, c->c.pd, REGION_START, REGION_LEN);
	if (!err)
		err = iwt_kt_mr_reg(&src, IB_ACCESS_REMOTE_READ) ?:
		      iwt_kt_mr_reg(&sink, IB_ACCESS_LOCAL_WRITE |
				    IB_ACCESS_REMOTE_WRITE) ?:
		      reads_of(c, &src, &sink);
	iwt_kt_mr_free(&src);
	iwt_kt_mr_free(&sink);
	return err;
}

/* A READ and a fenced SEND from the READ's sink: the SEND must send the data of the READ. */
static int fence_with(struct kt_conn *c, struct kt_mr *src)
{
	const u32 len = 20000;
	struct ib_sge mid, dst;
	u32 i;

	for (i = 0; i < 20; i++) {
		iwt_kt_mr_fill(src, 11, len, i);
		memset(c->c.buf, KT_GUARD, KT_BUF);
		memset(c->s.buf, KT_GUARD, KT_BUF);
		mid = iwt_kt_sge(&c->c, 40, len);
		dst = iwt_kt_sge(&c->s, 50, len);
		if (kt_bad(c, iwt_kt_recv(&c->s, &dst, 1), "ib_post_recv") ||
		    kt_bad(c, iwt_kt_rdma(&c->c, IB_WR_RDMA_READ, &mid, 1, 0,
					  src->mr->iova + 11, src->mr->rkey),
			   "READ") ||
		    kt_bad(c, iwt_kt_send(&c->c, &mid, 1, IB_SEND_FENCE |
					  IB_SEND_SIGNALED), "SEND") ||
		    iwt_kt_expect(&c->c, KT_SEND, i, 2 * i + 1, IB_WC_SUCCESS,
				  IB_WC_SEND) ||
		    iwt_kt_expect(&c->s, KT_RECV, i, i, IB_WC_SUCCESS,
				  IB_WC_RECV) ||
		    iwt_kt_check_sges(&c->s, &dst, 1, len, i))
			return -EIO;
	}
	return 0;
}

static int fences(struct kt_conn *c)
{
	struct kt_mr m;
	int err;

	err = iwt_kt_mr_make(&c->s, &m, c->s.pd, REGION_START, REGION_LEN) ?:
	      iwt_kt_mr_reg(&m, IB_ACCESS_REMOTE_READ) ?:
	      fence_with(c, &m);
	iwt_kt_mr_free(&m);
	return err;
}

/*
 * Posts request number @i of mix(), and stores the verb's result in @err. Return: the operation
 */
static enum ib_wc_opcode post_mixed(struct kt_conn *c, struct kt_mr *m, u32 i,
				    int flags, int *err)
{
	struct ib_sge big = iwt_kt_sge(&c->c, 0, 30000);
	struct ib_sge small = iwt_kt_sge(&c->c, 100000, 8);

	switch (i % 4) {
	case 0:
		*err = iwt_kt_rdma(&c->c, IB_WR_RDMA_READ, &big, 1, flags,
				   m->mr->iova, m->mr->rkey);
		return IB_WC_RDMA_READ;
	case 1:
		*err = iwt_kt_rdma(&c->c, IB_WR_RDMA_WRITE, &small, 1, flags,
				   m->mr->iova, m->mr->rkey);
		return IB_WC_RDMA_WRITE;
	case 2:
		*err = iwt_kt_send(&c->c, &small, 1, flags);
		return IB_WC_SEND;
	default:
		*err = iwt_kt_rdma(&c->c, IB_WR_RDMA_READ, &small, 1, flags,
				   m->mr->iova, m->mr->rkey);
		return IB_WC_RDMA_READ;
	}
}

/*
 * Mixes READs, which complete after the peer's answer, with operations that need no answer. Of
 * each @every requests, the last request is signalled.
 */
static int mix(struct kt_conn *c, struct kt_mr *m, u32 every)
{
	enum ib_wc_opcode op[100];
	u32 i, j, base = c->c.posted[KT_SEND], at = c->c.logged[KT_SEND];
	struct ib_sge dst = iwt_kt_sge(&c->s, 0, 8);
	int err;

	for (i = 0; i < ARRAY_SIZE(op); i++) {
		if (i % 4 == 2 &&
		    kt_bad(c, iwt_kt_recv(&c->s, &dst, 1), "ib_post_recv"))
			return -EIO;
		op[i] = post_mixed(c, m, i, (i + 1) % every ? 0 :
				   IB_SEND_SIGNALED, &err);
		if (kt_bad(c, err, "request %u: %d", i, err))
			return -EIO;
	}
	for (i = every - 1, j = 0; i < ARRAY_SIZE(op); i += every, j++)
		if (iwt_kt_expect(&c->c, KT_SEND, at + j, base + i,
				  IB_WC_SUCCESS, op[i]))
			return -EIO;
	return kt_bad(c, c->c.logged[KT_SEND] != at + ARRAY_SIZE(op) / every,
		      "%u completions too many", c->c.logged[KT_SEND] - at -
		      (u32)ARRAY_SIZE(op) / every);
}

static int order(struct kt_conn *c)
{
	struct kt_mr m;
	int err;

	err = iwt_kt_mr_make(&c->s, &m, c->s.pd, 0, KT_PAGES * PAGE_SIZE) ?:
	      iwt_kt_mr_reg(&m, IB_ACCESS_REMOTE_READ | IB_ACCESS_LOCAL_WRITE |
			    IB_ACCESS_REMOTE_WRITE) ?:
	      mix(c, &m, 1) ?: mix(c, &m, 5) ?: mix(c, &m, 2);
	iwt_kt_mr_free(&m);
	return err;
}

/*
 * Creates an additional queue pair of the server's device that requests one element, and @ctxs
 * contexts of RDMA core's rw API. Checks that the queue pair then has @want elements.
 */
static int sges_of(struct kt_conn *c, u32 ctxs, u32 want)
{
	struct ib_qp_init_attr attr = {
		.send_cq = c->s.cq,
		.recv_cq = c->s.cq,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_rdma_ctxs = ctxs,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = 1,
	};
	struct ib_qp *qp = ib_create_qp(c->s.pd, &attr);
	u32 most;

	if (kt_bad(c, IS_ERR(qp), "ib_create_qp: %ld", PTR_ERR(qp)))
		return -EIO;
	most = qp->max_write_sge;
	ib_destroy_qp(qp);
	return kt_bad(c, attr.cap.max_send_sge != want || most != want,
		      "%u elements, in a Write of the rw API %u, and not %u",
		      attr.cap.max_send_sge, most, want);
}

static int sges_of_rw(struct kt_conn *c)
{
	return sges_of(c, 0, 1) ?: sges_of(c, 2, c->s.dev->attrs.max_send_sge);
}

const struct kt_case iwt_kt_data[] = {
	{ "SEND: sizes, many elements, both directions", sends },
	{ "inline data are copied before the verb returns", sends_inline },
	{ "WRITE from many elements into a registration", writes },
	{ "READ and READ_WITH_INV, to any memory and to a registration", reads },
	{ "a fenced SEND waits for the READ before it", fences },
	{ "only signalled requests complete, in order of submission", order },
	{ "Writes of the rw API have as many elements as the device allows", sges_of_rw },
	{}
};
