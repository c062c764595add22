// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <string.h>

#include <ccan/array_size.h>

#include "fake.h"
#include "tap.h"
#include "tests.h"

static struct ibv_context *context;
static struct ibv_cq *cq;

static void setup(uint32_t first_index)
{
	context = fake_open();
	fake.first_index = first_index;
	cq = fake_make_cq(context, 7);
}

static void teardown(void)
{
	fake.ops.destroy_cq(cq);
	fake_close(context);
}

static void test_translation(void)
{
	static const struct {
		enum iwt_wc_opcode ours;
		enum ibv_wc_opcode theirs;
	} map[] = {
		{ IWT_WC_SEND, IBV_WC_SEND },
		{ IWT_WC_WRITE, IBV_WC_RDMA_WRITE },
		{ IWT_WC_READ, IBV_WC_RDMA_READ },
		{ IWT_WC_LOCAL_INV, IBV_WC_LOCAL_INV },
		{ IWT_WC_RECV, IBV_WC_RECV },
		{ IWT_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM },
		{ IWT_WC_FETCH_ADD, IBV_WC_FETCH_ADD },
		{ IWT_WC_COMP_SWAP, IBV_WC_COMP_SWAP },
	};
	struct iwt_cqe cqe = {
		.wr_id = 0x0123456789abcdef,
		.qp_num = 5,
		.byte_len = 0xfffffffe,
		.ex = 0xdeadbe00,
		.vendor_err = 77,
		.status = IBV_WC_REM_ACCESS_ERR,
	};
	struct ibv_wc wc;
	unsigned int i;

	setup(0);
	for (i = 0; i < ARRAY_SIZE(map); i++) {
		cqe.opcode = map[i].ours;
		fake_complete(&cqe);
		memset(&wc, 0xff, sizeof(wc));
		fake.ops.poll_cq(cq, 1, &wc);
		is(wc.opcode, map[i].theirs, "poll: opcode %d", map[i].ours);
	}
	ok(wc.wr_id == cqe.wr_id && wc.qp_num == 5 &&
	   wc.byte_len == 0xfffffffe && wc.vendor_err == 77,
	   "poll: the fields have the values of the kernel");
	is(wc.status, IBV_WC_REM_ACCESS_ERR, "poll: status");
	is(wc.wc_flags, 0, "poll: a completion without invalidation has no flags");

	cqe.opcode = 255;
	cqe.flags = IWT_WC_WITH_INVALIDATE;
	fake_complete(&cqe);
	fake.ops.poll_cq(cq, 1, &wc);
	ok(wc.wc_flags == IBV_WC_WITH_INV && wc.invalidated_rkey == 0xdeadbe00,
	   "poll: the invalidated rkey is passed on");
	is(wc.opcode, IBV_WC_DRIVER1, "poll: an unknown opcode becomes IBV_WC_DRIVER1");

	cqe.opcode = IWT_WC_RECV;
	cqe.flags = IWT_WC_WITH_IMM;
	memcpy(&cqe.ex, "\1\2\3\4", 4);
	fake_complete(&cqe);
	fake.ops.poll_cq(cq, 1, &wc);
	ok(wc.opcode == IBV_WC_RECV && wc.wc_flags == IBV_WC_WITH_IMM &&
	   be32toh(wc.imm_data) == 0x01020304, "poll: immediate data are passed on");
	teardown();
}

static void test_wrap(void)
{
	struct iwt_cqe cqe = { .opcode = IWT_WC_SEND };
	uint64_t sent = 0, seen = 0;
	struct ibv_wc wc[8];
	bool good = true;
	int round, got, i;

	setup(0xfffffff3);
	is(fake.ops.poll_cq(cq, 8, wc), 0, "wrap: a new queue is empty");
	for (round = 0; round < 40; round++) {
		for (i = 0; i <= round % 8; i++) {
			cqe.wr_id = sent++;
			fake_complete(&cqe);
		}
		while ((got = fake.ops.poll_cq(cq, 3, wc)) > 0) {
			good &= got <= 3;
			for (i = 0; i < got; i++)
				good &= wc[i].wr_id == seen++;
		}
		good &= !got && fake.cq.ctl->cons == fake.cq.ctl->prod;
	}
	ok(good && seen == sent, "wrap: %llu completions arrive in order",
	   (unsigned long long)sent);
	ok(fake.cq.ctl->prod < 0xfffffff3, "wrap: the index has wrapped");
	is(fake.ops.poll_cq(cq, 0, wc), 0, "wrap: a poll for 0 completions returns 0");
	teardown();
}

