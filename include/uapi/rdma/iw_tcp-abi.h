/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * User ABI of iw_tcp: the rings that the kernel module and its user provider share, and the
 * private parts of the uverbs commands.
 *
 * Every queue is one mmap()ed object: a struct iwt_ring_ctl in its first IWT_RING_CTL_SIZE
 * octets, then 1 << k entries of a fixed stride. Indices run freely over 32 bits; the entry of
 * index i is at (i & mask). Behind the entries of a completion queue are the bits of the queue
 * pairs that use it. The kernel keeps private copies of everything that it depends on, and
 * reads a work request once.
 */
#ifndef _UAPI_RDMA_IW_TCP_ABI_H
#define _UAPI_RDMA_IW_TCP_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

/*
 * The version that both sides must share. Everything else may grow without a new one: a
 * structure at its end, where a missing part counts as zero and a part that the other side does
 * not know must be zero; and a rule that a side must obey, by a bit of enum iwt_feature.
 */
#define IWT_ABI_VERSION		3

/* The kernel passes an unlisted driver id through to user space unchanged. */
#define RDMA_DRIVER_IW_TCP	0x69770001

#define IWT_RING_CTL_SIZE	256

/*
 * Most octets of inline data in one send work request, and most scatter/gather elements of one
 * work request, in this version of the module. A process uses the limits in the answer to the
 * creation of a queue pair.
 */
#define IWT_MAX_INLINE		256
#define IWT_MAX_SGE		16

/* Bits of iwt_ring_ctl.flags (written by the kernel). */
enum iwt_ring_flags {
	/*
	 * The kernel is not looking at the ring: after storing prod, and a
	 * full memory barrier, ring the doorbell if this is set.
	 */
	IWT_RING_NEED_WAKEUP	= 1 << 0,
	/*
	 * Completion queue only: the queue is dead. Entries were lost, or the
	 * device has gone away.
	 */
	IWT_RING_OVERRUN	= 1 << 1,
	/*
	 * Completion queue only: the send queues of its queue pairs may have
	 * IWT_RING_NEED_WAKEUP clear although the kernel is not looking at them.
	 *
	 * A process that posts and need not ring the doorbell MUST set the queue
	 * pair's bit, after the barrier, if it is not set: bit n is 1 << n % 32 of
	 * the 32-bit word n / 32. A process that has set a bit MUST call
	 * IWT_METHOD_CQ_POLL when it finds the completion queue empty, and SHOULD
	 * call it when it has posted often. The kernel then takes the bits and runs
	 * every queue pair whose bit was set.
	 */
	IWT_RING_DEFERRED	= 1 << 2,
	/*
	 * Completion queue only: the kernel does not look at arm any more. After
	 * storing arm, and a full memory barrier, a process MUST call
	 * IWT_METHOD_CQ_ARM if this is set. The call clears it for a number of
	 * events, which is as many as can be left unread without another call.
	 */
	IWT_RING_ARM_BY_CALL	= 1 << 3,
};

/* Values of iwt_ring_ctl.arm (completion queues). */
enum iwt_cq_arm {
	IWT_CQ_ARM_NONE		= 0,
	IWT_CQ_ARM_SOLICITED	= 1,
	IWT_CQ_ARM_ANY		= 2,
};

/*
 * Producer, consumer and kernel words are on cache lines of their own. Send and receive queues,
 * also shared ones: prod is written by the user, cons by the kernel (a slot is free for reuse
 * when cons has passed it). Completion queues: prod is written by the kernel, cons and arm by
 * the user; the kernel clears arm when it raises the event.
 */
struct iwt_ring_ctl {
	__u32 prod;
	__u32 reserved0[15];
	__u32 cons;
	__u32 reserved1[15];
	__u32 flags;
	__u32 reserved2[15];
	__u32 arm;
	__u32 reserved3[15];
};

struct iwt_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/*
 * Operation of a send work request. A new one needs a bit of enum iwt_feature: a kernel that
 * does not know an opcode ends the connection.
 */
