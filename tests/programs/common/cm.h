/* SPDX-License-Identifier: GPL-2.0 */
/* Connections of a process with itself, which has both ends of each; and their requests. */
#ifndef CM_H
#define CM_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#define PATIENCE	60	/* seconds until something that has to happen does not */

/**
 * struct conn - a connection from @near to @far
 * @near: the end that connects
 * @far: the end that accepts
 * @near_cq: the near end's own completion queue, if conn_open() has made it
 * @far_cq: the same for the far end
 * @up: there is one
 */
struct conn {
	struct rdma_cm_id *near, *far;
	struct ibv_cq *near_cq, *far_cq;
	bool up;
};

/* Listens at @address, which a link has. Return: the device, whose events don't block. */
struct ibv_context *cm_open(const char *address, const char *port);
void cm_close(void);

/* Connects queue pairs that are made with these attributes. */
void conn_make(struct conn *c, struct ibv_qp_init_attr_ex *near, struct ibv_qp_init_attr_ex *far);

/* Connects queue pairs of these domains, with completion queues of their own, if @c is not up. */
void conn_open(struct conn *c, struct ibv_pd *near, struct ibv_pd *far);

/* If @c is up, ends it, acknowledges all events of the device, and destroys both queue pairs. */
void conn_drop(struct conn *c);

struct ibv_qp_init_attr_ex qp_attr(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth);
struct ibv_cq *cq_make(struct ibv_context *verbs, int cqe, struct ibv_comp_channel *channel);
void cq_drop(struct ibv_cq *cq);

/*
 * Posts one request.
 * @sge: its memory, or NULL
 * @addr: memory of the peer, if @op names some
 * @rkey: of that memory, or what the peer is to invalidate
 */
void post_request(struct ibv_qp *qp, enum ibv_wr_opcode op, struct ibv_sge *sge, uint64_t addr,
		  uint32_t rkey);

/* Takes @n completions, which have to come. */
void reap(struct ibv_cq *cq, struct ibv_wc *wc, int n);

#endif