static void test_overrun(void)
{
	struct iwt_cqe cqe = { .wr_id = 1 };
	struct ibv_wc wc[8];
	int i;

	setup(0);
	for (i = 0; i < 8; i++)
		fake_complete(&cqe);
	fake.cq.ctl->flags |= IWT_RING_OVERRUN;
	is(fake.ops.poll_cq(cq, 5, wc), 5,
	   "overrun: the completions from before the overrun can be polled");
	is(fake.ops.poll_cq(cq, 5, wc), 3, "overrun: all of these completions can be polled");
	ok(fake.ops.poll_cq(cq, 5, wc) < 0, "overrun: the next poll fails");
	ok(fake.ops.poll_cq(cq, 5, wc) < 0, "overrun: each later poll fails, too");
	teardown();
}

/*
 * Between two loads of the process, the kernel adds the last completion and sets the flag
 * IWT_RING_OVERRUN.
 */
static void overrun_now(const void *word)
{
	struct iwt_cqe cqe = { .wr_id = 2 };

	/*
	 * Act only when the process loads the flags. The process has mapped the ring at another
	 * address, so compare the offsets within the page.
	 */
	if (((uintptr_t)word ^ (uintptr_t)&fake.cq.ctl->flags) % 4096)
		return;
	fake.on_load = NULL;
	fake_complete(&cqe);
	fake.cq.ctl->flags |= IWT_RING_OVERRUN;
}

static void test_overrun_late(void)
{
	struct ibv_wc wc[8];

	setup(0xffffffff);
	fake.on_load = overrun_now;
	is(fake.ops.poll_cq(cq, 5, wc), 1,
	   "overrun: a completion that the kernel added just before the overrun is found");
	is(wc[0].wr_id, 2, "overrun: it is the right completion");
	ok(fake.ops.poll_cq(cq, 5, wc) < 0, "overrun: the next poll fails");
	teardown();
}

static void test_notify(void)
{
	__u32 *arm;

	setup(0);
	arm = &fake.cq.ctl->arm;
	is(*arm, IWT_CQ_ARM_NONE, "notify: a new queue is not armed");
	fake.ops.req_notify_cq(cq, 1);
	is(*arm, IWT_CQ_ARM_SOLICITED, "notify: a call arms the queue for solicited completions");
	fake.ops.req_notify_cq(cq, 0);
	is(*arm, IWT_CQ_ARM_ANY, "notify: a call arms the queue for any completion");
	fake.ops.req_notify_cq(cq, 1);
	is(*arm, IWT_CQ_ARM_ANY, "notify: a call for solicited completions does not undo that");
	*arm = IWT_CQ_ARM_NONE;
	fake.ops.req_notify_cq(cq, 1);
	is(*arm, IWT_CQ_ARM_SOLICITED,
	   "notify: after the event, the queue can be armed for solicited completions");
	is(fake.arms, 0, "notify: no system call was made");
	teardown();
}

/*
 * After a number of events, the kernel sets IWT_RING_ARM_BY_CALL. Then the process must arm the
 * queue by a system call.
 */
