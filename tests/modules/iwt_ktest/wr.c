// SPDX-License-Identifier: GPL-2.0
/* Work requests and their completions; patterns of bytes. */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "kt.h"

static void log_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_wr *wr = container_of(wc->wr_cqe, struct kt_wr, cqe);
	struct kt_end *e = wr->end;
	enum kt_queue q = wr->queue;
	struct kt_comp *k;
	unsigned long irq;
	u32 i;

	spin_lock_irqsave(&e->lock, irq);
	i = e->logged[q];
	if (i && wr->n <= e->log[q][(i - 1) % KT_LOG].n)
		e->disorder = true;
	k = &e->log[q][i % KT_LOG];
	*k = (struct kt_comp) {
		.n = wr->n,
		.status = wc->status,
		.opcode = wc->opcode,
		.byte_len = wc->byte_len,
		.flags = wc->wc_flags,
		.inv = wc->ex.invalidate_rkey,
		.qp = wc->qp,
	};
	/* store the entry before the number of entries, because readers do not take the lock */
	smp_store_release(&e->logged[q], i + 1);
	spin_unlock_irqrestore(&e->lock, irq);
	if (e->on_done)
		e->on_done(e, q, wc);
}

/**
 * iwt_kt_wr_init() - prepare the work requests of an end
 * @e: end
 */
void iwt_kt_wr_init(struct kt_end *e)
{
	int q, i;

	for (q = 0; q < KT_QUEUES; q++) {
		for (i = 0; i < KT_LOG; i++) {
			e->wr[q][i].cqe.done = log_done;
			e->wr[q][i].end = e;
			e->wr[q][i].queue = q;
		}
	}
}

static void poll_plain(struct kt_end *e)
{
	struct ib_wc wc[8];
	int n, i;

	while ((n = ib_poll_cq(e->cq, ARRAY_SIZE(wc), wc)) > 0)
		for (i = 0; i < n; i++)
			wc[i].wr_cqe->done(e->cq, &wc[i]);
}

/**
 * iwt_kt_handler() - completion handler of a completion queue that RDMA core does not poll
 * @cq: queue
 * @ctx: end
 *
 * Requests the next event before the last poll. So a driver that wrongly calls two handlers at
 * the same time can do so here.
 */
void iwt_kt_handler(struct ib_cq *cq, void *ctx)
{
	struct kt_end *e = ctx;

	atomic_inc(&e->events);
	if (READ_ONCE(e->poster) == current)
		e->reentered = true;
	if (atomic_inc_return(&e->handlers) != 1)
		e->overlapped = true;
	do {
		poll_plain(e);
		if (!READ_ONCE(e->armed))
			break;
	} while (ib_req_notify_cq(cq, IB_CQ_NEXT_COMP |
				  IB_CQ_REPORT_MISSED_EVENTS) > 0);
	poll_plain(e);
	udelay(5);
	atomic_dec(&e->handlers);
}

static struct ib_cqe *take_wr(struct kt_end *e, enum kt_queue q)
{
	u32 n = e->posted[q]++;
	struct kt_wr *wr = &e->wr[q][n % KT_LOG];

	wr->n = n;
	return &wr->cqe;
}

/**
 * iwt_kt_post_list() - post work requests
 * @e: end
 * @wr: list
 * @bad: receives the first request that was not posted
 *
 * Any context. Only one context at a time may post to @e, because otherwise requests could get
 * wrong numbers.
 *
 * Return: the verb's result.
 */
int iwt_kt_post_list(struct kt_end *e, struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	u32 before, done = 0;
	struct ib_send_wr *w;
	unsigned long irq;
	int err;

	spin_lock_irqsave(&e->lock, irq);
	before = e->posted[KT_SEND];
	for (w = wr; w; w = (struct ib_send_wr *)w->next)
		w->wr_cqe = take_wr(e, KT_SEND);
	spin_unlock_irqrestore(&e->lock, irq);
	err = ib_post_send(e->qp, wr, bad);
	if (err) {
		/* refused requests get no number */
		for (w = wr; w && w != *bad; w = (struct ib_send_wr *)w->next)
			done++;
		e->posted[KT_SEND] = before + done;
	}
	return err;
}

