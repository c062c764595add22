// SPDX-License-Identifier: GPL-2.0
/* Memory windows: creating and destroying them, and the work requests that bind them. */

#include <errno.h>
#include <string.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mw *mw;
static struct ibv_mr mr = { .lkey = 0x0a0b0c0d };

static void setup(enum ibv_mw_type type)
{
	context = fake_open();
	pd = fake.ops.alloc_pd(context);
	cq = fake_make_cq(context, 8);
	qp = fake_make_qp(context, cq, 4, IBV_QP_EX_WITH_BIND_MW);
	mw = fake.ops.alloc_mw(pd, type);
}

static void teardown(void)
{
	fake.ops.dealloc_mw(mw);
	fake_drop_qp(qp);
	fake.ops.destroy_cq(cq);
	fake.ops.dealloc_pd(pd);
	fake_close(context);
}

static const struct iwt_send_wqe *wqe_at(uint32_t n)
{
	return fake_entry(&fake.sq, n);
}

static bool is_bind(const struct iwt_send_wqe *w, uint32_t rkey)
{
	static const struct iwt_bind_body want = {
		.addr = 0x1000, .length = 0x123456789a, .lkey = 0x0a0b0c0d,
	};

	return w->opcode == IWT_WR_BIND_MW && w->rkey == rkey &&
	       w->ex == (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ) &&
	       !w->num_sge && !w->inline_len && !memcmp(w + 1, &want, sizeof(want));
}

static struct ibv_mw_bind_info info(void)
{
	return (struct ibv_mw_bind_info) {
		.mr = &mr,
		.addr = 0x1000,
		.length = 0x123456789a,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
	};
}

static void test_objects(void)
{
	setup(IBV_MW_TYPE_1);
	ok(mw && mw->rkey == FAKE_MW_RKEY && mw->type == IBV_MW_TYPE_1,
	   "windows: a window can be allocated");
	fake.mw_err = EBUSY;
	is(fake.ops.dealloc_mw(mw), EBUSY,
	   "windows: the kernel's refusal to destroy a window is returned");
	errno = 0;
	ok(!fake.ops.alloc_mw(pd, IBV_MW_TYPE_2) && errno == EBUSY,
	   "windows: the kernel's refusal to allocate a window is returned");
	fake.mw_err = 0;
	is(fake.mws, 1, "windows: the kernel has one window");
	teardown();
	is(fake.mws, 0, "windows: the window is destroyed");
}

static void test_type1(void)
{
	struct ibv_mw_bind bind = { .wr_id = 7, .bind_info = info() };
	int i;

	setup(IBV_MW_TYPE_1);
	bind.send_flags = IBV_SEND_SIGNALED;
	is(fake.ops.bind_mw(qp, mw, &bind), 0, "type 1: the window can be bound");
	is(mw->rkey, 0x11223300, "type 1: the key of the window is incremented, and wraps");
	ok(is_bind(wqe_at(0), 0x11223300) && wqe_at(0)->wr_id == 7 &&
	   wqe_at(0)->flags == IWT_WR_SIGNALED,
	   "type 1: the work request has the new key and the range");
	bind.bind_info = (struct ibv_mw_bind_info) {};
	is(fake.ops.bind_mw(qp, mw, &bind), 0, "type 1: a length of 0 needs no region");
	ok(wqe_at(1)->rkey == 0x11223301 &&
	   !((const struct iwt_bind_body *)(wqe_at(1) + 1))->length,
	   "type 1: its work request has the length 0");
	bind.bind_info.length = 1;
	is(fake.ops.bind_mw(qp, mw, &bind), EINVAL,
	   "type 1: a length other than 0 without a region is refused");
	is(mw->rkey, 0x11223301, "type 1: then the key does not change");
	bind.bind_info = info();
	for (i = 0; i < 2; i++)
		is(fake.ops.bind_mw(qp, mw, &bind), 0, "type 1: the window can be bound again");
	is(fake.ops.bind_mw(qp, mw, &bind), ENOMEM, "type 1: a bind to a full queue is refused");
	is(mw->rkey, 0x11223303, "type 1: then the key does not change, either");
	is(fake.sq.ctl->prod, 4, "type 1: only the accepted work requests are posted");
	teardown();
}

