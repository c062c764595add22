/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send queue: work requests are read from the ring once, into private memory, started in
 * order and completed in order (RFC 5040 5.5).
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

/* A private copy of one work request, with room for what the ring's have. */
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
 * struct iwt_sq_entry - what is remembered of a started work request
 * @wr_id: the consumer's name for it
 * @len: octets moved
 * @last_seq: number of the last batch that TCP refers to when the request is framed:
 *	the request is done when TCP has released that batch (tx_zc.h)
 * @opcode: enum iwt_wr_opcode
 * @flags: enum iwt_wr_flags
 * @status: enum ib_wc_status, once done
 * @done: finished, but perhaps not yet at the head of the queue
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
 * @lock: kernel producer
 * @cq: where completions go
 * @zc: what TCP has by reference, or NULL
 * @entries: as many as the ring has
 * @wqe: memory for the copy of one, for iwt_sq_next()
 * @cons: next work request to start
 * @retire: oldest one not completed
 * @inline_max: most octets of inline data
 * @sge_max: most elements of a list
 * @end: once @sealed, the first work request that is not to start
 * @user: the ring is mapped by a process
 * @sealed: the queue is to be closed: what is posted later fails
 * @sig_all: every work request is signalled
 * @lost: a completion was lost, because @cq is full; the engine looks at it
 *
 * The lock of the stream guards @cons, @retire, @zc, @lost and @entries. The guesses of
 * wake_doorbell.c and wake_sqpoll.c read @cons and @retire without it.
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
	u16 inline_max;
	u8 sge_max;
	bool user;
	bool sealed;
	bool sig_all;
	bool lost;
};

int iwt_sq_init(struct iwt_sq *sq, void *mem, u32 entries, u32 stride,
		gfp_t gfp);
void iwt_sq_free(struct iwt_sq *sq);
u32 iwt_sq_stride(u32 max_sge, u32 max_inline, bool user);
int iwt_sq_post(struct iwt_sq *sq, const struct ib_send_wr *wr);
int iwt_sq_next(struct iwt_sq *sq, struct iwt_swqe *wqe, u32 *idx);
void iwt_sq_seal(struct iwt_sq *sq);
void iwt_sq_done(struct iwt_sq *sq, u32 idx, enum ib_wc_status status);
bool iwt_sq_retire(struct iwt_sq *sq, struct ib_qp *qp, u32 max);
void iwt_sq_fail(struct iwt_sq *sq, u32 unsent);
bool iwt_sq_flush(struct iwt_sq *sq, struct ib_qp *qp, u32 max);

static inline struct iwt_sq_entry *iwt_sq_entry(struct iwt_sq *sq, u32 idx)
{
	return &sq->entries[idx & sq->ring.mask];
}

/* Does RFC 7306 define the message? */
static inline bool iwt_wr_is_rfc7306(u8 opcode)
{
	return opcode >= IWT_WR_WRITE_WITH_IMM && opcode <= IWT_WR_MASKED_CMP_SWAP;
}

static inline bool iwt_wr_is_read(u8 opcode)
{
	return opcode == IWT_WR_READ || opcode == IWT_WR_READ_WITH_INV;
}

static inline bool iwt_wr_is_atomic(u8 opcode)
{
	return opcode >= IWT_WR_FETCH_ADD && opcode <= IWT_WR_MASKED_CMP_SWAP;
}

/* It is done when the peer has answered, and takes its part of ORD until then. */
static inline bool iwt_wr_is_answered(u8 opcode)
{
	return iwt_wr_is_read(opcode) || iwt_wr_is_atomic(opcode);
}

/* Nothing waits that is to start, and nothing is under way. */
static inline bool iwt_sq_idle(const struct iwt_sq *sq)
{
	return sq->retire == (sq->sealed ? sq->end :
			      READ_ONCE(sq->ring.ctl->prod));
}

#endif
