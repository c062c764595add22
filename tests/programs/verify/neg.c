// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_verify: operations that must fail, requests that are posted in the error state
 * (IWT_NEG_FLUSH), and the graceful end of a connection (IWT_NEG_CLOSE). Each case has a
 * connection of its own, and ends it. As far as this applies to a case, the case checks that both
 * sides report the right errors and events, that no data were placed outside of the posted
 * receives, and that outstanding requests are flushed in order. The connection of the next case
 * also shows that new connections still work.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "patience.h"
#include "verify.h"

#define VLEN	1000		/* bytes of the region that is attacked */
#define VOFF	4096		/* offset of the region in the arena */
#define AREA	16384		/* bytes of the arena that must not change */
#define RECVS	4
#define RLEN	64		/* bytes of each posted receive; the receives are after AREA */

const char *iwt_neg_name(uint32_t which)
{
	static const char *const name[IWT_NEG_CASES] = {
		[IWT_NEG_WRITE_RIGHTS] = "write to a region without the right",
		[IWT_NEG_READ_RIGHTS] = "read from a region without the right",
		[IWT_NEG_WRITE_RKEY] = "write with a wrong key",
		[IWT_NEG_READ_RKEY] = "read with a wrong index",
		[IWT_NEG_WRITE_BOUNDS] = "write one octet beyond the region",
		[IWT_NEG_READ_BOUNDS] = "read one octet beyond the region",
		[IWT_NEG_WRITE_PD] = "write to a region of another domain",
		[IWT_NEG_READ_PD] = "read from a region of another domain",
		[IWT_NEG_WRITE_DEREG] = "write to a deregistered region",
		[IWT_NEG_READ_DEREG] = "read from a deregistered region",
		[IWT_NEG_ATOMIC_RIGHTS] = "atomic operation on a region without the right",
		[IWT_NEG_ATOMIC_RKEY] = "atomic operation with a wrong key",
		[IWT_NEG_ATOMIC_BOUNDS] = "atomic operation beyond the region",
		[IWT_NEG_ATOMIC_PD] = "atomic operation on a region of another domain",
		[IWT_NEG_ATOMIC_DEREG] = "atomic operation on a deregistered region",
		[IWT_NEG_ATOMIC_ALIGN] = "atomic operation on an unaligned word",
		[IWT_NEG_ATOMIC_UNKNOWN] = "atomic operation to a peer without support",
		[IWT_NEG_IMM_UNKNOWN] = "write with immediate data to a peer without support",
		[IWT_NEG_INV_USER] = "remote invalidation of a plain region",
		[IWT_NEG_SEND_LONG] = "send that is too long for the receive",
		[IWT_NEG_NO_RECV] = "send without a receive",
		[IWT_NEG_IMM_NO_RECV] = "write with immediate data without a receive",
		[IWT_NEG_LKEY] = "send with a wrong lkey",
		[IWT_NEG_LKEY_LATER] = "send with a wrong lkey after a correct page",
		[IWT_NEG_LOCAL_BOUNDS] = "send from beyond the region",
		[IWT_NEG_SINK_RIGHTS] = "read into a region without the right",
		[IWT_NEG_RECV_RIGHTS] = "receive into a region without the right",
		[IWT_NEG_FLUSH] = "work posted in the error state is flushed in order",
		[IWT_NEG_CLOSE] = "disconnect delivers what was sent",
	};
	return name[which];
}

static bool is_read(uint32_t which)
{
	return which == IWT_NEG_READ_RIGHTS || which == IWT_NEG_READ_RKEY ||
	       which == IWT_NEG_READ_BOUNDS || which == IWT_NEG_READ_PD ||
	       which == IWT_NEG_READ_DEREG;
}

static bool is_atomic(uint32_t which)
{
	return which >= IWT_NEG_ATOMIC_RIGHTS && which <= IWT_NEG_ATOMIC_UNKNOWN;
}

/* Does the responder post no receive for the message? */
static bool has_no_recv(uint32_t which)
{
	return which == IWT_NEG_NO_RECV || which == IWT_NEG_IMM_NO_RECV;
}

static bool is_remote(uint32_t which)
{
	return which <= IWT_NEG_INV_USER;
}

static bool async_pending(struct ibv_context *v)
{
	struct pollfd pfd = { .fd = v->async_fd, .events = POLLIN };

	return poll(&pfd, 1, 100) > 0;
}

