/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iwt_queues: completion queues of processes, and the extended verbs. One process has both ends of
 * each connection.
 */
#ifndef QUEUES_H
#define QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#define PATIENCE	60	/* seconds until something that has to happen does not */

struct link {
	const char *address;
	uint64_t seed;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
};

/* A connection. Its queue pairs are made with @near_attr and @far_attr. */
struct conn {
	struct rdma_cm_id *near, *far;
};

/* queues_main.c */
void die(const char *what) __attribute__((noreturn));
bool report(bool good, const char *what, ...) __attribute__((format(printf, 2, 3)));
void skip(const char *what, const char *why);
uint32_t below(struct link *l, uint32_t n);
uint64_t now_s(void);

/* queues_conn.c */
void link_open(struct link *l);
void link_close(struct link *l);
struct ibv_qp_init_attr_ex qp_attr(struct link *l, struct ibv_cq *cq, uint32_t depth);
void conn_make(struct link *l, struct conn *c, struct ibv_qp_init_attr_ex *near_attr,
	       struct ibv_qp_init_attr_ex *far_attr);
void conn_drop(struct link *l, struct conn *c);
struct ibv_cq *cq_make(struct link *l, int cqe, struct ibv_comp_channel *channel);
void cq_drop(struct ibv_cq *cq);
void reap(struct ibv_cq *cq, struct ibv_wc *wc, int n);
int post_send(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, unsigned int flags,
	      struct ibv_sge *sge);
int post_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge *sge);
size_t pinned_pages(void);

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
