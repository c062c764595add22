/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef IW_TCP_H
#define IW_TCP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>
#include <ccan/container_of.h>

#include "ring.h"

struct iwt_device {
	struct verbs_device vdev;
};

struct iwt_context {
	struct verbs_context vctx;
	/* bits of enum iwt_feature that both the kernel and the provider support */
	uint64_t features;
};

/* A thread domain: its objects are used by one thread at a time. */
struct iwt_td {
	struct ibv_td td;
	/* number of parent domains that use this thread domain */
	uint32_t parents;
};

/* A protection domain, or a parent domain, which refers to a protection domain. */
struct iwt_pd {
	struct ibv_pd pd;
	/* number of parent domains that refer to this protection domain */
	uint32_t parents;
	/* parent domain: its protection domain; protection domain: NULL */
	struct iwt_pd *of;
	/* parent domain: its thread domain, or NULL */
	struct iwt_td *td;
};

/*
 * A send queue, receive queue or shared receive queue. The lock guards all fields. The entries
 * from prod up to next are being written and do not yet belong to the kernel. If single_threaded
 * is set, because of a thread domain, the lock is not used.
 */
struct iwt_wq {
	struct iwt_ring ring;
	pthread_spinlock_t lock;
	bool single_threaded;
	uint32_t prod;
	uint32_t next;
	/* value of the kernel's index cons when it was last read */
	uint32_t cons;
	uint32_t max_sge;
};

/* Result of iwt_wq_publish(): what the caller must do after it has unlocked the queue. */
enum iwt_news {
	IWT_NEWS_NONE,		/* nothing to do: no entry was passed to the kernel */
	IWT_NEWS_QUIET,		/* no doorbell: the kernel polls, or the post is deferred */
	IWT_NEWS_RING,		/* ring the doorbell */
};

struct iwt_qp {
	struct verbs_qp vqp;
	struct iwt_wq sq;
	struct iwt_wq rq;
	uint32_t max_inline;
	/* numbers of this queue pair's bits in both completion queues: see iwt_create_qp_resp */
	uint32_t send_bit;
	uint32_t recv_bit;
	/* features of the context: bits of enum iwt_feature */
	uint64_t features;
	bool sig_all;

	/* current request, or NULL; valid from wr_start to wr_complete or wr_abort */
	struct iwt_send_wqe *wqe;
	/* errno value that wr_complete returns, or 0; valid from wr_start to wr_complete */
	int wr_err;
};

/* The fields of a completion for which the kernel must record the time. */
#define IWT_WC_TIMES	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |	\
			 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/*
 * A thread that resizes the queue holds the mutex @change. While @moving is set, the kernel moves
 * the queue to another ring: a thread that posts must first wait until @change is free. The lock
 * of @rq guards @moving.
 */
struct iwt_srq {
	struct verbs_srq vsrq;
	struct iwt_wq rq;
	pthread_mutex_t change;
	bool moving;
};

/* The lock guards ring, cons, polled and cqe; if single_threaded is set, the lock is not used. */
struct iwt_cq {
	struct verbs_cq vcq;
	struct iwt_ring ring;
	pthread_spinlock_t lock;
	bool single_threaded;
	uint32_t cons;
	/* number of posts without a doorbell that are not flushed; any thread may increment it */
	uint32_t unflushed;
	/* bits of the queue pairs with such posts, shared with the kernel, which clears bits */
	uint32_t *posted;
	uint32_t posted_bits;

	/* index after the available completions; valid from start_poll to end_poll */
	uint32_t polled;
	/* current completion; valid from start_poll to end_poll, else NULL */
	const struct iwt_cqe *cqe;

	/* serializes resizes; guards the fields below */
	pthread_mutex_t resizing;
	/* the entries with which the queue was created, and their number */
	uint8_t *first_entries;
	uint32_t first_num;
	/* mapping of the entries in use, if first_entries are not in use */
	struct iwt_map more;
	/* result of the last call of IWT_METHOD_CQ_RESIZED: 0 or an errno value */
	int untold;
	/* flags of the last call of IWT_METHOD_CQ_RESIZED */
	uint32_t untold_flags;
};

static inline struct iwt_context *to_iwt_context(struct ibv_context *context)
{
	return container_of(context, struct iwt_context, vctx.context);
}

static inline struct iwt_device *to_iwt_device(struct verbs_device *vdev)
{
	return container_of(vdev, struct iwt_device, vdev);
}

static inline struct iwt_pd *to_iwt_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct iwt_pd, pd);
}

static inline struct iwt_td *to_iwt_td(struct ibv_td *td)
{
	return container_of(td, struct iwt_td, td);
}

static inline struct iwt_qp *to_iwt_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct iwt_qp, vqp.qp);
}

static inline struct iwt_qp *to_iwt_qp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct iwt_qp, vqp.qp_ex);
}

static inline struct iwt_srq *to_iwt_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct iwt_srq, vsrq.srq);
}

