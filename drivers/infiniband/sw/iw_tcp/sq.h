/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send queue: the kernel reads each work request from the ring once, into private memory,
 * and starts and completes the work requests in order (RFC 5040 5.5).
 */
#ifndef IWT_SQ_H
#define IWT_SQ_H

#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <rdma/ib_verbs.h>

#include "ring.h"

struct iwt_cq;
struct iwt_zc;
struct ib_qp;

/* A private copy of one work request, with room for the largest body in the ring. */
struct iwt_swqe {
	struct iwt_send_wqe h;
	union {
		struct iwt_atomic_body atomic;
		struct iwt_bind_body bind;
		DECLARE_FLEX_ARRAY(struct iwt_sge, sge);
		DECLARE_FLEX_ARRAY(u8, data);
	};
};

/**
 * struct iwt_sq_entry - state of a started work request
 * @wr_id: the consumer's identifier of the request
 * @len: bytes transferred
 * @last_seq: number of the last zero copy batch (tx_zc.h) that has payload of this request or of
 *	an earlier request: this request may complete when TCP has released that batch and all
 *	earlier batches
 * @opcode: enum iwt_wr_opcode
 * @flags: enum iwt_wr_flags
 * @status: enum ib_wc_status; valid with @done
 * @done: the request is finished; it completes after all older requests
 */
struct iwt_sq_entry {
	u64 wr_id;
	u32 len;
	u32 last_seq;
	u8 opcode;
	u8 flags;
	u8 status;
	bool done;
};

/**
 * struct iwt_sq - send queue
 * @ring: shared ring
 * @lock: held while a kernel consumer posts
 * @cq: completion queue of the requests
 * @zc: zero copy batches of the queue pair, or NULL
 * @entries: state of each work request, one for each entry of the ring
 * @wqe: memory for the private copy of one work request, for iwt_sq_next()
 * @cons: index of the next work request to start
 * @retire: index of the oldest work request that is not completed
 * @inline_max: maximum number of bytes of inline data
 * @sge_max: maximum number of elements of a request
 * @end: with @sealed: index of the first work request that must not start
 * @user: a process maps the ring
 * @sealed: the stream is closing: requests from @end on fail
 * @sig_all: every work request is signalled
 * @confirm: a Send or Write is finished only when the peer has confirmed its message
 * @confirmed: with @confirm: the peer has confirmed the messages of all requests before this
 *	index; requests without a message need no confirmation
 * @blame: status of the first request that the next flush fails; %IB_WC_SUCCESS: the flush fails
 *	all requests with %IB_WC_WR_FLUSH_ERR
 * @lost: a completion was lost, because @cq is full; iwt_qp_check_overrun() then ends the stream
 *
 * The lock of the stream guards @cons, @retire, @end, @sealed, @zc, @confirm, @confirmed, @blame,
 * @lost and @entries. The files wake_*.c read @cons and @retire without the lock, and may see
 * outdated values.
 */
struct iwt_sq {
	struct iwt_ring ring;
	spinlock_t lock;
	struct iwt_cq *cq;
	struct iwt_zc *zc;
	struct iwt_sq_entry *entries;
	struct iwt_swqe *wqe;
	u32 cons;
	u32 retire;
	u32 end;
	u32 confirmed;
	u16 inline_max;
	u8 sge_max;
	bool user;
	bool sealed;
	bool sig_all;
	bool lost;
	bool confirm;
	u8 blame;
};

int iwt_sq_init(struct iwt_sq *sq, void *mem, u32 entries, u32 stride,
		gfp_t gfp);
void iwt_sq_free(struct iwt_sq *sq);
u32 iwt_sq_stride(u32 max_sge, u32 max_inline, bool user);
int iwt_sq_post(struct iwt_sq *sq, const struct ib_send_wr *wr);
int iwt_sq_next(struct iwt_sq *sq, struct iwt_swqe *wqe, u32 *idx);
void iwt_sq_seal(struct iwt_sq *sq);
void iwt_sq_done(struct iwt_sq *sq, u32 idx, enum ib_wc_status status);
/* Return: true if @max requests were completed, and another request can be completed. */
bool iwt_sq_retire(struct iwt_sq *sq, struct ib_qp *qp, u32 until, u32 max);
void iwt_sq_fail(struct iwt_sq *sq, u32 unsent);
/* Return: true if requests are left that the next call can complete. */
bool iwt_sq_flush(struct iwt_sq *sq, struct ib_qp *qp, u32 max);
void iwt_sq_drop(struct iwt_sq *sq);

/* sq_confirm.c */
void iwt_sq_begin(struct iwt_sq *sq, bool confirm);
void iwt_sq_confirm(struct iwt_sq *sq, u32 end);

bool iwt_sq_find_write(struct iwt_sq *sq, u32 rkey, u64 to, u32 *idx);
bool iwt_sq_find_send(struct iwt_sq *sq, u32 behind, u32 back, u32 *idx);

/*
 * Set the status with which the next flush fails the oldest request that has no status yet; the
 * default is %IB_WC_WR_FLUSH_ERR. The request may be posted but not started. The lock of the
 * stream is held.
 */
static inline void iwt_sq_blame(struct iwt_sq *sq, enum ib_wc_status status)
{
	sq->blame = status;
}

static inline struct iwt_sq_entry *iwt_sq_entry(struct iwt_sq *sq, u32 idx)
{
	return &sq->entries[idx & sq->ring.mask];
}

/* Does RFC 7306 define the message of this operation? */
static inline bool iwt_wr_is_rfc7306(u8 opcode)
{
	return opcode >= IWT_WR_WRITE_WITH_IMM && opcode <= IWT_WR_MASKED_CMP_SWAP;
}

/* Is the operation an RDMA Read? */
static inline bool iwt_wr_is_read(u8 opcode)
{
	return opcode == IWT_WR_READ || opcode == IWT_WR_READ_WITH_INV;
}

/* Is the operation an atomic operation? */
static inline bool iwt_wr_is_atomic(u8 opcode)
{
	return opcode >= IWT_WR_FETCH_ADD && opcode <= IWT_WR_MASKED_CMP_SWAP;
}

/* Does the request wait for a Response of the peer, and count against ORD until then? */
static inline bool iwt_wr_is_answered(u8 opcode)
{
	return iwt_wr_is_read(opcode) || iwt_wr_is_atomic(opcode);
}

/* Is the queue empty: does no work request wait to start, and is none in progress? */
static inline bool iwt_sq_idle(const struct iwt_sq *sq)
{
	return sq->retire == (sq->sealed ? sq->end :
			      READ_ONCE(sq->ring.ctl->prod));
}

#endif
