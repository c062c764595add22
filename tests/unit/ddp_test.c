// SPDX-License-Identifier: GPL-2.0
/* Checks the writing, the reading and the rules of DDP headers (RFC 5041). */
#include "ddp.h"
#include "unit.h"

static bool same(const struct iwt_ddp *a, const struct iwt_ddp *b)
{
	return a->tagged == b->tagged && a->last == b->last &&
	       a->dv == b->dv && a->rv == b->rv && a->opcode == b->opcode &&
	       a->stag == b->stag && a->to == b->to && a->qn == b->qn &&
	       a->msn == b->msn && a->mo == b->mo;
}

static void test_round_trip(void)
{
	u8 hdr[IWT_DDP_UNTAGGED_LEN + 1], want[IWT_DDP_UNTAGGED_LEN];
	struct iwt_ddp d;
	u32 i, k, len;

	tap_begin("ddp: random headers, written and read back");
	for (i = 0; i < 100000; i++) {
		for (k = 0; k < sizeof(hdr); k++)
			hdr[k] = any();
		memset(&d, 0xa5, sizeof(d));
		iwt_ddp_parse(hdr, &d);
		len = iwt_ddp_hdr_len(hdr[0]);
		CHECK_EQ(len, hdr[0] & 0x80 ? 14 : 18);
		CHECK_EQ(iwt_ddp_build(&d, want), len);
		/* A reader ignores reserved bits, and a writer sets them to 0. */
		hdr[0] &= 0xc3;
		hdr[1] &= 0xcf;
		CHECK(!memcmp(hdr, want, len));
	}
	tap_end();
}

static void test_fields(void)
{
	static const u8 tagged[] = {
		0xbd, 0x72, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
	};
	static const u8 untagged[] = {
		0x7e, 0xb4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		16,
	};
	struct iwt_ddp d;

	tap_begin("ddp: each field has its own bits, and each bit has a field");
	memset(&d, 0xa5, sizeof(d));
	iwt_ddp_parse(tagged, &d);
	CHECK(same(&d, &(struct iwt_ddp){
		.tagged = true, .last = false, .dv = 1, .rv = 1, .opcode = 2,
		.stag = 0x01020304, .to = 0x05060708090a0b0c,
	}));
	memset(&d, 0xa5, sizeof(d));
	iwt_ddp_parse(untagged, &d);
	CHECK(same(&d, &(struct iwt_ddp){
		.last = true, .dv = 2, .rv = 2, .opcode = 4,
		.stag = 0x01020304, .qn = 0x05060708, .msn = 0x090a0b0c,
		.mo = 0x0d0e0f10,
	}));
	tap_end();
}

static void test_version(void)
{
	struct iwt_ddp d = { 0 };

	tap_begin("ddp: another DDP version is refused");
	for (d.dv = 0; d.dv < 4; d.dv++) {
		d.tagged = true;
		CHECK_EQ(iwt_ddp_check_version(&d, false),
			 d.dv == 1 ? 0 : 0x11104);
		CHECK_EQ(iwt_ddp_check_version(&d, true),
			 d.dv == 0 ? 0 : 0x11104);
		d.tagged = false;
		CHECK_EQ(iwt_ddp_check_version(&d, false),
			 d.dv == 1 ? 0 : 0x11206);
		CHECK_EQ(iwt_ddp_check_version(&d, true),
			 d.dv == 0 ? 0 : 0x11206);
	}
	tap_end();
}

static u32 check(u32 qn, u32 msn, u32 mo, u32 len, bool have_buf, u32 buf_len)
{
	static const struct iwt_ddp_rxq q = { .msn = 7, .mo = 100 };
	struct iwt_ddp d = { .qn = qn, .msn = msn, .mo = mo };

	return iwt_ddp_check_untagged(&d, len, &q, have_buf, buf_len);
}

