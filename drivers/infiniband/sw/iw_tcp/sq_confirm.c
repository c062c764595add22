// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of a direct connection. As with InfiniBand, a Send or Write completes only when the
 * peer has placed its message (tx_confirm.c), and the status of the first request that fails
 * shows the cause.
 */
#include "sq.h"

#include <linux/minmax.h>

/**
 * iwt_sq_begin() - make the queue ready for a connection
 * @sq: queue; the lock of the stream is held
 * @confirm: a request is finished only when the peer has confirmed its message
 */
void iwt_sq_begin(struct iwt_sq *sq, bool confirm)
{
	sq->sealed = false;
	sq->lost = false;
	sq->confirm = confirm;
	sq->confirmed = sq->cons;
	sq->blame = IB_WC_SUCCESS;
}

/**
 * iwt_sq_confirm() - the peer has placed the messages of all requests before an index
 * @sq: queue with @sq->confirm; the lock of the stream is held
 * @end: the index; the messages of all requests before @end are framed
 *
 * This function marks the confirmed Sends and Writes as finished. Reads and atomic operations are
 * not marked: such an operation finishes when its own Response is received.
 */
void iwt_sq_confirm(struct iwt_sq *sq, u32 end)
{
	u32 i = sq->confirmed;

	/* requests without a message may have completed, although nothing was confirmed */
	if (sq->cons - i > sq->cons - sq->retire)
		i = sq->retire;
	if (sq->cons - end > sq->cons - i)
		return;
	for (; i != end; i++)
		if (!iwt_wr_is_answered(iwt_sq_entry(sq, i)->opcode))
			iwt_sq_done(sq, i, IB_WC_SUCCESS);
	sq->confirmed = end;
}

/**
 * iwt_sq_find_send() - find a started request by the position of its message among the Sends
 * @sq: queue; the lock of the stream is held
 * @behind: index after the last request of which a Send or Immediate Data may have begun
 * @back: position of the Send or Immediate Data, counted backwards from @behind: 1 is the last
 * @idx: set to the index of the request
 *
 * Return: true if there is such a request that has not completed.
 */
bool iwt_sq_find_send(struct iwt_sq *sq, u32 behind, u32 back, u32 *idx)
{
	u32 left = back, i;

	for (i = behind; left && i != sq->retire; i--) {
		switch (iwt_sq_entry(sq, i - 1)->opcode) {
		case IWT_WR_SEND:
		case IWT_WR_SEND_WITH_INV:
		case IWT_WR_SEND_WITH_IMM:
		case IWT_WR_WRITE_WITH_IMM:
			left--;
			*idx = i - 1;
		}
	}
	return back && !left;
}

/**
 * iwt_sq_find_write() - find the first started Write to an address
 * @sq: queue; the lock of the stream is held
 * @rkey: STag of the memory
 * @to: tagged offset within the memory that was written
 * @idx: set to the index of the request
 *
 * The address of the Write is read from the ring again: if a process has changed the ring, only
 * the statuses of its own requests are wrong.
 *
 * Return: true if there is such a request that has not completed.
 */
bool iwt_sq_find_write(struct iwt_sq *sq, u32 rkey, u64 to, u32 *idx)
{
	struct iwt_send_wqe h;
	u32 i;

	for (i = sq->retire; i != sq->cons; i++) {
		const struct iwt_sq_entry *e = iwt_sq_entry(sq, i);

		if (e->opcode != IWT_WR_WRITE && e->opcode != IWT_WR_WRITE_WITH_IMM)
			continue;
		iwt_ring_read(&h, iwt_ring_at(&sq->ring, i), sizeof(h));
		/* a Write without data has an address, too */
		if (h.rkey != rkey || to - h.remote_addr >= max_t(u32, e->len, 1))
			continue;
		*idx = i;
		return true;
	}
	return false;
}
