/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_queues: tests the completion queues of processes, and the extended verbs. One process has
 * both ends of each connection.
 */
#ifndef QUEUES_H
#define QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#include "cm.h"
#include "random.h"
#include "results.h"

struct link {
	const char *address;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
};

/* post.c */
int post_send(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, unsigned int flags,
	      struct ibv_sge *sge);
int post_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge *sge);

/* The tests */
void test_resize_rules(struct link *l);
void drop_ipc_lock(void);
void test_resize_limit(struct link *l);
void test_resize_events(struct link *l);
void test_resize_traffic(struct link *l, uint32_t resizes);
void test_times(struct link *l);
void test_overrun(struct link *l);
void test_vectors(struct link *l);
void test_refusals(struct link *l);
void test_queries(struct link *l);
void test_domains(struct link *l);
void test_wr_api(struct link *l);

#endif
