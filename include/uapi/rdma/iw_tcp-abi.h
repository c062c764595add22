/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * User ABI of iw_tcp: the rings that the kernel module and the user space provider share, and the
 * driver-specific parts of the uverbs commands.
 *
 * The process maps each queue with mmap(2): a struct iwt_ring_ctl in the first IWT_RING_CTL_SIZE
 * bytes, then the entries. The number of entries is a power of two, and all entries have the same
 * size, the stride. Indices are free-running 32-bit numbers. The position of an entry is its
 * index modulo the number of entries. The entries of a completion queue may be followed by bits
 * for the queue pairs that use the completion queue (see IWT_RING_DEFERRED). After a resize the
 * entries of a completion queue may be in a second mapping (see struct iwt_resize_cq_resp). The
 * kernel keeps private copies of all data that the kernel depends on, and reads each work request
 * once.
 */
#ifndef _UAPI_RDMA_IW_TCP_ABI_H
#define _UAPI_RDMA_IW_TCP_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

/*
 * The ABI version, which must be the same in the kernel and in the process. There are two ways to
 * extend the ABI without a new version. A structure may grow at its end: a part that one side
 * does not have is treated as zero, and a part that the other side does not know must be zero.
 * And a new rule that a side must obey may be bound to a new bit of enum iwt_feature.
 */
#define IWT_ABI_VERSION		3

/* The driver id. It is not in enum rdma_driver_id, but the RDMA core passes it to user space. */
#define RDMA_DRIVER_IW_TCP	0x69770001

#define IWT_RING_CTL_SIZE	256

/*
 * Maximum number of bytes of inline data in a send work request, and maximum number of
 * scatter/gather elements of a work request, in this version of the module. A process must use
 * the limits that the creation of a queue pair returns.
 */
#define IWT_MAX_INLINE		256
#define IWT_MAX_SGE		16

/* Bits of iwt_ring_ctl.flags (written by the kernel). */
enum iwt_ring_flags {
	/*
	 * Send queue, shared receive queue, or receive queue: the kernel does not poll
	 * the ring. After a process has stored prod, and executed a full memory barrier,
	 * the process must ring the doorbell (IWT_METHOD_QP_DOORBELL or
	 * IWT_METHOD_SRQ_DOORBELL) if this flag is set.
	 */
	IWT_RING_NEED_WAKEUP	= 1 << 0,
	/*
	 * Completion queue only: the queue can't be used any more, because
	 * completions were lost, or because the kernel has destroyed the queue (for
	 * example when the device was removed).
	 */
	IWT_RING_OVERRUN	= 1 << 1,
	/*
	 * Completion queue only: the send queues of the queue pairs that use this
	 * completion queue may have IWT_RING_NEED_WAKEUP clear although the kernel does
	 * not poll these send queues.
	 *
	 * A process that posts and need not ring the doorbell MUST set the bit
	 * of the queue pair, after the barrier, if the bit is not set. The bits
	 * follow the entries in the first mapping of the completion queue, in
	 * 32-bit words: bit n is the bit 1 << (n % 32) of word n / 32. A process
	 * that has set a bit MUST call IWT_METHOD_CQ_POLL when it finds the
	 * completion queue empty, and SHOULD call this method after many posts.
	 * The kernel then clears the bits, and executes the posted requests of
	 * each queue pair that had a set bit.
	 */
	IWT_RING_DEFERRED	= 1 << 2,
	/*
	 * Completion queue only: the kernel does not read arm any more. After a
	 * process has stored arm, and executed a full memory barrier, the
	 * process MUST call IWT_METHOD_CQ_ARM if this flag is set. The call
	 * clears the flag. The kernel sets the flag again after a number of
	 * events: this limits the number of events that a process can leave
	 * unread.
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
 * Each word has 64 bytes of its own, a cache line. In a send queue, a receive queue or a shared
 * receive queue, the process writes prod, and the kernel writes cons: the process may use an
 * entry again when cons has passed the entry. In a completion queue, the kernel writes prod, and
 * the process writes cons and arm (enum iwt_cq_arm); the kernel clears arm when it raises the
 * event.
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
 * Operations of send work requests. A new operation needs a bit of enum iwt_feature, because a
 * kernel that does not know the operation ends the connection.
 */
enum iwt_wr_opcode {
	IWT_WR_SEND		= 0,
	IWT_WR_SEND_WITH_INV	= 1,
	IWT_WR_WRITE		= 2,
	IWT_WR_READ		= 3,
	IWT_WR_LOCAL_INV	= 4,
	/* The next two: kernel queues only; rejected in a queue of a process. */
	IWT_WR_READ_WITH_INV	= 5,
	IWT_WR_REG_MR		= 6,
	/*
	 * The next four: only with IWT_FEATURE_RFC7306; atomic operations have a struct
	 * iwt_atomic_body.
	 */
	IWT_WR_WRITE_WITH_IMM	= 7,
	IWT_WR_SEND_WITH_IMM	= 8,	/* without payload */
	IWT_WR_FETCH_ADD	= 9,
	IWT_WR_CMP_SWAP		= 10,
	/* The next two: kernel queues only; rejected in a queue of a process. */
	IWT_WR_MASKED_FETCH_ADD	= 11,
	IWT_WR_MASKED_CMP_SWAP	= 12,
	/* Only with IWT_FEATURE_WINDOWS, in queues of processes; has a struct iwt_bind_body. */
	IWT_WR_BIND_MW		= 13,
};

enum iwt_wr_flags {
	IWT_WR_SIGNALED		= 1 << 0,
	IWT_WR_SOLICITED	= 1 << 1,
	IWT_WR_FENCE		= 1 << 2,
	/* inline_len bytes of data follow the header, instead of num_sge struct iwt_sge */
	IWT_WR_INLINE		= 1 << 3,
};

/*
 * A send queue entry begins with this header. For an atomic operation a struct iwt_atomic_body
 * follows, for IWT_WR_BIND_MW a struct iwt_bind_body, and for any other operation num_sge struct
 * iwt_sge or the inline data. The stride of a send queue (sq_stride) is a multiple of 64 bytes.
 */
struct iwt_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 reserved;
	__u32 inline_len;
	__aligned_u64 remote_addr;
	__u32 rkey;	/* of the peer's memory; BIND_MW: of the window, with the new key byte */
	/*
	 * STag to invalidate; REG_MR, BIND_MW: access flags; WITH_IMM: immediate data, in
	 * network byte order
	 */
	__u32 ex;
};

