// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <string.h>

#include <ccan/array_size.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

static struct ibv_context *context;
static struct ibv_cq *cq;

static void setup(void)
{
	context = fake_open();
	cq = fake_make_cq(context, 8);
}

static void teardown(void)
{
	fake.ops.destroy_cq(cq);
	ok(!fake.cqs && !fake.qps && !fake.pds, "qp: no object is left in the kernel");
	fake_close(context);
}

static void spoil_send_entries(struct iwt_create_qp_resp *resp)
{
	resp->sq_entries = 5;
}

static void spoil_send_stride(struct iwt_create_qp_resp *resp)
{
	resp->sq_stride = sizeof(struct iwt_send_wqe) +
			  (FAKE_MAX_SGE - 1) * sizeof(struct iwt_sge);
}

static void spoil_recv_stride(struct iwt_create_qp_resp *resp)
{
	resp->rq_stride = 0;
}

static void spoil_recv_length(struct iwt_create_qp_resp *resp)
{
	resp->rq_mmap_length = 0;
}

static void spoil_inline(struct iwt_create_qp_resp *resp)
{
	resp->max_inline = 0xffffffff;
}

static void spoil_inline_stride(struct iwt_create_qp_resp *resp)
{
	resp->max_inline = IWT_MAX_INLINE;
	resp->sq_stride = sizeof(struct iwt_send_wqe) + IWT_MAX_INLINE - 8;
}

static void spoil_inline_more(struct iwt_create_qp_resp *resp)
{
	resp->max_inline = 10000;
	resp->sq_stride = sizeof(struct iwt_send_wqe) + 10000 - 8;
}

static void test_bad_answers(void)
{
	static const struct {
		const char *name;
		void (*spoil)(struct iwt_create_qp_resp *resp);
	} bad[] = {
		{ "a number of send entries that is no power of two", spoil_send_entries },
		{ "a small stride of the send queue", spoil_send_stride },
		{ "a receive queue with a stride of 0", spoil_recv_stride },
		{ "a receive queue with a mapping of 0 bytes", spoil_recv_length },
		{ "a huge inline size", spoil_inline },
		{ "an inline size above the stride", spoil_inline_stride },
		{ "a larger inline size above the stride", spoil_inline_more },
	};
	unsigned int i;

	setup();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fake.spoil_qp = bad[i].spoil;
		errno = 0;
		ok(!fake_make_qp(context, cq, 4, 0) && errno == EPROTO,
		   "qp answer: %s is refused", bad[i].name);
		is(fake.qps, 0,
		   "qp answer: %s: the kernel's queue pair is destroyed", bad[i].name);
	}
	teardown();
}

static void spoil_nothing(struct iwt_create_qp_resp *resp)
{
	memset(resp, 0, sizeof(*resp));
}

/* An answer of zeros gives a queue pair without queues, which is useless but harmless. */
static void test_empty_answer(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_qp *qp;

	setup();
	fake.spoil_qp = spoil_nothing;
	qp = fake_make_qp(context, cq, 4, 0);
	if (ok(qp, "qp without queues: it is created")) {
		is(fake.ops.post_send(qp, &send, &bad_send), ENOMEM,
		   "qp without queues: a send is refused");
		is(fake.ops.post_recv(qp, &recv, &bad_recv), ENOMEM,
		   "qp without queues: a receive is refused");
		fake_drop_qp(qp);
	}
	teardown();
}

static void spoil_atomic_stride(struct iwt_create_qp_resp *resp)
{
	resp->max_inline = 0;
	resp->sq_stride = sizeof(struct iwt_send_wqe) +
			  IWT_ATOMIC_BODY_USER - 8;
}

static int create_err(struct ibv_qp_init_attr *attr)
{
	struct ibv_pd *pd = fake.ops.alloc_pd(context);
	struct ibv_qp *qp;
	int err;

	errno = 0;
	qp = fake.ops.create_qp(pd, attr);
	err = qp ? 0 : errno;
	if (qp)
		fake.ops.destroy_qp(qp);
	fake.ops.dealloc_pd(pd);

	return err;
}

