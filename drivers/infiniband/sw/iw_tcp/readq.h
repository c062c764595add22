/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Outstanding RDMA Reads and atomic operations: requests of this end, which wait for their
 * Responses (at most ORD), and requests of the peer, which this end has not answered (at most
 * IRD). Reads and atomic operations share these limits, and are answered in the order of the
 * requests (RFC 5040 5.5 and 6.1, RFC 7306 5.2).
 */
#ifndef IWT_READQ_H
#define IWT_READQ_H

#include <linux/gfp_types.h>
#include <linux/types.h>
#include <rdma/iw_tcp-abi.h>

#include "proto/atomic.h"

/*
 * STag of the driver's own Reads and Writes, which have no work request and no data. Some peers
 * reject STag 0.
 */
#define IWT_OWN_STAG	1

/* A Read or atomic operation of this end. */
struct iwt_read_out {
	struct iwt_sge sink;	/* addr and lkey are the sink TO and STag */
	u32 got;		/* bytes placed so far */
	u32 sq_idx;		/* index of the work request, for iwt_sq_done(); see @confirm */
	u32 msn;		/* MSN of the Request; also the identifier in an Atomic Request */
	u32 inval;		/* if has_inval: STag to invalidate after the Response */
	bool has_inval;
	bool rtr;		/* has no work request: a ready-to-receive message, or @confirm */
	bool confirm;		/* the Response confirms all work requests before @sq_idx */
	bool atomic;
};

/* A Read or atomic operation of the peer. */
struct iwt_read_in {
	bool atomic;
	union {
		struct iwt_rdmap_read read;
		struct iwt_atomic op;
	};
};

/**
 * struct iwt_readq - both directions; guarded by the lock of the stream
 * @out: ring of requests of this end
 * @in: ring of requests of the peer
 * @out_max: entries of @out: ORD
 * @out_head: index of the oldest request of this end
 * @out_n: number of requests of this end
 * @own_n: number of these requests that have no work request
 * @reserve: entries of @out that are reserved for requests without a work request
 * @out_waits: ORD was reached; no request may begin before several requests have finished
 * @in_max: entries of @in: IRD
 * @in_head: index of the oldest request of the peer
 * @in_n: number of requests of the peer
 */
struct iwt_readq {
	struct iwt_read_out *out;
	struct iwt_read_in *in;
	u16 out_max;
	u16 out_head;
	u16 out_n;
	u16 own_n;
	u16 reserve;
	bool out_waits;
	u16 in_max;
	u16 in_head;
	u16 in_n;
};

int iwt_readq_alloc(struct iwt_readq *q, u16 ord, u16 ird, gfp_t gfp);
void iwt_readq_free(struct iwt_readq *q);
struct iwt_read_out *iwt_readq_start(struct iwt_readq *q, u32 msn);
struct iwt_read_out *iwt_readq_start_own(struct iwt_readq *q, u32 msn);
struct iwt_read_out *iwt_readq_oldest(struct iwt_readq *q);
void iwt_readq_finish(struct iwt_readq *q);
struct iwt_read_out *iwt_readq_find(struct iwt_readq *q, u32 msn);
/* Return: false if the peer exceeds IRD. */
bool iwt_readq_accept(struct iwt_readq *q, const struct iwt_read_in *r);
/* Return: false if no request of the peer is waiting. */
bool iwt_readq_answer(struct iwt_readq *q, struct iwt_read_in *r);
void iwt_readq_put_back(struct iwt_readq *q);
void iwt_readq_clear(struct iwt_readq *q);

/* Return: the request that the peer answers after @n other requests, or NULL if there is none. */
static inline struct iwt_read_out *iwt_readq_nth(struct iwt_readq *q, u16 n)
{
	return n < q->out_n ? &q->out[(q->out_head + n) % q->out_max] : NULL;
}

/* Return: number of work requests that wait for a Response. */
static inline u16 iwt_readq_waiting(const struct iwt_readq *q)
{
	return q->out_n - q->own_n;
}

/* Return: number of work requests that may wait for a Response at the same time. */
static inline u16 iwt_readq_ord(const struct iwt_readq *q)
{
	return q->out_max - q->reserve;
}

/*
 * Must a further work request wait? True if as many work requests wait for a Response as ORD
 * allows, or if no entry of @out is free.
 */
static inline bool iwt_readq_out_full(const struct iwt_readq *q)
{
	return q->out_n == q->out_max || iwt_readq_waiting(q) >= iwt_readq_ord(q);
}

/*
 * May this end begin another request? After ORD was reached, no request begins until a quarter of
 * the requests have finished (iwt_readq_finish()). Otherwise each request would begin alone, and
 * each request and each Response would need a separate segment.
 */
static inline bool iwt_readq_out_ready(const struct iwt_readq *q)
{
	return !q->out_waits;
}

/* Do as many requests of the peer wait as IRD allows? */
static inline bool iwt_readq_in_full(const struct iwt_readq *q)
{
	return q->in_n == q->in_max;
}

#endif
