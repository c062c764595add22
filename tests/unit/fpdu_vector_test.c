// SPDX-License-Identifier: GPL-2.0
/* Writes the FPDU test vectors, and reads them from up to three pieces. */
#include <stdlib.h>

#include "frame.h"
#include "marker.h"
#include "pieces.h"
#include "unit.h"

static const struct want {
	const char *id;
	bool tagged, last;
	u8 opcode;
	u32 stag;
	u64 to;
	u32 qn, msn, mo;
	u16 hdr_len;
	/* ULPDU after the DDP header: hexadecimal digits, or fill_len octets of value fill */
	const char *rest;
	u32 fill, fill_len;
	bool no_crc;
} wants[] = {
	{ "V-F5", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 0, 24 },
	{ "V-F6", 0, 1, 3, 0, 0, 0, 2, 0, 18, NULL, 0, 24 },
	{ "V-F5n", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 0, 24 },
	{ "V-C0", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 0, 24, true },
	{ "V-D1", 1, 1, 0, 1, 0, 0, 0, 0, 14, "" },
	{ "V-D2", 0, 1, 1, 0, 0, 1, 1, 0, 46,
	  "00000001000000000000000000000000000000010000000000000000" },
	{ "V-D3", 1, 1, 2, 1, 0, 0, 0, 0, 14, "" },
	{ "V-D4", 0, 1, 3, 0, 0, 0, 1, 0, 18, "" },
	{ "V-D5", 1, 1, 0, 0x11223344, 0x1000, 0, 0, 0, 14, "5a" },
	{ "V-D6", 1, 0, 0, 0x11223344, 0x1000, 0, 0, 0, 14,
	  "0001020304050607" },
	{ "V-D7", 0, 1, 1, 0, 0, 1, 1, 0, 46,
	  "aabbccdd000000000000002000000064556677880000000000000300" },
	{ "V-D8", 1, 1, 2, 0xaabbccdd, 0x20, 0, 0, 0, 14, "deadbeef" },
	{ "V-D9", 0, 1, 4, 0xdeadbeef, 0, 0, 2, 0, 18, "78797a" },
	{ "V-D10", 0, 1, 5, 0, 0, 0, 3, 0, 18, "6869" },
	{ "V-D11", 0, 1, 6, 0xdeadbeef, 0, 0, 4, 0, 18, "" },
	{ "V-D12", 0, 1, 3, 0, 0, 0, 1, 1482, 18, "aabb" },
	{ "V-D13", 0, 1, 3, 0, 0, 0, 0, 0, 18, "" },
	{ "V-X1", 0, 1, 8, 0, 0, 0, 5, 0, 26, "0102030405060708" },
	{ "V-X2", 0, 1, 9, 0, 0, 0, 6, 0, 26, "0102030405060708" },
	{ "V-X3", 0, 1, 10, 0, 0, 1, 2, 0, 70,
	  "00000000000000075566778800000000000003000000000000000001"
	  "00000000000000000000000000000000ffffffffffffffff" },
	{ "V-X4", 0, 1, 10, 0, 0, 1, 3, 0, 70,
	  "00000002000000085566778800000000000003000000000000000001"
	  "ffffffffffffffff0000000000000005ffffffffffffffff" },
	{ "V-X5", 0, 1, 11, 0, 0, 3, 1, 0, 30, "00000007000000000000002a" },
	{ "V-T1", 0, 1, 7, 0, 0, 2, 1, 0, 38,
	  "1100c0000016c140999999000000000000000000" },
	{ "V-T2", 0, 1, 7, 0, 0, 2, 1, 0, 42,
	  "1205c0000053414300000000000000000000000100000000" },
	{ "V-T3", 0, 1, 7, 0, 0, 2, 1, 0, 70,
	  "0102e000002e414100000000000000010000000100000000aabbccdd"
	  "000000000000002000000064556677880000000000000300" },
	{ "V-T4", 0, 1, 7, 0, 0, 2, 1, 0, 22, "20020000" },
	{ "V-T5", 0, 1, 7, 0, 0, 2, 1, 0, 22, "20060000" },
	{ "V-T6", 0, 1, 7, 0, 0, 2, 1, 0, 22, "20070000" },
	{ "V-T7", 0, 1, 7, 0, 0, 2, 1, 0, 42,
	  "0206c0000012414c00000000000000000000000100000000" },
	{ "V-T8", 0, 1, 7, 0, 0, 2, 1, 0, 22, "00000000" },
	{ "V-M2", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 'x', 24 },
	{ "V-M3", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 'x', 24 },
	{ "V-M4", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 'x', 23 },
	{ "V-M5", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 'x', 23 },
	{ "V-M6", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 'x', 24 },
	{ "V-M7", 0, 1, 3, 0, 0, 0, 1, 0, 18, NULL, 'x', 24 },
	{ "V-M8", 1, 1, 0, 1, 0, 0, 0, 0, 14, NULL, 'y', 1428 },
	{ "V-M9", 1, 1, 0, 1, 0, 0, 0, 0, 14, NULL, 'y', 1428 },
};

