// SPDX-License-Identifier: GPL-2.0
/* Outstanding Reads and atomic operations of both directions. */
#include "readq.h"

#include <linux/slab.h>

/*
 * After ORD was reached, no request begins before ORD / READQ_TOGETHER requests have finished:
 * see iwt_readq_out_ready().
 */
#define READQ_TOGETHER	4

/**
 * iwt_readq_alloc() - allocate entries for the negotiated ORD and IRD
 * @q: queue that no stream uses; this function first frees the present memory of the queue
 * @ord: maximum outstanding requests of this end
 * @ird: maximum outstanding requests of the peer
 * @gfp: GFP_KERNEL, or GFP_KERNEL_ACCOUNT to charge the memory
 *
 * May sleep.
 *
 * Return: 0, or -ENOMEM: then the queue is empty.
 */
int iwt_readq_alloc(struct iwt_readq *q, u16 ord, u16 ird, gfp_t gfp)
{
	iwt_readq_free(q);
	q->out = kcalloc(max_t(u16, ord, 1), sizeof(*q->out), gfp);
	q->in = kcalloc(max_t(u16, ird, 1), sizeof(*q->in), gfp);
	if (!q->out || !q->in) {
		iwt_readq_free(q);
		return -ENOMEM;
	}
	q->out_max = ord;
	q->in_max = ird;
	return 0;
}

/**
 * iwt_readq_free() - free the memory of a queue, and zero the queue
 * @q: queue that no stream uses; it may be all zeroes
 *
 * Any context.
 */
void iwt_readq_free(struct iwt_readq *q)
{
	kfree(q->out);
	kfree(q->in);
	memset(q, 0, sizeof(*q));
}

static struct iwt_read_out *add_out(struct iwt_readq *q, u32 msn)
{
	struct iwt_read_out *r = &q->out[(q->out_head + q->out_n++) % q->out_max];

	memset(r, 0, sizeof(*r));
	r->msn = msn;
	return r;
}

/**
 * iwt_readq_start_own() - begin a Read of this end that has no work request
 * @q: queue; the lock of the stream is held
 * @msn: MSN of the Request in the untagged queue 1
 *
 * Such Reads may use the reserved entries.
 *
 * Return: the entry to fill, with ->rtr set, or NULL when no entry is free.
 */
struct iwt_read_out *iwt_readq_start_own(struct iwt_readq *q, u32 msn)
{
	struct iwt_read_out *r;

	if (q->out_n == q->out_max)
		return NULL;
	q->own_n++;
	r = add_out(q, msn);
	r->rtr = true;
	q->out_waits |= iwt_readq_out_full(q);
	return r;
}

/**
 * iwt_readq_start() - begin a Read or atomic operation of this end
 * @q: queue; the lock of the stream is held
 * @msn: MSN of the Request in the untagged queue 1
 *
 * Return: the entry to fill, or NULL when ORD is reached.
 */
struct iwt_read_out *iwt_readq_start(struct iwt_readq *q, u32 msn)
{
	struct iwt_read_out *r;

	if (iwt_readq_out_full(q))
		return NULL;
	r = add_out(q, msn);
	q->out_waits = iwt_readq_out_full(q);
	return r;
}

/**
 * iwt_readq_oldest() - find the request of this end that the peer must answer next
 * @q: queue; the lock of the stream is held
 *
 * Responses come in the order of the requests (RFC 5040 5.5 rule 20).
 *
 * Return: the entry, or NULL when no request is outstanding.
 */
struct iwt_read_out *iwt_readq_oldest(struct iwt_readq *q)
{
	return iwt_readq_nth(q, 0);
}

/**
 * iwt_readq_find() - find the outstanding request with this MSN
 * @q: queue; the lock of the stream is held
 * @msn: MSN in the untagged queue 1
 *
 * Return: the entry, or NULL when no outstanding request has that MSN.
 */
struct iwt_read_out *iwt_readq_find(struct iwt_readq *q, u32 msn)
{
	u32 i;

	if (!q->out_n)
		return NULL;
	/* the MSNs of outstanding requests are consecutive */
	i = msn - q->out[q->out_head].msn;
	return i < q->out_n ? &q->out[(q->out_head + i) % q->out_max] : NULL;
}

/**
 * iwt_readq_finish() - remove the oldest request; its whole Response has arrived
 * @q: queue; the lock of the stream is held
 */
void iwt_readq_finish(struct iwt_readq *q)
{
	u16 ord = iwt_readq_ord(q);

	q->own_n -= q->out[q->out_head].rtr;
	q->out_head = (q->out_head + 1) % q->out_max;
	q->out_n--;
	if (iwt_readq_waiting(q) <= ord - ord / READQ_TOGETHER)
		q->out_waits = false;
}

/**
 * iwt_readq_accept() - add a request of the peer, to be answered later
 * @q: queue; the lock of the stream is held
 * @r: request
 *
 * Return: false when the peer exceeds IRD.
 */
bool iwt_readq_accept(struct iwt_readq *q, const struct iwt_read_in *r)
{
	if (iwt_readq_in_full(q))
		return false;
	q->in[(q->in_head + q->in_n++) % q->in_max] = *r;
	return true;
}

/**
 * iwt_readq_answer() - remove the request of the peer that is to be answered next
 * @q: queue; the lock of the stream is held
 * @r: set to the request
 *
 * Return: false when no request is waiting.
 */
bool iwt_readq_answer(struct iwt_readq *q, struct iwt_read_in *r)
{
	if (!q->in_n)
		return false;
	*r = q->in[q->in_head];
	q->in_head = (q->in_head + 1) % q->in_max;
	q->in_n--;
	return true;
}

/**
 * iwt_readq_put_back() - put back the request that iwt_readq_answer() removed last
 * @q: queue; the caller has held the lock of the stream since iwt_readq_answer()
 */
void iwt_readq_put_back(struct iwt_readq *q)
{
	q->in_head = (q->in_head + q->in_max - 1) % q->in_max;
	q->in_n++;
}

/**
 * iwt_readq_clear() - remove all requests at the end of the stream
 * @q: queue; the lock of the stream is held
 */
void iwt_readq_clear(struct iwt_readq *q)
{
	q->out_n = 0;
	q->own_n = 0;
	q->out_waits = false;
	q->in_n = 0;
}