/*
 * Body of an atomic operation, behind the header, in which num_sge is 1. The values are in host
 * byte order, here and in the memory of both ends. In the queue of a process, the body ends
 * before data_mask (IWT_ATOMIC_BODY_USER).
 */
struct iwt_atomic_body {
	struct iwt_sge sink;		/* 8 bytes, for the old value */
	__aligned_u64 data;		/* value to add or to swap in */
	__aligned_u64 compare;
	__aligned_u64 data_mask;	/* MASKED_FETCH_ADD: 1 at the top bit of each field */
	__aligned_u64 compare_mask;
};

#define IWT_ATOMIC_BODY_USER	(sizeof(struct iwt_sge) + 16)

/*
 * Body of a request to bind a memory window, behind the header. The window will cover @length
 * bytes of the region with the key @lkey, from the address @addr on. The region must have the
 * right IB_UVERBS_ACCESS_MW_BIND. A @length of 0 unbinds a window of type 1, and then the kernel
 * ignores @lkey.
 */
struct iwt_bind_body {
	__aligned_u64 addr;		/* address in the region's own address space (iova) */
	__aligned_u64 length;
	__u32 lkey;
	__u32 reserved;
};

struct iwt_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
};

/* Values of iwt_cqe.opcode. (The values of iwt_cqe.status are those of enum ib_wc_status.) */
enum iwt_wc_opcode {
	IWT_WC_SEND		= 0,
	IWT_WC_WRITE		= 1,
	IWT_WC_READ		= 2,
	IWT_WC_LOCAL_INV	= 3,
	IWT_WC_REG_MR		= 4,
	IWT_WC_RECV		= 5,
	/* The next three: only with IWT_FEATURE_RFC7306 */
	IWT_WC_RECV_RDMA_WITH_IMM = 6,
	IWT_WC_FETCH_ADD	= 7,
	IWT_WC_COMP_SWAP	= 8,
	/* The next two: kernel queues only */
	IWT_WC_MASKED_FETCH_ADD	= 9,
	IWT_WC_MASKED_COMP_SWAP	= 10,
	/* Only with IWT_FEATURE_WINDOWS */
	IWT_WC_BIND_MW		= 11,
};

