// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <string.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

#define NEWER_OPS (IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
		   IBV_QP_EX_WITH_SEND_WITH_IMM | \
		   IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
		   IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define ALL_OPS (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND | \
		 IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_READ | \
		 IBV_QP_EX_WITH_LOCAL_INV | NEWER_OPS)

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_qp_ex *ex;

static void setup(void)
{
	context = fake_open();
	fake.first_index = 0xfffffffe;
	cq = fake_make_cq(context, 8);
	qp = fake_make_qp(context, cq, 8, ALL_OPS);
	ex = &((struct verbs_qp *)qp)->qp_ex;
	fake.sq.ctl->flags = IWT_RING_NEED_WAKEUP;
	fake.doorbells = 0;
}

static void teardown(void)
{
	fake_drop_qp(qp);
	fake.ops.destroy_cq(cq);
	fake_close(context);
}

static const struct iwt_send_wqe *wqe_at(uint32_t n)
{
	return fake_entry(&fake.sq, fake.first_index + n);
}

/* Return: the operations that the extended queue pair has (IBV_QP_EX_WITH_*) */
static uint64_t ops_of(const struct ibv_qp_ex *of)
{
	return (of->wr_rdma_write ? IBV_QP_EX_WITH_RDMA_WRITE : 0) |
	       (of->wr_rdma_write_imm ? IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM : 0) |
	       (of->wr_send ? IBV_QP_EX_WITH_SEND : 0) |
	       (of->wr_send_imm ? IBV_QP_EX_WITH_SEND_WITH_IMM : 0) |
	       (of->wr_rdma_read ? IBV_QP_EX_WITH_RDMA_READ : 0) |
	       (of->wr_atomic_cmp_swp ? IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP : 0) |
	       (of->wr_atomic_fetch_add ? IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD : 0) |
	       (of->wr_local_inv ? IBV_QP_EX_WITH_LOCAL_INV : 0) |
	       (of->wr_bind_mw ? IBV_QP_EX_WITH_BIND_MW : 0) |
	       (of->wr_send_inv ? IBV_QP_EX_WITH_SEND_WITH_INV : 0);
}

/* An operation that the program did not request stays NULL, also if the provider supports it. */
static void test_requested(void)
{
	uint64_t all = ALL_OPS | IBV_QP_EX_WITH_BIND_MW, op;
	struct ibv_qp *one;

	context = fake_open();
	cq = fake_make_cq(context, 8);
	for (op = 1; op <= all; op <<= 1) {
		if (!(all & op))
			continue;
		one = fake_make_qp(context, cq, 8, op);
		ok(one && ops_of(&((struct verbs_qp *)one)->qp_ex) == op,
		   "wr: a queue pair has only the requested operation %#llx",
		   (unsigned long long)op);
		fake_drop_qp(one);
	}
	fake.ops.destroy_cq(cq);
	fake_close(context);
}

static void test_batch(void)
{
	struct ibv_sge list[2] = {
		{ .addr = 1, .length = 2, .lkey = 3 },
		{ .addr = 4, .length = 5, .lkey = 6 },
	};

	setup();
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 3, 1, 2);
	ex->wr_id = 2;
	ex->wr_flags = IBV_SEND_FENCE;
	ibv_wr_rdma_write(ex, 10, 20);
	ibv_wr_set_sge_list(ex, 2, list);
	ibv_wr_rdma_read(ex, 30, 40);
	ibv_wr_set_sge_list(ex, 1, list);
	ibv_wr_send_inv(ex, 50);
	ibv_wr_local_inv(ex, 60);
	is(fake.sq.ctl->prod, fake.first_index,
	   "wr: no work request is posted before wr_complete");
	is(ibv_wr_complete(ex), 0, "wr: wr_complete succeeds");
	is(fake.sq.ctl->prod, fake.first_index + 5,
	   "wr: wr_complete posts all five work requests");
	is(fake.doorbells, 1, "wr: the doorbell is rung once");
	ok(wqe_at(0)->opcode == IWT_WR_SEND && wqe_at(0)->wr_id == 1 &&
	   wqe_at(0)->flags == IWT_WR_SIGNALED && wqe_at(0)->num_sge == 1 &&
	   !memcmp(wqe_at(0) + 1, list, sizeof(list[0])), "wr: the entry of the Send is right");
	ok(wqe_at(1)->opcode == IWT_WR_WRITE && wqe_at(1)->wr_id == 2 &&
	   wqe_at(1)->flags == IWT_WR_FENCE && wqe_at(1)->num_sge == 2 &&
	   wqe_at(1)->rkey == 10 && wqe_at(1)->remote_addr == 20 &&
	   !memcmp(wqe_at(1) + 1, list, sizeof(list)), "wr: the entry of the Write is right");
	ok(wqe_at(2)->opcode == IWT_WR_READ && wqe_at(2)->rkey == 30 &&
	   wqe_at(2)->remote_addr == 40, "wr: the entry of the Read is right");
	ok(wqe_at(3)->opcode == IWT_WR_SEND_WITH_INV && wqe_at(3)->ex == 50 &&
	   !wqe_at(3)->num_sge, "wr: the entry of the Send with invalidate is right");
	ok(wqe_at(4)->opcode == IWT_WR_LOCAL_INV && wqe_at(4)->ex == 60,
	   "wr: the entry of the local invalidate is right");
	teardown();
}