/**
 * iwt_kt_post() - post one work request
 * @e: end
 * @wr: work request
 *
 * Any context. Return: the verb's result.
 */
int iwt_kt_post(struct kt_end *e, struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	return iwt_kt_post_list(e, wr, &bad);
}

/* Posts a SEND. */
int iwt_kt_send(struct kt_end *e, struct ib_sge *sge, int n, int flags)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = flags,
		.sg_list = sge,
		.num_sge = n,
	};

	return iwt_kt_post(e, &wr);
}

/* Posts a SEND that invalidates @rkey at the peer. */
int iwt_kt_send_inv(struct kt_end *e, struct ib_sge *sge, int n, int flags,
		    u32 rkey)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV,
		.send_flags = flags,
		.sg_list = sge,
		.num_sge = n,
		.ex.invalidate_rkey = rkey,
	};

	return iwt_kt_post(e, &wr);
}

/*
 * Posts a WRITE, READ or READ_WITH_INV. READ_WITH_INV invalidates the key of its sink. Like
 * rdma_rw, this function sets ex.invalidate_rkey to the previous key of the sink.
 */
int iwt_kt_rdma(struct kt_end *e, enum ib_wr_opcode op, struct ib_sge *sge,
		int n, int flags, u64 to, u32 rkey)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = op,
			.send_flags = flags,
			.sg_list = sge,
			.num_sge = n,
		},
		.remote_addr = to,
		.rkey = rkey,
	};

	if (op == IB_WR_RDMA_READ_WITH_INV)
		wr.wr.ex.invalidate_rkey = (sge->lkey & ~0xff) |
					   ((sge->lkey - 1) & 0xff);
	return iwt_kt_post(e, &wr.wr);
}

/* Posts a receive. */
int iwt_kt_recv(struct kt_end *e, struct ib_sge *sge, int n)
{
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = n };
	unsigned long irq;
	int err;

	spin_lock_irqsave(&e->lock, irq);
	wr.wr_cqe = take_wr(e, KT_RECV);
	spin_unlock_irqrestore(&e->lock, irq);
	err = e->srq ? ib_post_srq_recv(e->srq, &wr, NULL) :
		       ib_post_recv(e->qp, &wr, NULL);
	if (err)
		e->posted[KT_RECV]--;
	return err;
}

/**
 * iwt_kt_process() - process completions with ib_process_cq_direct()
 * @e: end; if the mode of the connection is not %KT_DIRECT, this function does nothing
 * @budget: greatest number of completions, or -1
 *
 * RDMA core allows one caller at a time, because two callers could process the completions in a
 * wrong order. If another caller is active, this function does nothing.
 * Context: any.
 */
void iwt_kt_process(struct kt_end *e, int budget)
{
	if (e->conn->mode != KT_DIRECT || test_and_set_bit_lock(0, &e->processing))
		return;
	ib_process_cq_direct(e->cq, budget);
	clear_bit_unlock(0, &e->processing);
}

/**
 * iwt_kt_reap() - poll or wait until @n requests of a queue have completed
 * @e: end
 * @q: queue
 * @n: number of completions since the end was created
 *
 * Return: 0 or -ETIMEDOUT, which is not reported as a failure.
 */
int iwt_kt_reap(struct kt_end *e, enum kt_queue q, u32 n)
{
	unsigned long end = jiffies + KT_PATIENCE;

	while (1) {
		iwt_kt_process(e, -1);
		/* read the number before the entries of the log */
		if (smp_load_acquire(&e->logged[q]) >= n)
			return 0;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		usleep_range(50, 200);
	}
}

/* Like iwt_kt_reap(), but a timeout is a failure of the case */
int iwt_kt_wait(struct kt_end *e, enum kt_queue q, u32 n)
{
	struct kt_conn *c = e->conn;

	return kt_bad(c, iwt_kt_reap(e, q, n),
		      "%s: %u %s completions of %u, %u posted",
		      e == &c->c ? "client" : "server", e->logged[q],
		      q == KT_SEND ? "send" : "receive", n, e->posted[q]);
}

