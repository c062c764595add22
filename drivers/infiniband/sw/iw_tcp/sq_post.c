// SPDX-License-Identifier: GPL-2.0
/* Posts of kernel consumers: write work requests into the ring of a send queue. */
#include "sq.h"

static int wr_opcode(enum ib_wr_opcode op)
{
	switch (op) {
	case IB_WR_SEND:
		return IWT_WR_SEND;
	case IB_WR_SEND_WITH_INV:
		return IWT_WR_SEND_WITH_INV;
	case IB_WR_RDMA_WRITE:
		return IWT_WR_WRITE;
	case IB_WR_RDMA_READ:
		return IWT_WR_READ;
	case IB_WR_RDMA_READ_WITH_INV:
		return IWT_WR_READ_WITH_INV;
	case IB_WR_LOCAL_INV:
		return IWT_WR_LOCAL_INV;
	case IB_WR_REG_MR:
		return IWT_WR_REG_MR;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IWT_WR_WRITE_WITH_IMM;
	case IB_WR_SEND_WITH_IMM:
		return IWT_WR_SEND_WITH_IMM;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IWT_WR_FETCH_ADD;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IWT_WR_CMP_SWAP;
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return IWT_WR_MASKED_FETCH_ADD;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
		return IWT_WR_MASKED_CMP_SWAP;
	default:
		return -EOPNOTSUPP;
	}
}

static u8 wr_flags(int send_flags)
{
	u8 f = 0;

	if (send_flags & IB_SEND_SIGNALED)
		f |= IWT_WR_SIGNALED;
	if (send_flags & IB_SEND_SOLICITED)
		f |= IWT_WR_SOLICITED;
	if (send_flags & IB_SEND_FENCE)
		f |= IWT_WR_FENCE;
	return f;
}

static int put_inline(const struct iwt_sq *sq, const struct ib_send_wr *wr,
		      struct iwt_send_wqe *w)
{
	u8 *to = (u8 *)(w + 1);
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *s = &wr->sg_list[i];

		if (s->length > sq->inline_max - len)
			return -EINVAL;
		memcpy(to + len, (void *)(uintptr_t)s->addr, s->length);
		len += s->length;
	}
	w->inline_len = len;
	w->flags |= IWT_WR_INLINE;
	return 0;
}

static void put_sges(const struct ib_send_wr *wr, struct iwt_send_wqe *w)
{
	struct iwt_sge *to = (struct iwt_sge *)(w + 1);
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		to[i].addr = wr->sg_list[i].addr;
		to[i].length = wr->sg_list[i].length;
		to[i].lkey = wr->sg_list[i].lkey;
	}
	w->num_sge = wr->num_sge;
}

/* Write the operands after the single element of the list, which put_sges() has written. */
static void put_atomic(const struct ib_atomic_wr *wr, struct iwt_send_wqe *w)
{
	struct iwt_atomic_body *b = (struct iwt_atomic_body *)(w + 1);
	bool add = w->opcode == IWT_WR_FETCH_ADD ||
		   w->opcode == IWT_WR_MASKED_FETCH_ADD;

	w->remote_addr = wr->remote_addr;
	w->rkey = wr->rkey;
	b->data = add ? wr->compare_add : wr->swap;
	b->data_mask = add ? wr->compare_add_mask : wr->swap_mask;
	b->compare = wr->compare_add;
	b->compare_mask = wr->compare_add_mask;
}

static void put_special(const struct ib_send_wr *wr, struct iwt_send_wqe *w)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE_WITH_IMM:
		w->remote_addr = rdma_wr(wr)->remote_addr;
		w->rkey = rdma_wr(wr)->rkey;
		fallthrough;
	case IB_WR_SEND_WITH_IMM:
		w->ex = (__force u32)wr->ex.imm_data;
		break;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
		put_atomic(atomic_wr(wr), w);
		break;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		w->remote_addr = rdma_wr(wr)->remote_addr;
		w->rkey = rdma_wr(wr)->rkey;
		/*
		 * READ_WITH_INV invalidates the STag of its own sink. Use the STag in the list
		 * element: when rdma_rw changes the key, it does not update ex.invalidate_rkey.
		 */
		w->ex = wr->num_sge > 0 ? wr->sg_list[0].lkey : 0;
		break;
	case IB_WR_REG_MR:
		w->rkey = reg_wr(wr)->key;
		w->ex = reg_wr(wr)->access;
		break;
	default:
		w->ex = wr->ex.invalidate_rkey;
		break;
	}
}

/* Are the elements of the list allowed for this operation? Return: 0 if so, else -errno. */
static int check_post(const struct iwt_sq *sq, const struct ib_send_wr *wr,
		      u8 op)
{
	int i;

	if (wr->num_sge < 0 || wr->num_sge > sq->sge_max)
		return -EINVAL;
	if (iwt_wr_is_atomic(op) &&
	    (wr->num_sge != 1 || wr->send_flags & IB_SEND_INLINE))
		return -EINVAL;
	/* RFC 7306 carries Immediate Data in a separate message, without other payload */
	for (i = 0; op == IWT_WR_SEND_WITH_IMM && i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			return -EOPNOTSUPP;
	return 0;
}

/**
 * iwt_sq_post() - put a kernel consumer's work request on the ring
 * @sq: queue; sq->lock is held
 * @wr: work request
 *
 * Any context.
 *
 * Return: 0; -ENOMEM when the queue is full; -EINVAL or -EOPNOTSUPP for a work request that is
 * invalid or not supported.
 */
int iwt_sq_post(struct iwt_sq *sq, const struct ib_send_wr *wr)
{
	u32 prod = sq->ring.ctl->prod;
	struct iwt_send_wqe *w = iwt_ring_at(&sq->ring, prod);
	int op = wr_opcode(wr->opcode);
	int err;

	lockdep_assert_held(&sq->lock);
	if (op < 0)
		return op;
	if (prod - READ_ONCE(sq->ring.ctl->cons) > sq->ring.mask)
		return -ENOMEM;
	err = check_post(sq, wr, op);
	if (err)
		return err;

	memset(w, 0, sizeof(*w));
	w->wr_id = wr->wr_id;
	w->opcode = op;
	w->flags = wr_flags(wr->send_flags);
	if (wr->send_flags & IB_SEND_INLINE) {
		err = put_inline(sq, wr, w);
		if (err)
			return err;
	} else {
		put_sges(wr, w);
	}
	put_special(wr, w);
	iwt_ring_set_prod(&sq->ring, prod + 1);
	return 0;
}
