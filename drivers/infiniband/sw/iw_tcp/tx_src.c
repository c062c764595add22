// SPDX-License-Identifier: GPL-2.0
/* Where the octets of the current message come from. */
#include "tx_priv.h"

#include "copy.h"
#include "mr.h"
#include "qp.h"

/* Of a Read Response: all that is left must still be allowed. */
static bool response_piece(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;
	const struct iwt_rdmap_read *r = &tx->resp.read;
	struct iwt_actor who = iwt_qp_actor(qp);
	enum iwt_access_verdict v;

	v = iwt_mem_piece(&who, &tx->src_hold, r->src_stag,
			  r->src_to + tx->pos.off, r->size - tx->pos.off,
			  IWT_REMOTE_READ, &tx->src, &tx->src_len);
	if (v != IWT_ACCESS_OK)
		tx->err = iwt_access_read_err(v);
	return v == IWT_ACCESS_OK;
}

static bool wqe_piece(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;
	struct iwt_actor who = iwt_qp_actor(qp);

	tx->src_len = U32_MAX;
	if (iwt_sgl_piece(&who, &tx->src_hold, tx->wqe->sge, tx->wqe->h.num_sge,
			  &tx->pos, 0, &tx->src, &tx->src_len) == IWT_ACCESS_OK)
		return true;
	return iwt_tx_fail_wqe(qp, IB_WC_LOC_PROT_ERR);
}

/**
 * iwt_tx_next_piece() - find the next octets of the message that are in one piece
 * @qp: queue pair; qp->lock is held; those found last are used up
 *
 * They are @tx->src_len octets at @tx->src. Return: false when access is denied;
 * then tx->err is set.
 */
bool iwt_tx_next_piece(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;
	bool ok = true;

	if (tx->what == IWT_TX_RESPONSE) {
		ok = response_piece(qp);
	} else if (tx->wqe->h.flags & IWT_WR_INLINE) {
		tx->src = tx->wqe->data + tx->pos.off;
		tx->src_len = iwt_sq_entry(&qp->sq, tx->idx)->len - tx->pos.off;
	} else {
		ok = wqe_piece(qp);
	}
	if (!ok)
		iwt_tx_let_go(tx);
	return ok;
}

/**
 * iwt_tx_fetch() - the next payload octets of the current message
 * @qp: queue pair; qp->lock is held
 * @to: where to
 * @len: how many
 *
 * Regions are looked up and checked once for the octets of one piece, and held
 * until iwt_tx_let_go(). Return: false when access is denied; then tx->err is
 * set.
 */
bool iwt_tx_fetch(struct iwt_qp *qp, u8 *to, u32 len)
{
	struct iwt_tx *tx = &qp->tx;
	u32 n;

	while (len) {
		if (!tx->src_len && !iwt_tx_next_piece(qp))
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
 * iwt_tx_let_go() - let go of the memory of the current message
 * @tx: engine; qp->lock is held
 */
void iwt_tx_let_go(struct iwt_tx *tx)
{
	tx->src_len = 0;
	iwt_hold_drop(&tx->src_hold);
}