static void test_arm_by_call(void)
{
	__u32 *arm;

	setup(0);
	arm = &fake.cq.ctl->arm;
	fake.cq.ctl->flags = IWT_RING_ARM_BY_CALL;
	is(fake.ops.req_notify_cq(cq, 1), 0, "notify: arming by a system call succeeds");
	ok(fake.arms == 1 && fake.arm_flags == IWT_CQ_ARM_FOR_SOLICITED,
	   "notify: the system call is for solicited completions");
	is(fake.arm_seen, IWT_CQ_ARM_SOLICITED,
	   "notify: the arm word was stored before the system call");
	is(fake.ops.req_notify_cq(cq, 0), 0,
	   "notify: arming by a system call succeeds for any completion");
	ok(fake.arms == 2 && !fake.arm_flags && *arm == IWT_CQ_ARM_ANY,
	   "notify: the call is for any completion, but not for those in the queue");
	fake.arm_err = EIO;
	is(fake.ops.req_notify_cq(cq, 0), EIO,
	   "notify: the error of the system call is returned");
	fake.cq.ctl->flags = IWT_RING_DEFERRED;
	is(fake.ops.req_notify_cq(cq, 0), 0, "notify: when the flag is clear, arming succeeds");
	is(fake.arms, 3, "notify: and makes no system call");
	teardown();
}

/* The provider passes the moderation of events on to the kernel. */
static void test_moderate(void)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 7, .cq_period = 11 },
	};

	setup(0);
	is(fake.ops.modify_cq(cq, &attr), 0, "moderate: the call succeeds");
	ok(fake.moderation.cq_count == 7 && fake.moderation.cq_period == 11,
	   "moderate: the kernel gets count and period");
	teardown();
}

/*
 * A program may arm a queue, poll only a part of the completions, and then wait for an event. The
 * provider requests this event at once, because otherwise the program might wait for ever.
 */
static void test_remind(void)
{
	struct iwt_cqe cqe = { .wr_id = 1 };
	struct ibv_wc wc[8];
	int i;

	setup(0);
	for (i = 0; i < 6; i++)
		fake_complete(&cqe);
	fake.ops.poll_cq(cq, 2, wc);
	is(fake.arms, 0, "remind: no system call if the queue is not armed");
	fake.ops.req_notify_cq(cq, 0);
	fake.ops.poll_cq(cq, 2, wc);
	ok(fake.arms == 1 && fake.arm_flags == IWT_CQ_ARM_AT_ONCE,
	   "remind: a poll that leaves completions in an armed queue requests the event");
	fake.ops.poll_cq(cq, 2, wc);
	is(fake.arms, 1, "remind: a poll that empties the queue does not");
	teardown();
}

static void spoil_entries(struct iwt_create_cq_resp *resp)
{
	resp->entries = 6;
}

static void spoil_nothing(struct iwt_create_cq_resp *resp)
{
	memset(resp, 0, sizeof(*resp));
}

static void spoil_stride(struct iwt_create_cq_resp *resp)
{
	resp->stride = sizeof(struct iwt_cqe) - 8;
}

static void spoil_length(struct iwt_create_cq_resp *resp)
{
	resp->mmap_length = IWT_RING_CTL_SIZE;
}

static void spoil_bits(struct iwt_create_cq_resp *resp)
{
	resp->posted_bits = 8 * 4096;
}

static void spoil_offset(struct iwt_create_cq_resp *resp)
{
	resp->mmap_offset = 1;
}

static void test_bad_answers(void)
{
	static const struct {
		const char *name;
		void (*spoil)(struct iwt_create_cq_resp *resp);
		int err;
	} bad[] = {
		{ "the number of entries is no power of two", spoil_entries, EPROTO },
		{ "all zero", spoil_nothing, EPROTO },
		{ "the stride is too small", spoil_stride, EPROTO },
		{ "the mapping is too short", spoil_length, EPROTO },
		{ "the mapping has no room for the bits", spoil_bits, EPROTO },
		{ "the mapping is refused", spoil_offset, EINVAL },
	};
	unsigned int i;

	context = fake_open();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fake.spoil_cq = bad[i].spoil;
		errno = 0;
		ok(!fake_make_cq(context, 8) && errno == bad[i].err,
		   "cq answer: %s", bad[i].name);
		is(fake.cqs, 0, "cq answer: %s: the kernel's queue is destroyed",
		   bad[i].name);
	}
	fake_close(context);
}

