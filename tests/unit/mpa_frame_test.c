// SPDX-License-Identifier: GPL-2.0
/* Checks the writing and reading of MPA Requests and Replies, and the lengths of FPDUs. */
#include <stdlib.h>

#include <linux/unaligned.h>

#include "fpdu.h"
#include "mpa.h"
#include "unit.h"

static const struct {
	const char *id, *pd;
	struct iwt_mpa_frame f;
	enum iwt_mpa_verdict verdict;
} frames[] = {
	{ "V-S1", "", { .crc = 1, .rev = 1, .pd_off = 20 } },
	{ "V-S2", "", { .reply = 1, .crc = 1, .rev = 1, .pd_off = 20 } },
	{ "V-S3", "no", { .reply = 1, .crc = 1, .reject = 1, .rev = 1,
			  .pd_len = 2, .pd_off = 20 } },
	{ "V-S4", "", { .markers = 1, .crc = 1, .rev = 1, .pd_off = 20 } },
	{ "V-S5", "pd", { .crc = 1, .enhanced = 1, .p2p = 1, .rtr_write = 1,
			  .rtr_read = 1, .rev = 2, .ird = 16, .ord = 8,
			  .pd_len = 2, .pd_off = 24 } },
	{ "V-S6", "", { .reply = 1, .crc = 1, .enhanced = 1, .p2p = 1,
			.rtr_write = 1, .rev = 2, .ird = 8, .ord = 16,
			.pd_off = 24 } },
	{ "V-S7", "", { .crc = 1, .enhanced = 1, .rev = 2, .ird = 0x3fff,
			.ord = 0x3fff, .pd_off = 24 } },
	{ "V-S8", "", { .markers = 1, .crc = 1, .rev = 0, .pd_off = 20 },
	  IWT_MPA_BAD_REV },
};

static bool same(const struct iwt_mpa_frame *a, const struct iwt_mpa_frame *b)
{
	return a->reply == b->reply && a->markers == b->markers &&
	       a->crc == b->crc && a->reject == b->reject &&
	       a->large == b->large &&
	       a->enhanced == b->enhanced && a->p2p == b->p2p &&
	       a->rtr_send == b->rtr_send && a->rtr_write == b->rtr_write &&
	       a->rtr_read == b->rtr_read && a->rev == b->rev &&
	       a->ird == b->ird && a->ord == b->ord &&
	       a->pd_len == b->pd_len && a->pd_off == b->pd_off;
}

static bool is_zero(const struct iwt_mpa_frame *f)
{
	static const struct iwt_mpa_frame zero;

	return same(f, &zero);
}

static void test_vectors(void)
{
	u8 buf[IWT_MPA_MAX_FRAME];
	struct iwt_mpa_frame f;
	const struct vector *v;
	u32 i;

	tap_begin("mpa: the vectors are written and read");
	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		tap_about("%s", frames[i].id);
		v = vector_find(frames[i].id);
		CHECK_EQ(iwt_mpa_build(&frames[i].f, frames[i].pd, buf), v->len);
		CHECK(!memcmp(buf, v->octets, v->len));
		memset(&f, 0xa5, sizeof(f));
		CHECK_EQ(iwt_mpa_parse(v->octets, v->len, frames[i].f.reply, 2,
				       &f), frames[i].verdict);
		CHECK(same(&f, &frames[i].f));
		CHECK(!memcmp(v->octets + f.pd_off, frames[i].pd, f.pd_len));
		CHECK_EQ(iwt_mpa_need(v->octets, v->len), v->len);
		/* As a Reply instead of a Request, or vice versa, the frame has a wrong key. */
		CHECK_EQ(iwt_mpa_parse(v->octets, v->len, !frames[i].f.reply, 2,
				       &f), IWT_MPA_BAD);
		CHECK(is_zero(&f));
	}
	tap_end();
}