enum iwt_wr_opcode {
	IWT_WR_SEND		= 0,
	IWT_WR_SEND_WITH_INV	= 1,
	IWT_WR_WRITE		= 2,
	IWT_WR_READ		= 3,
	IWT_WR_LOCAL_INV	= 4,
	/* Kernel queues only; refused from a user ring. */
	IWT_WR_READ_WITH_INV	= 5,
	IWT_WR_REG_MR		= 6,
	/* With IWT_FEATURE_RFC7306 (struct iwt_atomic_body for the atomic ones) */
	IWT_WR_WRITE_WITH_IMM	= 7,
	IWT_WR_SEND_WITH_IMM	= 8,	/* of no length */
	IWT_WR_FETCH_ADD	= 9,
	IWT_WR_CMP_SWAP		= 10,
	/* Kernel queues only. */
	IWT_WR_MASKED_FETCH_ADD	= 11,
	IWT_WR_MASKED_CMP_SWAP	= 12,
	/* With IWT_FEATURE_WINDOWS (struct iwt_bind_body); queues of processes only. */
	IWT_WR_BIND_MW		= 13,
};

enum iwt_wr_flags {
	IWT_WR_SIGNALED		= 1 << 0,
	IWT_WR_SOLICITED	= 1 << 1,
	IWT_WR_FENCE		= 1 << 2,
	/* length octets of data follow the header instead of num_sge iwt_sge */
	IWT_WR_INLINE		= 1 << 3,
};

/*
 * A send queue entry: this header, then iwt_sge[num_sge] or inline data, or for an atomic
 * operation struct iwt_atomic_body, or struct iwt_bind_body to bind a memory window. The stride
 * of a queue is in the answer to its creation; it is never less than 64.
 */
struct iwt_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 reserved;
	__u32 inline_len;
	__aligned_u64 remote_addr;
	__u32 rkey;	/* BIND_MW: of the window, with the key octet that it is to have */
	/*
	 * STag to invalidate; REG_MR, BIND_MW: access flags; WITH_IMM: the immediate
	 * data, whose octets are not swapped on the way
	 */
	__u32 ex;
};

/*
 * Behind the header of an atomic operation, whose num_sge is 1. The values are in the byte
 * order of this machine, here and in the memory of both sides. An entry of a process ends
 * before the masks.
 */
struct iwt_atomic_body {
	struct iwt_sge sink;		/* 8 octets, for the value before */
	__aligned_u64 data;		/* to add, or to swap in */
	__aligned_u64 compare;
	__aligned_u64 data_mask;	/* FETCH_ADD: last bit of each field */
	__aligned_u64 compare_mask;
};

#define IWT_ATOMIC_BODY_USER	(sizeof(struct iwt_sge) + 16)

/*
 * Behind the header of a request to bind a window: what of which region it is to cover. The
 * region has IB_UVERBS_ACCESS_MW_BIND. No octets unbind a window of type 1; then lkey does not
 * count.
 */
struct iwt_bind_body {
	__aligned_u64 addr;		/* as the region names it */
	__aligned_u64 length;
	__u32 lkey;
	__u32 reserved;
};

struct iwt_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
};

/* Operation in a completion; status is an enum ib_wc_status. */
enum iwt_wc_opcode {
	IWT_WC_SEND		= 0,
	IWT_WC_WRITE		= 1,
	IWT_WC_READ		= 2,
	IWT_WC_LOCAL_INV	= 3,
	IWT_WC_REG_MR		= 4,
	IWT_WC_RECV		= 5,
	/* With IWT_FEATURE_RFC7306 */
	IWT_WC_RECV_RDMA_WITH_IMM = 6,
	IWT_WC_FETCH_ADD	= 7,
	IWT_WC_COMP_SWAP	= 8,
	/* Kernel queues only. */
	IWT_WC_MASKED_FETCH_ADD	= 9,
	IWT_WC_MASKED_COMP_SWAP	= 10,
	/* With IWT_FEATURE_WINDOWS */
	IWT_WC_BIND_MW		= 11,
};

enum iwt_wc_flags {
	/* ex is the STag that the peer invalidated */
	IWT_WC_WITH_INVALIDATE	= 1 << 0,
	/* the peer (or an error) asked for a solicited event */
	IWT_WC_SOLICITED	= 1 << 1,
	/* ex is immediate data, in the order of the wire */
	IWT_WC_WITH_IMM		= 1 << 2,
};

