/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs: ib_device operations. Each function checks and translates its arguments, and calls
 * the lower layers.
 */
#ifndef IWT_VERBS_H
#define IWT_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/iw_tcp-abi.h>

struct ib_dmah;

struct iwt_pd {
	struct ib_pd ibpd;
};

struct iwt_ucontext {
	struct ib_ucontext ibuc;
	u64 features;	/* enum iwt_feature bits that both driver and provider support */
};

/* verbs_dev.c */
int iwt_udata_known(struct ib_udata *udata, size_t known);
int iwt_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		     struct ib_udata *udata);
int iwt_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int iwt_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed);
int iwt_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int iwt_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *imm);
void iwt_get_fw_str(struct ib_device *ibdev, char *str);
int iwt_alloc_ucontext(struct ib_ucontext *uc, struct ib_udata *udata);
void iwt_dealloc_ucontext(struct ib_ucontext *uc);
void iwt_disassociate_ucontext(struct ib_ucontext *uc);
int iwt_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int iwt_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);

/* verbs_mr.c */
struct ib_mr *iwt_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *iwt_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			      int access, struct ib_dmah *dmah,
			      struct ib_udata *udata);
struct ib_mr *iwt_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				     u64 iova, int fd, int access,
				     struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs);
struct ib_mr *iwt_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 len, u64 iova, int access,
				struct ib_pd *pd, struct ib_udata *udata);
int iwt_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sge, u32 n,
		  struct uverbs_attr_bundle *attrs);
struct ib_mr *iwt_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			   u32 max_num_sg);
int iwt_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		  unsigned int *sg_offset);
int iwt_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* verbs_mw.c */
int iwt_alloc_mw(struct ib_mw *mw, struct ib_udata *udata);
int iwt_dealloc_mw(struct ib_mw *mw);

/* verbs_cq.c */
int iwt_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int iwt_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
int iwt_resize_cq(struct ib_cq *cq, unsigned int cqe, struct ib_udata *udata);
int iwt_modify_cq(struct ib_cq *cq, u16 count, u16 period);
int iwt_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc);
int iwt_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags);

/* verbs_srq.c */
int iwt_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr,
		   struct ib_udata *udata);
int iwt_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int iwt_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr);
int iwt_destroy_srq(struct ib_srq *srq, struct ib_udata *udata);
int iwt_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);
extern const struct uapi_definition iwt_srq_uapi_defs[];

/* verbs_qp.c */
int iwt_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata);
int iwt_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int iwt_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int iwt_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);
int iwt_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad);
int iwt_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad);
void iwt_qp_add_ref(struct ib_qp *qp);
void iwt_qp_rem_ref(struct ib_qp *qp);
struct ib_qp *iwt_get_qp(struct ib_device *ibdev, int qpn);

/* verbs_ring.c */
extern const struct uapi_definition iwt_ring_uapi_defs[];

/* verbs_delayed.c */
extern const struct uapi_definition iwt_delayed_uapi_defs[];

#endif