/* Writes the ULPDU of the vector to @out. Return: number of octets of the ULPDU */
static u32 ulpdu_of(const struct want *w, u8 *out)
{
	struct iwt_ddp d = {
		.tagged = w->tagged, .last = w->last, .dv = 1, .rv = 1,
		.opcode = w->opcode, .stag = w->stag, .to = w->to, .qn = w->qn,
		.msn = w->msn, .mo = w->mo,
	};
	u32 n = iwt_ddp_build(&d, out);

	if (w->rest)
		return n + unhex(w->rest, out + n);
	memset(out + n, w->fill, w->fill_len);
	return n + w->fill_len;
}

static void test_write(void)
{
	u8 ulpdu[2000], frame[2000];
	struct frame_rules rules;
	const struct vector *v;
	const struct want *w;
	u32 len;

	tap_begin("fpdu: the writer produces the vectors");
	for (w = wants; w < wants + ARRAY_SIZE(wants); w++) {
		tap_about("%s", w->id);
		v = vector_find(w->id);
		rules = (struct frame_rules){ v->pos, v->markers, !w->no_crc };
		len = ulpdu_of(w, ulpdu);
		CHECK_EQ(frame_ulpdu(ulpdu, len, &rules, frame), v->len);
		CHECK(!memcmp(frame, v->octets, v->len));
		CHECK_EQ(iwt_fpdu_size(len, v->pos, v->markers), v->len);
	}
	tap_end();
}

static void test_complete(void)
{
	const struct want *w;
	u32 i, found;

	tap_begin("fpdu: each vector has one expected result");
	for (i = 0; i < vector_count; i++) {
		tap_about("%s", vectors[i].id);
		found = 0;
		for (w = wants; w < wants + ARRAY_SIZE(wants); w++)
			found += !strcmp(w->id, vectors[i].id);
		if (vectors[i].id[2] != 'S' && strcmp(vectors[i].id, "V-M1"))
			CHECK_EQ(found, 1);
	}
	tap_end();
}

/* Checks the payload of the FPDU at @pc, read by iwt_fpdu_piece() in steps of @step. */
static void check_payload(const struct want *w, struct pieces_cursor pc,
			  const struct iwt_fpdu_rules *rules,
			  struct iwt_fpdu *f, u32 step)
{
	u8 ulpdu[2000];
	u32 at, len;
	const u8 *p;

	ulpdu_of(w, ulpdu);
	CHECK(!memcmp(f->hdr, ulpdu, f->hdr_len));
	CHECK(iwt_fpdu_payload(f, &pc.c, rules));
	at = f->hdr_len;
	while ((p = iwt_fpdu_piece(f, &pc.c, step, &len))) {
		CHECK(len >= 1 && len <= step);
		CHECK(!memcmp(p, ulpdu + at, len));
		at += len;
	}
	CHECK_EQ(len, 0);
	CHECK_EQ(at, f->ulpdu_len);
}

static void check_read(const struct want *w, const struct vector *v,
		       const struct pieces *pieces, u32 step)
{
	struct iwt_fpdu_rules rules = { !w->no_crc, v->markers };
	struct pieces_cursor pc = pieces_start(pieces), before = pc;
	struct iwt_fpdu f;
	u32 err, i;

	memset(&f, 0xa5, sizeof(f));
	if (!CHECK_EQ(iwt_fpdu_read(&pc.c, sizeof(pc), v->len, v->pos, &rules,
				    &f, &err), IWT_FPDU_OK))
		return;
	CHECK(!memcmp(&pc, &before, sizeof(pc)));
	CHECK_EQ(err, IWT_OK);
	CHECK_EQ(f.size, v->len);
	CHECK_EQ(f.pos, v->pos);
	CHECK_EQ(f.hdr_len, w->hdr_len);
	for (i = f.hdr_len; i < sizeof(f.hdr); i++)
		CHECK_EQ(f.hdr[i], 0xa5);
	CHECK_EQ(f.payload_len, f.ulpdu_len - f.hdr_len);
	CHECK_EQ(f.ddp.tagged, w->tagged);
	CHECK_EQ(f.ddp.last, w->last);
	CHECK_EQ(f.ddp.opcode, w->opcode);
	CHECK_EQ(f.ddp.stag, w->stag);
	CHECK_EQ(f.ddp.to, w->to);
	CHECK_EQ(f.ddp.qn, w->qn);
	CHECK_EQ(f.ddp.msn, w->msn);
	CHECK_EQ(f.ddp.mo, w->mo);
	check_payload(w, pc, &rules, &f, step);
}

static void test_read(void)
{
	const struct vector *v;
	const struct want *w;
	struct pieces p;
	u32 step;

	tap_begin("fpdu: vectors read in one piece");
	for (w = wants; w < wants + ARRAY_SIZE(wants); w++) {
		tap_about("%s", w->id);
		v = vector_find(w->id);
		pieces_cut(&p, v->octets, v->len, NULL, 0);
		for (step = 1; step < 2000; step += 1 + step * 2)
			check_read(w, v, &p, step);
		pieces_free(&p);
	}
	tap_end();
}