static void test_untagged(void)
{
	tap_begin("ddp: untagged segment and its buffer");
	CHECK_EQ(check(0, 7, 100, 50, true, 150), IWT_OK);
	CHECK_EQ(check(1, 7, 100, 50, true, 150), IWT_OK);
	CHECK_EQ(check(2, 7, 100, 0, true, 100), IWT_OK);
	/* wrong queue number */
	CHECK_EQ(check(3, 7, 100, 0, true, 150), IWT_ERR_UNT_QN);
	CHECK_EQ(check(4, 7, 100, 0, true, 150), IWT_ERR_UNT_QN);
	CHECK_EQ(check(~0, 7, 100, 0, true, 150), IWT_ERR_UNT_QN);
	/* wrong message number: repeated, skipped, far away; right number, but no buffer */
	CHECK_EQ(check(0, 6, 100, 50, true, 150), IWT_ERR_UNT_MSN);
	CHECK_EQ(check(0, 8, 100, 50, true, 150), IWT_ERR_UNT_MSN);
	CHECK_EQ(check(0, 0, 100, 50, true, 150), IWT_ERR_UNT_MSN);
	CHECK_EQ(check(0, 8, 100, 50, false, 0), IWT_ERR_UNT_MSN);
	CHECK_EQ(check(0, 7, 100, 50, false, 0), IWT_ERR_UNT_NOBUF);
	CHECK_EQ(check(0, 7, 100, 0, false, 0), IWT_ERR_UNT_NOBUF);
	/* wrong message offset */
	CHECK_EQ(check(0, 7, 99, 50, true, 150), IWT_ERR_UNT_MO);
	CHECK_EQ(check(0, 7, 101, 0, true, 150), IWT_ERR_UNT_MO);
	CHECK_EQ(check(0, 7, 0xfffffff0, 0x20, true, 150), IWT_ERR_UNT_MO);
	CHECK_EQ(check(0, 7, 100, 0, true, 99), IWT_ERR_UNT_MO);
	/* too long */
	CHECK_EQ(check(0, 7, 100, 51, true, 150), IWT_ERR_UNT_LONG);
	CHECK_EQ(check(0, 7, 100, ~0, true, 150), IWT_ERR_UNT_LONG);
	CHECK_EQ(check(0, 7, 100, 1, true, 100), IWT_ERR_UNT_LONG);
	CHECK_EQ(check(0, 7, 100, ~0 - 100, true, ~0), IWT_OK);
	CHECK_EQ(check(0, 7, 100, ~0 - 99, true, ~0), IWT_ERR_UNT_LONG);
	tap_end();
}

static void test_atomic_queue(void)
{
	static const struct iwt_ddp_rxq q = { .msn = 1 };
	struct iwt_ddp d = { .qn = 3, .msn = 1 };

	tap_begin("ddp: queue 3 accepts only Atomic Responses");
	for (d.opcode = 0; d.opcode < 16; d.opcode++)
		CHECK_EQ(iwt_ddp_check_untagged(&d, 12, &q, true, 12),
			 d.opcode == 0xb ? IWT_OK : IWT_ERR_UNT_QN);
	d.opcode = 0xb;
	d.msn = 2;
	CHECK_EQ(iwt_ddp_check_untagged(&d, 12, &q, true, 12), IWT_ERR_UNT_MSN);
	d.msn = 1;
	d.qn = 4;
	CHECK_EQ(iwt_ddp_check_untagged(&d, 12, &q, true, 12), IWT_ERR_UNT_QN);
	tap_end();
}

static void test_no_queue(void)
{
	struct iwt_ddp d = { .qn = 77 };

	tap_begin("ddp: a segment for an unknown queue is refused");
	CHECK_EQ(iwt_ddp_check_untagged(&d, 0, NULL, false, 0), IWT_ERR_UNT_QN);
	tap_end();
}

static void test_advance(void)
{
	struct iwt_ddp_rxq q = { .msn = 0xffffffff };

	tap_begin("ddp: message number and offset advance, and the number wraps to 0");
	iwt_ddp_advance(&q, 1482, false);
	CHECK_EQ(q.msn, 0xffffffff);
	CHECK_EQ(q.mo, 1482);
	iwt_ddp_advance(&q, 0, false);
	CHECK_EQ(q.mo, 1482);
	iwt_ddp_advance(&q, 566, true);
	CHECK_EQ(q.msn, 0);
	CHECK_EQ(q.mo, 0);
	iwt_ddp_advance(&q, 0, true);
	CHECK_EQ(q.msn, 1);
	tap_end();
}

void test_ddp(void)
{
	test_round_trip();
	test_fields();
	test_version();
	test_untagged();
	test_atomic_queue();
	test_no_queue();
	test_advance();
}