struct iwt_cqe {
	__aligned_u64 wr_id;
	__u32 qp_num;
	__u32 byte_len;
	__u32 ex;
	__u32 vendor_err;
	__u8 opcode;
	__u8 status;
	__u8 flags;
	__u8 reserved;
	__u32 reserved1;
};

/*
 * Behind each entry of a completion queue that was created with
 * IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION: when the completion was added, in
 * nanoseconds.
 */
struct iwt_cqe_time {
	__aligned_u64 raw;		/* CLOCK_MONOTONIC_RAW of the process */
	__aligned_u64 wallclock;	/* CLOCK_REALTIME */
};

/* Features the two sides agree on when a context is opened. */
enum iwt_feature {
	/*
	 * Immediate data and atomic operations. A process that does not know
	 * them sees no completion of such a kind: Immediate Data for its queue
	 * pairs is refused.
	 */
	IWT_FEATURE_RFC7306	= 1 << 0,
	/* The process does what IWT_RING_DEFERRED asks for. */
	IWT_FEATURE_DEFERRED	= 1 << 1,
	/* Memory windows: IWT_WR_BIND_MW. */
	IWT_FEATURE_WINDOWS	= 1 << 2,
};

struct iwt_uctx_req {
	__aligned_u64 features;
};

struct iwt_uctx_resp {
	__aligned_u64 features;
};

struct iwt_create_cq_resp {
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_length;
	__u32 entries;		/* power of two */
	__u32 stride;
	__u32 posted_bits;	/* for queue pairs, a multiple of 32, or none */
	__u32 reserved;
};

/*
 * The answer to IB_USER_VERBS_CMD_RESIZE_CQ. If entries is what the queue has already, nothing
 * is to be done. Else the process moves to other entries: those behind the control words if
 * mmap_length is zero, or those with which this mapping begins. It maps them, copies the
 * entries from cons to prod, and calls IWT_METHOD_CQ_RESIZED. Until then the kernel writes
 * each completion to the old and to the new entries.
 */
struct iwt_resize_cq_resp {
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_length;
	__u32 entries;		/* power of two */
	__u32 reserved;
};

/* Also the answer of IWT_METHOD_SRQ_NEW_RING. The ring is as that of a receive queue. */
struct iwt_create_srq_resp {
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_length;
	__u32 entries;		/* power of two */
	__u32 stride;
};

struct iwt_create_qp_resp {
	__aligned_u64 sq_mmap_offset;
	__aligned_u64 sq_mmap_length;
	__aligned_u64 rq_mmap_offset;
	__aligned_u64 rq_mmap_length;
	__u32 qp_id;
	__u32 sq_entries;	/* power of two */
	__u32 sq_stride;
	/* power of two; 0 without a receive queue, also with a shared one */
	__u32 rq_entries;
	__u32 rq_stride;
	__u32 max_inline;
	/*
	 * Its bits at its completion queues. A number that is not less than
	 * posted_bits means that there is no bit. If both completion queues are the
	 * same, send_bit is the only one.
	 */
	__u32 send_bit;
	__u32 recv_bit;
};

struct iwt_reg_mr_resp {
	__u32 stag;
	__u32 reserved;
};

/* Methods of UVERBS_OBJECT_CQ. */
enum iwt_cq_method {
	/* see IWT_RING_DEFERRED */
	IWT_METHOD_CQ_POLL = 1U << UVERBS_ID_NS_SHIFT,
	/* see IWT_RING_ARM_BY_CALL */
	IWT_METHOD_CQ_ARM,
	/* see struct iwt_resize_cq_resp */
	IWT_METHOD_CQ_RESIZED,
};

/* Attributes of these methods. */
enum iwt_cq_attr {
	IWT_ATTR_CQ = 1U << UVERBS_ID_NS_SHIFT,
	IWT_ATTR_CQ_ARM_FLAGS,		/* in: enum iwt_cq_arm_flags */
	IWT_ATTR_CQ_RESIZED_FLAGS,	/* in: enum iwt_cq_resized_flags */
};