/* Waits for an asynchronous event that reports the failure of this queue pair. */
static int expect_async(struct iwt_ctx *cx)
{
	struct patience p = {};
	struct ibv_async_event ev;

	if (cx->o.local_siw)
		return 0;	/* not tested with siw */
	while (patient(&p, cx->o.timeout, 0)) {
		bool ours;

		if (!async_pending(cx->verbs))
			continue;
		if (ibv_get_async_event(cx->verbs, &ev))
			return iwt_fail(cx, "ibv_get_async_event: %s", strerror(errno));
		ours = (ev.event_type == IBV_EVENT_QP_FATAL ||
			ev.event_type == IBV_EVENT_QP_REQ_ERR ||
			ev.event_type == IBV_EVENT_QP_ACCESS_ERR) && ev.element.qp == cx->c.qp;
		ibv_ack_async_event(&ev);
		if (ours)
			return 0;
	}
	return iwt_fail(cx, "timeout: no asynchronous event tells of the failure");
}

static void drop_async(struct iwt_ctx *cx)
{
	struct ibv_async_event ev;

	while (async_pending(cx->verbs) && !ibv_get_async_event(cx->verbs, &ev))
		ibv_ack_async_event(&ev);
}

static int take(struct iwt_ctx *cx, struct ibv_cq *cq, uint64_t wr_id, struct ibv_wc *wc)
{
	if (iwt_poll(cx, cq, wc))
		return -1;
	if (wc->wr_id != wr_id)
		return iwt_fail(cx, "completion of %llu (%s) where %llu was due",
				(unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
				(unsigned long long)wr_id);
	return 0;
}

static int take_status(struct iwt_ctx *cx, struct ibv_cq *cq, uint64_t wr_id,
		       enum ibv_wc_status want)
{
	struct ibv_wc wc;

	if (take(cx, cq, wr_id, &wc))
		return -1;
	if (wc.status != want)
		return iwt_fail(cx, "completion of %llu: %s instead of %s",
				(unsigned long long)wr_id, ibv_wc_status_str(wc.status),
				ibv_wc_status_str(want));
	return 0;
}

static int take_flushed(struct iwt_ctx *cx, struct ibv_cq *cq, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		if (take_status(cx, cq, from, IBV_WC_WR_FLUSH_ERR))
			return -1;
	return 0;
}

static int post_recvs(struct iwt_ctx *cx, uint32_t from, uint32_t to)
{
	struct iwt_buf b = { .n = 1 };

	for (; from < to; from++) {
		b.piece[0].off = AREA + from * 2 * RLEN;
		b.piece[0].len = RLEN;
		if (iwt_post_recv(cx, from, &b))
			return -1;
	}
	return 0;
}

/* The requester */

static int post(struct iwt_ctx *cx, enum ibv_wr_opcode op, uint64_t wr_id, uint64_t off,
		uint32_t len, uint32_t lkey, const struct iwt_sync *to)
{
	struct ibv_sge sge = { (uintptr_t)cx->arena + off, len, lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = op, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = to->addr;
	wr.wr.rdma.rkey = to->rkey[0];
	if (op == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = to->rkey[0];
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.remote_addr = to->addr;
		wr.wr.atomic.rkey = to->rkey[0];
	}
	return iwt_post_one(cx, &wr);
}

/*
 * Posts a Send of two elements, of which the second has a wrong key. The driver must check both
 * elements before it sends data.
 */
static int post_two(struct iwt_ctx *cx)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)cx->arena, 1024, cx->mr->lkey },
		{ (uintptr_t)cx->arena + 1024, 10, cx->mr->lkey ^ 0x5500 },
	};
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 2,
				  .send_flags = IBV_SEND_SIGNALED };

	return iwt_post_one(cx, &wr);
}

static int check_first(struct iwt_ctx *cx, uint32_t which, const struct ibv_wc *wc)
{
	enum ibv_wc_status want = IBV_WC_REM_ACCESS_ERR;

	/* a Write or a Send may complete before the peer refuses it */
	if (!is_read(which) && !is_atomic(which) && is_remote(which))
		return 0;
	if (which == IWT_NEG_SEND_LONG || has_no_recv(which) || which == IWT_NEG_RECV_RIGHTS)
		return 0;
	if (!is_remote(which))
		want = IBV_WC_LOC_PROT_ERR;
	if (which == IWT_NEG_ATOMIC_ALIGN || which == IWT_NEG_ATOMIC_UNKNOWN)
		want = IBV_WC_REM_OP_ERR;
	if (wc->status == want)
		return 0;
	if (which != IWT_NEG_ATOMIC_UNKNOWN &&
	    wc->status != IBV_WC_SUCCESS && (cx->o.local_siw || cx->o.peer_siw))
		return 0;
	return iwt_fail(cx, "the offending request: %s instead of %s",
			ibv_wc_status_str(wc->status), ibv_wc_status_str(want));
}