void test_cq(void)
{
	test_translation();
	test_wrap();
	test_overrun();
	test_overrun_late();
	test_notify();
	test_arm_by_call();
	test_moderate();
	test_remind();
	test_bad_answers();
}

static struct ibv_cq_ex *make_cq_ex(uint64_t wc_flags, uint32_t comp_mask,
				    uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.wc_flags = wc_flags,
		.comp_mask = comp_mask,
		.flags = flags,
	};

	return fake.ops.create_cq_ex(context, &attr);
}

static void test_ex_refusals(void)
{
	context = fake_open();
	errno = 0;
	ok(!make_cq_ex(IBV_WC_EX_WITH_CVLAN, 0, 0) && errno == EOPNOTSUPP,
	   "cq_ex: a queue with VLANs is refused");
	errno = 0;
	ok(!make_cq_ex(IBV_WC_EX_WITH_FLOW_TAG, 0, 0) && errno == EOPNOTSUPP,
	   "cq_ex: a queue with flow tags is refused");
	errno = 0;
	ok(!make_cq_ex(IBV_WC_EX_WITH_TM_INFO, 0, 0) && errno == EOPNOTSUPP,
	   "cq_ex: a queue with tag matching is refused");
	errno = 0;
	ok(!make_cq_ex(0, IBV_CQ_INIT_ATTR_MASK_FLAGS,
		       IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) &&
	   errno == EOPNOTSUPP, "cq_ex: the flag to ignore an overrun is refused");
	errno = 0;
	ok(!make_cq_ex(0, IBV_CQ_INIT_ATTR_MASK_PD, 0) && errno == EINVAL,
	   "cq_ex: NULL as the parent domain is refused");
	errno = 0;
	ok(!make_cq_ex(0, IBV_CQ_INIT_ATTR_MASK_PD << 1, 0) &&
	   errno == EOPNOTSUPP, "cq_ex: an unknown bit of comp_mask is refused");
	is(fake.cqs, 0, "cq_ex: no queue was created");
	fake_close(context);
}

static void test_ex_poll(uint32_t flags)
{
	struct iwt_cqe cqe = {
		.opcode = IWT_WC_RECV,
		.flags = IWT_WC_WITH_INVALIDATE,
		.ex = 0x1234,
		.qp_num = 9,
		.byte_len = 10,
		.vendor_err = 3,
	};
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *ex;
	int i;

	context = fake_open();
	fake.first_index = 0xffffffff;
	ex = make_cq_ex(IBV_WC_STANDARD_FLAGS, IBV_CQ_INIT_ATTR_MASK_FLAGS,
			flags);
	is(ibv_start_poll(ex, &attr), ENOENT,
	   "cq_ex: start_poll of an empty queue returns ENOENT");
	for (i = 0; i < 3; i++) {
		cqe.wr_id = i;
		fake_complete(&cqe);
	}
	is(ibv_start_poll(ex, &attr), 0, "cq_ex: start_poll succeeds");
	ok(ex->wr_id == 0 && ibv_wc_read_opcode(ex) == IBV_WC_RECV &&
	   ibv_wc_read_wc_flags(ex) == IBV_WC_WITH_INV &&
	   ibv_wc_read_invalidated_rkey(ex) == 0x1234 &&
	   ibv_wc_read_qp_num(ex) == 9 && ibv_wc_read_byte_len(ex) == 10 &&
	   ibv_wc_read_vendor_err(ex) == 3,
	   "cq_ex: all fields of the first completion are right");
	is(ibv_next_poll(ex), 0, "cq_ex: next_poll finds the second completion");
	is(ibv_next_poll(ex), 0, "cq_ex: next_poll finds the third completion");
	is(ex->wr_id, 2, "cq_ex: its wr_id is right");
	is(fake.cq.ctl->cons, 0xffffffff,
	   "cq_ex: the index cons does not change before end_poll");
	cqe.wr_id = 3;
	fake_complete(&cqe);
	ok(!ibv_next_poll(ex) && ex->wr_id == 3,
	   "cq_ex: next_poll finds a completion that was added meanwhile");
	is(ibv_next_poll(ex), ENOENT, "cq_ex: next_poll at the end returns ENOENT");
	ibv_end_poll(ex);
	is(fake.cq.ctl->cons, 3, "cq_ex: end_poll returns all entries to the kernel");
	cqe.opcode = IWT_WC_RECV_RDMA_WITH_IMM;
	cqe.flags = IWT_WC_WITH_IMM;
	memcpy(&cqe.ex, "\1\2\3\4", 4);
	fake_complete(&cqe);
	is(ibv_start_poll(ex, &attr), 0, "cq_ex: start_poll succeeds again");
	ok(ibv_wc_read_opcode(ex) == IBV_WC_RECV_RDMA_WITH_IMM &&
	   ibv_wc_read_wc_flags(ex) == IBV_WC_WITH_IMM &&
	   be32toh(ibv_wc_read_imm_data(ex)) == 0x01020304,
	   "cq_ex: immediate data are passed on");
	ibv_end_poll(ex);
	is(ibv_start_poll(ex, &attr), ENOENT, "cq_ex: the queue is empty after that");
	fake.cq.ctl->flags |= IWT_RING_DEFERRED;
	is(ibv_start_poll(ex, &attr), ENOENT,
	   "cq_ex: start_poll of an empty queue without posts returns ENOENT");
	is(fake.flushes, 0, "cq_ex: and flushes nothing");
	fake.cq.ctl->flags |= IWT_RING_OVERRUN;
	is(ibv_start_poll(ex, &attr), EIO, "cq_ex: start_poll after an overrun returns EIO");
	fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex));
	fake_close(context);
}