/**
 * iwt_kt_expect() - wait for a completion and check it
 * @e: end
 * @q: queue
 * @i: index of the completion in the log
 * @n: number of its work request
 * @status: expected status
 * @op: expected operation, checked only after a success
 *
 * Return: 0 or -EIO.
 */
int iwt_kt_expect(struct kt_end *e, enum kt_queue q, u32 i, u32 n,
		  enum ib_wc_status status, enum ib_wc_opcode op)
{
	const struct kt_comp *k = &e->log[q][i % KT_LOG];
	struct kt_conn *c = e->conn;

	if (iwt_kt_wait(e, q, i + 1))
		return -EIO;
	if (kt_bad(c, k->n != n || k->status != status || k->qp != e->qp,
		   "completion %u is of request %u: %s, not of %u: %s", i, k->n,
		   ib_wc_status_msg(k->status), n, ib_wc_status_msg(status)))
		return -EIO;
	return kt_bad(c, status == IB_WC_SUCCESS && k->opcode != op,
		      "completion %u has operation %d, not %d", i, k->opcode, op);
}

/**
 * iwt_kt_sync() - wait until the peer has received everything that was posted
 * @from: the end that posted
 *
 * Sends one more message and waits until it arrives. The message gets the next number in the send
 * queue of @from and in the receive queue of the peer.
 * Return: 0 or -EIO.
 */
int iwt_kt_sync(struct kt_end *from)
{
	struct kt_end *to = iwt_kt_peer(from);
	u32 n = to->posted[KT_RECV];

	if (kt_bad(from->conn, iwt_kt_recv(to, NULL, 0), "receive to sync") ||
	    kt_bad(from->conn, iwt_kt_send(from, NULL, 0, 0), "send to sync"))
		return -EIO;
	return iwt_kt_expect(to, KT_RECV, n, n, IB_WC_SUCCESS, IB_WC_RECV);
}

/*
 * Checks that the completions arrived in order, that only one handler ran at a time, and that no
 * verb called a handler.
 */
int iwt_kt_in_order(struct kt_end *e)
{
	struct kt_conn *c = e->conn;

	if (kt_bad(c, e->disorder, "completions are not in order"))
		return -EIO;
	if (kt_bad(c, e->overlapped, "two handlers of a queue ran at the same time"))
		return -EIO;
	return kt_bad(c, e->reentered, "a handler ran inside a verb");
}

/*
 * Checks that the requests from @from to @to - 1 were flushed, in order, and that no request of
 * the queue completed after them.
 */
int iwt_kt_flushed(struct kt_end *e, enum kt_queue q, u32 from, u32 to)
{
	u32 i;

	for (i = 0; i < to - from; i++)
		if (iwt_kt_expect(e, q, e->logged[q] - (to - from) + i, from + i,
				  IB_WC_WR_FLUSH_ERR, 0))
			return -EIO;
	return 0;
}

/**
 * iwt_kt_success_then_flush() - check that every request of a signalled queue has completed once,
 * and that no request succeeded after the first flushed request
 * @e: end that was drained
 * @q: queue
 *
 * Return: 0 or -EIO.
 */
int iwt_kt_success_then_flush(struct kt_end *e, enum kt_queue q)
{
	u32 n = e->logged[q], i = n > KT_LOG ? n - KT_LOG : 0;
	bool flushed = false;

	if (kt_bad(e->conn, n != e->posted[q],
		   "%u completions for %u requests", n, e->posted[q]))
		return -EIO;
	for (; i < n; i++) {
		const struct kt_comp *k = &e->log[q][i % KT_LOG];

		if (kt_bad(e->conn, k->n != i, "request %u came as %u", k->n, i))
			return -EIO;
		if (kt_bad(e->conn, flushed && k->status != IB_WC_WR_FLUSH_ERR,
			   "request %u: %s after a flush", i,
			   ib_wc_status_msg(k->status)))
			return -EIO;
		if (kt_bad(e->conn, k->status != IB_WC_WR_FLUSH_ERR &&
			   k->status != IB_WC_SUCCESS, "request %u: %s", i,
			   ib_wc_status_msg(k->status)))
			return -EIO;
		flushed = k->status == IB_WC_WR_FLUSH_ERR;
	}
	return 0;
}

