/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_COUNTER_OF_PORT_H
#define COMPAT_COUNTER_OF_PORT_H

#include <linux/types.h>

struct ib_qp;
struct rdma_counter;

int iwt_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port);
int iwt_counter_unbind_qp(struct ib_qp *ibqp, u32 port);

/* In this kernel, counter_bind_qp and counter_unbind_qp have no argument for the port. */
static inline int compat_counter_bind_qp(struct rdma_counter *counter,
					 struct ib_qp *ibqp)
{
	return iwt_counter_bind_qp(counter, ibqp, 1);
}

static inline int compat_counter_unbind_qp(struct ib_qp *ibqp)
{
	return iwt_counter_unbind_qp(ibqp, 1);
}

#define compat_counter_bind_qp		compat_counter_bind_qp
#define compat_counter_unbind_qp	compat_counter_unbind_qp

#include_next <compat/ib_ops.h>

#endif