static void test_ex_remind(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct iwt_cqe cqe = {};
	struct ibv_cq_ex *ex;
	int i;

	context = fake_open();
	fake.first_index = 0xfffffffe;
	ex = make_cq_ex(0, 0, 0);
	for (i = 0; i < 4; i++)
		fake_complete(&cqe);
	ibv_start_poll(ex, &attr);
	ibv_end_poll(ex);
	is(fake.arms, 0, "cq_ex: no event is requested if the queue is not armed");
	fake.ops.req_notify_cq(ibv_cq_ex_to_cq(ex), 0);
	ibv_start_poll(ex, &attr);
	ibv_next_poll(ex);
	is(fake.arms, 0, "cq_ex: no event is requested before end_poll");
	ibv_end_poll(ex);
	ok(fake.arms == 1 && fake.arm_flags == IWT_CQ_ARM_AT_ONCE,
	   "cq_ex: end_poll that leaves completions in an armed queue requests the event");
	ibv_start_poll(ex, &attr);
	ibv_end_poll(ex);
	is(fake.arms, 1, "cq_ex: end_poll that empties the queue does not");
	fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex));
	fake_close(context);
}

/*
 * If the program requested times, each completion has the right times, even after the provider
 * has moved the entry of the completion.
 */
static void test_ex_times(void)
{
	struct iwt_cqe cqe = { .opcode = IWT_WC_SEND };
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *ex;
	struct ibv_qp *qp;
	int i;

	context = fake_open();
	ex = make_cq_ex(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, 0, 0);
	ok(ex && fake.cq.stride == sizeof(cqe) + sizeof(struct iwt_cqe_time),
	   "times: the entries of a queue with timestamps are longer");
	qp = fake_make_qp(context, ibv_cq_ex_to_cq(ex), 4, 0);
	for (i = 0; i < 4; i++) {
		cqe.wr_id = i;
		cqe.qp_num = i < 2 ? 0 : qp->qp_num;
		fake_complete(&cqe);
	}
	/* entries 2 and 3 are removed, and entries 0 and 1 move to their places */
	fake_drop_qp(qp);
	is(fake.ops.resize_cq(ibv_cq_ex_to_cq(ex), 64), 0, "times: the queue can be resized");
	is(ibv_start_poll(ex, &attr), 0, "times: start_poll succeeds");
	for (i = 0; i < 2; i++) {
		ok(ex->wr_id == (uint64_t)i &&
		   ibv_wc_read_completion_ts(ex) == 1000u + i &&
		   ibv_wc_read_completion_wallclock_ns(ex) == 2000u + i,
		   "times: the times of completion %d are right", i);
		is(ibv_next_poll(ex), i ? ENOENT : 0,
		   "times: next_poll finds the second completion only");
	}
	ibv_end_poll(ex);
	fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex));

	ex = make_cq_ex(IBV_WC_EX_WITH_BYTE_LEN, 0, 0);
	is(fake.cq.stride, sizeof(cqe),
	   "times: the entries of a queue without timestamps are not longer");
	fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex));
	fake_close(context);
}

