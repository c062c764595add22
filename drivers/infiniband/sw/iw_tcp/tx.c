// SPDX-License-Identifier: GPL-2.0
#include "tx.h"

#include <linux/mm.h>

#include "dev.h"
#include "qp.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"
#include "tx_priv.h"
#include "zc.h"

/**
 * iwt_tx_start() - make the engine ready for a connection
 * @tx: engine
 * @terms: what was negotiated
 * @initiator: we sent the MPA Request
 */
void iwt_tx_start(struct iwt_tx *tx, const struct iwt_mpa_terms *terms,
		  bool initiator)
{
	memset(tx, 0, sizeof(*tx));
	tx->crc = terms->crc;
	tx->markers = terms->tx_markers;
	tx->large = terms->tx_large;
	tx->rdmac = terms->rdmac;
	tx->hold = !initiator;
	tx->rtr = initiator ? terms->rtr : IWT_RTR_NONE;
	tx->send_msn = 1;
	tx->read_msn = 1;
	tx->atomic_msn = 1;
}

/**
 * iwt_tx_sent() - take note of what TCP says to octets
 * @tx: engine; qp->lock is held
 * @ret: octets taken, or -errno
 *
 * Behind our own FIN the peer may still ask for something: then it is the peer's turn
 * to end the connection (-EPIPE).
 */
void iwt_tx_sent(struct iwt_tx *tx, int ret)
{
	if (ret < 0 && ret != -EAGAIN && ret != -EPIPE)
		tx->lost = true;
}

/* Hand over what is framed; false when TCP did not take all of it. */
static bool send_batch(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;
	u32 i, total = tx->bytes;
	int sent = 0;

	for (i = 0; i < tx->n_chunks; i++) {
		struct iwt_tx_chunk *c = &tx->chunk[i];
		int flags = (c->eor ? MSG_EOR : 0) |
			    (i < tx->n_chunks - 1 ? MSG_MORE : 0);

		sent = iwt_sock_send_page(qp->sock, c->page, c->off, c->len,
					  flags);
		iwt_tx_sent(tx, sent);
		if (sent > 0) {
			c->off += sent;
			c->len -= sent;
			tx->bytes -= sent;
		}
		if (c->len)
			break;
		put_page(c->page);
	}
	memmove(tx->chunk, tx->chunk + i,
		(tx->n_chunks - i) * sizeof(tx->chunk[0]));
	tx->n_chunks -= i;
	trace_iwt_tx_batch(qp->ibqp.qp_num, tx->fpdus, total,
			   total - tx->bytes);
	iwt_count_add(qp->dev, IWT_C_TX_BYTES, total - tx->bytes);
	if (!tx->n_chunks)
		return true;
	iwt_count(qp->dev, IWT_C_TX_BLOCKED);
	return false;
}

/* Whatever is framed; false when TCP did not take all of it. */
static bool send_framed(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;

	if (tx->n_chunks ? !send_batch(qp) : tx->zcb && !iwt_tx_zc_send(qp))
		return false;
	tx->ended = false;
	return true;
}

/* Nothing to do: may the poster be told to ring the bell? */
static bool go_idle(struct iwt_qp *qp)
{
	struct iwt_sq *sq = &qp->sq;

	if (qp->tx.loaded || qp->tx.hold || qp->sq.sealed || !iwt_qp_sends(qp))
		return true;
	/* who watches or tends looks again, and has us run when it stops */
	if (qp->watch.on || qp->tend.by)
		return true;
	if (iwt_stay(qp))
		return false;
	if (iwt_ring_sleep(&sq->ring, sq->cons))
		return true;
	iwt_ring_awake(&sq->ring);
	return false;
}

/* Framed octets are left: who will wake us? */
static enum iwt_tx_result blocked(const struct iwt_qp *qp)
{
	if (qp->tx.lost)
		return IWT_TX_LOST;
	return iwt_sock_starved(qp->sock) ? IWT_TX_STARVED : IWT_TX_IDLE;
}

/*
 * Frame and send one batch. Return: IWT_TX_MORE to go on, else the result of
 * the run.
 */
static enum iwt_tx_result run_batch(struct iwt_qp *qp)
{
	struct iwt_tx *tx = &qp->tx;

	if (!send_framed(qp))
		return blocked(qp);
	if (!iwt_sock_writable(qp->sock))
		return IWT_TX_IDLE;
	iwt_tx_fill(qp);
	iwt_count_add(qp->dev, IWT_C_TX_FPDU, tx->fpdus);
	iwt_count_add(qp->dev, IWT_C_TX_ALIGNED, tx->segs);
	if (tx->fpdus)
		iwt_count(qp->dev, IWT_C_TX_BATCH);
	if (!send_framed(qp))
		return tx->err ? IWT_TX_FAILED : blocked(qp);
	iwt_tx_retire(qp);
	if (tx->err)
		return IWT_TX_FAILED;
	if (tx->term == IWT_TX_TERM_FRAMED) {
		tx->term = IWT_TX_TERM_SENT;
		return IWT_TX_TERM_OUT;
	}
	if (tx->what != IWT_TX_NOTHING && !tx->fpdus)
		return IWT_TX_STARVED;
	if (tx->dry)
		return go_idle(qp) ? IWT_TX_IDLE : IWT_TX_MORE;
	return IWT_TX_MORE;
}

