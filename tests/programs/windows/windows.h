/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_windows: tests memory windows. One process has both ends of each connection. The windows
 * belong to the far end, and the near end accesses memory through the windows.
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
#define ARENA	(16 * PAGE)	/* bytes of memory for regions and windows */
#define SOURCE	(2 * PAGE)	/* bytes of memory for the data of the near end's requests */
#define LEFT_BOUND	77	/* exit status of leave_bound() */
#define PAIRS	3		/* connections; the last one's far end belongs to bench.pd[1] */

struct bench {
	const char *address, *port;
	struct ibv_context *verbs;
	struct ibv_pd *pd[2];	/* the near ends belong to pd[0] */
	struct conn pair[PAIRS];
	uint8_t *arena, *source;
	struct ibv_mr *source_mr;
};

/* An access or another request of the near end */
struct request {
	enum ibv_wr_opcode op;
	uint32_t len;
	uint64_t addr;
	uint32_t rkey;	/* key for the access, or key to invalidate */
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
void test_list(struct bench *b);

#endif