static void test_prefixes(void)
{
	struct iwt_mpa_frame f;
	const struct vector *v;
	u32 i, len, need;
	u8 *exact;

	tap_begin("mpa: a frame that arrives octet by octet");
	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		v = vector_find(frames[i].id);
		for (len = 0; len < v->len; len++) {
			tap_about("%s, %u octets", v->id, len);
			exact = malloc(len);
			memcpy(exact, v->octets, len);
			memset(&f, 0xa5, sizeof(f));
			CHECK_EQ(iwt_mpa_parse(exact, len, frames[i].f.reply, 2,
					       &f), IWT_MPA_MORE);
			CHECK(is_zero(&f));
			need = iwt_mpa_need(exact, len);
			CHECK_EQ(need, len < 20 ? 20 : v->len);
			CHECK(need > len);
			free(exact);
		}
	}
	tap_end();
}

static void test_key(void)
{
	const struct vector *v = vector_find("V-S1");
	struct iwt_mpa_frame f;
	u8 buf[20];
	u32 i, bit;

	tap_begin("mpa: a wrong octet of the key is refused as soon as it arrives");
	for (i = 0; i < 16; i++) {
		for (bit = 0; bit < 8; bit++) {
			tap_about("octet %u", i);
			memcpy(buf, v->octets, sizeof(buf));
			buf[i] ^= 1 << bit;
			CHECK_EQ(iwt_mpa_parse(buf, i, false, 2, &f),
				 IWT_MPA_MORE);
			CHECK_EQ(iwt_mpa_parse(buf, i + 1, false, 2, &f),
				 IWT_MPA_BAD);
			CHECK_EQ(iwt_mpa_parse(buf, 20, false, 2, &f),
				 IWT_MPA_BAD);
		}
	}
	tap_end();
}

static enum iwt_mpa_verdict parse(u8 flags, u8 rev, u16 pd, u32 len, bool reply,
				  u8 max_rev, struct iwt_mpa_frame *f)
{
	static u8 buf[66000];

	memcpy(buf, reply ? IWT_MPA_KEY_REP : IWT_MPA_KEY_REQ, 16);
	buf[16] = flags;
	buf[17] = rev;
	put_unaligned_be16(pd, buf + 18);
	return iwt_mpa_parse(buf, len, reply, max_rev, f);
}

static void test_lengths(void)
{
	struct iwt_mpa_frame f;
	u8 hdr[20];
	u32 pd, need;

	tap_begin("mpa: every length of the private data");
	for (pd = 0; pd <= 0xffff; pd++) {
		tap_about("PD_Length %u", pd);
		CHECK_EQ(parse(0, 1, pd, 20 + pd, false, 2, &f),
			 pd <= 512 ? IWT_MPA_OK : IWT_MPA_BAD);
		if (pd <= 512)
			CHECK_EQ(f.pd_len, pd);
		CHECK_EQ(parse(0, 1, pd, 20, false, 2, &f),
			 pd > 512 ? IWT_MPA_BAD : pd ? IWT_MPA_MORE :
			 IWT_MPA_OK);
			/* enhanced: the word with the depths is part of the private data */
		CHECK_EQ(parse(0x10, 2, pd, 20 + pd, false, 2, &f),
			 pd <= 512 && pd >= 4 ? IWT_MPA_OK : IWT_MPA_BAD);
		if (pd >= 4 && pd <= 512)
			CHECK_EQ(f.pd_len, pd - 4);
		put_unaligned_be16(pd, hdr + 18);
		need = iwt_mpa_need(hdr, 20);
		CHECK_EQ(need, pd <= 512 ? 20 + pd : 20);
		CHECK(need <= IWT_MPA_MAX_FRAME);
	}
	tap_end();
}