static int post_offence(struct iwt_ctx *cx, uint32_t which, const struct iwt_sync *to)
{
	uint32_t lkey = cx->mr->lkey;

	switch (which) {
	case IWT_NEG_INV_USER:
		return post(cx, IBV_WR_SEND_WITH_INV, 1, 0, 10, lkey, to);
	case IWT_NEG_SEND_LONG:
		return post(cx, IBV_WR_SEND, 1, 0, RLEN + 1, lkey, to);
	case IWT_NEG_NO_RECV:
	case IWT_NEG_RECV_RIGHTS:
		return post(cx, IBV_WR_SEND, 1, 0, 10, lkey, to);
	case IWT_NEG_IMM_NO_RECV:
	case IWT_NEG_IMM_UNKNOWN:
		return post(cx, IBV_WR_RDMA_WRITE_WITH_IMM, 1, VOFF, 0, lkey, to);
	case IWT_NEG_LKEY:
		return post(cx, IBV_WR_SEND, 1, 0, 10, lkey ^ 0x5500, to);
	case IWT_NEG_LKEY_LATER:
		return post_two(cx);
	case IWT_NEG_LOCAL_BOUNDS:
		return post(cx, IBV_WR_SEND, 1, cx->arena_len - 9, 10, lkey, to);
	}
	if (is_atomic(which))
		return post(cx, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, VOFF, 8, lkey, to);
	return post(cx, is_read(which) ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 1, VOFF, VLEN, lkey, to);
}

static int offender(struct iwt_ctx *cx, uint32_t which)
{
	struct iwt_sync to;
	struct ibv_wc wc;
	bool failed;

	iwt_poison(cx->arena, AREA);
	iwt_pattern(cx->arena + VOFF, 7, 0, VLEN);
	if (iwt_sync(cx, NULL, &to) || post_offence(cx, which, &to))
		return -1;
	/*
	 * with siw only the first request is tested, and no request is posted after the failure
	 */
	if (cx->o.local_siw)
		return take(cx, cx->c.scq, 1, &wc) || check_first(cx, which, &wc) ? -1 :
		       iwt_wait_disconnected(cx);
	/* posting succeeds even if the queue pair has failed, and this request completes, too */
	if (post(cx, IBV_WR_SEND, 2, 0, 1, cx->mr->lkey, &to))
		return -1;
	if (take(cx, cx->c.scq, 1, &wc) || check_first(cx, which, &wc))
		return -1;
	failed = wc.status != IBV_WC_SUCCESS;
	if (take(cx, cx->c.scq, 2, &wc))
		return -1;
	if (failed && wc.status != IBV_WC_WR_FLUSH_ERR)
		return iwt_fail(cx, "after a failed request: %s", ibv_wc_status_str(wc.status));
	if (iwt_wait_disconnected(cx))
		return -1;
	if (is_remote(which) || which == IWT_NEG_SEND_LONG || has_no_recv(which))
		return expect_async(cx);
	return 0;
}

/* Posts a Read into a region without the right to write. The Read must fail. */
static int sink_without_right(struct iwt_ctx *cx)
{
	struct ibv_mr *mr = ibv_reg_mr(cx->pd, cx->arena + VOFF, VLEN, 0);
	struct iwt_sync to;
	struct ibv_wc wc;
	int rc = -1;

	if (!mr)
		return iwt_fail(cx, "ibv_reg_mr: %s", strerror(errno));
	iwt_poison(cx->arena, AREA);
	if (!iwt_sync(cx, NULL, &to) &&
	    !post(cx, IBV_WR_RDMA_READ, 1, VOFF, VLEN, mr->lkey, &to) &&
	    !take(cx, cx->c.scq, 1, &wc)) {
		rc = 0;
		if (wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR)
			rc = iwt_fail(cx, "the read: %s", ibv_wc_status_str(wc.status));
		else if (!iwt_is_poison(cx->arena, AREA, NULL))
			rc = iwt_fail(cx, "a region without the right was written");
	}
	if (!rc)
		rc = iwt_wait_disconnected(cx);
	ibv_dereg_mr(mr);
	return rc;
}