static void test_kinds(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 3, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	setup();
	is(create_err(&attr), EINVAL, "qp: NULL as the completion queue is refused");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	is(create_err(&attr), 0, "qp: a queue pair without a receive queue is created");
	is(attr.cap.max_send_wr, 4, "qp: the real size of the send queue is returned");
	is(attr.cap.max_inline_data, 64, "qp: the real inline size is returned");
	fake.spoil_qp = spoil_atomic_stride;
	is(create_err(&attr), EPROTO,
	   "qp: an answer without room for an atomic operation is refused");
	fake.spoil_qp = NULL;
	attr.qp_type = IBV_QPT_UD;
	is(create_err(&attr), EOPNOTSUPP, "qp: the type UD is refused");
	attr.qp_type = IBV_QPT_RC;
	ok(!fake_make_qp(context, cq, 4, IBV_QP_EX_WITH_SEND |
			 IBV_QP_EX_WITH_ATOMIC_WRITE) &&
	   errno == EOPNOTSUPP, "qp: atomic writes are refused");
	teardown();
}

static int create_ex_err(struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp;

	errno = 0;
	qp = fake.ops.create_qp_ex(context, attr);
	if (qp)
		fake.ops.destroy_qp(qp);

	return qp ? 0 : errno;
}

/* comp_mask may have the bit IBV_QP_INIT_ATTR_CREATE_FLAGS, but create_flags must then be 0. */
static void test_flags(void)
{
	uint32_t mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = 3, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = mask,
	};

	setup();
	attr.pd = fake.ops.alloc_pd(context);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	is(create_ex_err(&attr), 0, "qp: creation flags of 0 are accepted");
	is(attr.comp_mask, mask, "qp: comp_mask of the caller does not change");
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	is(create_ex_err(&attr), EOPNOTSUPP, "qp: a creation flag is refused");
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	is(create_ex_err(&attr), 0,
	   "qp: creation flags without their bit in comp_mask are ignored");
	fake.ops.dealloc_pd(attr.pd);
	teardown();
}

static void test_old_kernel(void)
{
	static const uint64_t ops[] = {
		IBV_QP_EX_WITH_SEND_WITH_IMM,
		IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};
	unsigned int i;

	context = fake_open_with(0);
	cq = fake_make_cq(context, 8);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		errno = 0;
		ok(!fake_make_qp(context, cq, 4, ops[i]) && errno == EOPNOTSUPP,
		   "qp: an old kernel refuses the operation %llx",
		   (unsigned long long)ops[i]);
	}
	teardown();
}

/* Checks VERBS_QP_EX, the mark by which libibverbs recognises an extended queue pair. */
static void test_ex_mark(void)
{
	struct verbs_qp *vqp;
	struct ibv_qp *qp;

	setup();
	qp = fake_make_qp(context, cq, 4, IBV_QP_EX_WITH_SEND);
	vqp = (struct verbs_qp *)qp;
	is(vqp->comp_mask & VERBS_QP_EX, VERBS_QP_EX, "qp: an extended queue pair has the mark");
	ok(!vqp->qp_ex.wr_flush, "qp: an operation that was not requested is absent");
	fake_drop_qp(qp);

	qp = fake_make_qp(context, cq, 4, 0);
	vqp = (struct verbs_qp *)qp;
	is(vqp->comp_mask & VERBS_QP_EX, 0, "qp: a queue pair without operations has no mark");
	fake_drop_qp(qp);
	teardown();
}

/* Changes the answer to the answer of a newer kernel module, which has larger limits. */
static void larger_limits(struct iwt_create_qp_resp *resp)
{
	fake_resize_qp(resp, 8192, 4096);
}