static void test_revisions(void)
{
	struct iwt_mpa_frame f;
	u32 rev, max, reply, s;
	bool spoken;

	tap_begin("mpa: every revision, with the S flag and without");
	for (rev = 0; rev < 256; rev++) {
		for (max = 1; max <= 2; max++) {
			for (reply = 0; reply < 2; reply++) {
				for (s = 0; s <= 0x10; s += 0x10) {
					tap_about("rev %u max %u S %x", rev,
						  max, s);
					spoken = rev && rev <= max;
					CHECK_EQ(parse(s, rev, 8, 28, reply,
						       max, &f), spoken ?
						 IWT_MPA_OK : IWT_MPA_BAD_REV);
					CHECK_EQ(f.rev, rev);
					/* the flag S has a meaning in revision 2 only */
					CHECK_EQ(f.enhanced, spoken &&
						 rev == 2 && s);
					CHECK_EQ(f.pd_len, f.enhanced ? 4 : 8);
				}
			}
		}
	}
	tap_end();
}

static void test_ignored(void)
{
	struct iwt_mpa_frame f;
	u8 buf[24];
	u32 flags;

	tap_begin("mpa: reserved flags are ignored");
	for (flags = 0; flags < 256; flags++) {
		tap_about("flags %x", flags);
		CHECK_EQ(parse(flags, 1, 0, 20, false, 2, &f), IWT_MPA_OK);
		CHECK_EQ(f.markers, flags >> 7);
		CHECK_EQ(f.crc, flags >> 6 & 1);
		CHECK(!f.reject && !f.enhanced);
		CHECK_EQ(f.large, flags >> 3 & 1);
		CHECK_EQ(parse(flags, 1, 0, 20, true, 2, &f), IWT_MPA_OK);
		CHECK_EQ(f.reject, flags >> 5 & 1);
		CHECK_EQ(f.large, flags >> 3 & 1);
		/* a writer sets only the flags that a reader evaluates */
		CHECK_EQ(iwt_mpa_build(&f, NULL, buf), 20);
		CHECK_EQ(buf[16], flags & 0xe8);
	}
	/* If the flag A is clear, a reader ignores the other flags, and a writer clears them. */
	memcpy(buf, vector_find("V-S7")->octets, sizeof(buf));
	buf[20] = 0x7f;
	buf[22] = 0xff;
	CHECK_EQ(iwt_mpa_parse(buf, 24, false, 2, &f), IWT_MPA_OK);
	CHECK(!f.p2p && !f.rtr_send && !f.rtr_write && !f.rtr_read);
	f.rtr_send = true;
	f.rtr_write = true;
	f.rtr_read = true;
	CHECK_EQ(iwt_mpa_build(&f, NULL, buf), 24);
	CHECK(!memcmp(buf, vector_find("V-S7")->octets, sizeof(buf)));
	tap_end();
}

static void test_build_limits(void)
{
	struct iwt_mpa_frame f = { .rev = 2, .crc = true, .reject = true };
	u8 pd[IWT_MPA_MAX_PD + 1] = { 1 }, buf[IWT_MPA_MAX_FRAME];

	tap_begin("mpa: private data longer than the frame allows");
	f.pd_len = 512;
	CHECK_EQ(iwt_mpa_build(&f, pd, buf), 532);
	/* Only a Reply can have the flag R. */
	CHECK_EQ(buf[16], 0x40);
	f.pd_len = 513;
	CHECK_EQ(iwt_mpa_build(&f, pd, buf), 0);
	f.enhanced = true;
	f.pd_len = 508;
	CHECK_EQ(iwt_mpa_build(&f, pd, buf), 532);
	f.pd_len = 509;
	CHECK_EQ(iwt_mpa_build(&f, pd, buf), 0);
	f.pd_len = 0xffff;
	CHECK_EQ(iwt_mpa_build(&f, pd, buf), 0);
	tap_end();
}

/* Builds a second Request, for a peer that did not understand the first Request. */
static void test_rebuild(void)
{
	struct iwt_mpa_frame f = {
		.rev = 2, .enhanced = true, .crc = true, .ird = 1, .ord = 1,
	};
	struct iwt_mpa_frame again = { .rev = 1, .crc = true };
	u8 pd[IWT_MPA_MAX_PD], buf[IWT_MPA_MAX_FRAME];
	u32 i, n;

	tap_begin("mpa: a frame is written over the frame that holds its private data");
	for (i = 0; i < sizeof(pd); i++)
		pd[i] = i * 7;
	for (n = 0; n <= 508; n++) {
		tap_about("private data %u", n);
		f.pd_len = n;
		again.pd_len = n;
		CHECK_EQ(iwt_mpa_build(&f, pd, buf), 24 + n);
		CHECK_EQ(iwt_mpa_build(&again, buf + 24, buf), 20 + n);
		CHECK(!memcmp(buf + 20, pd, n));
		CHECK(!memcmp(buf, IWT_MPA_KEY_REQ, 16));
		/* and back to the first Request */
		CHECK_EQ(iwt_mpa_build(&f, buf + 20, buf), 24 + n);
		CHECK(!memcmp(buf + 24, pd, n));
		CHECK(!memcmp(buf, IWT_MPA_KEY_REQ, 16));
	}
	tap_end();
}

static void test_mulpdu(void)
{
	static const struct {
		u32 emss, with, without;
	} rows[] = {
		{ 0, 128, 128 }, { 1, 128, 128 }, { 64, 128, 128 },
		{ 138, 128, 130 }, { 140, 130, 134 }, { 512, 502, 506 },
		{ 513, 498, 506 }, { 536, 522, 530 }, { 1220, 1202, 1214 },
		{ 1440, 1422, 1434 }, { 1448, 1430, 1442 },
		{ 1460, 1442, 1454 }, { 8948, 8870, 8942 },
		{ 8960, 8882, 8954 }, { 32741, 32478, 32734 },
		{ 65483, 64768, 64768 }, { 65495, 64768, 64768 },
		{ ~0, 64768, 64768 }, { ~0 - 3, 64768, 64768 },
	};
	u32 i, n, emss;

	tap_begin("mpa: the MULPDU for every EMSS");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		tap_about("EMSS %u", rows[i].emss);
		CHECK_EQ(iwt_mulpdu(rows[i].emss, true), rows[i].with);
		CHECK_EQ(iwt_mulpdu(rows[i].emss, false), rows[i].without);
	}
	for (emss = 200; emss < 64000; emss++) {
		tap_about("EMSS %u", emss);
		n = iwt_mulpdu(emss, false);
		/* The FPDU has no pad, and has as many whole 32-bit words as fit. */
		CHECK_EQ((n + 2) % 4, 0);
		CHECK_EQ(n + 6, emss - emss % 4);
		CHECK(iwt_mulpdu(emss, true) < n);
		CHECK_EQ((iwt_mulpdu(emss, true) + 2) % 4, 0);
	}
	tap_end();
}

/* The FPDU of the longest ULPDU fits, and the FPDU of any longer ULPDU does not. */
static void test_fit(void)
{
	u32 pos, room, n;

	tap_begin("mpa: the ULPDU that fits in a part of a stream with markers");
	for (pos = 0; pos < 1024; pos += 4) {
		for (room = 0; room < 2100; room++) {
			tap_about("position %u, room %u", pos, room);
			n = iwt_fpdu_fit(room, pos);
			if (!n) {
				CHECK(iwt_fpdu_size(1, pos, true) > room);
				continue;
			}
			CHECK_EQ((n + 2) % 4, 0);
			CHECK(iwt_fpdu_size(n, pos, true) <= room);
			CHECK(iwt_fpdu_size(n + 1, pos, true) > room);
		}
	}
	tap_end();
}

void test_mpa_frame(void)
{
	test_vectors();
	test_prefixes();
	test_key();
	test_lengths();
	test_revisions();
	test_ignored();
	test_build_limits();
	test_rebuild();
	test_mulpdu();
	test_fit();
}