enum iwt_cq_arm_flags {
	/* for solicited completions only, unless it is armed for any */
	IWT_CQ_ARM_FOR_SOLICITED	= 1 << 0,
	/* for completions that are in the queue already, too: an event at once */
	IWT_CQ_ARM_AT_ONCE		= 1 << 1,
};

enum iwt_cq_resized_flags {
	/* the process could not move: the kernel gives the new entries up */
	IWT_CQ_RESIZED_NOT		= 1 << 0,
};

/* Methods of UVERBS_OBJECT_SRQ. */
enum iwt_srq_method {
	/*
	 * Make a ring for another size of the queue. The process maps it, and then
	 * modifies the size: the queue goes on with that ring, which has the
	 * receives that are posted and not taken, at the same indices. The process
	 * MUST NOT post during the modification. The old ring is not looked at any
	 * more. If the modification fails, the old ring stays.
	 */
	IWT_METHOD_SRQ_NEW_RING = 1U << UVERBS_ID_NS_SHIFT,
};

/* Attributes of this method. */
enum iwt_srq_attr {
	IWT_ATTR_SRQ = 1U << UVERBS_ID_NS_SHIFT,
	IWT_ATTR_SRQ_MAX_WR,	/* in: __u32, the size as in the modification */
	IWT_ATTR_SRQ_RING,	/* out: struct iwt_create_srq_resp */
};

/*
 * Delayed startup: MPA on a TCP socket of the process (RFC 5044 7.1.3). The process sends and
 * receives the startup frames; the kernel writes the frames that are sent, checks those that
 * were received, and takes the connection over. libiw_tcp has functions for it: iwtdv(7).
 */

/* Methods of UVERBS_OBJECT_QP. */
enum iwt_qp_method {
	/* initiator: write the Request that the process is to send */
	IWT_METHOD_MPA_REQUEST = 1U << UVERBS_ID_NS_SHIFT,
	/*
	 * initiator, with Request and Reply: switch to RDMA; responder, with
	 * the Request: the same, and send the Reply
	 */
	IWT_METHOD_MPA_START,
	/* the doorbell: the kernel looks at both queues; see IWT_RING_NEED_WAKEUP */
	IWT_METHOD_QP_DOORBELL,
};

/* Attributes of the doorbell. */
enum iwt_qp_attr {
	IWT_ATTR_QP = 1U << UVERBS_ID_NS_SHIFT,
};

/* Methods of UVERBS_OBJECT_DEVICE. */
enum iwt_device_method {
	/* responder: write the Reply that rejects a Request, for the process to send */
	IWT_METHOD_MPA_REJECT = 1U << UVERBS_ID_NS_SHIFT,
};

/* Attributes of the methods of MPA. Frames begin with a header of 20 octets. */
enum iwt_mpa_attr {
	IWT_ATTR_MPA_QP = 1U << UVERBS_ID_NS_SHIFT,
	IWT_ATTR_MPA_FD,		/* in: the socket */
	IWT_ATTR_MPA_PARAM,		/* in: struct iwt_mpa_param */
	IWT_ATTR_MPA_PRIVATE_DATA,	/* in, optional */
	IWT_ATTR_MPA_REQUEST,		/* in: a whole frame */
	IWT_ATTR_MPA_REPLY,		/* in, initiator only: a whole frame */
	IWT_ATTR_MPA_FRAME,		/* out: 532 octets, its own length counts */
	IWT_ATTR_MPA_RESULT,		/* out: struct iwt_mpa_result */
};

enum iwt_mpa_flags {
	IWT_MPA_PLAIN		= 1 << 0, /* in: speak revision 1 (RFC 5044) */
	IWT_MPA_CRC		= 1 << 1, /* out */
	IWT_MPA_TX_MARKERS	= 1 << 2, /* out: in what this end sends */
	IWT_MPA_RX_MARKERS	= 1 << 3, /* out: in what the peer sends */
	IWT_MPA_ENHANCED	= 1 << 4, /* out: RFC 6581, depths are agreed */
};

struct iwt_mpa_param {
	__u32 ird;
	__u32 ord;
	__u32 flags;
	__u32 reserved;
};

struct iwt_mpa_result {
	__u32 ird;
	__u32 ord;
	__u32 flags;
	__u32 reserved;
};

#endif
