// SPDX-License-Identifier: GPL-2.0
/* Where the octets of the current message come from, and what if they may not be read. */
#include "tx_priv.h"

#include "copy.h"
#include "mr.h"

/**
 * iwt_tx_fail() - the stream can't go on
 * @st: stream; its lock is held
 * @err: error for the Terminate
 *
 * Return: false.
 */
bool iwt_tx_fail(struct iwt_stream *st, u32 err)
{
	lockdep_assert_held(&st->lock);
	st->tx.err = err;
	return false;
}

/**
 * iwt_tx_fail_wqe() - the work request under way can't be executed
 * @st: stream; its lock is held
 * @status: what it gets; the stream ends
 *
 * Return: false.
 */
bool iwt_tx_fail_wqe(struct iwt_stream *st, enum ib_wc_status status)
{
	iwt_sq_done(&st->sq, st->tx.idx, status);
	st->tx.loaded = false;
	st->tx.what = IWT_TX_NOTHING;
	return iwt_tx_fail(st, IWT_ERR_LOCAL);
}

/* Of a Read Response: access to all octets that are left must still be allowed. */
static bool response_piece(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;
	const struct iwt_rdmap_read *r = &tx->resp.read;
	enum iwt_access_verdict v;

	v = iwt_mem_piece(&st->actor, &tx->src_hold, r->src_stag,
			  r->src_to + tx->pos.off, r->size - tx->pos.off,
			  IWT_REMOTE_READ, &tx->src, &tx->src_len);
	if (v != IWT_ACCESS_OK && v != IWT_ACCESS_ABSENT)
		tx->err = iwt_access_read_err(v);
	return v == IWT_ACCESS_OK;
}

static bool wqe_piece(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	enum iwt_access_verdict v;

	tx->src_len = U32_MAX;
	v = iwt_sgl_piece(&st->actor, &tx->src_hold, tx->wqe->sge,
			  tx->wqe->h.num_sge, &tx->pos, IWT_LOCAL_READ,
			  &tx->src, &tx->src_len);
	if (v != IWT_ACCESS_OK && v != IWT_ACCESS_ABSENT)
		iwt_tx_fail_wqe(st, IB_WC_LOC_PROT_ERR);
	return v == IWT_ACCESS_OK;
}

/**
 * iwt_tx_next_piece() - find the next octets of the message that are in one piece
 * @st: stream; its lock is held, and the last piece is used up
 *
 * The piece has tx->src_len octets at tx->src.
 *
 * Return: false when access is denied, and tx->err is set; or when the memory has to come first.
 */
bool iwt_tx_next_piece(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;
	bool ok = true;

	lockdep_assert_held(&st->lock);
	if (tx->what == IWT_TX_RESPONSE) {
		ok = response_piece(st);
	} else if (tx->wqe->h.flags & IWT_WR_INLINE) {
		tx->src = tx->wqe->data + tx->pos.off;
		tx->src_len = iwt_sq_entry(&st->sq, tx->idx)->len - tx->pos.off;
	} else {
		ok = wqe_piece(st);
	}
	if (!ok)
		iwt_tx_let_go(tx);
	return ok;
}

/**
 * iwt_tx_fetch() - the next payload octets of the current message
 * @st: stream; its lock is held
 * @to: where to
 * @len: how many
 *
 * A region is looked up and checked once for each piece, and held until iwt_tx_let_go().
 *
 * Return: as iwt_tx_next_piece().
 */
bool iwt_tx_fetch(struct iwt_stream *st, u8 *to, u32 len)
{
	struct iwt_tx *tx = &st->tx;
	u32 n;

	while (len) {
		if (!tx->src_len && !iwt_tx_next_piece(st))
			return false;
		n = min(len, tx->src_len);
		iwt_copy(to, tx->src, n);
		tx->src += n;
		tx->src_len -= n;
		tx->pos.off += n;
		to += n;
		len -= n;
	}
	return true;
}

/**
 * iwt_tx_let_go() - release the region of the current message
 * @tx: engine; its lock is held
 */
void iwt_tx_let_go(struct iwt_tx *tx)
{
	tx->src_len = 0;
	iwt_hold_drop(&tx->src_hold);
}
