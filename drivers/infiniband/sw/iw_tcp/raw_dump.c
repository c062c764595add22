// SPDX-License-Identifier: GPL-2.0
/*
 * Raw dumps of `rdma -r resource show` (include/uapi/rdma/iw_tcp-raw.h).
 *
 * RDMA core shows raw dumps only to administrators. Nevertheless the dumps include no addresses,
 * no keys and no data.
 */
#include "raw_dump.h"

#include <linux/build_bug.h>
#include <rdma/iw_tcp-raw.h>
#include <rdma/rdma_netlink.h>

#include <compat/dumps.h>

#include "cq.h"
#include "mr.h"
#include "qp.h"
#include "srq.h"

static int put_raw(struct sk_buff *msg, struct iwt_raw_head *head, u32 kind, u32 size)
{
	head->kind = kind;
	head->size = size;
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, size, head);
}

static u32 flags_of(const struct iwt_stream *st)
	__must_hold(&st->lock)
{
	return (st->sock ? IWT_RAW_QP_CONNECTED : 0) |
	       (st->sq.user ? IWT_RAW_QP_USER : 0) |
	       (st->rq.srq ? IWT_RAW_QP_SRQ : 0) |
	       (st->tx.what != IWT_TX_NOTHING ? IWT_RAW_QP_TX_MESSAGE : 0) |
	       (st->rx.recv_open ? IWT_RAW_QP_RX_OPEN : 0) |
	       (st->rx.eof ? IWT_RAW_QP_RX_EOF : 0) |
	       (st->sq.confirm ? IWT_RAW_QP_CONFIRMS : 0) |
	       (st->rx.wait_recv ? IWT_RAW_QP_WAIT_RECV : 0);
}

static void look_at_queues(const struct iwt_stream *st, struct iwt_raw_qp *raw)
	__must_hold(&st->lock)
{
	raw->sq_entries = st->sq.ring.mask + 1;
	raw->sq_posted = compat_ring_prod(&st->sq.ring, st->sq.cons);
	raw->sq_started = st->sq.cons;
	raw->sq_completed = st->sq.retire;
	raw->rq_taken = st->rq.cons;
	if (st->rq.srq)
		return;
	raw->rq_entries = st->rq.entries;
	raw->rq_posted = compat_ring_prod(&st->rq.ring, st->rq.cons);
}

static void look_at_engines(const struct iwt_stream *st, struct iwt_raw_qp *raw)
	__must_hold(&st->lock)
{
	u32 i;

	BUILD_BUG_ON(ARRAY_SIZE(raw->rx_msn) != ARRAY_SIZE(st->rx.q));
	raw->tx_pos = st->tx.stream_pos;
	raw->tx_left = st->tx.what != IWT_TX_NOTHING ? st->tx.msg.left : 0;
	raw->tx_framed = st->tx.bytes;
	raw->tx_send_msn = st->tx.send_msn;
	raw->tx_read_msn = st->tx.read_msn;
	raw->rx_pos = st->rx.pos;
	for (i = 0; i < ARRAY_SIZE(raw->rx_msn); i++) {
		raw->rx_msn[i] = st->rx.q[i].msn;
		raw->rx_mo[i] = st->rx.q[i].mo;
	}
	raw->ird = st->readq.in_max;
	raw->ird_used = st->readq.in_n;
	raw->ord = iwt_readq_ord(&st->readq);
	raw->ord_used = iwt_readq_waiting(&st->readq);
}

/**
 * iwt_raw_qp() - ib_device operation fill_res_qp_entry_raw
 * @msg: netlink message
 * @ibqp: queue pair
 *
 * Process context.
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_raw_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct iwt_qp *qp = to_iwt_qp(ibqp);
	struct iwt_stream *st = &qp->stream;
	struct iwt_raw_qp raw = {};

	spin_lock_bh(&st->lock);
	raw.state = qp->state;
	raw.flags = flags_of(st);
	raw.term_err = qp->term_err;
	look_at_queues(st, &raw);
	look_at_engines(st, &raw);
	spin_unlock_bh(&st->lock);
	return put_raw(msg, &raw.head, IWT_RAW_QP, sizeof(raw));
}

/**
 * iwt_raw_cq() - ib_device operation fill_res_cq_entry_raw
 * @msg: netlink message
 * @ibcq: completion queue
 *
 * Process context.
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_raw_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct iwt_cq *cq = to_iwt_cq(ibcq);
	struct iwt_raw_cq raw = {};

	spin_lock_irq(&cq->lock);
	raw.entries = cq->ring.mask + 1;
	raw.produced = cq->prod;
	raw.consumed = compat_ring_exists(&cq->ring) ? READ_ONCE(cq->ring.ctl->cons) : cq->prod;
	raw.flags = cq->flags;
	spin_unlock_irq(&cq->lock);
	return put_raw(msg, &raw.head, IWT_RAW_CQ, sizeof(raw));
}

/**
 * iwt_raw_mr() - ib_device operation fill_res_mr_entry_raw
 * @msg: netlink message
 * @ibmr: region
 *
 * Process context.
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_raw_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct iwt_mr *mr = to_iwt_mr(ibmr);
	struct iwt_raw_mr raw = { .kind = mr->kind };

	iwt_fair_read_lock_bh(&mr->lock);
	raw.access = mr->access;
	raw.rights = mr->region.rights;
	raw.valid = mr->region.valid;
	raw.length = mr->region.len;
	raw.extents = mr->map.n;
	raw.windows = atomic_read(&mr->windows);
	iwt_fair_read_unlock_bh(&mr->lock);
	return put_raw(msg, &raw.head, IWT_RAW_MR, sizeof(raw));
}

/**
 * iwt_raw_srq() - ib_device operation fill_res_srq_entry_raw
 * @msg: netlink message
 * @ibsrq: shared receive queue
 *
 * Process context.
 *
 * Return: 0 or -EMSGSIZE.
 */
int iwt_raw_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct iwt_srq *srq = to_iwt_srq(ibsrq);
	struct iwt_raw_srq raw = {};

	spin_lock_irq(&srq->rq.lock);
	raw.flags = (srq->user ? IWT_RAW_SRQ_USER : 0) |
		    (srq->failed ? IWT_RAW_SRQ_FAILED : 0);
	raw.entries = srq->rq.entries;
	raw.max_sge = srq->rq.sge_max;
	raw.posted = compat_ring_prod(&srq->rq.ring, srq->rq.cons);
	raw.taken = srq->rq.cons;
	raw.limit = srq->limit;
	spin_unlock_irq(&srq->rq.lock);
	return put_raw(msg, &raw.head, IWT_RAW_SRQ, sizeof(raw));
}