enum iwt_wc_flags {
	/* ex is the STag that the peer invalidated */
	IWT_WC_WITH_INVALIDATE	= 1 << 0,
	/* the peer requested a solicited event, or the completion is an error */
	IWT_WC_SOLICITED	= 1 << 1,
	/* ex is immediate data, in network byte order */
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
 * Follows each entry of a completion queue that was created with
 * IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION: the time at which the completion was
 * added, in nanoseconds.
 */
struct iwt_cqe_time {
	__aligned_u64 raw;		/* CLOCK_MONOTONIC_RAW of the process */
	__aligned_u64 wallclock;	/* CLOCK_REALTIME */
};

/* Features that kernel and process negotiate when a context is opened. */
enum iwt_feature {
	/*
	 * Immediate data and atomic operations. A process without this feature
	 * receives no completion with immediate data: if the peer sends an Immediate
	 * Data message to a queue pair of this process, the kernel answers with a
	 * Terminate.
	 */
	IWT_FEATURE_RFC7306	= 1 << 0,
	/* The process obeys the rules of IWT_RING_DEFERRED. */
	IWT_FEATURE_DEFERRED	= 1 << 1,
	/* Memory windows: IWT_WR_BIND_MW. */
	IWT_FEATURE_WINDOWS	= 1 << 2,
	/*
	 * The process rings IWT_METHOD_SRQ_DOORBELL if IWT_RING_NEED_WAKEUP is set
	 * in the ring of a shared receive queue. Otherwise the kernel looks for
	 * posts from time to time.
	 */
	IWT_FEATURE_SRQ_DOORBELL = 1 << 3,
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
	__u32 posted_bits;	/* number of bits for queue pairs: a multiple of 32, or 0 */
	__u32 reserved;
};

/*
 * The response to IB_USER_VERBS_CMD_RESIZE_CQ. If entries is the present size of the queue, the
 * process need not do anything. Otherwise the process switches to new entries. If mmap_length is
 * zero, the new entries follow the control words, in the first mapping of the queue. Otherwise
 * the new entries are at the beginning of a new mapping, which the process maps. The process
 * copies the completions between cons and prod into the new entries, and calls
 * IWT_METHOD_CQ_RESIZED. Until this call the kernel writes each completion to the old and to the
 * new entries.
 */
struct iwt_resize_cq_resp {
	__aligned_u64 mmap_offset;
	__aligned_u64 mmap_length;
	__u32 entries;		/* power of two */
	__u32 reserved;
};

/* Also the response to IWT_METHOD_SRQ_NEW_RING. The ring has the format of a receive queue. */
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
	/* power of two; 0 if the queue pair has no receive queue, or a shared receive queue */
	__u32 rq_entries;
	__u32 rq_stride;
	__u32 max_inline;
	/*
	 * Numbers of the queue pair's bits in its two completion queues
	 * (IWT_RING_DEFERRED). If a number is equal to or greater than posted_bits of
	 * the completion queue, the queue pair has no bit in this completion queue. If
	 * both completion queues are the same, only send_bit is used.
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
	/* execute the posted requests of queue pairs with a set bit: see IWT_RING_DEFERRED */
	IWT_METHOD_CQ_POLL = 1U << UVERBS_ID_NS_SHIFT,
	/* request an event: see IWT_RING_ARM_BY_CALL */
	IWT_METHOD_CQ_ARM,
	/* end a resize of the queue: see struct iwt_resize_cq_resp */
	IWT_METHOD_CQ_RESIZED,
};

/* Attributes of the methods of UVERBS_OBJECT_CQ; IWT_ATTR_CQ is the completion queue. */
enum iwt_cq_attr {
	IWT_ATTR_CQ = 1U << UVERBS_ID_NS_SHIFT,
	IWT_ATTR_CQ_ARM_FLAGS,		/* in: enum iwt_cq_arm_flags */
	IWT_ATTR_CQ_RESIZED_FLAGS,	/* in: enum iwt_cq_resized_flags */
};

enum iwt_cq_arm_flags {
	/* arm for solicited completions only, unless the queue is armed for any completion */
	IWT_CQ_ARM_FOR_SOLICITED	= 1 << 0,
	/* if armed for any completion, and a completion is in the queue: raise the event now */
	IWT_CQ_ARM_AT_ONCE		= 1 << 1,
};

