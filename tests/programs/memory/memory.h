/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_memory: tests memory regions of a process: the rights of regions, their contents after
 * requests of several kinds, reregistration, regions of dma-bufs, and on-demand paging. One
 * process has both ends of each connection.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#include "cm.h"
#include "random.h"
#include "results.h"

#define PAGE	((size_t)sysconf(_SC_PAGESIZE))	/* 4 KiB to 64 KiB */
#define ARENA	(16 * PAGE)	/* bytes of memory that contains the region under test */
#define ARENA_MAX	(16 * 65536)	/* maximum of ARENA */
#define SOURCE	(4 * PAGE)	/* bytes of the buffer @source of struct bench */

/*
 * The connection of the tests. A request transfers data between a region under test and @source,
 * a registered and pinned buffer. Mostly the near end posts the request, and the local memory of
 * the request is @source.
 */
struct bench {
	const char *address, *port;
	struct ibv_context *verbs;
	struct ibv_pd *pd[2];	/* the queue pairs belong to @pd[0] */
	struct conn pair;
	uint8_t *source;	/* SOURCE bytes */
	struct ibv_mr *source_mr;
};

/* A region under test, and a model of its memory */
struct any {
	const char *name;
	uint8_t *arena, *model;	/* memory around the region; expected contents of @arena */
	size_t start;		/* offset of the region in @arena and @model */
	struct ibv_mr *mr;
	uint64_t iova;
	uint32_t len;
	uint8_t *mem, *want;	/* start of the region in @arena and in @model */
	size_t off;		/* offset of the last operation in the region */
	uint32_t n;		/* number of bytes of the last operation */
	char wrong[200];
	bool no_atomics;	/* the region has no right for atomic operations */
};

/* pair.c */
void bench_open(struct bench *b);
void bench_connect(struct bench *b);
void bench_close(struct bench *b);
void bench_post(struct bench *b, enum ibv_wr_opcode op, uint32_t len, uint64_t addr, uint32_t rkey);
enum ibv_wc_status bench_reap(struct bench *b);
enum ibv_wc_status bench_reap_from(struct ibv_cq *cq);
enum ibv_wc_status bench_do(struct bench *b, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
			    uint32_t rkey);

enum ibv_wc_status bench_do_with(struct bench *b, const struct ibv_mr *mr, uint32_t len);

/* any.c */
void any_wrong(struct any *a, const char *what);
void any_access(struct bench *b, struct any *a);
void any_part(struct bench *b, struct any *a, size_t len);
uint64_t any_iova(struct bench *b, uint64_t start);

/* The tests */
void test_rereg_model(struct bench *b, uint32_t rounds);
void test_rereg_traffic(struct bench *b, uint32_t rounds);
void test_rereg_private(struct bench *b, const char *file);
void test_dmabuf(struct bench *b, uint32_t rounds);
void test_odp(struct bench *b, uint32_t rounds);
void test_odp_kill(struct bench *b);
void test_odp_charge(struct bench *b, const char *stat);
void test_odp_wait(struct bench *b, const char *other, const char *what);
void test_odp_cost(struct bench *b, const char *dir);
void test_odp_advice(struct bench *b);
void test_odp_advise(struct bench *b);
void test_odp_file(struct bench *b, const char *file);
void test_odp_many(struct bench *b);
void test_odp_twice(struct bench *b, uint32_t rounds);
void test_hold(struct bench *b);

#endif