static int flush_requester(struct iwt_ctx *cx)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct iwt_sync to;
	uint32_t i;

	if (post_recvs(cx, 0, RECVS) || iwt_sync(cx, NULL, &to))
		return -1;
	errno = ibv_modify_qp(cx->c.qp, &attr, IBV_QP_STATE);
	if (errno)
		return iwt_fail(cx, "ibv_modify_qp to ERR: %s", strerror(errno));
	for (i = 0; i < RECVS; i++)
		if (post_recvs(cx, RECVS + i, RECVS + i + 1) ||
		    post(cx, i % 2 ? IBV_WR_SEND : IBV_WR_RDMA_READ, 100 + i, VOFF, VLEN,
			 cx->mr->lkey, &to))
			return -1;
	if (take_flushed(cx, cx->c.rcq, 0, 2 * RECVS) ||
	    take_flushed(cx, cx->c.scq, 100, 100 + RECVS))
		return -1;
	return iwt_wait_disconnected(cx);
}

#define CLOSE_MSGS 8
#define CLOSE_LEN 30001

static int close_requester(struct iwt_ctx *cx)
{
	struct iwt_sync to;
	uint32_t i;

	for (i = 0; i < CLOSE_MSGS; i++)
		iwt_pattern(cx->arena + i * CLOSE_LEN, 50 + i, 0, CLOSE_LEN);
	if (iwt_sync(cx, NULL, &to))
		return -1;
	for (i = 0; i < CLOSE_MSGS; i++)
		if (post(cx, IBV_WR_SEND, i, i * CLOSE_LEN, CLOSE_LEN, cx->mr->lkey, &to))
			return -1;
	for (i = 0; i < CLOSE_MSGS; i++)
		if (take_status(cx, cx->c.scq, i, IBV_WC_SUCCESS))
			return -1;
	if (rdma_disconnect(cx->c.id))
		return iwt_fail(cx, "rdma_disconnect: %s", strerror(errno));
	return iwt_wait_disconnected(cx);
}

/* The responder */

struct target {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

static int make_target(struct iwt_ctx *cx, uint32_t which, struct target *t, struct iwt_sync *s)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	if (is_atomic(which) && which != IWT_NEG_ATOMIC_RIGHTS && which != IWT_NEG_ATOMIC_UNKNOWN)
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	if (which == IWT_NEG_WRITE_RIGHTS)
		access &= ~IBV_ACCESS_REMOTE_WRITE;
	if (which == IWT_NEG_READ_RIGHTS)
		access &= ~IBV_ACCESS_REMOTE_READ;
	if (which == IWT_NEG_WRITE_PD || which == IWT_NEG_READ_PD || which == IWT_NEG_ATOMIC_PD) {
		t->pd = ibv_alloc_pd(cx->verbs);
		if (!t->pd)
			return iwt_fail(cx, "ibv_alloc_pd: %s", strerror(errno));
	}
	t->mr = ibv_reg_mr(t->pd ? t->pd : cx->pd, cx->arena + VOFF, VLEN, access);
	if (!t->mr)
		return iwt_fail(cx, "ibv_reg_mr: %s", strerror(errno));
	s->addr = (uintptr_t)cx->arena + VOFF;
	s->rkey[0] = t->mr->rkey;
	if (which == IWT_NEG_WRITE_RKEY || which == IWT_NEG_ATOMIC_RKEY)
		s->rkey[0] ^= 1;
	if (which == IWT_NEG_READ_RKEY)
		s->rkey[0] ^= 0x10000;
	if (which == IWT_NEG_WRITE_BOUNDS || which == IWT_NEG_READ_BOUNDS)
		s->addr++;
	if (which == IWT_NEG_ATOMIC_BOUNDS)
		s->addr += VLEN;
	if (which == IWT_NEG_ATOMIC_ALIGN)
		s->addr += 4;
	if (which == IWT_NEG_WRITE_DEREG || which == IWT_NEG_READ_DEREG ||
	    which == IWT_NEG_ATOMIC_DEREG) {
		ibv_dereg_mr(t->mr);
		t->mr = NULL;
	}
	return 0;
}

static int drop_target(struct iwt_ctx *cx, struct target *t)
{
	if (t->mr && ibv_dereg_mr(t->mr))
		return iwt_fail(cx, "ibv_dereg_mr: %s", strerror(errno));
	if (t->pd && ibv_dealloc_pd(t->pd))
		return iwt_fail(cx, "ibv_dealloc_pd: %s", strerror(errno));
	return 0;
}