static void test_inline(void)
{
	char data[65] = "0123456789";
	struct ibv_data_buf list[3] = {
		{ .addr = data, .length = 4 },
		{ .addr = NULL, .length = 0 },
		{ .addr = data + 4, .length = 6 },
	};

	setup();
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, 64);
	ibv_wr_rdma_write(ex, 1, 2);
	ibv_wr_set_inline_data_list(ex, 3, list);
	is(ibv_wr_complete(ex), 0, "wr inline: wr_complete succeeds");
	ok(wqe_at(0)->flags == IWT_WR_INLINE && wqe_at(0)->inline_len == 64 &&
	   !memcmp(wqe_at(0) + 1, data, 64),
	   "wr inline: the entry with the maximum of inline data is right");
	ok(wqe_at(1)->flags == IWT_WR_INLINE && wqe_at(1)->inline_len == 10 &&
	   !memcmp(wqe_at(1) + 1, data, 10),
	   "wr inline: the entry with the data of a list is right");

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, 65);
	is(ibv_wr_complete(ex), EINVAL, "wr inline: one byte more than the maximum is refused");
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, SIZE_MAX);
	is(ibv_wr_complete(ex), EINVAL, "wr inline: a length of SIZE_MAX is refused");
	ibv_wr_start(ex);
	ibv_wr_rdma_read(ex, 1, 2);
	ibv_wr_set_inline_data(ex, data, 1);
	is(ibv_wr_complete(ex), EINVAL, "wr inline: inline data of a Read are refused");
	is(fake.sq.ctl->prod, fake.first_index + 2,
	   "wr inline: the refused work requests are not posted");
	teardown();
}

static void test_immediate(void)
{
	struct ibv_sge empty = { .addr = 1, .lkey = 2 };
	char data[2] = "x";

	setup();
	ibv_wr_start(ex);
	ex->wr_id = 5;
	ibv_wr_rdma_write_imm(ex, 10, 20, htobe32(0x01020304));
	ibv_wr_set_sge(ex, 3, 1, 2);
	ex->wr_flags = IBV_SEND_SOLICITED;
	ibv_wr_send_imm(ex, htobe32(0x05060708));
	ibv_wr_send_imm(ex, 0);
	ibv_wr_set_sge_list(ex, 1, &empty);
	ibv_wr_send_imm(ex, 0);
	ibv_wr_set_inline_data(ex, data, 0);
	is(ibv_wr_complete(ex), 0, "wr imm: wr_complete succeeds");
	ok(wqe_at(0)->opcode == IWT_WR_WRITE_WITH_IMM &&
	   wqe_at(0)->wr_id == 5 && wqe_at(0)->rkey == 10 &&
	   wqe_at(0)->remote_addr == 20 && wqe_at(0)->num_sge == 1 &&
	   !memcmp(&wqe_at(0)->ex, "\1\2\3\4", 4),
	   "wr imm: the entry of the Write with immediate data is right");
	ok(wqe_at(1)->opcode == IWT_WR_SEND_WITH_IMM &&
	   wqe_at(1)->flags == IWT_WR_SOLICITED && !wqe_at(1)->num_sge &&
	   !memcmp(&wqe_at(1)->ex, "\5\6\7\10", 4),
	   "wr imm: the entry of the Send with immediate data is right");

	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 0);
	ibv_wr_set_sge(ex, 3, 1, 2);
	is(ibv_wr_complete(ex), EOPNOTSUPP,
	   "wr imm: a Send with immediate data and payload is refused");
	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 0);
	ibv_wr_set_inline_data(ex, data, 1);
	is(ibv_wr_complete(ex), EOPNOTSUPP,
	   "wr imm: a Send with immediate data and inline data is refused");
	is(fake.sq.ctl->prod, fake.first_index + 4,
	   "wr imm: the refused work requests are not posted");
	teardown();
}

static void test_atomic(void)
{
	const struct iwt_atomic_body *body;
	struct ibv_sge list[2] = {
		{ .addr = 0x77, .length = 8, .lkey = 9 },
	};
	char data[8];

	setup();
	ibv_wr_start(ex);
	ibv_wr_atomic_fetch_add(ex, 10, 20, 0x1122334455667788);
	ibv_wr_set_sge(ex, 9, 0x77, 8);
	ibv_wr_atomic_cmp_swp(ex, 11, 21, 5, 6);
	ibv_wr_set_sge_list(ex, 1, list);
	is(ibv_wr_complete(ex), 0, "wr atomic: wr_complete succeeds");
	body = (const void *)(wqe_at(0) + 1);
	ok(wqe_at(0)->opcode == IWT_WR_FETCH_ADD && wqe_at(0)->rkey == 10 &&
	   wqe_at(0)->remote_addr == 20 && wqe_at(0)->num_sge == 1,
	   "wr atomic: the entry of the fetch-and-add is right");
	ok(body->data == 0x1122334455667788 &&
	   !memcmp(&body->sink, list, sizeof(list[0])),
	   "wr atomic: its operand and its sink are right");
	body = (const void *)(wqe_at(1) + 1);
	ok(wqe_at(1)->opcode == IWT_WR_CMP_SWAP && body->data == 6 &&
	   body->compare == 5 && !memcmp(&body->sink, list, sizeof(list[0])),
	   "wr atomic: the entry of the compare-and-swap is right");

	ibv_wr_start(ex);
	ibv_wr_atomic_fetch_add(ex, 1, 2, 3);
	ibv_wr_set_sge_list(ex, 2, list);
	is(ibv_wr_complete(ex), EINVAL, "wr atomic: two elements are refused");
	ibv_wr_start(ex);
	ibv_wr_atomic_cmp_swp(ex, 1, 2, 3, 4);
	ibv_wr_set_inline_data(ex, data, 8);
	is(ibv_wr_complete(ex), EINVAL, "wr atomic: inline data are refused");
	is(fake.sq.ctl->prod, fake.first_index + 2,
	   "wr atomic: the refused work requests are not posted");
	teardown();
}

static void test_errors(void)
{
	struct ibv_sge list[FAKE_MAX_SGE + 1] = {};
	int i;

	setup();
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	is(fake.sq.ctl->prod, fake.first_index, "wr: wr_abort posts no work request");

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, FAKE_MAX_SGE + 1, list);
	ibv_wr_set_sge(ex, 1, 2, 3);
	ibv_wr_send(ex);
	is(ibv_wr_complete(ex), EINVAL, "wr: too many elements are refused");

	ibv_wr_start(ex);
	for (i = 0; i < 9; i++) {
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, 1, 2, 3);
	}
	is(ibv_wr_complete(ex), ENOMEM,
	   "wr: more work requests than the queue has entries are refused");
	is(fake.sq.ctl->prod, fake.first_index, "wr: then no work request is posted");
	is(fake.doorbells, 0, "wr: and the doorbell is not rung");

	ibv_wr_start(ex);
	for (i = 0; i < 8; i++)
		ibv_wr_send(ex);
	is(ibv_wr_complete(ex), 0,
	   "wr: as many work requests as the queue has entries can be posted");
	is(fake.sq.ctl->prod, fake.first_index + 8, "wr: all of them are posted");
	ibv_wr_start(ex);
	is(ibv_wr_complete(ex), 0, "wr: wr_complete without work requests succeeds");
	is(fake.doorbells, 1, "wr: then the doorbell is not rung");
	teardown();
}

void test_wr(void)
{
	test_requested();
	test_batch();
	test_inline();
	test_immediate();
	test_atomic();
	test_errors();
}
