// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: connections of the process with itself, and functions that post requests. */
#include <errno.h>
#include <sys/mman.h>

#include "memory.h"

/* Opens the device, and registers the buffer b->source. */
void bench_open(struct bench *b)
{
	int i;

	b->verbs = cm_open(b->address, b->port);
	for (i = 0; i < 2; i++)
		b->pd[i] = ibv_alloc_pd(b->verbs);
	b->source = mmap(NULL, SOURCE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!b->pd[0] || !b->pd[1] || b->source == MAP_FAILED)
		die("resources");
	b->source_mr = ibv_reg_mr(b->pd[0], b->source, SOURCE, IBV_ACCESS_LOCAL_WRITE |
				  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!b->source_mr)
		die("ibv_reg_mr");
}

void bench_connect(struct bench *b)
{
	conn_open(&b->pair, b->pd[0], b->pd[0]);
}

void bench_close(struct bench *b)
{
	int i;

	conn_drop(&b->pair);
	ibv_dereg_mr(b->source_mr);
	for (i = 0; i < 2; i++)
		if (ibv_dealloc_pd(b->pd[i]))
			die("ibv_dealloc_pd");
	cm_close();
}

/*
 * Posts a request at the near end. The request uses the first @len bytes of b->source as local
 * memory.
 */
void bench_post(struct bench *b, enum ibv_wr_opcode op, uint32_t len, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)b->source, len, b->source_mr->lkey };

	post_request(b->pair.near->qp, op, &sge, addr, rkey);
}

enum ibv_wc_status bench_reap_from(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	reap(cq, &wc, 1);
	return wc.status;
}

enum ibv_wc_status bench_reap(struct bench *b)
{
	return bench_reap_from(b->pair.near_cq);
}

/*
 * Posts one request as bench_post(), and then a Read of zero bytes: when this Read completes, the
 * peer has placed the data of a Write. If the request fails, drops the connection. Return: the
 * status of the request.
 */
enum ibv_wc_status bench_do(struct bench *b, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
			    uint32_t rkey)
{
	enum ibv_wc_status status, behind;

	bench_connect(b);
	bench_post(b, op, len, addr, rkey);
	bench_post(b, IBV_WR_RDMA_READ, 0, 0, 0);
	status = bench_reap(b);
	behind = bench_reap(b);
	if (!status)
		status = behind;
	if (status)
		conn_drop(&b->pair);
	return status;
}

/*
 * The near end sends the first @len bytes of the region @mr, whose tagged offsets begin at 0. The
 * far end receives these bytes in b->source. Return: the status of the Send.
 */
enum ibv_wc_status bench_do_with(struct bench *b, const struct ibv_mr *mr, uint32_t len)
{
	struct ibv_sge from = { 0, len, mr->lkey };
	struct ibv_sge to = { (uintptr_t)b->source, len, b->source_mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1 }, *bad;
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	enum ibv_wc_status status;

	bench_connect(b);
	errno = ibv_post_recv(b->pair.far->qp, &recv, &bad_recv) ?: ibv_post_send(b->pair.near->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
	status = bench_reap(b);
	bench_reap_from(b->pair.far_cq);
	if (status)
		conn_drop(&b->pair);
	return status;
}
