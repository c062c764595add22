/* SPDX-License-Identifier: GPL-2.0 */
/* Driver attributes of `rdma -dd resource show`, in addition to those of RDMA core. */
#ifndef IWT_RESTRACK_H
#define IWT_RESTRACK_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

int iwt_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int iwt_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int iwt_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int iwt_fill_res_srq(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif
