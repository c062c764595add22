// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <string.h>

#include <ccan/array_size.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void setup(uint32_t first_index, uint32_t wrs)
{
	context = fake_open();
	fake.first_index = first_index;
	cq = fake_make_cq(context, 8);
	qp = fake_make_qp(context, cq, wrs, 0);
}

static void teardown(void)
{
	fake_drop_qp(qp);
	fake.ops.destroy_cq(cq);
	fake_close(context);
}

static int post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return fake.ops.post_send(qp, wr, &bad);
}

static const struct iwt_send_wqe *last_wqe(void)
{
	return fake_entry(&fake.sq, fake.sq.ctl->prod - 1);
}

static void test_send_layout(void)
{
	struct ibv_sge sge[2] = {
		{ .addr = 0x1122334455667788, .length = 100, .lkey = 7 },
		{ .addr = 0, .length = 0, .lkey = 0 },
	};
	struct ibv_send_wr wr = {
		.wr_id = 42,
		.sg_list = sge,
		.num_sge = 2,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE |
			      IBV_SEND_SOLICITED,
		.wr.rdma = { .remote_addr = 0x99, .rkey = 8 },
	};
	const struct iwt_send_wqe *wqe;

	setup(0, 4);
	memset(fake.sq.entries, 0xff, FAKE_STRIDE);
	is(post(&wr), 0, "send: write");
	wqe = last_wqe();
	ok(wqe->wr_id == 42 && wqe->opcode == IWT_WR_WRITE &&
	   wqe->num_sge == 2 && wqe->remote_addr == 0x99 && wqe->rkey == 8,
	   "send: write as it was given");
	ok(!wqe->inline_len && !wqe->ex && !wqe->reserved,
	   "send: nothing stale");
	is(wqe->flags, IWT_WR_SIGNALED | IWT_WR_FENCE | IWT_WR_SOLICITED,
	   "send: flags");
	ok(!memcmp(wqe + 1, sge, sizeof(sge)), "send: its elements");

	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = 0;
	post(&wr);
	wqe = last_wqe();
	ok(wqe->opcode == IWT_WR_READ && wqe->rkey == 8 && !wqe->flags,
	   "send: read");
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = 0x55;
	post(&wr);
	wqe = last_wqe();
	ok(wqe->opcode == IWT_WR_SEND_WITH_INV && wqe->ex == 0x55 &&
	   !wqe->rkey, "send: with invalidate");
	wr.opcode = IBV_WR_LOCAL_INV;
	post(&wr);
	wqe = last_wqe();
	ok(wqe->opcode == IWT_WR_LOCAL_INV && wqe->ex == 0x55 && !wqe->num_sge,
	   "send: local invalidate");
	teardown();
}

static void test_immediate(void)
{
	struct ibv_sge sge[2] = {
		{ .addr = 1, .length = 0, .lkey = 3 },
		{ .addr = 4, .length = 5, .lkey = 6 },
	};
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = 2,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32(0x01020304),
		.wr.rdma = { .remote_addr = 0x99, .rkey = 8 },
	};

	setup(0, 4);
	is(post(&wr), 0, "imm: write");
	ok(last_wqe()->opcode == IWT_WR_WRITE_WITH_IMM &&
	   last_wqe()->rkey == 8 && last_wqe()->remote_addr == 0x99 &&
	   last_wqe()->num_sge == 2 && !memcmp(&last_wqe()->ex, "\1\2\3\4", 4),
	   "imm: write as it was given");
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	is(post(&wr), EOPNOTSUPP, "imm: no send with data");
	wr.send_flags = IBV_SEND_INLINE;
	is(post(&wr), EOPNOTSUPP, "imm: nor with inline data");
	is(fake.sq.ctl->prod, 1, "imm: those are not posted");
	wr.num_sge = 1;
	is(post(&wr), 0, "imm: send without");
	ok(last_wqe()->opcode == IWT_WR_SEND_WITH_IMM && !last_wqe()->rkey &&
	   !memcmp(&last_wqe()->ex, "\1\2\3\4", 4),
	   "imm: send as it was given");
	teardown();
}