static void test_larger_limits(void)
{
	struct ibv_sge sge[IWT_MAX_SGE * 2] = {};
	char data[IWT_MAX_INLINE * 2] = "newer";
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 4, .max_recv_wr = 4,
			.max_send_sge = IWT_MAX_SGE * 2,
			.max_recv_sge = IWT_MAX_SGE * 2,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge,
				  .num_sge = IWT_MAX_SGE * 2 }, *bad;
	const struct iwt_send_wqe *wqe;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	setup();
	pd = fake.ops.alloc_pd(context);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	fake.spoil_qp = larger_limits;
	qp = fake.ops.create_qp(pd, &attr);
	if (ok(qp, "newer kernel: a queue pair with larger limits is created")) {
		is(attr.cap.max_inline_data, 8192,
		   "newer kernel: the larger inline size is returned");
		is(fake.ops.post_send(qp, &wr, &bad), 0,
		   "newer kernel: more elements can be posted");
		wqe = fake_entry(&fake.sq, 0);
		is(wqe->num_sge, IWT_MAX_SGE * 2, "newer kernel: the entry has all elements");
		sge[0] = (struct ibv_sge) { (uintptr_t)data, sizeof(data), 0 };
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_INLINE;
		is(fake.ops.post_send(qp, &wr, &bad), 0,
		   "newer kernel: more inline data can be posted");
		wqe = fake_entry(&fake.sq, 1);
		ok(wqe->inline_len == sizeof(data) &&
		   !memcmp(wqe + 1, data, sizeof(data)),
		   "newer kernel: the entry has all inline data");
		fake.ops.destroy_qp(qp);
	}
	/* more elements than the field num_sge of an entry can express */
	attr.cap.max_send_sge = 300;
	qp = fake.ops.create_qp(pd, &attr);
	if (ok(qp,
	"newer kernel: a queue pair with more elements than an entry can express is created")) {
		is(attr.cap.max_send_sge, 255,
		   "newer kernel: the number of elements is limited to 255");
		fake.ops.destroy_qp(qp);
	}
	fake.ops.dealloc_pd(pd);
	teardown();
}

/*
 * The completions of two queue pairs are in one ring, whose index wraps. When a queue pair is
 * destroyed, the provider must remove the completions of this queue pair only.
 */
static void test_cleaning(void)
{
	static const char mix[] = "abbabaab";
	struct iwt_cqe cqe = { .opcode = IWT_WC_SEND };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *a, *b;
	struct ibv_wc wc[8];
	bool good = true;
	int got, i;

	context = fake_open();
	fake.first_index = 0xfffffffb;
	cq = fake_make_cq(context, 8);
	a = fake_make_qp(context, cq, 4, 0);
	b = fake_make_qp(context, cq, 4, 0);
	for (i = 0; i < 8; i++) {
		cqe.qp_num = mix[i] == 'a' ? a->qp_num : b->qp_num;
		cqe.wr_id = i;
		fake_complete(&cqe);
	}
	is(fake.ops.poll_cq(cq, 1, wc), 1, "cleaning: one completion is polled before");
	fake_drop_qp(a);
	got = fake.ops.poll_cq(cq, 8, wc);
	is(got, 4, "cleaning: the completions of the other queue pair are left");
	for (i = 0; i < got; i++)
		good &= wc[i].qp_num == b->qp_num &&
			(i ? wc[i].wr_id > wc[i - 1].wr_id : true) &&
			mix[wc[i].wr_id] == 'b';
	ok(good, "cleaning: they are unchanged and in order");
	is(fake.cq.ctl->cons, fake.cq.ctl->prod, "cleaning: the ring is empty after that");
	cqe.qp_num = b->qp_num;
	fake_complete(&cqe);
	is(fake.ops.modify_qp(b, &attr, IBV_QP_STATE), 0, "cleaning: a queue pair can be changed");
	attr.qp_state = IBV_QPS_RESET;
	is(fake.ops.modify_qp(b, &attr, IBV_QP_CUR_STATE), 0, "cleaning: another change");
	is(fake.cq.ctl->prod - fake.cq.ctl->cons, 1, "cleaning: other changes remove nothing");
	is(fake.ops.modify_qp(b, &attr, IBV_QP_STATE), 0, "cleaning: a queue pair can be reset");
	is(fake.ops.poll_cq(cq, 8, wc), 0, "cleaning: a reset removes the completions");
	fake_complete(&cqe);
	fake_drop_qp(b);
	is(fake.ops.poll_cq(cq, 8, wc), 0,
	   "cleaning: the completions of the last queue pair are removed, too");
	teardown();
}

void test_qp(void)
{
	test_bad_answers();
	test_empty_answer();
	test_kinds();
	test_flags();
	test_old_kernel();
	test_ex_mark();
	test_larger_limits();
	test_cleaning();
}
