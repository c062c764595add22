// SPDX-License-Identifier: GPL-2.0
/* iwt_memory: runs requests of seven kinds on a region, and compares the memory with a model. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

/* A tagged offset that is far away from all addresses of mapped memory */
#define SOME_IOVA	0x7000123450000000ull

void any_wrong(struct any *a, const char *what)
{
	if (!a->wrong[0])
		snprintf(a->wrong, sizeof(a->wrong), "%s: %s, octet %zu, %u octets, errno %d", a->name, what,
			 a->off, a->n, errno);
}

/* Return: the tagged offset at which the operation begins */
static uint64_t at(const struct any *a)
{
	return a->iova + a->off;
}

static void post_recv(struct ibv_qp *qp, uint64_t addr, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { addr, len, lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

static void post_send(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t addr, uint32_t len, uint32_t lkey,
		      uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = { addr, len, lkey };

	post_request(qp, op, &sge, remote, rkey);
}

static void done(struct any *a, struct ibv_cq *cq, const char *what)
{
	enum ibv_wc_status status = bench_reap_from(cq);

	if (status) {
		any_wrong(a, what);
		printf("# %s: %s\n", what, ibv_wc_status_str(status));
	}
}

/* The near end sends the buffer b->source, and the far end receives the message in the region. */
static void send_into(struct bench *b, struct any *a)
{
	fill(b->source, a->n);
	post_recv(b->pair.far->qp, at(a), a->n, a->mr->lkey);
	post_send(b->pair.near->qp, IBV_WR_SEND, (uintptr_t)b->source, a->n, b->source_mr->lkey, 0, 0);
	done(a, b->pair.near_cq, "a Send");
	done(a, b->pair.far_cq, "a receive");
	memcpy(a->want + a->off, b->source, a->n);
}

static void send_from(struct bench *b, struct any *a)
{
	memset(b->source, 0, a->n);
	post_recv(b->pair.near->qp, (uintptr_t)b->source, a->n, b->source_mr->lkey);
	post_send(b->pair.far->qp, IBV_WR_SEND, at(a), a->n, a->mr->lkey, 0, 0);
	done(a, b->pair.far_cq, "a Send of the region");
	done(a, b->pair.near_cq, "a receive of the source");
	if (memcmp(b->source, a->want + a->off, a->n))
		any_wrong(a, "the sent octets differ");
}

/* The far end reads the buffer b->source into the region. */
static void read_into(struct bench *b, struct any *a)
{
	fill(b->source, a->n);
	post_send(b->pair.far->qp, IBV_WR_RDMA_READ, at(a), a->n, a->mr->lkey, (uintptr_t)b->source,
		  b->source_mr->rkey);
	done(a, b->pair.far_cq, "a Read into the region");
	memcpy(a->want + a->off, b->source, a->n);
}

static void write_from(struct bench *b, struct any *a)
{
	memset(b->source, 0, a->n);
	post_send(b->pair.far->qp, IBV_WR_RDMA_WRITE, at(a), a->n, a->mr->lkey, (uintptr_t)b->source,
		  b->source_mr->rkey);
	post_send(b->pair.far->qp, IBV_WR_RDMA_READ, 0, 0, 0, 0, 0);
	done(a, b->pair.far_cq, "a Write of the region");
	done(a, b->pair.far_cq, "a Read after the Write");
	if (memcmp(b->source, a->want + a->off, a->n))
		any_wrong(a, "the written octets differ");
}

static void by_peer(struct bench *b, struct any *a, enum ibv_wr_opcode op)
{
	uint64_t word, found;

	if (op == IBV_WR_RDMA_WRITE)
		fill(b->source, a->n);
	if (bench_do(b, op, a->n, at(a), a->mr->rkey)) {
		any_wrong(a, "an access of the peer has another result");
		return;
	}
	switch (op) {
	case IBV_WR_RDMA_WRITE:
		memcpy(a->want + a->off, b->source, a->n);
		break;
	case IBV_WR_RDMA_READ:
		if (memcmp(b->source, a->want + a->off, a->n))
			any_wrong(a, "the octets read differ");
		break;
	default:
		memcpy(&word, a->want + a->off, 8);
		memcpy(&found, b->source, 8);
		if (word != found)
			any_wrong(a, "an atomic operation returned another value");
		word++;
		memcpy(a->want + a->off, &word, 8);
	}
}

/*
 * Chooses the offset and the length of an operation. An atomic operation needs an aligned
 * address.
 */
static void choose(struct bench *b, struct any *a, bool atomic)
{
	a->n = atomic ? 8 : 1 + below(chance(20) ? 64 : SOURCE);
	if (a->n > a->len)
		a->n = a->len;
	a->off = below(a->len - a->n + 1);
	if (atomic) {
		a->off = a->off / 8 * 8 + (8 - (uintptr_t)a->mem % 8) % 8;
		if (a->off + 8 > a->len)
			a->off -= 8;
	}
}

/*
 * Runs a random operation on the region. If the operation writes to the region, updates the
 * model; if not, compares the transferred data with the model.
 */
void any_access(struct bench *b, struct any *a)
{
	uint32_t op = below(a->no_atomics ? 6 : 7);

	bench_connect(b);
	choose(b, a, op == 6);
	switch (op) {
	case 0: send_into(b, a); break;
	case 1: send_from(b, a); break;
	case 2: read_into(b, a); break;
	case 3: write_from(b, a); break;
	case 4: by_peer(b, a, IBV_WR_RDMA_WRITE); break;
	case 5: by_peer(b, a, IBV_WR_RDMA_READ); break;
	case 6: by_peer(b, a, IBV_WR_ATOMIC_FETCH_AND_ADD); break;
	}
}

/*
 * Chooses offset and length of a region in @len bytes of memory: the offset is a multiple of 16,
 * and the length is at least 32 bytes.
 */
void any_part(struct bench *b, struct any *a, size_t len)
{
	a->start = below(len - 32) / 16 * 16;
	a->len = 32 + below(len - a->start - 32 + 1);
}

/*
 * Return: a tagged offset for a region at the address @start, at random: the offset of @start in
 * its page, or @start itself, or a tagged offset far from @start
 */
uint64_t any_iova(struct bench *b, uint64_t start)
{
	switch (below(3)) {
	case 0: return start % PAGE;
	case 1: return start;
	}
	return SOME_IOVA + start % PAGE;
}
