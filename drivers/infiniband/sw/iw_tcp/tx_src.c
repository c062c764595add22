// SPDX-License-Identifier: GPL-2.0
/* Reading the payload of the current message, and ending the stream if the access is denied. */
#include "tx_priv.h"

#include "mr.h"
#include "mr_copy.h"

/**
 * iwt_tx_fail() - note an error that ends the stream
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
 * iwt_tx_fail_wqe() - fail the current work request and end the stream
 * @st: stream; its lock is held
 * @status: completion status of the request
 *
 * Return: false.
 */
bool iwt_tx_fail_wqe(struct iwt_stream *st, enum ib_wc_status status)
{
	/* earlier messages are not affected: the engine sends them before the Terminate */
	if (unlikely(st->sq.confirm))
		iwt_sq_confirm(&st->sq, st->tx.idx);
	iwt_sq_done(&st->sq, st->tx.idx, status);
	st->tx.loaded = false;
	st->tx.what = IWT_TX_NOTHING;
	return iwt_tx_fail(st, IWT_ERR_LOCAL);
}

/* The memory from the present position to the end of the list element or of the Read Response. */
struct rest {
	u32 stag;
	u64 addr;
	u32 len;
};

static struct rest rest_of(const struct iwt_tx *tx)
{
	const struct iwt_rdmap_read *r = &tx->resp.read;
	const struct iwt_sge *s;
	u32 off = tx->pos.off;

	if (tx->what == IWT_TX_RESPONSE)
		return (struct rest){ r->src_stag, r->src_to + off, r->size - off };
	s = &tx->wqe->sge[tx->pos.i];
	return (struct rest){ s->lkey, s->addr + off, s->length - off };
}

/*
 * The lookup of the current piece has checked the access to the whole rest (struct rest). While
 * the engine holds the region, nobody can revoke the access, so checked_piece() need not check
 * again.
 */
static void note_checked(struct iwt_tx *tx)
{
	const struct iwt_mr *mr = tx->src_hold.mr;

	tx->src_checked = mr && mr->stag == rest_of(tx).stag;
}

/* Find the next piece without a check. Return: false if a new lookup and check are necessary. */
static bool checked_piece(struct iwt_tx *tx)
{
	struct iwt_hold *hold = &tx->src_hold;
	struct rest rest = rest_of(tx);
	u8 *src;
	u32 len;

	if (!rest.len)
		return false;
	src = iwt_mr_piece(hold->mr, rest.addr, rest.len, &len, &hold->hint, false);
	if (!src)
		return false;
	tx->src = src;
	tx->src_len = len;
	return true;
}

/*
 * Find the next piece of a Read Response; the access to the whole rest must still be allowed.
 * Return: as iwt_tx_next_piece().
 */
static bool response_piece(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;
	struct rest rest = rest_of(tx);
	struct iwt_place from = {
		.actor = &st->actor,
		.hold = &tx->src_hold,
		.need = IWT_REMOTE_READ,
	};
	enum iwt_access_verdict v;

	tx->src_len = rest.len;
	v = iwt_mem_piece(&from, rest.stag, rest.addr, &tx->src, &tx->src_len);
	if (v != IWT_ACCESS_OK && v != IWT_ACCESS_ABSENT)
		tx->err = iwt_access_read_err(v);
	return v == IWT_ACCESS_OK;
}

static bool wqe_piece(struct iwt_stream *st)
	__must_hold(&st->lock)
{
	struct iwt_tx *tx = &st->tx;
	struct iwt_place from = {
		.actor = &st->actor,
		.hold = &tx->src_hold,
		.sge = tx->wqe->sge,
		.n = tx->wqe->h.num_sge,
		.need = IWT_LOCAL_READ,
		.pos = tx->pos,
	};
	enum iwt_access_verdict v;

	tx->src_len = U32_MAX;
	v = iwt_sgl_piece(&from, &tx->src, &tx->src_len);
	tx->pos = from.pos;
	if (v != IWT_ACCESS_OK && v != IWT_ACCESS_ABSENT)
		iwt_tx_fail_wqe(st, IB_WC_LOC_PROT_ERR);
	return v == IWT_ACCESS_OK;
}

/**
 * iwt_tx_next_piece() - find the next contiguous payload of the message
 * @st: stream; its lock is held, and the last piece is used up
 *
 * Sets tx->src to the address of the piece, and tx->src_len to its length in bytes.
 *
 * Return: true if there is a piece; false if the access is denied (tx->err is set), or if the
 * memory is absent and must be made present first (tx->err is not set).
 */
bool iwt_tx_next_piece(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;
	bool ok;

	lockdep_assert_held(&st->lock);
	if (tx->src_checked && checked_piece(tx))
		return true;
	tx->src_checked = false;
	if (tx->what != IWT_TX_RESPONSE && tx->wqe->h.flags & IWT_WR_INLINE) {
		tx->src = tx->wqe->data + tx->pos.off;
		tx->src_len = iwt_sq_entry(&st->sq, tx->idx)->len - tx->pos.off;
		return true;
	}
	ok = tx->what == IWT_TX_RESPONSE ? response_piece(st) : wqe_piece(st);
	if (ok)
		note_checked(tx);
	else
		iwt_tx_let_go(tx);
	return ok;
}

/**
 * iwt_tx_fetch() - copy the next payload bytes of the current message
 * @st: stream; its lock is held
 * @to: destination
 * @len: number of bytes
 *
 * The engine looks up and checks a region when it needs a new piece, and holds the region until
 * iwt_tx_let_go().
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

/* Release the region of the current message. @tx: engine; the lock of the stream is held. */
void iwt_tx_let_go(struct iwt_tx *tx)
{
	tx->src_len = 0;
	tx->src_checked = false;
	iwt_hold_drop(&tx->src_hold);
}
