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
	is(post(&wr), 0, "send: a Write can be posted");
	wqe = last_wqe();
	ok(wqe->wr_id == 42 && wqe->opcode == IWT_WR_WRITE &&
	   wqe->num_sge == 2 && wqe->remote_addr == 0x99 && wqe->rkey == 8,
	   "send: the entry of the Write has all values");
	ok(!wqe->inline_len && !wqe->ex && !wqe->reserved,
	   "send: the other fields of the entry are 0");
	is(wqe->flags, IWT_WR_SIGNALED | IWT_WR_FENCE | IWT_WR_SOLICITED,
	   "send: the flags are translated");
	ok(!memcmp(wqe + 1, sge, sizeof(sge)), "send: the elements are copied");

	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = 0;
	post(&wr);
	wqe = last_wqe();
	ok(wqe->opcode == IWT_WR_READ && wqe->rkey == 8 && !wqe->flags,
	   "send: the entry of a Read is right");
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = 0x55;
	post(&wr);
	wqe = last_wqe();
	ok(wqe->opcode == IWT_WR_SEND_WITH_INV && wqe->ex == 0x55 &&
	   !wqe->rkey, "send: the entry of a Send with invalidate is right");
	wr.opcode = IBV_WR_LOCAL_INV;
	post(&wr);
	wqe = last_wqe();
	ok(wqe->opcode == IWT_WR_LOCAL_INV && wqe->ex == 0x55 && !wqe->num_sge,
	   "send: the entry of a local invalidate is right");
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
	is(post(&wr), 0, "imm: a Write with immediate data can be posted");
	ok(last_wqe()->opcode == IWT_WR_WRITE_WITH_IMM &&
	   last_wqe()->rkey == 8 && last_wqe()->remote_addr == 0x99 &&
	   last_wqe()->num_sge == 2 && !memcmp(&last_wqe()->ex, "\1\2\3\4", 4),
	   "imm: the entry of the Write has all values");
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	is(post(&wr), EOPNOTSUPP, "imm: a Send with immediate data and payload is refused");
	wr.send_flags = IBV_SEND_INLINE;
	is(post(&wr), EOPNOTSUPP, "imm: a Send with immediate data and inline data is refused");
	is(fake.sq.ctl->prod, 1, "imm: the refused work requests are not posted");
	wr.num_sge = 1;
	is(post(&wr), 0, "imm: a Send with immediate data and no payload can be posted");
	ok(last_wqe()->opcode == IWT_WR_SEND_WITH_IMM && !last_wqe()->rkey &&
	   !memcmp(&last_wqe()->ex, "\1\2\3\4", 4),
	   "imm: the entry of the Send has all values");
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
	is(post(&wr), 0, "atomic: a fetch-and-add can be posted");
	body = (const void *)(last_wqe() + 1);
	ok(last_wqe()->opcode == IWT_WR_FETCH_ADD && last_wqe()->rkey == 8 &&
	   last_wqe()->remote_addr == 0x99 && last_wqe()->num_sge == 1 &&
	   body->data == 0x1122334455667788 && !body->compare &&
	   !memcmp(&body->sink, sge, sizeof(sge[0])),
	   "atomic: the entry of the fetch-and-add has all values");
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	is(post(&wr), 0, "atomic: a compare-and-swap can be posted");
	body = (const void *)(last_wqe() + 1);
	ok(last_wqe()->opcode == IWT_WR_CMP_SWAP && body->data == 7 &&
	   body->compare == 0x1122334455667788,
	   "atomic: the entry of the compare-and-swap has all values");
	wr.num_sge = 2;
	is(post(&wr), EINVAL, "atomic: two elements are refused");
	wr.num_sge = 0;
	is(post(&wr), EINVAL, "atomic: no element is refused");
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	is(post(&wr), EINVAL, "atomic: inline data are refused");
	is(fake.sq.ctl->prod, 2, "atomic: the refused work requests are not posted");
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
		is(post(&wr), EOPNOTSUPP, "old kernel: opcode %d is refused", opcodes[i]);
	}
	wr.opcode = IBV_WR_SEND;
	is(post(&wr), 0, "old kernel: a Send can be posted");
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
		is(post(&wr), EOPNOTSUPP, "refused: opcode %d is refused", opcodes[i]);
	}
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = FAKE_MAX_SGE + 1;
	is(post(&wr), EINVAL, "refused: too many elements are refused");
	wr.num_sge = -1;
	is(post(&wr), EINVAL, "refused: a negative number of elements is refused");
	wr.send_flags = IBV_SEND_INLINE;
	is(post(&wr), EINVAL, "refused: a negative number of inline elements is refused");
	is(fake.sq.ctl->prod, 0, "refused: no work request was posted");
	wr.send_flags = 0;
	wr.num_sge = 0;
	ok(!post(&wr) && fake.sq.ctl->prod == 1 && !last_wqe()->num_sge,
	   "send: a work request without elements can be posted");
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
	is(post(&wr), 0, "inline: the maximum of inline data can be posted");
	wqe = last_wqe();
	ok(wqe->flags & IWT_WR_INLINE && wqe->inline_len == 64 &&
	   !wqe->num_sge && !memcmp(wqe + 1, data, 64),
	   "inline: the data of all elements are in the entry");
	sge[2].length = 25;
	is(post(&wr), EINVAL, "inline: one byte more than the maximum is refused");
	sge[2].length = 0xffffffff;
	is(post(&wr), EINVAL, "inline: a length of 0xffffffff is refused");
	is(fake.sq.ctl->prod, 1, "inline: the refused work requests are not posted");
	wr.num_sge = 0;
	is(post(&wr), 0, "inline: inline data of length 0 can be posted");
	ok(last_wqe()->flags & IWT_WR_INLINE && !last_wqe()->inline_len,
	   "inline: their entry has the inline flag and the length 0");
	wr.opcode = IBV_WR_RDMA_READ;
	is(post(&wr), EINVAL, "inline: inline data of a Read are refused");
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
	ok(ret == ENOMEM && bad == &wr[4],
	   "full: the fifth work request for four entries is refused");
	is(fake.sq.ctl->prod, 2, "full: the first four are posted");
	is(fake.doorbells, 1, "full: for these, the doorbell is rung once");
	is(fake.ops.post_send(qp, &wr[5], &bad), ENOMEM,
	   "full: the next work request is refused, too");
	is(fake.doorbells, 1, "full: a call that posts nothing does not ring the doorbell");
	fake.sq.ctl->cons++;
	ok(!fake.ops.post_send(qp, &wr[5], &bad) && last_wqe()->wr_id == 5,
	   "full: a freed entry is used at once");
	is(fake.ops.post_send(qp, &wr[5], &bad), ENOMEM,
	   "full: after that the queue is full again");
	fake.sq.ctl->cons += 4;
	ok(!fake.ops.post_send(qp, &wr[2], &bad) && fake.sq.ctl->prod == 7,
	   "full: an empty queue accepts work requests");
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
	is(fake.ops.post_send(qp, wr, &bad), 0,
	   "doorbell: a post succeeds while the kernel polls the ring");
	is(fake.doorbells, 0, "doorbell: then it is not rung");
	fake.sq.ctl->flags = IWT_RING_NEED_WAKEUP;
	is(fake.ops.post_send(qp, wr, &bad), 0,
	   "doorbell: a post succeeds while the kernel does not poll the ring");
	is(fake.doorbells, 1, "doorbell: then it is rung once for three work requests");
	wr[2].opcode = IBV_WR_TSO;
	ok(fake.ops.post_send(qp, wr, &bad) == EOPNOTSUPP && bad == &wr[2],
	   "doorbell: the third of three work requests is refused");
	ok(fake.doorbells == 2 && fake.sq.ctl->prod == 8,
	   "doorbell: it is rung for the two before");
	is(fake.ops.post_send(qp, &wr[2], &bad), EOPNOTSUPP,
	   "doorbell: a single bad work request is refused");
	is(fake.doorbells, 2, "doorbell: it is not rung for that");
	is(fake.ops.post_send(qp, NULL, &bad), 0, "doorbell: an empty list is accepted");
	is(fake.doorbells, 2, "doorbell: it is not rung for that, either");
	fake.doorbell_err = EIO;
	wr[2].opcode = IBV_WR_SEND;
	ok(fake.ops.post_send(qp, wr, &bad) == EIO && bad == &wr[0],
	   "doorbell: its error is returned, and no work request counts as posted");
	teardown();
}

