/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations of struct ib_device_ops that differ between kernels. The prototypes of create_cq,
 * resize_user_cq, reg_user_mr, reg_user_mr_dmabuf, counter_bind_qp and counter_unbind_qp depend
 * on the kernel. Older kernels lack counter_init, query_port_speed, fill_res_srq_entry and
 * fill_res_srq_entry_raw. This file is for the newest kernel. For an older kernel, headers of the
 * same name in other directories (Kbuild.include) define wrapper functions, and leave out the
 * operations that the kernel lacks.
 */
#ifndef COMPAT_IB_OPS_H
#define COMPAT_IB_OPS_H

#include <linux/vmalloc.h>	/* for compat_alloc_part() */

#ifndef compat_create_cq
#define compat_create_cq	iwt_create_cq
#endif

/*
 * In older kernels the name of this operation is resize_cq. compat_cq_user_resize: only a process
 * can resize its completion queue, a kernel consumer can't. The functions compat_alloc_part() and
 * compat_move_entries() (cq_resize.c) are for older kernels (see
 * ../../resize_user_cq/compat/ib_ops.h).
 */
#ifndef compat_resize_user_cq
#define compat_resize_user_cq	iwt_resize_cq
#define compat_op_resize_user_cq	resize_user_cq
#define compat_cq_user_resize	true
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

/* The RDMA core allocates the driver's structure, and always calls counter_init. */
#ifndef COMPAT_COUNTER_OBJ
#define COMPAT_COUNTER_OBJ		\
	.counter_init = iwt_counter_init,	\
	INIT_RDMA_OBJ_SIZE(rdma_counter, iwt_qp_counter, counter),
#endif

/* query_port_speed reports any speed; query_port can report only the speeds of InfiniBand. */
#ifndef COMPAT_PORT_SPEED
#define COMPAT_PORT_SPEED		.query_port_speed = iwt_query_port_speed,
#endif

/* For `rdma resource show srq`: driver-specific attributes (-dd), and the raw dump (-r). */
#ifndef COMPAT_SRQ_DETAILS
#define COMPAT_SRQ_DETAILS		\
	.fill_res_srq_entry = iwt_fill_res_srq,	\
	.fill_res_srq_entry_raw = iwt_raw_srq,
#endif

/*
 * Does rdma_cm find a device by its net device? On older kernels rdma_cm searches for a GID that
 * consists of the link layer address only. compat_cm_copies, compat_cm_finds(), compat_cm_same()
 * and compat_cm_gid() have an effect only on these kernels (see
 * ../../cm_by_netdev/compat/ib_ops.h).
 */
#ifndef compat_cm_by_netdev
struct net_device;
union ib_gid;

#define compat_cm_by_netdev	true
#define compat_cm_copies	0

static inline bool compat_cm_finds(const struct net_device *netdev)
{
	return true;
}

static inline bool compat_cm_same(const struct net_device *a, const struct net_device *b)
{
	return false;
}

static inline void compat_cm_gid(const struct net_device *netdev, union ib_gid *gid)
{
}
#endif

#endif
