/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_windows: memory windows. One process has both ends of each connection: the windows belong
 * to the far end, and the accesses come from the near end.
 */
#ifndef WINDOWS_H
#define WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#include "cm.h"
#include "random.h"
#include "results.h"

#define PAGE	4096
#define ARENA	(16 * PAGE)	/* octets that regions and windows lie in */
#define SOURCE	(2 * PAGE)	/* octets that requests come from or go to */
#define LEFT_BOUND	77	/* status of a process of leave_bound() */
#define PAIRS	3		/* the last one's far end has the other domain */

struct bench {
	const char *address, *port;
	struct ibv_context *verbs;
	struct ibv_pd *pd[2];	/* @pd[0] is that of the near ends */
	struct conn pair[PAIRS];
	uint8_t *arena, *source;
	struct ibv_mr *source_mr;
};

/* One access, or another request, of the near end */
struct request {
	enum ibv_wr_opcode op;
	uint32_t len;
	uint64_t addr;
	uint32_t rkey;	/* or what to invalidate */
};

/* pair.c */
void bench_open(struct bench *b);
void bench_close(struct bench *b);
int pd_of(int pair);
void pair_connect(struct bench *b, int i);
void pair_drop(struct bench *b, int i);
int far_post(struct bench *b, int i, struct ibv_send_wr *wr);
enum ibv_wc_status far_do(struct bench *b, int i, struct ibv_send_wr *wr);
void far_receive(struct bench *b, int i);
void near_post(struct bench *b, int i, const struct request *r);
enum ibv_wc_status near_do(struct bench *b, int i, const struct request *r);
int far_event(struct bench *b, int i);
struct ibv_mr *region(struct bench *b, int pd, int access);
struct ibv_mw *window(struct bench *b, int pd, enum ibv_mw_type type);
struct ibv_send_wr bind_wr(struct ibv_mw *mw, struct ibv_mr *mr, void *at, uint64_t len, int access);
enum ibv_wc_status bind_do(struct bench *b, int i, struct ibv_mw *mw, struct ibv_mr *mr, void *at,
			   uint64_t len, int access);

/* The tests */
void leave_bound(struct bench *b);
void test_rules(struct bench *b);
void test_model(struct bench *b, uint32_t rounds);
void test_races(struct bench *b, uint32_t ms);
void test_cost(struct bench *b, uint32_t rounds);

#endif
