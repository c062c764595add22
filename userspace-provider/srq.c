// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creating, posting to, modifying, querying and destroying shared receive queues. */

#include <errno.h>
#include <stdlib.h>

#include <infiniband/cmd_ioctl.h>
#include <util/compiler.h>

#include "iw_tcp.h"
#include "iw_tcp_abi.h"

/* Sets @desc from the kernel's response. Returns 0, or EPROTO if @max_sge is invalid. */
static int iwt_srq_desc(struct iwt_ring_desc *desc,
			const struct iwt_create_srq_resp *resp,
			uint32_t max_sge)
{
	if (max_sge > IWT_RING_MAX_STRIDE)
		return EPROTO;

	*desc = (struct iwt_ring_desc) {
		.offset = resp->mmap_offset,
		.length = resp->mmap_length,
		.num = resp->entries,
		.stride = resp->stride,
		.min_stride = sizeof(struct iwt_recv_wqe) +
			      max_sge * sizeof(struct iwt_sge),
	};

	return 0;
}

static int iwt_srq_map(struct iwt_srq *srq, int fd,
		       const struct iwt_create_srq_resp *resp,
		       uint32_t max_sge)
{
	struct iwt_ring_desc desc;
	int ret;

	ret = iwt_srq_desc(&desc, resp, max_sge);
	if (ret)
		return ret;
	/* iwt_wq_init() accepts 0 entries, for the queues of a queue pair */
	if (!desc.num)
		return EPROTO;

	ret = iwt_wq_init(&srq->rq, fd, &desc, max_sge);
	if (ret)
		iwt_wq_fini(&srq->rq);

	return ret;
}

/* Creates a queue of the basic type; libibverbs rejects all other types. */
struct ibv_srq *iwt_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	struct iwt_cmd_create_srq_resp resp = {};
	struct iwt_cmd_create_srq cmd = {};
	struct iwt_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq) {
		errno = ENOMEM;
		return NULL;
	}

	ret = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;

	ret = iwt_srq_map(srq, pd->context->cmd_fd, &resp.drv_payload,
			  attr->attr.max_sge);
	if (ret)
		goto err_destroy;
	pthread_mutex_init(&srq->change, NULL);

	return &srq->vsrq.srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_free:
	free(srq);
	errno = ret;
	return NULL;
}

/* Allocates and maps a ring for another size. The queue does not use this ring yet. */
static int iwt_srq_new_ring(struct iwt_srq *srq, uint32_t max_wr,
			    struct iwt_ring *ring)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_SRQ,
			       IWT_METHOD_SRQ_NEW_RING, 3);
	struct ibv_srq *ibsrq = &srq->vsrq.srq;
	struct iwt_create_srq_resp resp = {};
	struct iwt_ring_desc desc;
	int ret;

	fill_attr_in_obj(cmd, IWT_ATTR_SRQ, ibsrq->handle);
	fill_attr_in_uint32(cmd, IWT_ATTR_SRQ_MAX_WR, max_wr);
	fill_attr_out_ptr(cmd, IWT_ATTR_SRQ_RING, &resp);
	ret = execute_ioctl(ibsrq->context, cmd);
	if (!ret)
		ret = iwt_srq_desc(&desc, &resp, srq->rq.max_sge);
	if (!ret)
		ret = iwt_ring_map(ring, ibsrq->context->cmd_fd, &desc);

	return ret;
}

/* @moving: true: from now on threads that post must wait; false: these threads may continue. */
static void iwt_srq_set_moving(struct iwt_srq *srq, bool moving)
{
	pthread_spin_lock(&srq->rq.lock);
	srq->moving = moving;
	pthread_spin_unlock(&srq->rq.lock);
}

static int iwt_srq_command(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
			   int mask)
{
	struct ibv_modify_srq cmd = {};

	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
}

/*
 * Maps the new ring before the kernel moves the queue to this ring: no step after the move can
 * fail. The indices do not change. The caller holds srq->change.
 */
static int iwt_srq_resize(struct iwt_srq *srq, struct ibv_srq_attr *attr,
			  int mask)
{
	struct iwt_ring ring = {};
	struct iwt_ring old;
	int ret;

	ret = iwt_srq_new_ring(srq, attr->max_wr, &ring);
	if (ret)
		return ret;

	iwt_srq_set_moving(srq, true);
	ret = iwt_srq_command(&srq->vsrq.srq, attr, mask);
	if (!ret) {
		old = srq->rq.ring;
		srq->rq.ring = ring;
		ring = old;
	}
	iwt_srq_set_moving(srq, false);
	iwt_ring_unmap(&ring);

	return ret;
}

int iwt_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct iwt_srq *srq = to_iwt_srq(ibsrq);
	int ret;

	if (!(mask & IBV_SRQ_MAX_WR))
		return iwt_srq_command(ibsrq, attr, mask);

	pthread_mutex_lock(&srq->change);
	ret = iwt_srq_resize(srq, attr, mask);
	pthread_mutex_unlock(&srq->change);

	return ret;
}

int iwt_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int iwt_destroy_srq(struct ibv_srq *ibsrq)
{
	struct iwt_srq *srq = to_iwt_srq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;

	iwt_wq_fini(&srq->rq);
	pthread_mutex_destroy(&srq->change);
	free(srq);

	return 0;
}

/*
 * Acquires the lock for posting. The lock is not held while the kernel moves the queue, because
 * the move may take a long time.
 */
static void iwt_srq_lock(struct iwt_srq *srq)
{
	pthread_spin_lock(&srq->rq.lock);
	while (unlikely(srq->moving)) {
		pthread_spin_unlock(&srq->rq.lock);
		pthread_mutex_lock(&srq->change);
		pthread_mutex_unlock(&srq->change);
		pthread_spin_lock(&srq->rq.lock);
	}
}

/* Rings the doorbell: the kernel wakes streams with a message that waits for a receive. */
static int iwt_srq_doorbell(struct iwt_srq *srq)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_SRQ, IWT_METHOD_SRQ_DOORBELL,
			       1);

	fill_attr_in_obj(cmd, IWT_ATTR_SRQ, srq->vsrq.srq.handle);

	return execute_ioctl(srq->vsrq.srq.context, cmd);
}

/*
 * Reports errors as iwt_post_send() does. The kernel reads the ring when a message arrives, and
 * requires the doorbell only if a message waits for a receive.
 */
int iwt_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct iwt_srq *srq = to_iwt_srq(ibsrq);
	struct ibv_recv_wr *first = wr;
	enum iwt_news news;
	int ret;
	int err;

	iwt_srq_lock(srq);
	ret = iwt_wq_put_recvs(&srq->rq, wr, bad_wr);
	news = iwt_wq_publish(&srq->rq);
	pthread_spin_unlock(&srq->rq.lock);

	err = news == IWT_NEWS_RING ? iwt_srq_doorbell(srq) : 0;
	if (unlikely(err)) {
		*bad_wr = first;
		ret = err;
	}

	return ret;
}
