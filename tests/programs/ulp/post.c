// SPDX-License-Identifier: GPL-2.0
/* iwt_ulp: commands for work requests and completions. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "patience.h"
#include "ulp.h"

#define MAX_SGE 16

/*
 * Parses sge=MR:OFFSET:LENGTH[:LKEY],... MR is the number of a region, OFFSET the offset in its
 * memory. Return: the number of elements, or -1
 */
static int sges(struct ibv_sge *sge)
{
	const char *s = ulp_str("sge");
	int n = 0;

	while (s && *s && n < MAX_SGE) {
		unsigned long long mr, off, len, lkey;
		int got = sscanf(s, "%lli:%lli:%lli:%lli", &mr, &off, &len, &lkey);
		struct ulp_mem *m = got >= 3 ? ulp_mem(mr) : NULL;

		if (!m)
			return ulp_err(EINVAL, "sge");
		sge[n].addr = (uintptr_t)m->buf + off;
		sge[n].length = len;
		sge[n].lkey = got == 4 ? lkey : m->mr ? m->mr->lkey : 0;
		n++;
		s = strchr(s, ',');
		s = s ? s + 1 : NULL;
	}
	return n;
}

/*
 * recv id= | srq= [wr=] [n=] [sge=]: posts n receives. From one receive to the next, wr grows by
 * 1, and the address of the first element grows by the length of this element.
 */
static int cmd_recv(void)
{
	struct ulp_conn *c = ulp_str("srq") ? NULL : ulp_conn_of(ulp_num("id", 0));
	struct ibv_srq *srq = ulp_str("srq") ? ulp_srq(ulp_num("srq", 0)) : NULL;
	struct ibv_recv_wr wr = { .wr_id = ulp_num("wr", 0) }, *bad;
	uint64_t n = ulp_num("n", 1);
	struct ibv_sge sge[MAX_SGE];
	int rc;

	wr.sg_list = sge;
	wr.num_sge = sges(sge);
	if (wr.num_sge < 0 || (!srq && (!c || !c->qp)))
		return -1;
	for (; n; n--, wr.wr_id++) {
		rc = srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(c->qp, &wr, &bad);
		if (rc)
			return ulp_err(rc, "ibv_post_recv");
		if (wr.num_sge)
			sge[0].addr += sge[0].length;
	}
	return 0;
}

static const struct {
	const char *name;
	enum ibv_wr_opcode code;
} ops[] = {
	{ "write", IBV_WR_RDMA_WRITE },
	{ "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM },
	{ "send", IBV_WR_SEND },
	{ "send_imm", IBV_WR_SEND_WITH_IMM },
	{ "read", IBV_WR_RDMA_READ },
	{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP },
	{ "fadd", IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ "inv", IBV_WR_LOCAL_INV },
	{ "bind", IBV_WR_BIND_MW },
	{ "send_inv", IBV_WR_SEND_WITH_INV },
};

static int wr_op(struct ibv_send_wr *wr)
{
	const char *op = ulp_str("op");
	size_t i;

	for (i = 0; op && i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(op, ops[i].name))
			continue;
		wr->opcode = ops[i].code;
		return 0;
	}
	return ulp_err(EINVAL, "op");
}

static int wr_bind(struct ibv_send_wr *wr)
{
	struct ulp_mem *m = ulp_mem(ulp_num("mr", 0));
	struct ibv_mw *mw = ulp_mw(ulp_num("mw", 0));

	if (!m || !mw)
		return -1;
	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = ulp_num("rkey", ibv_inc_rkey(mw->rkey));
	wr->bind_mw.bind_info = (struct ibv_mw_bind_info) {
		.mr = m->mr,
		.addr = (uintptr_t)m->buf + ulp_num("off", 0),
		.length = ulp_num("len", m->len),
		.mw_access_flags = (ulp_has("access", 'w') ? IBV_ACCESS_REMOTE_WRITE : 0) |
				   (ulp_has("access", 'r') ? IBV_ACCESS_REMOTE_READ : 0) |
				   (ulp_has("access", 'a') ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
				   (ulp_has("access", 'z') ? IBV_ACCESS_ZERO_BASED : 0),
	};
	ulp_put(" stag=%u", wr->bind_mw.rkey);
	return 0;
}

static int wr_fill(struct ibv_send_wr *wr)
{
	if (wr_op(wr))
		return -1;
	wr->wr_id = ulp_num("wr", 0);
	wr->send_flags = (ulp_has("flags", 'u') ? 0 : IBV_SEND_SIGNALED) |
			 (ulp_has("flags", 's') ? IBV_SEND_SOLICITED : 0) |
			 (ulp_has("flags", 'f') ? IBV_SEND_FENCE : 0) |
			 (ulp_has("flags", 'i') ? IBV_SEND_INLINE : 0);
	if (wr->opcode == IBV_WR_BIND_MW)
		return wr_bind(wr);
	if (wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_SEND_WITH_INV)
		wr->invalidate_rkey = ulp_num("inv", 0);
	else
		wr->imm_data = htonl(ulp_num("imm", 0));
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = ulp_num("raddr", 0);
		wr->wr.atomic.rkey = ulp_num("stag", 0);
		wr->wr.atomic.compare_add = ulp_num("add", 0);
		wr->wr.atomic.swap = ulp_num("swap", 0);
	} else {
		wr->wr.rdma.remote_addr = ulp_num("raddr", 0);
		wr->wr.rdma.rkey = ulp_num("stag", 0);
	}
	return 0;
}