static u8 pattern(u32 i, u32 seed)
{
	return seed * 37 + i * 7 + (i >> 8) * 13 + (i >> 16) * 5 + 1;
}

/* Fills memory with the pattern @seed, beginning at byte @from of the pattern. */
void iwt_kt_fill(void *p, u32 len, u32 from, u32 seed)
{
	u8 *to = p;
	u32 i;

	for (i = 0; i < len; i++)
		to[i] = pattern(from + i, seed);
}

/*
 * Return: true if the memory contains the pattern @seed, beginning at byte @from of the pattern.
 */
bool iwt_kt_same(const void *p, u32 len, u32 from, u32 seed)
{
	const u8 *at = p;
	u32 i;

	for (i = 0; i < len; i++)
		if (at[i] != pattern(from + i, seed))
			return false;
	return true;
}

/* Return: true if all bytes of the memory are KT_GUARD. */
bool iwt_kt_is_guard(const void *p, u32 len)
{
	return !memchr_inv(p, KT_GUARD, len);
}

/* Return: an element for @len bytes at offset @off of an end's buffer, with local_dma_lkey */
struct ib_sge iwt_kt_sge(struct kt_end *e, u32 off, u32 len)
{
	return (struct ib_sge) {
		.addr = e->dma + off,
		.length = len,
		.lkey = e->pd->local_dma_lkey,
	};
}

/**
 * iwt_kt_split() - make uneven pieces of an end's buffer, with gaps between them
 * @e: end
 * @off: offset of the first piece in the buffer
 * @len: bytes of all pieces together
 * @sge: array to fill with the pieces
 * @n: number of pieces; if there are more than two, the second one is empty
 */
void iwt_kt_split(struct kt_end *e, u32 off, u32 len, struct ib_sge *sge, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		u32 part = i == n - 1 ? len : len / (n - i) | 1;

		part = i == 1 && n > 2 ? 0 : min(part, len);
		sge[i] = iwt_kt_sge(e, off, part);
		off += part + 33;
		len -= part;
	}
}

/*
 * Fills the pieces with the pattern @seed, which continues from piece to piece, and fills the
 * rest of the buffer with KT_GUARD.
 */
void iwt_kt_fill_sges(struct kt_end *e, const struct ib_sge *sge, int n,
		      u32 seed)
{
	u32 done = 0;
	int i;

	memset(e->buf, KT_GUARD, KT_BUF);
	for (i = 0; i < n; i++) {
		iwt_kt_fill(e->buf + (sge[i].addr - e->dma), sge[i].length,
			    done, seed);
		done += sge[i].length;
	}
}

/**
 * iwt_kt_check_sges() - check every byte of an end's buffer
 * @e: end
 * @sge: pieces, in rising order
 * @n: number of pieces
 * @len: bytes of the pattern in the pieces; all other bytes must be unchanged
 * @seed: seed of the pattern
 *
 * Return: 0 or -EIO.
 */
int iwt_kt_check_sges(struct kt_end *e, const struct ib_sge *sge, int n,
		      u32 len, u32 seed)
{
	u32 done = 0, at = 0;
	int i;

	for (i = 0; i < n && done < len; i++) {
		u32 off = sge[i].addr - e->dma;
		u32 part = min(sge[i].length, len - done);

		if (kt_bad(e->conn, !iwt_kt_is_guard(e->buf + at, off - at),
			   "octets before element %d have changed", i))
			return -EIO;
		if (kt_bad(e->conn, !iwt_kt_same(e->buf + off, part, done, seed),
			   "wrong octets in element %d", i))
			return -EIO;
		at = off + part;
		done += part;
	}
	return kt_bad(e->conn, !iwt_kt_is_guard(e->buf + at, KT_BUF - at),
		      "octets behind the message have changed");
}