/**
 * iwt_tx_run() - transmit whatever there is to transmit
 * @qp: queue pair; socket lock and qp->lock are held, not in the backlog
 *
 * Work requests are completed when their octets are with TCP: the buffers are
 * free then (RFC 5040 5.5 rule 9: completion says nothing of the peer), and a
 * graceful close that follows the last completion takes nothing away. Where TCP
 * only refers to the buffers, that is when it has let go of them.
 * Never sleeps. Return: see enum iwt_tx_result.
 */
enum iwt_tx_result iwt_tx_run(struct iwt_qp *qp)
{
	enum iwt_tx_result res = IWT_TX_MORE;
	int i;

	lockdep_assert_held(&qp->lock);
	if (iwt_qp_sends(qp) && !qp->sq.sealed)
		iwt_ring_awake(&qp->sq.ring);
	iwt_sock_follow_route(qp->sock);
	for (i = 0; i < IWT_TX_RUN && res == IWT_TX_MORE; i++)
		res = run_batch(qp);
	iwt_tx_retire(qp);
	return res;
}

/**
 * iwt_tx_retire() - complete what is done, unless TCP has not all of it
 * @qp: queue pair with a socket; qp->lock is held
 *
 * Thousands of requests may have waited for one Read: the engines run again for the rest.
 */
void iwt_tx_retire(struct iwt_qp *qp)
{
	if (!qp->tx.n_chunks &&
	    iwt_sq_retire(&qp->sq, &qp->ibqp, IWT_TX_RETIRE))
		iwt_sock_run_bh(qp->sock);
}

/**
 * iwt_tx_unsent() - the first work request that TCP has not all octets of
 * @qp: queue pair; qp->lock is held
 *
 * Return: its index, for iwt_sq_fail(); that of the next one to start when there is none.
 */
u32 iwt_tx_unsent(const struct iwt_qp *qp)
{
	return qp->tx.ended ? qp->tx.unsent : qp->sq.cons;
}

/**
 * iwt_tx_terminate() - the next and last message is a Terminate
 * @tx: engine
 * @err: what it says
 * @hdr: DDP and RDMAP header of the offending segment, or NULL
 * @hdr_len: octets of @hdr
 * @ulpdu_len: ULPDU_Length of the offending segment
 *
 * What is framed goes out before it, what is not is dropped (RFC 5040 4.8).
 */
void iwt_tx_terminate(struct iwt_tx *tx, u32 err, const u8 *hdr, u32 hdr_len,
		      u16 ulpdu_len)
{
	if (tx->term != IWT_TX_TERM_NONE)
		return;
	tx->term_len = iwt_term_build(err, hdr, hdr_len, ulpdu_len,
				      tx->term_ulpdu);
	tx->term = IWT_TX_TERM_PENDING;
}

/**
 * iwt_tx_drop_work() - forget the message under way and what waits
 * @tx: engine
 */
void iwt_tx_drop_work(struct iwt_tx *tx)
{
	tx->what = IWT_TX_NOTHING;
	tx->loaded = false;
	tx->rtr = IWT_RTR_NONE;
	tx->err = IWT_OK;
}

/**
 * iwt_tx_stop() - the connection is over: give back the pages
 * @tx: engine
 *
 * Return: true when framed octets were lost, so that the stream ends in the
 * middle and must not look as if it ended in order.
 */
bool iwt_tx_stop(struct iwt_tx *tx)
{
	bool cut = tx->n_chunks || tx->zcb;

	iwt_tx_zc_drop(tx);
	while (tx->n_chunks)
		put_page(tx->chunk[--tx->n_chunks].page);
	tx->bytes = 0;
	iwt_tx_drop_work(tx);
	return cut;
}

/**
 * iwt_tx_busy() - is anything outstanding that a graceful close would cut?
 * @qp: queue pair; qp->lock is held
 */
bool iwt_tx_busy(const struct iwt_qp *qp)
{
	const struct iwt_tx *tx = &qp->tx;

	return tx->n_chunks || tx->zcb || tx->what != IWT_TX_NOTHING ||
	       !iwt_sq_idle(&qp->sq) || qp->readq.in_n || qp->readq.out_n;
}

/**
 * iwt_tx_wanted() - may iwt_tx_run() have anything to do?
 * @qp: queue pair; qp->lock is held
 *
 * When not, the ring is asleep: whoever posts rings the bell.
 */
bool iwt_tx_wanted(const struct iwt_qp *qp)
{
	const struct iwt_tx *tx = &qp->tx;

	return tx->n_chunks || tx->zcb || iwt_zc_any_back(qp->sq.zc) ||
	       tx->what != IWT_TX_NOTHING || tx->loaded ||
	       tx->rtr != IWT_RTR_NONE || tx->term != IWT_TX_TERM_NONE ||
	       qp->readq.in_n || !iwt_ring_asleep(&qp->sq.ring) ||
	       iwt_ring_prod(&qp->sq.ring) != qp->sq.cons;
}
