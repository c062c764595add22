/* SPDX-License-Identifier: GPL-2.0 */
/* Raw dumps of `rdma -r resource show`. */
#ifndef IWT_RAW_DUMP_H
#define IWT_RAW_DUMP_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

int iwt_raw_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int iwt_raw_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int iwt_raw_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int iwt_raw_srq(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif
