// SPDX-License-Identifier: GPL-2.0
/*
 * Steps on the rings: these steps post work requests that are correct or almost correct, read
 * completions, and write random values anywhere into a ring while the kernel uses the ring.
 */
#include <string.h>

#include <infiniband/verbs.h>

#include "fuzzabi.h"

void iwt_ring_bell(struct fuzz *f, const struct obj *qp)
{
	struct call c;

	iwt_call(&c, I_DOORBELL, UVERBS_OBJECT_QP, IWT_METHOD_QP_DOORBELL);
	iwt_handle(&c, IWT_ATTR_QP, qp->handle);
	iwt_send(f, iwt_fd(f->w, qp), &c);
}

static void cq_poll(struct fuzz *f, const struct obj *cq)
{
	struct call c;

	iwt_call(&c, I_CQ_POLL, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_POLL);
	iwt_handle(&c, IWT_ATTR_CQ, cq->handle);
	iwt_send(f, iwt_fd(f->w, cq), &c);
}

static void arm(struct fuzz *f, const struct obj *cq)
{
	uint32_t flags = iwt_below(f, 4);
	struct call c;

	if (iwt_chance(f, 50)) {
		iwt_ctl(&cq->ring[0])->arm = iwt_below(f, 3);
		return;
	}
	iwt_call(&c, I_ARM, UVERBS_OBJECT_CQ, IWT_METHOD_CQ_ARM);
	iwt_handle(&c, IWT_ATTR_CQ, cq->handle);
	iwt_in(&c, IWT_ATTR_CQ_ARM_FLAGS, &flags, sizeof(flags));
	iwt_send(f, iwt_fd(f->w, cq), &c);
}

void iwt_op_doorbell(struct fuzz *f)
{
	struct obj *qp = iwt_pick(f, QP, -1), *cq = iwt_pick(f, CQ, -1);

	if (qp)
		iwt_ring_bell(f, qp);
	if (cq && iwt_chance(f, 50))
		cq_poll(f, cq);
	if (cq && cq->ring[0].at && iwt_chance(f, 50))
		arm(f, cq);
}

/* Finds a queue pair whose ring @which is mapped, preferably a connected queue pair. */
static struct obj *with_ring(struct fuzz *f, int which)
{
	int i;

	for (i = 0; i < 4; i++) {
		struct obj *o = iwt_pick(f, QP, -1);

		if (!o || !o->ring[which].at)
			continue;
		if (o->connected || i == 3)
			return o;
	}
	return NULL;
}

static struct obj *region(struct fuzz *f, const struct obj *qp)
{
	struct obj *mr = NULL;
	int i;

	for (i = 0; i < 5 && !(mr && mr->pd == qp->pd); i++)
		mr = iwt_pick(f, MR, qp->ctx);
	return mr;
}

/* Builds elements with at most @most bytes in total, mostly in regions that @qp may use. */
static void elements(struct fuzz *f, const struct obj *qp, struct iwt_sge *sge, int n,
		     uint32_t most)
{
	int i;

	for (i = 0; i < n; i++) {
		struct obj *mr = region(f, qp);
		uint32_t len = iwt_below(f, most / n + 1);

		memset(&sge[i], 0, sizeof(sge[i]));
		if (!mr)
			continue;
		if (len > mr->bytes)
			len = mr->bytes;
		sge[i].addr = mr->addr + iwt_below(f, mr->bytes - len + 1);
		sge[i].length = len;
		sge[i].lkey = mr->num;
	}
}

/*
 * Builds an atomic operation. The address in the peer's memory is a multiple of eight, and the
 * result has eight bytes.
 */
static void atomic_body(struct fuzz *f, struct iwt_send_wqe *w, struct iwt_atomic_body *b)
{
	w->num_sge = 1;
	w->remote_addr = (w->remote_addr + 7) & ~7ull;
	b->sink.length = 8;
	b->data = iwt_rnd(f);
	b->compare = iwt_chance(f, 50) ? 0 : iwt_rnd(f);
}