/* Stands for the engine of the kernel, which completes a request when the process flushes. */
static void flush_completes(void)
{
	struct iwt_cqe cqe = { .wr_id = 77 };

	fake_complete(&cqe);
}

/*
 * Return: a pointer to the 32-bit word @i of the bits of posts, which follow the entries of
 * the newest completion queue
 */
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
	is(*posted_word(FAKE_BIT / 32), 0, "posted: a post with the doorbell sets no bit");
	fake.sq.ctl->flags = 0;
	wr.opcode = IBV_WR_TSO;
	fake.ops.post_send(qp, &wr, &bad);
	is(*posted_word(FAKE_BIT / 32), 0, "posted: a post that fails sets no bit");
	wr.opcode = IBV_WR_SEND;
	*posted_word(FAKE_BIT / 32) = 1;
	fake.ops.post_send(qp, &wr, &bad);
	is(*posted_word(FAKE_BIT / 32), 1 | 1 << FAKE_BIT % 32,
	   "posted: a post without the doorbell sets the bit, and leaves the other bits");
	fake.ops.post_send(qp, &wr, &bad);
	is(*posted_word(FAKE_BIT / 32), 1 | 1 << FAKE_BIT % 32,
	   "posted: a second post leaves the bit set");
	is(*posted_word(0), 0, "posted: no other word changes");
	teardown();
}