static void test_splits(void)
{
	const struct vector *v;
	const struct want *w;
	u32 cuts[2], stride;
	struct pieces p;

	tap_begin("fpdu: vectors cut into two and three pieces, at every octet");
	for (w = wants; w < wants + ARRAY_SIZE(wants); w++) {
		v = vector_find(w->id);
		/* Long vectors: all cuts into two pieces, but only some into three pieces. */
		stride = v->len > 100 ? 127 : 1;
		for (cuts[0] = 1; cuts[0] < v->len; cuts[0]++) {
			for (cuts[1] = cuts[0]; cuts[1] < v->len;
			     cuts[1] += stride) {
				tap_about("%s at %u and %u", w->id, cuts[0],
					  cuts[1]);
				pieces_cut(&p, v->octets, v->len, cuts, 2);
				check_read(w, v, &p, 7);
				pieces_free(&p);
			}
		}
	}
	tap_end();
}

static void test_prefixes(void)
{
	struct iwt_fpdu_rules rules;
	const struct vector *v;
	struct pieces_cursor pc;
	const struct want *w;
	struct iwt_fpdu f;
	struct pieces p;
	u32 len, err, known;

	tap_begin("fpdu: no verdict before the last octet");
	for (w = wants; w < wants + ARRAY_SIZE(wants); w++) {
		v = vector_find(w->id);
		rules = (struct iwt_fpdu_rules){ !w->no_crc, v->markers };
		known = 2 + (v->markers && v->pos % 512 == 0 ? 4 : 0);
		for (len = 0; len < v->len; len++) {
			tap_about("%s, %u octets", w->id, len);
			pieces_cut(&p, v->octets, len, &(u32){ len / 2 }, 1);
			pc = pieces_start(&p);
			CHECK_EQ(iwt_fpdu_read(&pc.c, sizeof(pc), len, v->pos,
					       &rules, &f, &err),
				 IWT_FPDU_MORE);
			CHECK_EQ(f.size, len < known ? 0 : v->len);
			/* The caller announces more octets than the pieces contain. */
			if (rules.crc)
				CHECK(iwt_fpdu_read(&pc.c, sizeof(pc), v->len,
						    v->pos, &rules, &f, &err) !=
				      IWT_FPDU_OK);
			pieces_free(&p);
		}
	}
	tap_end();
}

/* RFC 5044 4.4: an FPDU with one changed bit is not accepted. */
static void test_flips(void)
{
	struct iwt_fpdu_rules rules = { .crc = true };
	enum iwt_fpdu_status status;
	const struct vector *v;
	const struct want *w;
	u32 bit, err, first;
	struct iwt_fpdu f;
	u8 frame[2000];

	tap_begin("fpdu: every bit of every vector is flipped once");
	for (w = wants; w < wants + ARRAY_SIZE(wants); w++) {
		v = vector_find(w->id);
		if (w->no_crc)
			continue;
		rules.markers = v->markers;
		first = v->markers && v->pos % 512 == 0 ? 4 : 0;
		for (bit = 0; bit < v->len * 8; bit++) {
			tap_about("%s bit %u", w->id, bit);
			memcpy(frame, v->octets, v->len);
			frame[bit / 8] ^= 0x80 >> bit % 8;
			status = frame_read(frame, v->len, v->pos, &rules, &f,
					    &err);
			if (bit / 8 == first || bit / 8 == first + 1) {
				/* the length field: the FPDU may now appear to be longer */
				CHECK(status != IWT_FPDU_OK);
			} else {
				CHECK_EQ(status, IWT_FPDU_BAD);
				CHECK_EQ(err, IWT_ERR_MPA_CRC);
			}
		}
	}
	tap_end();
}

/* V-M1 is a vector for the MPA framing; it contains no DDP segment. */
static void test_not_ddp(void)
{
	const struct vector *v = vector_find("V-M1");
	struct iwt_fpdu_rules rules = { true, true };
	struct iwt_fpdu f;
	u8 octets[16];
	u32 i, err;

	tap_begin("fpdu: a ULPDU that is no DDP segment");
	CHECK_EQ(frame_read(v->octets, v->len, v->pos, &rules, &f, &err),
		 IWT_FPDU_BAD);
	CHECK_EQ(err, IWT_ERR_DDP_LOCAL);
	CHECK_EQ(f.size, v->len);
	CHECK_EQ(f.ulpdu_len, 16);
	CHECK_EQ(f.hdr_len, 16);
	for (i = 0; i < sizeof(octets); i++)
		octets[i] = i;
	CHECK(!memcmp(f.hdr, octets, sizeof(octets)));
	tap_end();
}

void test_fpdu_vectors(void)
{
	test_complete();
	test_write();
	test_read();
	test_splits();
	test_prefixes();
	test_flips();
	test_not_ddp();
}
