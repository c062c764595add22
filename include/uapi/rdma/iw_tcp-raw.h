/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * The raw dump of a queue pair, a completion queue, a memory region or a shared receive queue
 * (rdma -r resource show): the state of the engines, for the analysis of a connection that makes
 * no progress.
 *
 * Numbers are in host byte order. Structures only grow, at their ends: a reader uses the smaller
 * of two sizes, the size that the reader knows and the size of the dump. Stream positions count
 * the bytes of one direction since the end of MPA startup. Indices of queues, stream positions
 * and MSNs count modulo 2^32.
 */
#ifndef _UAPI_RDMA_IW_TCP_RAW_H
#define _UAPI_RDMA_IW_TCP_RAW_H

#include <linux/types.h>

enum iwt_raw_kind {
	IWT_RAW_QP = 1,
	IWT_RAW_CQ = 2,
	IWT_RAW_MR = 3,
	IWT_RAW_SRQ = 4,
};

struct iwt_raw_head {
	__u32 size;		/* bytes of the structure that begins with this head */
	__u32 kind;		/* enum iwt_raw_kind */
};

enum iwt_raw_qp_flags {
	IWT_RAW_QP_CONNECTED	= 1 << 0,
	IWT_RAW_QP_USER		= 1 << 1, /* queue pair of a process, which maps the queues */
	IWT_RAW_QP_SRQ		= 1 << 2, /* the queue pair uses a shared receive queue */
	IWT_RAW_QP_TX_MESSAGE	= 1 << 3, /* a message is being sent */
	IWT_RAW_QP_RX_OPEN	= 1 << 4, /* a Send is being received */
	IWT_RAW_QP_RX_EOF	= 1 << 5, /* the peer has sent FIN */
	IWT_RAW_QP_CONFIRMS	= 1 << 6, /* the peer has to confirm Sends and Writes */
	IWT_RAW_QP_WAIT_RECV	= 1 << 7, /* a message of the peer waits for a receive */
};

struct iwt_raw_qp {
	struct iwt_raw_head head;
	/* 0 IDLE, 1 RTS, 2 HALF, 3 DRAIN, 4 CLOSING, 5 TERMINATE, 6 GONE, 7 ERROR */
	__u32 state;
	__u32 flags;		/* enum iwt_raw_qp_flags */
	__u32 term_err;		/* 1 << 16 | layer << 12 | type << 8 | code; 0: no error */
	__u32 sq_entries;
	__u32 sq_posted;
	__u32 sq_started;
	__u32 sq_completed;
	__u32 rq_entries;	/* rq_entries and rq_posted are 0 with a shared receive queue */
	__u32 rq_posted;
	__u32 rq_taken;
	__u32 tx_pos;		/* stream position of the next byte to be framed */
	__u32 tx_left;		/* bytes of the current message that are not yet framed */
	__u32 tx_framed;	/* framed bytes that TCP has not yet accepted */
	__u32 tx_send_msn;	/* MSN of the next Send */
	__u32 tx_read_msn;	/* MSN of the next Read Request or Atomic Request */
	__u32 rx_pos;		/* stream position of the next byte to be processed */
	__u32 rx_msn[4];	/* by queue number: MSN of the current or next message */
	__u32 rx_mo[4];		/* by queue number: next expected offset in that message */
	__u32 ird;
	__u32 ird_used;
	__u32 ord;
	__u32 ord_used;
	__u32 reserved;		/* 0 */
};

struct iwt_raw_cq {
	struct iwt_raw_head head;
	__u32 entries;
	__u32 produced;
	__u32 consumed;		/* a process writes this index, and may write any value */
	__u32 flags;		/* enum iwt_ring_flags */
};

struct iwt_raw_mr {
	struct iwt_raw_head head;
	__u32 kind;		/* 0 user, 1 fast, 2 all memory, 3 dmabuf, 4 on demand */
	__u32 access;		/* IBV_ACCESS_* */
	__u32 rights;		/* same value as "rights" in rdma -dd resource show mr */
	__u32 valid;
	__u64 length;
	__u32 extents;
	__u32 windows;
};

enum iwt_raw_srq_flags {
	IWT_RAW_SRQ_USER	= 1 << 0, /* queue of a process, which maps the ring */
	IWT_RAW_SRQ_FAILED	= 1 << 1, /* the ring was invalid: the queue is unusable */
};

struct iwt_raw_srq {
	struct iwt_raw_head head;
	__u32 flags;		/* enum iwt_raw_srq_flags */
	__u32 entries;
	__u32 max_sge;
	__u32 posted;		/* a process writes this index, and may write any value */
	__u32 taken;
	__u32 limit;		/* 0: no limit, or the event of the limit was raised */
};

#endif