static void test_post(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;

	setup(IBV_MW_TYPE_2);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = 0x99999942;
	wr.bind_mw.bind_info = info();
	is(fake.ops.post_send(qp, &wr, &bad), 0,
	   "type 2: the window can be bound by ibv_post_send()");
	ok(is_bind(wqe_at(0), 0x11223342),
	   "type 2: the work request has the key of the program and the index of the window");
	is(mw->rkey, FAKE_MW_RKEY, "type 2: the rkey of the window is left to the program");
	wr.bind_mw.bind_info.mr = NULL;
	is(fake.ops.post_send(qp, &wr, &bad), EINVAL,
	   "type 2: a bind without a region is refused");
	wr.bind_mw.bind_info.mr = &mr;
	mw->type = IBV_MW_TYPE_1;
	is(fake.ops.post_send(qp, &wr, &bad), EINVAL, "type 2: a window of type 1 is refused");
	is(fake.sq.ctl->prod, 1, "type 2: the refused work requests are not posted");
	teardown();
}

static void test_wr_bind(void)
{
	struct ibv_qp_ex *ex;
	const struct ibv_mw_bind_info bind = info();

	setup(IBV_MW_TYPE_2);
	ex = &((struct verbs_qp *)qp)->qp_ex;
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, 0x43, &bind);
	is(ibv_wr_complete(ex), 0, "wr bind: the window can be bound by ibv_wr_bind_mw()");
	ok(is_bind(wqe_at(0), 0x11223343),
	   "wr bind: the work request has the new key and the range");
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, 0x44, &bind);
	ibv_wr_set_sge(ex, 1, 2, 3);
	is(ibv_wr_complete(ex), EINVAL, "wr bind: a list of elements is refused");
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, 0x44, &bind);
	ibv_wr_set_inline_data(ex, NULL, 0);
	is(ibv_wr_complete(ex), EINVAL, "wr bind: inline data are refused");
	mw->type = IBV_MW_TYPE_1;
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, 0x44, &bind);
	is(ibv_wr_complete(ex), EINVAL, "wr bind: a window of type 1 is refused");
	is(fake.sq.ctl->prod, 1, "wr bind: the refused work requests are not posted");
	teardown();
}

static void test_completion(void)
{
	struct iwt_cqe cqe = { .opcode = IWT_WC_BIND_MW, .wr_id = 5 };
	struct ibv_wc wc;

	setup(IBV_MW_TYPE_2);
	cqe.qp_num = qp->qp_num;
	fake_complete(&cqe);
	is(fake.ops.poll_cq(cq, 1, &wc), 1, "bind: the completion can be polled");
	ok(wc.opcode == IBV_WC_BIND_MW && wc.wr_id == 5,
	   "bind: the completion has the opcode of a bind");
	teardown();
}

/* Tests with a kernel that does not support memory windows. */
static void test_old_kernel(void)
{
	context = fake_open_with(~(uint64_t)IWT_FEATURE_WINDOWS);
	pd = fake.ops.alloc_pd(context);
	cq = fake_make_cq(context, 8);
	errno = 0;
	ok(!fake.ops.alloc_mw(pd, IBV_MW_TYPE_1) && errno == EOPNOTSUPP,
	   "old kernel: a window is refused");
	is(fake.mws, 0, "old kernel: the kernel gets no command");
	ok(!fake_make_qp(context, cq, 4, IBV_QP_EX_WITH_BIND_MW) &&
	   errno == EOPNOTSUPP, "old kernel: the operation that binds windows is refused");
	fake.ops.destroy_cq(cq);
	fake.ops.dealloc_pd(pd);
	fake_close(context);
}

void test_mw(void)
{
	test_objects();
	test_type1();
	test_post();
	test_wr_bind();
	test_completion();
	test_old_kernel();
}
