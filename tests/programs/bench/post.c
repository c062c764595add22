// SPDX-License-Identifier: GPL-2.0
/* Part of iwt_bench: posts work requests, and counts them. */
#include <string.h>

#include "bench.h"

void *bench_src(struct bench *b, unsigned int index)
{
	return b->buf + BENCH_CTL + index % b->slots * b->slot;
}

/* bench_sink - returns the offset of the slot that the peer of connection @index writes to */
size_t bench_sink(struct bench *b, unsigned int index)
{
	return BENCH_CTL + (b->slots + index % b->slots) * b->slot;
}

static uint64_t wr_id(const struct bench_conn *c, unsigned int n)
{
	return (uint64_t)c->index << 32 | n;
}

void bench_recv(struct bench *b, struct bench_conn *c)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b->buf + bench_sink(b, c->index),
		.length = b->o.size,
		.lkey = b->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = wr_id(c, 0), .sg_list = &sge, .num_sge = 1 }, *bad;

	if (b->srq ? ibv_post_srq_recv(b->srq, &wr, &bad) : ibv_post_recv(c->qp, &wr, &bad))
		bench_die("ibv_post_recv");
}

/*
 * bench_conn_of - finds the connection of a completion. The wr_id of a shared receive does not
 * contain the connection, because any queue pair may use the receive.
 */
struct bench_conn *bench_conn_of(struct bench *b, const struct ibv_wc *wc)
{
	struct bench_conn *c = &b->conn[wc->wr_id >> 32];

	if (!b->srq || !(wc->opcode & IBV_WC_RECV))
		return c;
	for (c = b->conn; c->qp->qp_num != wc->qp_num; c++)
		;
	return c;
}

/*
 * The wr_id of a signalled request contains the number of requests that its completion reports:
 * the request, and the unsignalled requests before it.
 */
static void post(struct bench_conn *c, struct ibv_send_wr *wr, bool signal)
{
	struct ibv_send_wr *bad;

	c->inflight++;
	c->unsignalled++;
	if (signal) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		wr->wr_id = wr_id(c, c->unsignalled);
		c->unsignalled = 0;
	}
	if (ibv_post_send(c->qp, wr, &bad))
		bench_die("ibv_post_send");
}

/* bench_data - posts one message, whose operation and size are options of the program */
void bench_data(struct bench *b, struct bench_conn *c, bool signal)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[BENCH_WRITE] = IBV_WR_RDMA_WRITE,
		[BENCH_READ] = IBV_WR_RDMA_READ,
		[BENCH_SEND] = IBV_WR_SEND,
		[BENCH_ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_sge sge = {
		.addr = (uintptr_t)bench_src(b, c->index),
		.length = b->o.size,
		.lkey = b->mr->lkey,
	};
	struct ibv_send_wr wr = { .opcode = opcodes[b->o.op], .sg_list = &sge, .num_sge = 1 };

	if (b->o.op == BENCH_ATOMIC) {
		wr.wr.atomic.remote_addr = c->raddr + 8;
		wr.wr.atomic.rkey = c->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = c->raddr + bench_sink(b, c->index);
		wr.wr.rdma.rkey = c->rkey;
	}
	if (b->o.mode == BENCH_LAT && b->o.size <= BENCH_INLINE &&
	    (b->o.op == BENCH_WRITE || b->o.op == BENCH_SEND))
		wr.send_flags = IBV_SEND_INLINE;
	post(c, &wr, signal);
}

/*
 * bench_tell - posts a Send of @len bytes: 0 bytes for an end, 1 byte for a credit, 8 bytes behind
 * a Write of a flow with a gap
 */
void bench_tell(struct bench *b, struct bench_conn *c, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)b->buf, .length = len, .lkey = b->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = !!len };

	post(c, &wr, true);
}

/* bench_put - writes the byte @value to offset 0 of the peer's memory, as inline data */
void bench_put(struct bench *b, struct bench_conn *c, unsigned char value)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&value, .length = 1 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_INLINE,
		.wr.rdma = { .remote_addr = c->raddr, .rkey = c->rkey },
	};

	post(c, &wr, true);
}

/* Stores @word at offset @from of this end's memory, and writes it to offset @to of the peer's. */
static void write_word(struct bench *b, struct bench_conn *c, unsigned int from, unsigned int to, uint64_t word)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b->buf + from, .length = 8, .lkey = b->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = c->raddr + to, .rkey = c->rkey },
	};

	memcpy(b->buf + from, &word, 8);
	post(c, &wr, false);
}

/* bench_report - tells the peer the number of this end's messages */
void bench_report(struct bench *b, struct bench_conn *c, uint64_t messages)
{
	write_word(b, c, 16, 0, messages);
}

/* bench_due - tells the peer the time at which this end's first message is due */
void bench_due(struct bench *b, struct bench_conn *c, uint64_t ns)
{
	write_word(b, c, 32, 24, ns);
}

/* bench_retire - subtracts the number in the wr_id of a send completion from "inflight" */
void bench_retire(struct bench *b, const struct ibv_wc *wc)
{
	b->conn[wc->wr_id >> 32].inflight -= (uint32_t)wc->wr_id;
}