/*
 * In a queue without a lock, the program destroys queue pair a while it reads completion number
 * @at of @n completions. The last @late of them arrive while the program polls. @mix: bit i tells
 * whether completion i belongs to a. The program must read completion @at to its end, then all
 * later completions of b once, and nothing else.
 */
static bool drop_between(int n, int late, int mix, int at)
{
	struct ibv_poll_cq_attr attr = {};
	struct iwt_cqe cqe = {};
	struct ibv_cq_ex *ex;
	struct ibv_qp *a, *b;
	bool good = true;
	uint32_t read, index;
	int i;

	context = fake_open();
	fake.first_index = 0xfffffffe;
	ex = make_cq_ex(IBV_WC_EX_WITH_QP_NUM, IBV_CQ_INIT_ATTR_MASK_FLAGS,
			IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	a = fake_make_qp(context, ibv_cq_ex_to_cq(ex), 4, 0);
	b = fake_make_qp(context, ibv_cq_ex_to_cq(ex), 4, 0);
	for (i = 0; i < n; i++) {
		if (i == n - late)
			good &= !ibv_start_poll(ex, &attr);
		cqe.wr_id = i;
		cqe.qp_num = mix >> i & 1 ? a->qp_num : b->qp_num;
		fake_complete(&cqe);
	}
	if (!late)
		good &= !ibv_start_poll(ex, &attr);
	for (i = 0; i < at; i++)
		good &= !ibv_next_poll(ex);
	read = ibv_wc_read_qp_num(ex);
	fake_drop_qp(a);
	/* the kernel may write to all entries that do not belong to the process */
	for (index = fake.cq.ctl->prod; index != fake.cq.ctl->cons + fake.cq.num; index++)
		memset(fake_entry(&fake.cq, index), 0xff, fake.cq.stride);
	good &= ex->wr_id == (uint64_t)at && ibv_wc_read_qp_num(ex) == read;
	for (i = at + 1; i < n; i++)
		if (!(mix >> i & 1))
			good &= !ibv_next_poll(ex) && ex->wr_id == (uint64_t)i &&
				ibv_wc_read_qp_num(ex) == b->qp_num;
	good &= ibv_next_poll(ex) == ENOENT;
	ibv_end_poll(ex);
	good &= fake.cq.ctl->cons == fake.cq.ctl->prod;
	good &= ibv_start_poll(ex, &attr) == ENOENT;
	if (!good)	/* with wrong indices, the next calls might not end */
		return false;
	fake_drop_qp(b);
	fake.ops.destroy_cq(ibv_cq_ex_to_cq(ex));
	fake_close(context);
	return good;
}

static void test_ex_drop(void)
{
	int n, late, mix, at, bad = 0;

	for (n = 1; n <= 4; n++)
		for (late = 0; late < n; late++)
			for (mix = 0; mix < 1 << n; mix++)
				for (at = 0; at < n; at++)
					bad += !bad && !drop_between(n, late, mix, at);
	is(bad, 0, "cq_ex: a queue pair is destroyed between start_poll and end_poll");
}

void test_cq_ex(void)
{
	test_ex_drop();
	test_ex_times();
	test_ex_remind();
	test_ex_refusals();
	test_ex_poll(0);
	test_ex_poll(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
}