static inline struct iwt_cq *to_iwt_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct iwt_cq, vcq.cq);
}

static inline struct iwt_cq *to_iwt_cq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct iwt_cq, vcq.cq_ex);
}

/* iw_tcp.c */
/* Does this provider drive @device? */
bool iwt_is_iw_tcp(struct ibv_device *device);

/* pd.c */
struct ibv_pd *iwt_alloc_pd(struct ibv_context *context);
int iwt_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *iwt_alloc_td(struct ibv_context *context,
			    struct ibv_td_init_attr *attr);
int iwt_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *
iwt_alloc_parent_domain(struct ibv_context *context,
			struct ibv_parent_domain_init_attr *attr);
/* Is @pd a parent domain, not a protection domain? */
bool iwt_is_parent_domain(struct ibv_pd *pd);
/* Does @pd have a thread domain, so that only one thread at a time uses its objects? */
bool iwt_pd_single_threaded(struct ibv_pd *pd);

/* mr.c */
struct ibv_mr *iwt_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t hca_va, int access);
int iwt_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		  uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge);
struct ibv_mr *iwt_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access);
int iwt_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access);
int iwt_dereg_mr(struct verbs_mr *vmr);

/* mw.c */
struct ibv_mw *iwt_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int iwt_dealloc_mw(struct ibv_mw *mw);
int iwt_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		struct ibv_mw_bind *mw_bind);

/* cq.c */
struct ibv_cq *iwt_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel,
			     int comp_vector);
struct iwt_cq *iwt_cq_new(struct ibv_context *context,
			  const struct ibv_cq_init_attr_ex *attr);
int iwt_destroy_cq(struct ibv_cq *ibcq);
int iwt_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int iwt_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int iwt_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void iwt_cq_lock(struct iwt_cq *cq);
void iwt_cq_unlock(struct iwt_cq *cq);
int iwt_cq_available(struct iwt_cq *cq, uint32_t cons, uint32_t *prod);
void iwt_cq_clean(struct iwt_cq *cq, uint32_t qp_num);
void iwt_cq_remind(struct iwt_cq *cq);
/* Returns true if it has called the kernel. */
bool iwt_cq_flush(struct iwt_cq *cq);
void iwt_cq_defer(struct iwt_cq *cq, uint32_t bit);
enum ibv_wc_opcode iwt_cqe_opcode(const struct iwt_cqe *cqe);
unsigned int iwt_cqe_flags(const struct iwt_cqe *cqe);

/* cq_resize.c */
int iwt_resize_cq(struct ibv_cq *ibcq, int cqe);

/* cq_ex.c */
struct ibv_cq_ex *iwt_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr);

/* srq.c */
struct ibv_srq *iwt_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr);
int iwt_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask);
int iwt_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int iwt_destroy_srq(struct ibv_srq *ibsrq);
int iwt_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);

/* qp.c */
int iwt_wq_init(struct iwt_wq *wq, int fd, const struct iwt_ring_desc *desc,
		uint32_t max_sge);
void iwt_wq_fini(struct iwt_wq *wq);
struct ibv_qp *iwt_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *iwt_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr);
int iwt_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr);
int iwt_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		  int attr_mask);
int iwt_destroy_qp(struct ibv_qp *ibqp);

/* post.c */
int iwt_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int iwt_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
void *iwt_wq_claim(struct iwt_wq *wq);
int iwt_wq_put_recvs(struct iwt_wq *wq, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr);
enum iwt_news iwt_wq_publish(struct iwt_wq *wq);
int iwt_sq_tell(struct iwt_qp *qp, enum iwt_news news);
int iwt_qp_doorbell(struct iwt_qp *qp);
void iwt_wqe_start(const struct iwt_qp *qp, struct iwt_send_wqe *wqe,
		   enum iwt_wr_opcode opcode, uint64_t wr_id,
		   unsigned int send_flags);
int iwt_wqe_set_inline(const struct iwt_qp *qp, struct iwt_send_wqe *wqe,
		       const void *addr, size_t length);
int iwt_wqe_set_sge(const struct iwt_qp *qp, struct iwt_send_wqe *wqe,
		    const struct ibv_sge *sge, size_t num_sge);
void iwt_wqe_set_atomic(struct iwt_send_wqe *wqe, uint64_t data,
			uint64_t compare);
int iwt_wqe_set_bind(struct iwt_send_wqe *wqe, const struct ibv_mw *mw,
		     uint32_t rkey, const struct ibv_mw_bind_info *info);

static inline void iwt_wq_lock(struct iwt_wq *wq)
{
	if (!wq->single_threaded)
		pthread_spin_lock(&wq->lock);
}

static inline void iwt_wq_unlock(struct iwt_wq *wq)
{
	if (!wq->single_threaded)
		pthread_spin_unlock(&wq->lock);
}

/* wr.c */
int iwt_qp_set_wr_ops(struct iwt_qp *qp, uint64_t send_ops);

#endif
