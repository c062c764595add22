/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections from a process to itself, so that the process has both ends; and requests on these
 * connections.
 */
#ifndef CM_H
#define CM_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#define PATIENCE	60	/* seconds that a completion, or resolving an address, may take */

/**
 * struct conn - a connection from @near to @far
 * @near: the end that connects
 * @far: the end that accepts
 * @near_cq: completion queue of the near end, if conn_open() has created it
 * @far_cq: completion queue of the far end, if conn_open() has created it
 * @up: the connection exists
 */
struct conn {
	struct rdma_cm_id *near, *far;
	struct ibv_cq *near_cq, *far_cq;
	bool up;
};

/*
 * Listens at @address of a link. Return: the context of the link's device. ibv_get_async_event()
 * of this context does not block.
 */
struct ibv_context *cm_open(const char *address, const char *port);
/* Programs that this process executes inherit the connections of the last cm_open() */
void cm_inherit(void);
void cm_close(void);

/* Creates two queue pairs with the attributes @near and @far, and connects the queue pairs. */
void conn_make(struct conn *c, struct ibv_qp_init_attr_ex *near, struct ibv_qp_init_attr_ex *far);

/*
 * If @c is not up, connects two queue pairs in the protection domains @near and @far. Each queue
 * pair gets a new completion queue.
 */
void conn_open(struct conn *c, struct ibv_pd *near, struct ibv_pd *far);

/*
 * If @c is up, disconnects, acknowledges all asynchronous events of the device, and destroys both
 * queue pairs, their rdma_cm_ids, and the completion queues that conn_open() has created.
 */
void conn_drop(struct conn *c);

struct ibv_qp_init_attr_ex qp_attr(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth);
struct ibv_cq *cq_make(struct ibv_context *verbs, int cqe, struct ibv_comp_channel *channel);
void cq_drop(struct ibv_cq *cq);

/*
 * Posts one request.
 * @sge: memory of the request, or NULL
 * @addr: memory of the peer, if @op uses any
 * @rkey: key of that memory, or the key that the peer must invalidate
 */
void post_request(struct ibv_qp *qp, enum ibv_wr_opcode op, struct ibv_sge *sge, uint64_t addr,
		  uint32_t rkey);

/* Polls until @n completions have arrived. If some do not arrive in time, ends the program. */
void reap(struct ibv_cq *cq, struct ibv_wc *wc, int n);

#endif