static void test_atomic(void)
{
	struct ibv_sge sge[2] = {
		{ .addr = 1, .length = 8, .lkey = 3 },
	};
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = {
			.remote_addr = 0x99, .rkey = 8,
			.compare_add = 0x1122334455667788, .swap = 7,
		},
	};
	const struct iwt_atomic_body *body;

	setup(0, 4);
	is(post(&wr), 0, "atomic: fetch and add");
	body = (const void *)(last_wqe() + 1);
	ok(last_wqe()->opcode == IWT_WR_FETCH_ADD && last_wqe()->rkey == 8 &&
	   last_wqe()->remote_addr == 0x99 && last_wqe()->num_sge == 1 &&
	   body->data == 0x1122334455667788 && !body->compare &&
	   !memcmp(&body->sink, sge, sizeof(sge[0])),
	   "atomic: fetch and add as it was given");
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	is(post(&wr), 0, "atomic: compare and swap");
	body = (const void *)(last_wqe() + 1);
	ok(last_wqe()->opcode == IWT_WR_CMP_SWAP && body->data == 7 &&
	   body->compare == 0x1122334455667788,
	   "atomic: compare and swap as it was given");
	wr.num_sge = 2;
	is(post(&wr), EINVAL, "atomic: not two elements");
	wr.num_sge = 0;
	is(post(&wr), EINVAL, "atomic: nor none");
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	is(post(&wr), EINVAL, "atomic: nor inline");
	is(fake.sq.ctl->prod, 2, "atomic: those are not posted");
	teardown();
}

/* Tests with a kernel that does not support RFC 7306. */
static void test_old_kernel(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_IMM,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_BIND_MW,
	};
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr wr = { .sg_list = &sge };
	unsigned int i;

	context = fake_open_with(0);
	cq = fake_make_cq(context, 8);
	qp = fake_make_qp(context, cq, 4, 0);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		wr.opcode = opcodes[i];
		is(post(&wr), EOPNOTSUPP, "old kernel: opcode %d", opcodes[i]);
	}
	wr.opcode = IBV_WR_SEND;
	is(post(&wr), 0, "old kernel: send");
	teardown();
}

static void test_send_refusals(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_TSO, IBV_WR_DRIVER1, 9999,
	};
	struct ibv_sge sge[FAKE_MAX_SGE + 1] = {};
	struct ibv_send_wr wr = { .sg_list = sge };
	unsigned int i;

	setup(0, 4);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		wr.opcode = opcodes[i];
		is(post(&wr), EOPNOTSUPP, "refused: opcode %d", opcodes[i]);
	}
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = FAKE_MAX_SGE + 1;
	is(post(&wr), EINVAL, "refused: too many elements");
	wr.num_sge = -1;
	is(post(&wr), EINVAL, "refused: less than no element");
	wr.send_flags = IBV_SEND_INLINE;
	is(post(&wr), EINVAL, "refused: less than no inline element");
	is(fake.sq.ctl->prod, 0, "refused: nothing was posted");
	wr.send_flags = 0;
	wr.num_sge = 0;
	ok(!post(&wr) && fake.sq.ctl->prod == 1 && !last_wqe()->num_sge,
	   "send: no element at all");
	teardown();
}

static void test_inline(void)
{
	char data[80];
	struct ibv_sge sge[3] = {
		{ .addr = (uintptr_t)data, .length = 40, .lkey = 1 },
		{ .addr = 0, .length = 0 },
		{ .addr = (uintptr_t)data + 40, .length = 24, .lkey = 2 },
	};
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = 3,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};
	const struct iwt_send_wqe *wqe;
	unsigned int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i;
	setup(0, 4);
	is(post(&wr), 0, "inline: as much as there may be");
	wqe = last_wqe();
	ok(wqe->flags & IWT_WR_INLINE && wqe->inline_len == 64 &&
	   !wqe->num_sge && !memcmp(wqe + 1, data, 64), "inline: gathered");
	sge[2].length = 25;
	is(post(&wr), EINVAL, "inline: one too much");
	sge[2].length = 0xffffffff;
	is(post(&wr), EINVAL, "inline: much too much");
	is(fake.sq.ctl->prod, 1, "inline: those were not posted");
	wr.num_sge = 0;
	is(post(&wr), 0, "inline: nothing");
	ok(last_wqe()->flags & IWT_WR_INLINE && !last_wqe()->inline_len,
	   "inline: nothing as such");
	wr.opcode = IBV_WR_RDMA_READ;
	is(post(&wr), EINVAL, "inline: not for a read");
	teardown();
}