/* Builds a bind of a window to a part of a region, mostly with rights that are allowed. */
static void bind_body(struct fuzz *f, const struct obj *qp, struct iwt_send_wqe *w)
{
	struct iwt_bind_body *b = (struct iwt_bind_body *)(w + 1);
	struct obj *mr = region(f, qp), *mw = NULL;
	int i;

	for (i = 0; i < 5 && !(mw && mw->pd == qp->pd); i++)
		mw = iwt_pick(f, MW, qp->ctx);
	w->num_sge = 0;
	w->rkey = mw ? mw->num += iwt_chance(f, 90) ? 0 : iwt_below(f, 256) : 0;
	w->ex = iwt_chance(f, 80) ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ : iwt_below(f, 64);
	*b = (struct iwt_bind_body) { .reserved = iwt_chance(f, 1) };
	if (!mr)
		return;
	b->lkey = mr->num;
	b->addr = mr->addr + iwt_below(f, mr->bytes);
	b->length = iwt_below(f, mr->addr + mr->bytes - b->addr + 1);
}

static size_t build(struct fuzz *f, const struct obj *qp, uint8_t *to, size_t room)
{
	static const uint8_t op[] = {
		IWT_WR_SEND, IWT_WR_SEND, IWT_WR_SEND_WITH_INV, IWT_WR_WRITE, IWT_WR_WRITE,
		IWT_WR_READ, IWT_WR_READ, IWT_WR_LOCAL_INV, IWT_WR_WRITE_WITH_IMM,
		IWT_WR_SEND_WITH_IMM, IWT_WR_FETCH_ADD, IWT_WR_CMP_SWAP, IWT_WR_BIND_MW,
	};
	struct obj *there = iwt_chance(f, 85) ? region(f, qp) : iwt_pick(f, MW, qp->ctx);
	struct obj *gone = iwt_chance(f, 50) ? region(f, qp) : iwt_pick(f, MW, qp->ctx);
	struct iwt_send_wqe *w = (struct iwt_send_wqe *)to;
	uint32_t most = (room - sizeof(*w)) / sizeof(struct iwt_sge);

	*w = (struct iwt_send_wqe) {
		.wr_id = iwt_rnd(f), .opcode = op[iwt_below(f, sizeof(op))],
		.flags = IWT_WR_SIGNALED | (iwt_chance(f, 20) ? iwt_below(f, 8) : 0),
		.remote_addr = there ? there->addr : 0, .rkey = there ? there->num : 0,
	};
	w->num_sge = w->opcode == IWT_WR_READ ? 1 : iwt_below(f, (most < 4 ? most : 4) + 1);
	/* invalidate seldom, because otherwise soon all regions would be invalid */
	if (w->opcode == IWT_WR_LOCAL_INV || w->opcode == IWT_WR_SEND_WITH_INV) {
		if (iwt_chance(f, 95))
			w->opcode = IWT_WR_SEND;
		else
			w->ex = gone ? gone->num : 0;
	}
	if (w->opcode == IWT_WR_LOCAL_INV || w->opcode == IWT_WR_SEND_WITH_IMM ||
	    w->opcode == IWT_WR_BIND_MW)
		w->num_sge = 0;
	elements(f, qp, (struct iwt_sge *)(w + 1), w->num_sge,
		 w->opcode == IWT_WR_SEND ? 256 : PAGE);
	if (w->opcode == IWT_WR_FETCH_ADD || w->opcode == IWT_WR_CMP_SWAP) {
		elements(f, qp, (struct iwt_sge *)(w + 1), 1, 8);
		atomic_body(f, w, (struct iwt_atomic_body *)(w + 1));
	} else if (w->opcode == IWT_WR_BIND_MW) {
		bind_body(f, qp, w);
	} else if (w->opcode < IWT_WR_READ && iwt_chance(f, 15)) {
		w->flags |= IWT_WR_INLINE;
		w->inline_len = iwt_below(f, room - sizeof(*w) + 1) % (IWT_MAX_INLINE + 1);
	}
	return room;
}

