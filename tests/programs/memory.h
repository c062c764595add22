/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_memory: what regions of a process allow, and what becomes of them. One process has both
 * ends of each connection.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#define PAGE	4096
#define ARENA	(16 * PAGE)	/* octets that regions under test lie in */
#define SOURCE	(4 * PAGE)	/* octets that requests come from or go to */

/* A connection from @near to @far; requests under test go that way. */
struct pair {
	struct rdma_cm_id *near, *far;
	struct ibv_cq *cq;	/* of @near */
	struct ibv_cq *far_cq;
};

struct bench {
	const char *address;
	uint64_t seed;
	struct ibv_context *verbs;
	struct ibv_pd *pd[2];	/* @pd[0] is that of the queue pairs */
	struct pair pair;
	bool connected;
	uint8_t *source;	/* of SOURCE octets */
	struct ibv_mr *source_mr;
};

/* memory_main.c */
void die(const char *what) __attribute__((noreturn));
void report(bool good, const char *what);
void skip(const char *what, const char *why);
uint32_t below(struct bench *b, uint32_t n);
bool chance(struct bench *b, uint32_t percent);
void fill(struct bench *b, uint8_t *at, size_t len);
size_t pinned_pages(void);

/* memory_pair.c */
void bench_open(struct bench *b);
void bench_connect(struct bench *b);
void bench_disconnect(struct bench *b);
void bench_close(struct bench *b);
void bench_post(struct bench *b, enum ibv_wr_opcode op, uint32_t len, uint64_t addr, uint32_t rkey);
enum ibv_wc_status bench_reap(struct bench *b);
enum ibv_wc_status bench_do(struct bench *b, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
			    uint32_t rkey);

/* The tests */
void test_rereg_model(struct bench *b, uint32_t rounds);
void test_rereg_traffic(struct bench *b, uint32_t rounds);
void test_rereg_private(struct bench *b, const char *file);

#endif