static void spoil_send_bit(struct iwt_create_qp_resp *resp)
{
	resp->send_bit = FAKE_BITS;
}

/*
 * A queue pair may have no bit of posts in its completion queue, because no bit is free or
 * because an older kernel does not use these bits.
 */
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
	   "posted: a queue pair without a bit causes no flush, and sets no bit");
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

/*
 * The send queue and the receive queue use different completion queues. A process that polls only
 * the completion queue of the receives must flush the posts of the send queue, too.
 */
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
	   "posted: a post sets the bit at the queue of the sends");
	ok(*word_of(&recvs, RECV_BIT / 32) == 1u << RECV_BIT % 32 && !*word_of(&recvs, 1),
	   "posted: and the bit at the queue of the receives");
	recvs.ctl->flags = IWT_RING_DEFERRED;
	fake.ops.poll_cq(recv_cq, 1, &wc);
	is(fake.flushes, 1, "cq_poll: a poll of the queue of the receives flushes the sends");
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
	is(fake.ops.poll_cq(cq, 1, &wc), 0, "cq_poll: there is no completion");
	is(fake.flushes, 0, "cq_poll: without the flag nothing is flushed");
	fake.cq.ctl->flags = IWT_RING_DEFERRED;
	is(fake.ops.poll_cq(cq, 1, &wc), 0, "cq_poll: there is no completion");
	is(fake.flushes, 1, "cq_poll: with the flag, a poll flushes the posts from before");
	is(fake.ops.poll_cq(cq, 1, &wc), 0, "cq_poll: there is no completion");
	is(fake.flushes, 1, "cq_poll: the next poll does not flush again");
	fake.on_flush = flush_completes;
	fake.ops.post_send(qp, &wr, &bad);
	ok(fake.ops.poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 77,
	   "cq_poll: a completion that the flush causes is returned by the same poll");
	fake.on_flush = NULL;
	fake.ops.post_send(qp, &wr, &bad);
	flush_completes();
	is(fake.ops.poll_cq(cq, 1, &wc), 1, "cq_poll: there is a completion");
	is(fake.flushes, 2, "cq_poll: a poll that finds completions does not flush");
	fake.ops.req_notify_cq(cq, 0);
	is(fake.flushes, 3, "cq_poll: arming the queue flushes");
	for (i = 0; i < 64; i++)
		fake.ops.post_send(qp, &wr, &bad);
	is(fake.flushes, 4, "cq_poll: many posts without a poll flush");
	fake.ops.poll_cq(cq, 1, &wc);
	fake.ops.poll_cq(cq, 1, &wc);
	wr.opcode = IBV_WR_TSO;
	for (i = 0; i < 100; i++)
		fake.ops.post_send(qp, &wr, &bad);
	fake.ops.post_send(qp, NULL, &bad);
	fake.ops.poll_cq(cq, 1, &wc);
	is(fake.flushes, 4, "cq_poll: posts that fail do not flush");
	is(fake.doorbells, 0, "cq_poll: the doorbell is never rung");
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
	is(last_wqe()->flags, IWT_WR_SIGNALED,
	   "send: with sq_sig_all, a work request is signalled");
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
	   "recv: the third receive for two entries is refused");
	is(fake.rq.ctl->prod, 1, "recv: the first two are posted");
	is(fake.sq.ctl->prod, 0xffffffff, "recv: the send queue does not change");
	wqe = fake_entry(&fake.rq, 0xffffffff);
	ok(wqe->wr_id == 100 && !wqe->num_sge,
	   "recv: the entry of a receive without elements is right");
	wqe = fake_entry(&fake.rq, 0);
	ok(wqe->wr_id == 101 && wqe->num_sge == 1 && !wqe->reserved &&
	   !memcmp(wqe + 1, sge, sizeof(sge[0])),
	   "recv: the entry of a receive with one element is right");
	is(fake.doorbells, 0, "recv: the doorbell is not rung");
	fake.rq.ctl->cons++;
	fake.rq.ctl->flags = IWT_RING_NEED_WAKEUP;
	is(fake.ops.post_recv(qp, &wr[2], &bad), 0,
	   "recv: a receive can be posted to a queue pair in error");
	is(fake.doorbells, 1, "recv: then the doorbell is rung");
	wr[2].num_sge = FAKE_MAX_SGE + 1;
	is(fake.ops.post_recv(qp, &wr[2], &bad), EINVAL,
	   "recv: too many elements are refused");
	wr[2].num_sge = -1;
	is(fake.ops.post_recv(qp, &wr[2], &bad), EINVAL,
	   "recv: a negative number of elements is refused");
	teardown();
}