/* Checks the completions of the posted receives. */
static int victim_recvs(struct iwt_ctx *cx, uint32_t which)
{
	struct ibv_wc wc;

	switch (which) {
	case IWT_NEG_NO_RECV:
	case IWT_NEG_IMM_NO_RECV:
		return 0;
	case IWT_NEG_SEND_LONG:
		if (take_status(cx, cx->c.rcq, 0, IBV_WC_LOC_LEN_ERR))
			return -1;
		return take_flushed(cx, cx->c.rcq, 1, RECVS);
	case IWT_NEG_RECV_RIGHTS:
		if (take(cx, cx->c.rcq, 0, &wc))
			return -1;
		if (wc.status != IBV_WC_LOC_PROT_ERR &&
		    (!cx->o.local_siw || wc.status == IBV_WC_SUCCESS))
			return iwt_fail(cx, "the receive: %s", ibv_wc_status_str(wc.status));
		return 0;
	}
	return take_flushed(cx, cx->c.rcq, 0, RECVS);
}

static int victim_steps(struct iwt_ctx *cx, uint32_t which, const struct iwt_sync *s)
{
	uint64_t where = 0;

	if (iwt_sync(cx, s, NULL) || victim_recvs(cx, which) || iwt_wait_disconnected(cx))
		return -1;
	if (is_remote(which) || which == IWT_NEG_SEND_LONG || has_no_recv(which))
		if (expect_async(cx))
			return -1;
	/* a message that is too long may have filled its receive, but no other memory */
	if (!iwt_is_poison(cx->arena, AREA, &where) ||
	    !iwt_is_poison(cx->arena + AREA + RLEN, 8192, &where))
		return iwt_fail(cx, "octet %llu was written", (unsigned long long)where);
	return iwt_let_go(cx);
}

static int post_recv_without_right(struct iwt_ctx *cx, struct target *t)
{
	struct ibv_sge sge = { (uintptr_t)cx->arena + VOFF, RLEN, 0 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	t->mr = ibv_reg_mr(cx->pd, cx->arena + VOFF, VLEN, 0);
	if (!t->mr)
		return iwt_fail(cx, "ibv_reg_mr: %s", strerror(errno));
	sge.lkey = t->mr->lkey;
	errno = ibv_post_recv(cx->c.qp, &wr, &bad);
	return errno ? iwt_fail(cx, "ibv_post_recv: %s", strerror(errno)) : 0;
}

static int victim(struct iwt_ctx *cx, uint32_t which)
{
	struct iwt_sync s = { .addr = (uintptr_t)cx->arena + VOFF, .rkey = { cx->mr->rkey } };
	struct target t = { 0 };
	int rc = 0;

	iwt_poison(cx->arena, AREA + 16384);
	if (which == IWT_NEG_RECV_RIGHTS)
		rc = post_recv_without_right(cx, &t);
	else if (!has_no_recv(which))
		rc = post_recvs(cx, 0, RECVS);
	if (!rc && is_remote(which))
		rc = make_target(cx, which, &t, &s);
	if (!rc)
		rc = victim_steps(cx, which, &s);
	if (drop_target(cx, &t))
		rc = -1;
	return rc;
}

static int close_responder(struct iwt_ctx *cx)
{
	struct iwt_buf b = { .n = 1 };
	uint8_t want[CLOSE_LEN];
	uint32_t i;

	iwt_poison(cx->arena, CLOSE_MSGS * CLOSE_LEN);
	for (i = 0; i < CLOSE_MSGS + 1; i++) {
		b.piece[0].off = (uint64_t)i * CLOSE_LEN;
		b.piece[0].len = CLOSE_LEN;
		if (iwt_post_recv(cx, i, &b))
			return -1;
	}
	if (iwt_sync(cx, NULL, NULL))
		return -1;
	for (i = 0; i < CLOSE_MSGS; i++) {
		if (take_status(cx, cx->c.rcq, i, IBV_WC_SUCCESS))
			return -1;
		iwt_pattern(want, 50 + i, 0, CLOSE_LEN);
		if (memcmp(want, cx->arena + i * CLOSE_LEN, CLOSE_LEN))
			return iwt_fail(cx, "message %u differs", i);
	}
	if (iwt_wait_disconnected(cx) || iwt_let_go(cx))
		return -1;
	return take_flushed(cx, cx->c.rcq, CLOSE_MSGS, CLOSE_MSGS + 1);
}

int iwt_neg_run(struct iwt_ctx *cx, const struct iwt_case *k, bool is_requester)
{
	int rc;

	if (k->arg == IWT_NEG_CLOSE)
		rc = is_requester ? close_requester(cx) : close_responder(cx);
	else if (!is_requester)
		rc = victim(cx, k->arg);
	else if (k->arg == IWT_NEG_FLUSH)
		rc = flush_requester(cx);
	else if (k->arg == IWT_NEG_SINK_RIGHTS)
		rc = sink_without_right(cx);
	else
		rc = offender(cx, k->arg);
	drop_async(cx);
	return rc;
}