static void test_full(void)
{
	struct ibv_send_wr wr[6] = {}, *bad = NULL;
	int ret, i;

	setup(0xfffffffe, 4);
	for (i = 0; i < 6; i++) {
		wr[i].wr_id = i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i < 5 ? &wr[i + 1] : NULL;
	}
	fake.sq.ctl->flags = IWT_RING_NEED_WAKEUP;
	ret = fake.ops.post_send(qp, wr, &bad);
	ok(ret == ENOMEM && bad == &wr[4], "full: the fifth of four");
	is(fake.sq.ctl->prod, 2, "full: the first four are posted");
	is(fake.doorbells, 1, "full: and told of once");
	is(fake.ops.post_send(qp, &wr[5], &bad), ENOMEM, "full: it stays so");
	is(fake.doorbells, 1, "full: nothing posted, no doorbell");
	fake.sq.ctl->cons++;
	ok(!fake.ops.post_send(qp, &wr[5], &bad) && last_wqe()->wr_id == 5,
	   "full: a free slot is used at once");
	is(fake.ops.post_send(qp, &wr[5], &bad), ENOMEM, "full: again");
	fake.sq.ctl->cons += 4;
	ok(!fake.ops.post_send(qp, &wr[2], &bad) && fake.sq.ctl->prod == 7,
	   "full: not when it is empty");
	teardown();
}

