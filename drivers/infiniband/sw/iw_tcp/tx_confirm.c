// SPDX-License-Identifier: GPL-2.0
/*
 * Confirmations: the peer of a direct connection confirms that it has placed messages.
 *
 * iWARP has no acknowledgment of a message. But the peer receives messages in order, and answers
 * a Read only after it has placed and delivered all earlier messages. So a Read of no bytes,
 * which needs no memory at either end, lets the peer confirm all messages before it. Reads and
 * atomic operations of the consumer have the same effect.
 *
 * A Read without a work request is sent when a message is framed, no Read confirms it yet, and
 * there is nothing else to send: then this Read is in the same segment as the end of the message,
 * if there is room. A peer that ends its queue pair as soon as it has the message has then
 * already received the Read. That is why requests that are not signalled need a confirmation,
 * too: if the peer leaves, they must not fail. The Read is also sent when a quarter of the send
 * queue waits for a confirmation, because there may always be something else to send. Both ends
 * have agreed on %IWT_DIRECT_READS more Reads than the consumers requested, so these Reads never
 * delay those of the consumer.
 */
#include "tx_priv.h"

/* A confirmation is urgent when this part (1 / n) of the send queue waits for it. */
#define URGENT_PART	4

/**
 * iwt_tx_own_read() - begin a Read of no bytes that has no work request
 * @st: stream; its lock is held
 *
 * Return: the entry of the Read; NULL if ORD is reached.
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
 * iwt_tx_want_confirm() - the current request is finished: let the peer confirm it
 * @st: stream of a direct connection; its lock is held
 * @local: the request has no message, so that only the requests before it need a confirmation
 */
void iwt_tx_want_confirm(struct iwt_stream *st, bool local)
{
	struct iwt_tx *tx = &st->tx;

	lockdep_assert_held(&st->lock);
	if (local && tx->confirm_asked == tx->idx)
		tx->confirm_asked++;
	else
		tx->confirm_due = tx->idx + 1;
}

/**
 * iwt_tx_pick_confirm() - begin a Read that lets the peer confirm all messages until now
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