/*
 * Sets a bit after the entries in the ring of a completion queue. In the deferred mode
 * (IWT_RING_DEFERRED) such a bit tells the kernel that a queue pair has posted without a
 * doorbell.
 */
static void set_posted(struct fuzz *f)
{
	struct obj *cq = iwt_pick(f, CQ, -1);
	struct ring *r = cq ? &cq->ring[0] : NULL;
	uint32_t bit;

	if (!r || !r->at)
		return;
	bit = iwt_chance(f, 70) ? iwt_below(f, 4) : iwt_below(f, r->entries);
	/* the bits follow the entries */
	__atomic_fetch_or((uint32_t *)iwt_slot(r, 0) + (size_t)r->entries * r->stride / 4 + bit / 32,
			  1u << bit % 32, __ATOMIC_SEQ_CST);
	cq_poll(f, cq);
}

static void told(struct fuzz *f, const struct obj *qp)
{
	if (iwt_chance(f, 75))
		iwt_ring_bell(f, qp);
	else
		set_posted(f);
}

void iwt_op_send(struct fuzz *f)
{
	struct obj *o = with_ring(f, 0), qp;
	uint32_t prod, n = 1 + iwt_below(f, 6);
	uint8_t wqe[1024];

	if (!o)
		return;
	/* use a copy, because another thread may destroy the queue pair meanwhile */
	qp = *o;
	if (qp.ring[0].stride < sizeof(struct iwt_send_wqe) + IWT_ATOMIC_BODY_USER ||
	    qp.ring[0].stride > sizeof(wqe))
		return;
	prod = iwt_ctl(&qp.ring[0])->prod;
	while (n--) {
		if (prod - iwt_ctl(&qp.ring[0])->cons >= qp.ring[0].entries && iwt_chance(f, 95))
			break;
		build(f, &qp, wqe, qp.ring[0].stride);
		if (f->hot && iwt_chance(f, 12))
			iwt_mutate(f, wqe, qp.ring[0].stride);
		memcpy(iwt_slot(&qp.ring[0], prod++), wqe, qp.ring[0].stride);
	}
	__atomic_store_n(&iwt_ctl(&qp.ring[0])->prod, prod, __ATOMIC_SEQ_CST);
	told(f, &qp);
}

/* Builds a receive. Most receives have one element that is long enough for any correct Send. */
static void build_recv(struct fuzz *f, const struct obj *qp, uint8_t *to, size_t room)
{
	uint32_t most = (room - sizeof(struct iwt_recv_wqe)) / sizeof(struct iwt_sge);
	struct iwt_recv_wqe *w = (struct iwt_recv_wqe *)to;
	struct iwt_sge *sge = (struct iwt_sge *)(w + 1);
	struct obj *mr = region(f, qp);

	*w = (struct iwt_recv_wqe) { .wr_id = iwt_rnd(f), .num_sge = 1 };
	if (!most || !mr || iwt_chance(f, 5)) {
		w->num_sge = iwt_below(f, (most < 4 ? most : 4) + 1);
		elements(f, qp, sge, w->num_sge, 4 * PAGE);
	} else {
		*sge = (struct iwt_sge) { mr->addr, mr->bytes, mr->num };
	}
	if (f->hot && iwt_chance(f, 8))
		iwt_mutate(f, to, room);
}

void iwt_post_recvs(struct fuzz *f, struct obj *o, uint32_t n)
{
	struct obj qp = *o;
	struct ring *r = &qp.ring[1];
	uint8_t wqe[1024] = {};
	uint32_t prod;

	if (!r->at || r->stride < sizeof(struct iwt_recv_wqe) || r->stride > sizeof(wqe))
		return;
	prod = iwt_ctl(r)->prod;
	while (n--) {
		if (prod - iwt_ctl(r)->cons >= r->entries && iwt_chance(f, 95))
			break;
		build_recv(f, &qp, wqe, r->stride);
		memcpy(iwt_slot(r, prod++), wqe, r->stride);
	}
	__atomic_store_n(&iwt_ctl(r)->prod, prod, __ATOMIC_SEQ_CST);
	told(f, &qp);
}