static void test_doorbell(void)
{
	struct ibv_send_wr wr[3] = {}, *bad = NULL;
	int i;

	setup(0, 16);
	for (i = 0; i < 3; i++) {
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	is(fake.ops.post_send(qp, wr, &bad), 0, "doorbell: kernel is looking");
	is(fake.doorbells, 0, "doorbell: not rung");
	fake.sq.ctl->flags = IWT_RING_NEED_WAKEUP;
	is(fake.ops.post_send(qp, wr, &bad), 0, "doorbell: kernel is not");
	is(fake.doorbells, 1, "doorbell: rung once for three");
	wr[2].opcode = IBV_WR_TSO;
	ok(fake.ops.post_send(qp, wr, &bad) == EOPNOTSUPP && bad == &wr[2],
	   "doorbell: one of three is bad");
	ok(fake.doorbells == 2 && fake.sq.ctl->prod == 8,
	   "doorbell: rung for the two before");
	is(fake.ops.post_send(qp, &wr[2], &bad), EOPNOTSUPP,
	   "doorbell: nothing good");
	is(fake.doorbells, 2, "doorbell: not rung for that");
	is(fake.ops.post_send(qp, NULL, &bad), 0, "doorbell: nothing at all");
	is(fake.doorbells, 2, "doorbell: not rung for that either");
	fake.doorbell_err = EIO;
	wr[2].opcode = IBV_WR_SEND;
	ok(fake.ops.post_send(qp, wr, &bad) == EIO && bad == &wr[0],
	   "doorbell: its failure is told");
	teardown();
}

/* Called when the process flushes its posts: the kernel's engine completes a request. */
static void flush_completes(void)
{
	struct iwt_cqe cqe = { .wr_id = 77 };

	fake_complete(&cqe);
}

/* Return: word @i of the bits of posts; they follow the completion queue's entries */
static uint32_t *posted_word(unsigned int i)
{
	return (uint32_t *)fake_entry(&fake.cq, 0) +
	       fake.cq.num * fake.cq.stride / 4 + i;
}

static void test_posted(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;

	setup(0, 128);
	fake.sq.ctl->flags = IWT_RING_NEED_WAKEUP;
	fake.ops.post_send(qp, &wr, &bad);
	is(*posted_word(FAKE_BIT / 32), 0, "posted: not with the doorbell");
	fake.sq.ctl->flags = 0;
	wr.opcode = IBV_WR_TSO;
	fake.ops.post_send(qp, &wr, &bad);
	is(*posted_word(FAKE_BIT / 32), 0, "posted: not by a post that failed");
	wr.opcode = IBV_WR_SEND;
	*posted_word(FAKE_BIT / 32) = 1;
	fake.ops.post_send(qp, &wr, &bad);
	is(*posted_word(FAKE_BIT / 32), 1 | 1 << FAKE_BIT % 32,
	   "posted: the bit, and others stay");
	fake.ops.post_send(qp, &wr, &bad);
	is(*posted_word(FAKE_BIT / 32), 1 | 1 << FAKE_BIT % 32,
	   "posted: is set already");
	is(*posted_word(0), 0, "posted: no other word");
	teardown();
}

static void spoil_send_bit(struct iwt_create_qp_resp *resp)
{
	resp->send_bit = FAKE_BITS;
}

/* A queue pair may have no bit: no bit is free, or the kernel does not know such bits. */
static void test_no_bit(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_wc wc;

	context = fake_open();
	cq = fake_make_cq(context, 8);
	fake.spoil_qp = spoil_send_bit;
	qp = fake_make_qp(context, cq, 8, 0);
	fake.cq.ctl->flags = IWT_RING_DEFERRED;
	fake.ops.post_send(qp, &wr, &bad);
	fake.ops.poll_cq(cq, 1, &wc);
	ok(!fake.flushes && !*posted_word(FAKE_BITS / 32),
	   "posted: no call for a queue pair without a bit");
	teardown();
}

#define RECV_BIT	(FAKE_BIT - 32)

static void spoil_recv_bit(struct iwt_create_qp_resp *resp)
{
	resp->recv_bit = RECV_BIT;
}

static uint32_t *word_of(const struct fake_ring *ring, unsigned int i)
{
	return (uint32_t *)fake_entry(ring, 0) + ring->num * ring->stride / 4 + i;
}

/* A process that polls for receives must flush the posts of the send queue, too. */
static void test_two_queues(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct fake_ring sends, recvs;
	struct ibv_cq *recv_cq;
	struct ibv_wc wc;
	struct ibv_pd *pd;

	context = fake_open();
	cq = fake_make_cq(context, 8);
	sends = fake.cq;
	recv_cq = fake_make_cq(context, 8);
	recvs = fake.cq;
	fake.spoil_qp = spoil_recv_bit;
	pd = fake.ops.alloc_pd(context);
	attr.send_cq = cq;
	attr.recv_cq = recv_cq;
	qp = fake.ops.create_qp(pd, &attr);
	qp->pd = pd;
	fake.ops.post_send(qp, &wr, &bad);
	ok(*word_of(&sends, FAKE_BIT / 32) == 1u << FAKE_BIT % 32 && !*word_of(&sends, 0),
	   "posted: the bit of the queue of sends");
	ok(*word_of(&recvs, RECV_BIT / 32) == 1u << RECV_BIT % 32 && !*word_of(&recvs, 1),
	   "posted: and that of the queue of receives");
	recvs.ctl->flags = IWT_RING_DEFERRED;
	fake.ops.poll_cq(recv_cq, 1, &wc);
	is(fake.flushes, 1, "cq_poll: a call for receives flushes sends");
	fake_drop_qp(qp);
	fake.ops.destroy_cq(recv_cq);
	fake.ops.destroy_cq(cq);
	fake_close(context);
}

/* With the flag IWT_RING_DEFERRED the kernel relies on the process to flush its posts. */
static void test_tend(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_wc wc;
	int i;

	setup(0, 128);
	fake.ops.post_send(qp, &wr, &bad);
	is(fake.ops.poll_cq(cq, 1, &wc), 0, "cq_poll: nothing there");
	is(fake.flushes, 0, "cq_poll: no call that nobody asked for");
	fake.cq.ctl->flags = IWT_RING_DEFERRED;
	is(fake.ops.poll_cq(cq, 1, &wc), 0, "cq_poll: nothing there");
	is(fake.flushes, 1, "cq_poll: a call for what was posted before");
	is(fake.ops.poll_cq(cq, 1, &wc), 0, "cq_poll: nothing there");
	is(fake.flushes, 1, "cq_poll: no second one");
	fake.on_flush = flush_completes;
	fake.ops.post_send(qp, &wr, &bad);
	ok(fake.ops.poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 77,
	   "cq_poll: what the call brought is there at once");
	fake.on_flush = NULL;
	fake.ops.post_send(qp, &wr, &bad);
	flush_completes();
	is(fake.ops.poll_cq(cq, 1, &wc), 1, "cq_poll: one is there");
	is(fake.flushes, 2, "cq_poll: no call while there are some");
	fake.ops.req_notify_cq(cq, 0);
	is(fake.flushes, 3, "cq_poll: one before going to sleep");
	for (i = 0; i < 64; i++)
		fake.ops.post_send(qp, &wr, &bad);
	is(fake.flushes, 4, "cq_poll: one after many posts");
	fake.ops.poll_cq(cq, 1, &wc);
	fake.ops.poll_cq(cq, 1, &wc);
	wr.opcode = IBV_WR_TSO;
	for (i = 0; i < 100; i++)
		fake.ops.post_send(qp, &wr, &bad);
	fake.ops.post_send(qp, NULL, &bad);
	fake.ops.poll_cq(cq, 1, &wc);
	is(fake.flushes, 4, "cq_poll: none for posts that failed");
	is(fake.doorbells, 0, "cq_poll: and never the doorbell");
	teardown();
}

static void test_sig_all(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_pd *pd;

	context = fake_open();
	cq = fake_make_cq(context, 8);
	pd = fake.ops.alloc_pd(context);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = fake.ops.create_qp(pd, &attr);
	qp->pd = pd;
	post(&wr);
	is(last_wqe()->flags, IWT_WR_SIGNALED, "send: all are signalled");
	teardown();
}

void test_send(void)
{
	test_send_layout();
	test_immediate();
	test_atomic();
	test_old_kernel();
	test_send_refusals();
	test_inline();
	test_full();
	test_doorbell();
	test_posted();
	test_no_bit();
	test_two_queues();
	test_tend();
	test_sig_all();
}

void test_recv(void)
{
	struct ibv_sge sge[FAKE_MAX_SGE + 1] = {
		{ .addr = 0x10, .length = 20, .lkey = 30 },
	};
	struct ibv_recv_wr wr[3] = {}, *bad = NULL;
	const struct iwt_recv_wqe *wqe;
	int i;

	setup(0xffffffff, 2);
	for (i = 0; i < 3; i++) {
		wr[i].wr_id = 100 + i;
		wr[i].sg_list = sge;
		wr[i].num_sge = i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	ok(fake.ops.post_recv(qp, wr, &bad) == ENOMEM && bad == &wr[2],
	   "recv: the third of two");
	is(fake.rq.ctl->prod, 1, "recv: two are posted");
	is(fake.sq.ctl->prod, 0xffffffff, "recv: not to the send queue");
	wqe = fake_entry(&fake.rq, 0xffffffff);
	ok(wqe->wr_id == 100 && !wqe->num_sge, "recv: without an element");
	wqe = fake_entry(&fake.rq, 0);
	ok(wqe->wr_id == 101 && wqe->num_sge == 1 && !wqe->reserved &&
	   !memcmp(wqe + 1, sge, sizeof(sge[0])), "recv: with one");
	is(fake.doorbells, 0, "recv: no doorbell");
	fake.rq.ctl->cons++;
	fake.rq.ctl->flags = IWT_RING_NEED_WAKEUP;
	is(fake.ops.post_recv(qp, &wr[2], &bad), 0, "recv: in the error state");
	is(fake.doorbells, 1, "recv: doorbell for the flush");
	wr[2].num_sge = FAKE_MAX_SGE + 1;
	is(fake.ops.post_recv(qp, &wr[2], &bad), EINVAL,
	   "recv: too many elements");
	wr[2].num_sge = -1;
	is(fake.ops.post_recv(qp, &wr[2], &bad), EINVAL,
	   "recv: less than no element");
	teardown();
}