enum iwt_cq_resized_flags {
	/* the process failed to switch: the kernel frees the new entries */
	IWT_CQ_RESIZED_NOT		= 1 << 0,
};

/* Methods of UVERBS_OBJECT_SRQ. */
enum iwt_srq_method {
	/*
	 * Allocate a ring for another size of the queue. The process maps the new
	 * ring, and then modifies the size: the kernel copies the receives that are
	 * posted and not yet consumed to the new ring, at the same indices, and uses
	 * the new ring. The process MUST NOT post during the modification.
	 * Afterwards the kernel does not read the old ring any more. If the
	 * modification fails, the old ring remains in use.
	 */
	IWT_METHOD_SRQ_NEW_RING = 1U << UVERBS_ID_NS_SHIFT,
	/* the doorbell: messages may wait for posted receives (IWT_FEATURE_SRQ_DOORBELL) */
	IWT_METHOD_SRQ_DOORBELL,
};

/* Attributes of the methods of UVERBS_OBJECT_SRQ; IWT_ATTR_SRQ is the shared receive queue. */
enum iwt_srq_attr {
	IWT_ATTR_SRQ = 1U << UVERBS_ID_NS_SHIFT,
	IWT_ATTR_SRQ_MAX_WR,	/* in: __u32, the same max_wr as in the modification */
	IWT_ATTR_SRQ_RING,	/* out: struct iwt_create_srq_resp */
};

/*
 * Delayed startup: MPA on a TCP socket of the process (RFC 5044 7.1.3). The process receives the
 * startup frames of the peer. The kernel composes the frames of this end. The kernel itself sends
 * a Reply that accepts; the process sends every other frame. The kernel checks the frames and
 * takes over the connection. libiw_tcp has functions for delayed startup: see iwtdv(7).
 */

/* Methods of UVERBS_OBJECT_QP. */
enum iwt_qp_method {
	/* initiator: compose the Request that the process will send */
	IWT_METHOD_MPA_REQUEST = 1U << UVERBS_ID_NS_SHIFT,
	/*
	 * initiator, with Request and Reply: switch to RDMA; responder, with
	 * the Request: send the Reply and switch to RDMA
	 */
	IWT_METHOD_MPA_START,
	/* the doorbell: the kernel reads both queues of the queue pair (IWT_RING_NEED_WAKEUP) */
	IWT_METHOD_QP_DOORBELL,
};

/* Attributes of IWT_METHOD_QP_DOORBELL; IWT_ATTR_QP is the queue pair. */
enum iwt_qp_attr {
	IWT_ATTR_QP = 1U << UVERBS_ID_NS_SHIFT,
};

/* Methods of UVERBS_OBJECT_DEVICE. */
enum iwt_device_method {
	/* responder: compose a Reply that rejects a Request; the process will send the Reply */
	IWT_METHOD_MPA_REJECT = 1U << UVERBS_ID_NS_SHIFT,
};

/*
 * Attributes of the methods IWT_METHOD_MPA_*. A frame begins with a header of 20 bytes (RFC 5044
 * 7.1.1).
 */
enum iwt_mpa_attr {
	IWT_ATTR_MPA_QP = 1U << UVERBS_ID_NS_SHIFT,
	IWT_ATTR_MPA_FD,		/* in: descriptor of the socket */
	IWT_ATTR_MPA_PARAM,		/* in: struct iwt_mpa_param */
	IWT_ATTR_MPA_PRIVATE_DATA,	/* in, optional */
	IWT_ATTR_MPA_REQUEST,		/* in: a whole frame */
	IWT_ATTR_MPA_REPLY,		/* in, initiator only: a whole frame */
	IWT_ATTR_MPA_FRAME,		/* out: buffer of 532 bytes for the composed frame */
	IWT_ATTR_MPA_RESULT,		/* out: struct iwt_mpa_result */
};

enum iwt_mpa_flags {
	IWT_MPA_PLAIN		= 1 << 0, /* in: use revision 1 (RFC 5044) */
	IWT_MPA_CRC		= 1 << 1, /* out: FPDUs have a CRC */
	IWT_MPA_TX_MARKERS	= 1 << 2, /* out: markers in the data that this end sends */
	IWT_MPA_RX_MARKERS	= 1 << 3, /* out: markers in the data that the peer sends */
	IWT_MPA_ENHANCED	= 1 << 4, /* out: RFC 6581; both ends have agreed on ird, ord */
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