void iwt_op_recv(struct fuzz *f)
{
	struct obj *o = with_ring(f, 1);

	if (o)
		iwt_post_recvs(f, o, 1 + iwt_below(f, 12));
}

/* Marks the queue pair with the number @num as no longer connected. */
static void lost(struct fuzz *f, uint32_t num)
{
	struct obj *qp = f->w->obj[QP];
	int i;

	for (i = 0; i < PER_KIND; i++)
		if (qp[i].num == num)
			qp[i].connected = false;
}

/* Counts a completion by its operation and status. Counts impossible entries as WC_ODD. */
static void saw(struct fuzz *f, const struct iwt_cqe *e)
{
	if (e->status == IBV_WC_WR_FLUSH_ERR)
		lost(f, e->qp_num);
	if (e->opcode > IWT_WC_BIND_MW || e->status > IBV_WC_GENERAL_ERR || e->reserved ||
	    !e->wr_id || !e->qp_num)
		iwt_count(WC_ODD, 0);
	else
		iwt_count(WC_SEND + e->opcode, e->status);
}

static void poll_one(struct fuzz *f, const struct obj *o)
{
	struct obj cq = *o;
	uint32_t cons, prod, n;

	if (!cq.live || !cq.ring[0].at)
		return;
	cons = iwt_ctl(&cq.ring[0])->cons;
	prod = __atomic_load_n(&iwt_ctl(&cq.ring[0])->prod, __ATOMIC_ACQUIRE);
	for (n = 0; cons != prod && n < cq.ring[0].entries; n++) {
		struct iwt_cqe e;

		memcpy(&e, iwt_slot(&cq.ring[0], cons++), sizeof(e));
		saw(f, &e);
	}
	__atomic_store_n(&iwt_ctl(&cq.ring[0])->cons, prod, __ATOMIC_RELEASE);
	if (iwt_chance(f, 30))
		cq_poll(f, &cq);
	if (iwt_chance(f, 30))
		arm(f, &cq);
}

void iwt_op_poll(struct fuzz *f)
{
	int i;

	for (i = 0; i < PER_KIND; i++)
		if (iwt_chance(f, 50))
			poll_one(f, &f->w->obj[CQ][i]);
}

static void scribble_word(struct fuzz *f, const struct ring *r)
{
	static const size_t at[] = {
		offsetof(struct iwt_ring_ctl, prod), offsetof(struct iwt_ring_ctl, cons),
		offsetof(struct iwt_ring_ctl, flags), offsetof(struct iwt_ring_ctl, arm),
	};
	uint32_t *word = (uint32_t *)(r->at + at[iwt_below(f, 4)]);

	switch (iwt_below(f, 4)) {
	case 0:
		*word += iwt_below(f, 2 * r->entries + 2) - r->entries;
		break;
	case 1:
		*word ^= 1u << iwt_below(f, 32);
		break;
	default:
		*word = iwt_value(f);
	}
}

/* Changes a word, an entry or a range of any ring. */
void iwt_op_scribble(struct fuzz *f)
{
	struct obj *o = iwt_pick(f, iwt_chance(f, 60) ? QP : iwt_chance(f, 80) ? CQ : SRQ, -1);
	struct ring r;
	size_t from, len;

	if (!o)
		return;
	r = o->ring[iwt_below(f, 2)];
	if (!r.at || !r.entries)
		return;
	switch (iwt_below(f, 4)) {
	case 0:
	case 1:
		scribble_word(f, &r);
		break;
	case 2:
		iwt_mutate(f, iwt_slot(&r, iwt_rnd(f)), r.stride);
		break;
	default:
		from = iwt_below(f, r.len);
		len = iwt_below(f, 256);
		for (; len && from < r.len; len--)
			r.at[from++] = iwt_rnd(f);
	}
	if (o->live && o >= f->w->obj[QP] && o < f->w->obj[QP] + PER_KIND && iwt_chance(f, 50))
		iwt_ring_bell(f, o);
}
