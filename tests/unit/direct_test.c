// SPDX-License-Identifier: GPL-2.0
/* Checks the private data of direct connections, and what both ends conclude from them. */
#include <linux/limits.h>
#include <stddef.h>

#include "direct.h"
#include "unit.h"

#define RANDOM_PAIRS	20000

static void any_octets(u8 *to, u32 n)
{
	while (n--)
		*to++ = any();
}

/* Two ends that describe the same connection. */
static void any_pair(struct iwt_direct_end *x, struct iwt_direct_end *y)
{
	memset(x, 0, sizeof(*x));
	memset(y, 0, sizeof(*y));
	any_octets(x->gid, IWT_GID_LEN);
	any_octets(y->gid, IWT_GID_LEN);
	/* often the same GID, or a GID that differs only in the last octet */
	if (any() % 2)
		memcpy(y->gid, x->gid, IWT_GID_LEN - any() % 2);
	memcpy(x->peer_gid, y->gid, IWT_GID_LEN);
	memcpy(y->peer_gid, x->gid, IWT_GID_LEN);
	x->qpn = y->peer_qpn = any() & (any() % 2 ? 0xffffff : 3);
	y->qpn = x->peer_qpn = any() & (any() % 2 ? 0xffffff : 3);
	x->rq_psn = any() & 0xffffff;
	y->rq_psn = any() & 0xffffff;
	x->rts = any() % 2;
	y->rts = any() % 2;
	if (x->rts) {
		x->sq_psn = y->rq_psn;
		x->rnr_retry = any() % 8;
	}
	if (y->rts) {
		y->sq_psn = x->rq_psn;
		y->rnr_retry = any() % 8;
	}
}

static bool is_smaller(const struct iwt_direct_end *x, const struct iwt_direct_end *y)
{
	u32 i;

	for (i = 0; i < IWT_GID_LEN; i++)
		if (x->gid[i] != y->gid[i])
			return x->gid[i] < y->gid[i];
	return x->qpn < y->qpn;
}

static void test_roles(void)
{
	struct iwt_direct_end x, y;
	u32 i;

	tap_begin("direct: the end with the smaller GID, or else the smaller QPN, is the initiator");
	for (i = 0; i < RANDOM_PAIRS; i++) {
		enum iwt_direct_role rx, ry;

		any_pair(&x, &y);
		rx = iwt_direct_role(&x);
		ry = iwt_direct_role(&y);
		if (x.qpn == y.qpn && !memcmp(x.gid, y.gid, IWT_GID_LEN)) {
			CHECK_EQ(rx, IWT_DIRECT_SELF);
			CHECK_EQ(ry, IWT_DIRECT_SELF);
			continue;
		}
		CHECK_EQ(rx, is_smaller(&x, &y) ? IWT_DIRECT_INITIATOR : IWT_DIRECT_RESPONDER);
		CHECK_EQ(ry, is_smaller(&x, &y) ? IWT_DIRECT_RESPONDER : IWT_DIRECT_INITIATOR);
	}
	tap_end();
}

static bool same(const struct iwt_direct_end *x, const struct iwt_direct_end *y)
{
	return x->qpn == y->qpn && x->peer_qpn == y->peer_qpn && x->rts == y->rts &&
	       x->sq_psn == y->sq_psn && x->rq_psn == y->rq_psn && x->rnr_retry == y->rnr_retry &&
	       !memcmp(x->gid, y->gid, IWT_GID_LEN) &&
	       !memcmp(x->peer_gid, y->peer_gid, IWT_GID_LEN);
}

static void test_round_trip(void)
{
	struct iwt_direct_end x, y, got;
	struct iwt_direct_pd pd;
	u32 i, len;

	tap_begin("direct: both ends of a connection match, and no other length is read");
	for (i = 0; i < RANDOM_PAIRS; i++) {
		any_pair(&x, &y);
		iwt_direct_build(&x, &pd);
		CHECK(iwt_direct_parse((u8 *)&pd, sizeof(pd), &got));
		CHECK(same(&got, &x));
		/* without any PSN to compare, an end must not accept */
		CHECK_EQ(iwt_direct_match(&y, &got), x.rts || y.rts);
		len = any() % (2 * sizeof(pd));
		if (len != sizeof(pd) && len < sizeof(pd))
			CHECK(!iwt_direct_parse((u8 *)&pd, len, &got));
	}
	tap_end();
}

/* Each single wrong bit is detected, except in rnr_retry: each value of rnr_retry is valid. */
static void test_wrong_bits(void)
{
	struct iwt_direct_end x, y, got;
	struct iwt_direct_pd pd;
	u32 i, bit;
	bool ok;

	tap_begin("direct: each wrong bit of the private data is refused");
	for (i = 0; i < 500; i++) {
		any_pair(&x, &y);
		y.rts = true;
		y.sq_psn = x.rq_psn;
		iwt_direct_build(&x, &pd);
		for (bit = 0; bit < 8 * sizeof(pd); bit++) {
			((u8 *)&pd)[bit / 8] ^= 1 << bit % 8;
			ok = iwt_direct_parse((u8 *)&pd, sizeof(pd), &got) &&
			     iwt_direct_match(&y, &got);
			((u8 *)&pd)[bit / 8] ^= 1 << bit % 8;
			tap_about("bit %u", bit);
			/* the flag RTS is not protected if both other fields are zero */
			if (bit / 8 == offsetof(struct iwt_direct_pd, rnr_retry))
				CHECK(!ok || (x.rts && got.rnr_retry <= IWT_RNR_RETRY_FOREVER));
			else if (bit / 8 == offsetof(struct iwt_direct_pd, flags) && bit % 8 == 0)
				CHECK(!ok || !x.rts || (!x.sq_psn && !x.rnr_retry));
			else
				CHECK(!ok);
		}
	}
	tap_end();
}

/* The largest value of each field is valid, and the next value is not. */
static void test_bounds(void)
{
	static const struct {
		size_t at;
		u32 most;
	} fields[] = {
		{ offsetof(struct iwt_direct_end, qpn), 0xffffff },
		{ offsetof(struct iwt_direct_end, peer_qpn), 0xffffff },
		{ offsetof(struct iwt_direct_end, sq_psn), 0xffffff },
		{ offsetof(struct iwt_direct_end, rq_psn), 0xffffff },
	};
	struct iwt_direct_end x, got;
	struct iwt_direct_pd pd;
	u32 i, over, value;

	tap_begin("direct: the largest value of each field");
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		for (over = 0; over < 2; over++) {
			x = (struct iwt_direct_end){ .rts = true, .rnr_retry = IWT_RNR_RETRY_FOREVER };
			value = fields[i].most + over;
			memcpy((u8 *)&x + fields[i].at, &value, sizeof(value));
			iwt_direct_build(&x, &pd);
			tap_about("field %u", i);
			CHECK_EQ(iwt_direct_parse((u8 *)&pd, sizeof(pd), &got), !over);
		}
	x = (struct iwt_direct_end){ .rts = true, .rnr_retry = IWT_RNR_RETRY_FOREVER + 1 };
	iwt_direct_build(&x, &pd);
	CHECK(!iwt_direct_parse((u8 *)&pd, sizeof(pd), &got));
	tap_end();
}

/*
 * Return: the time of a code of the attribute min_rnr_timer, in units of 10 microseconds. From code
 * 2 on, each time is twice the time two codes before.
 */
static u32 rnr_time(u32 code)
{
	if (!code)
		return 65536;
	if (code == 1)
		return 1;
	return code & 1 ? 3u << (code - 3) / 2 : 1u << code / 2;
}

static void test_numbers(void)
{
	u32 i, n;

	tap_begin("direct: time limits from the attributes of the queue pair");
	CHECK_EQ(iwt_direct_rnr_ms(0, 7), U32_MAX);
	CHECK_EQ(iwt_direct_rnr_ms(31, 255), U32_MAX);
	CHECK_EQ(iwt_direct_rnr_ms(0, 1), 656);
	CHECK_EQ(iwt_direct_rnr_ms(1, 1), 1);
	CHECK_EQ(iwt_direct_rnr_ms(12, 3), 2);
	CHECK_EQ(iwt_direct_rnr_ms(31, 6), 2950);
	for (i = 0; i < 32; i++)
		for (n = 0; n < 7; n++)
			CHECK_EQ(iwt_direct_rnr_ms(i, n), (rnr_time(i) * n + 99) / 100);
	CHECK_EQ(iwt_direct_retry_ms(0, 7), 0);
	CHECK_EQ(iwt_direct_retry_ms(14, 7), 537);
	CHECK_EQ(iwt_direct_retry_ms(1, 0), 1);
	CHECK_EQ(iwt_direct_retry_ms(31, 7), 70368745);
	tap_end();
}

void test_direct(void)
{
	test_roles();
	test_round_trip();
	test_wrong_bits();
	test_bounds();
	test_numbers();
}
