/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations whose prototypes depend on the kernel. Here they are what the
 * newest kernel wants; an overlay of the same name puts a function between.
 */
#ifndef COMPAT_IB_OPS_H
#define COMPAT_IB_OPS_H

#ifndef compat_create_cq
#define compat_create_cq	iwt_create_cq
#endif

/* the operation's name depends on the kernel as well */
#ifndef compat_resize_user_cq
#define compat_resize_user_cq	iwt_resize_cq
#define compat_op_resize_user_cq	resize_user_cq
#endif

#ifndef compat_reg_user_mr
#define compat_reg_user_mr	iwt_reg_user_mr
#endif

#ifndef compat_reg_user_mr_dmabuf
#define compat_reg_user_mr_dmabuf	iwt_reg_user_mr_dmabuf
#endif

#ifndef compat_counter_bind_qp
#define compat_counter_bind_qp		iwt_counter_bind_qp
#define compat_counter_unbind_qp	iwt_counter_unbind_qp
#endif

/* The core allocates the driver's structure, and has it initialised in any case. */
#ifndef COMPAT_COUNTER_OBJ
#define COMPAT_COUNTER_OBJ		\
	.counter_init = iwt_counter_init,	\
	INIT_RDMA_OBJ_SIZE(rdma_counter, iwt_qp_counter, counter),
#endif

/* What `rdma resource show srq` says beyond the core's own attributes. */
#ifndef COMPAT_SRQ_DETAILS
#define COMPAT_SRQ_DETAILS		\
	.fill_res_srq_entry = iwt_fill_res_srq,	\
	.fill_res_srq_entry_raw = iwt_raw_srq,
#endif

/*
 * Does the RDMA connection manager find a device by its net device? If not, it
 * looks for a GID that is the link layer address and nothing else.
 */
#ifndef compat_cm_by_netdev
#define compat_cm_by_netdev	true
#endif

#endif