/* Binds a window. For windows of type 1 there is a separate function, ibv_bind_mw(). */
static int post_bind(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_mw_bind bind = {
		.wr_id = wr->wr_id,
		.send_flags = wr->send_flags,
		.bind_info = wr->bind_mw.bind_info,
	};
	struct ibv_mw *mw = wr->bind_mw.mw;
	struct ibv_send_wr *bad;
	int rc;

	if (mw->type == IBV_MW_TYPE_1)
		return ibv_bind_mw(qp, mw, &bind);
	rc = ibv_post_send(qp, wr, &bad);
	if (!rc)
		mw->rkey = wr->bind_mw.rkey;
	return rc;
}

/*
 * post id= op= [wr=] [n=] [sge=] [flags=usfi] [stag=] [raddr=] [imm=] [inv=] [add=] [swap=]
 * Posts n requests in one list; wr grows by 1 from one request to the next. op= is a name in ops.
 * Flags: u unsignaled, s solicited, f fence, i inline. For cas, add= is the value to compare.
 * The arguments of op=bind are mw= mr= [off=] [len=] [access=wraz] [rkey=]: stag=. A window of
 * type 1 always gets its next key.
 */
static int cmd_post(void)
{
	struct ulp_conn *c = ulp_conn_of(ulp_num("id", 0));
	struct ibv_send_wr *wr, *bad;
	uint64_t n = ulp_num("n", 1), i;
	struct ibv_sge sge[MAX_SGE];
	int rc;

	if (!c || !c->qp)
		return ulp_err(ENOENT, "qp");
	if (!n)
		return ulp_err(EINVAL, "n");
	wr = calloc(n, sizeof(*wr));
	if (!wr)
		return ulp_err(ENOMEM, "n");
	wr[0].sg_list = sge;
	wr[0].num_sge = sges(sge);
	if (wr[0].num_sge < 0 || wr_fill(&wr[0])) {
		free(wr);
		return -1;
	}
	for (i = 1; i < n; i++) {
		wr[i] = wr[0];
		wr[i].wr_id += i;
		wr[i].next = NULL;
		wr[i - 1].next = &wr[i];
	}
	rc = wr[0].opcode == IBV_WR_BIND_MW ? post_bind(c->qp, wr) : ibv_post_send(c->qp, wr, &bad);
	free(wr);
	return rc ? ulp_err(rc, "ibv_post_send") : 0;
}

/* Return: the time in nanoseconds, as Python's time.monotonic_ns() returns it */
static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/*
 * Return: the milliseconds of the clock that measures a wait of @ms. A wait of less than a second
 * is for an event that must not happen, as in patient_poll().
 */
static uint64_t wait_clock(uint64_t ms)
{
	return ms < 1000 ? now() / 1000000 : running_ms();
}

/*
 * poll [cq=] [n=] [ms=] [nap=]: wc=ID:STATUS:OPCODE:LENGTH:FLAGS:IMM-OR-STAG:QPN,... at=
 * Polls until there have been n completions, or until ms milliseconds have passed. Between two polls
 * the process sleeps for nap microseconds, or does not sleep if nap is 0. at: the time of the last
 * poll in nanoseconds.
 */
static int cmd_poll(void)
{
	uint64_t n = ulp_num("n", 1), ms = ulp_num("ms", 10000), at = 0, begin;
	struct timespec nap = { 0, ulp_num("nap", 500) * 1000 };
	struct ibv_cq *cq = ulp_cq(ulp_num("cq", 0));
	struct ibv_wc wc;
	int got;

	if (!cq)
		return -1;
	ulp_put(" wc=");
	begin = wait_clock(ms);
	while (n) {
		got = ibv_poll_cq(cq, 1, &wc);
		at = now();
		if (got < 0)
			return ulp_err(EIO, "ibv_poll_cq");
		if (got) {
			ulp_put("%llu:%d:%d:%u:%d:%u:%u,", (unsigned long long)wc.wr_id, wc.status,
				wc.opcode, wc.byte_len, wc.wc_flags,
				wc.wc_flags & IBV_WC_WITH_INV ? wc.invalidated_rkey : ntohl(wc.imm_data),
				wc.qp_num);
			n--;
			continue;
		}
		if (wait_clock(ms) - begin >= ms)
			break;
		if (nap.tv_nsec)
			nanosleep(&nap, NULL);
	}
	ulp_put(" at=%llu", (unsigned long long)at);
	return 0;
}

const struct ulp_command ulp_post_commands[] = {
	{ "recv", cmd_recv },
	{ "post", cmd_post },
	{ "poll", cmd_poll },
	{ }
};
