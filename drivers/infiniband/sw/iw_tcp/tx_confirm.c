// SPDX-License-Identifier: GPL-2.0
/*
 * Confirmations: the peer of a direct connection confirms that it has placed messages.
 *
 * iWARP has no acknowledgment of a message. But the peer receives messages in order, and answers
 * a Read only after it has placed and delivered all earlier messages. So a Read of no bytes,
 * which needs no memory at either end, lets the peer confirm all messages before it. Reads and
 * atomic operations of the consumer have the same effect.
 *
 * The engine sends a Read without a work request when it has framed all messages, and no earlier
 * Read will confirm the last message. If the segment with the end of the message has room, the
 * Read is in the same segment. A peer may destroy its queue pair as soon as it has received the
 * message: then the peer has received the Read, too. Requests that are not signalled also need a
 * confirmation: without a confirmation these requests would fail when the peer leaves. If more
 * than a quarter of the send queue waits for a confirmation, the engine sends the Read before
 * other messages, because there may always be another message. Both ends have agreed on
 * %IWT_DIRECT_READS more Reads than the consumers requested, so these Reads never delay the Reads
 * of a consumer.
 */
#include "tx_priv.h"

/* A confirmation is urgent when more than 1 / URGENT_PART of the send queue waits for it. */
#define URGENT_PART	4

/**
 * iwt_tx_own_read() - begin a Read of no bytes that has no work request
 * @st: stream; its lock is held, and no message is being framed
 *
 * The caller sets tx->what to the kind of the message.
 *
 * Return: the entry of the Read; NULL if no entry is free.
 */
struct iwt_read_out *iwt_tx_own_read(struct iwt_stream *st)
{
	const struct iwt_rdmap_read r = {
		.sink_stag = IWT_OWN_STAG,
		.src_stag = IWT_OWN_STAG,
	};
	struct iwt_tx *tx = &st->tx;
	struct iwt_read_out *out;

	lockdep_assert_held(&st->lock);
	out = iwt_readq_start_own(&st->readq, tx->read_msn);
	if (!out)
		return NULL;
	out->sink.lkey = IWT_OWN_STAG;
	iwt_txseg_read_req(&tx->msg, tx->read_msn++, &r);
	return out;
}

/**
 * iwt_tx_confirm_urgent() - does a large part of the send queue need a confirmation?
 * @st: stream; its lock is held
 *
 * Return: true if so.
 */
bool iwt_tx_confirm_urgent(const struct iwt_stream *st)
{
	lockdep_assert_held(&st->lock);
	return st->sq.cons - st->tx.confirm_asked > st->sq.ring.mask / URGENT_PART;
}

/**
 * iwt_tx_want_confirm() - note that the requests up to the current request need a confirmation
 * @st: stream of a direct connection; its lock is held
 * @local: the current request has no message, so only the requests before it need a confirmation
 *
 * The message of the current request (tx->idx) is framed, or the request was executed locally.
 */
void iwt_tx_want_confirm(struct iwt_stream *st, bool local)
{
	struct iwt_tx *tx = &st->tx;

	lockdep_assert_held(&st->lock);
	if (local && tx->confirm_asked == tx->idx)
		tx->confirm_asked++;
	tx->confirm_due = tx->idx + 1;
}

/**
 * iwt_tx_pick_confirm() - begin a Read that lets the peer confirm all framed messages
 * @st: stream that frames no message; its lock is held
 *
 * Return: true; false if no confirmation is needed, or none can be requested now.
 */
bool iwt_tx_pick_confirm(struct iwt_stream *st)
{
	struct iwt_tx *tx = &st->tx;
	struct iwt_read_out *out;

	lockdep_assert_held(&st->lock);
	if (!iwt_tx_confirm_wanted(st))
		return false;
	out = iwt_tx_own_read(st);
	if (!out)
		return false;
	out->confirm = true;
	out->sq_idx = iwt_tx_unframed(st);
	tx->confirm_asked = out->sq_idx;
	tx->what = IWT_TX_CONFIRM;
	iwt_stream_count(st, IWT_C_TX_CONFIRM);
	return true;
}
