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

/*
 * Access to @left octets at @addr was checked, and the first of them are the piece that was
 * found. As long as the region is held nobody can withdraw that.
 */
static void note_rest(struct iwt_tx *tx, u32 stag, u64 addr, u32 left)
{
	const struct iwt_mr *mr = tx->src_hold.mr;

	if (mr && mr->stag == stag) {
		tx->src_addr = addr + tx->src_len;
		tx->src_rest = left - tx->src_len;
	}
}

/* More of that. Return: false if all has to be looked at. */
static bool rest_piece(struct iwt_tx *tx)
{
	struct iwt_hold *hold = &tx->src_hold;
	u8 *src;
	u32 len;

	if (!tx->src_rest)
		return false;
	src = iwt_mr_piece(hold->mr, tx->src_addr, tx->src_rest, &len, &hold->hint, false);
	if (!src)
		return false;
	tx->src = src;
	tx->src_len = len;
	tx->src_addr += len;
	tx->src_rest -= len;
	return true;
}

/* Of a Read Response: access to all octets that are left must still be allowed. */
static bool response_piece(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;
	const struct iwt_rdmap_read *r = &tx->resp.read;
	u64 addr = r->src_to + tx->pos.off;
	u32 left = r->size - tx->pos.off;
	enum iwt_access_verdict v;

	v = iwt_mem_piece(&st->actor, &tx->src_hold, r->src_stag, addr, left,
			  IWT_REMOTE_READ, &tx->src, &tx->src_len);
	if (v == IWT_ACCESS_OK)
		note_rest(tx, r->src_stag, addr, left);
	else if (v != IWT_ACCESS_ABSENT)
		tx->err = iwt_access_read_err(v);
	return v == IWT_ACCESS_OK;
}

static bool wqe_piece(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	const struct iwt_sge *s;
	enum iwt_access_verdict v;

	tx->src_len = U32_MAX;
	v = iwt_sgl_piece(&st->actor, &tx->src_hold, tx->wqe->sge,
			  tx->wqe->h.num_sge, &tx->pos, IWT_LOCAL_READ,
			  &tx->src, &tx->src_len);
	if (v == IWT_ACCESS_OK) {
		s = &tx->wqe->sge[tx->pos.i];
		note_rest(tx, s->lkey, s->addr + tx->pos.off, s->length - tx->pos.off);
	} else if (v != IWT_ACCESS_ABSENT) {
		iwt_tx_fail_wqe(st, IB_WC_LOC_PROT_ERR);
	}
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
	if (rest_piece(tx))
		return true;
	tx->src_rest = 0;
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
	tx->src_rest = 0;
	iwt_hold_drop(&tx->src_hold);
}
