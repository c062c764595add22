// SPDX-License-Identifier: GPL-2.0
/*
 * FPDUs behind a gap: they are found by their markers, remembered when they were placed, and
 * recognised at their turn.
 */
#include <stdlib.h>

#include <linux/unaligned.h>

#include "ahead.h"
#include "frame.h"
#include "pieces.h"
#include "unit.h"

#define FPDUS	40
#define ROOM	60000

static const struct iwt_fpdu_rules rules = { .crc = true, .markers = true };

/* A stream of messages with markers */
struct stream {
	u8 *octets;
	u32 pos;		/* stream position of the first FPDU */
	u32 at[FPDUS + 1];	/* offset of each FPDU, and of the end of the last FPDU */
	u32 n;
};

/* Makes FPDUs of Writes and Sends, of random lengths, up to @longest octets of payload. */
static void make(struct stream *s, u32 longest)
{
	struct frame_rules put = { .pos = any() << 2, .markers = true, .crc = true };
	u32 mulpdu = 20 + any() % (longest + 1);
	static u8 data[4000];
	struct iwt_txseg m;
	u32 i, len = 0;

	if (any() % 3 == 0)
		put.pos = -(any() % 2000) * 4;
	for (i = 0; i < sizeof(data); i++)
		data[i] = any() >> 8;
	s->octets = malloc(ROOM);
	s->pos = put.pos;
	s->at[0] = 0;
	s->n = 0;
	m.done = true;
	while (s->n < FPDUS) {
		if (m.done) {
			len = 1 + any() % sizeof(data);
			if (any() % 3)
				iwt_txseg_tagged(&m, IWT_OP_WRITE, any(), any(), len);
			else
				iwt_txseg_send(&m, IWT_OP_SEND, 0, any(), len);
		}
		s->at[s->n + 1] = s->at[s->n] + frame_next(&m, mulpdu, data, len, &put,
							    s->octets + s->at[s->n]);
		s->n++;
	}
}

/* Return: index of the FPDU that contains the octet @off, or the marker in front of the FPDU */
static u32 fpdu_of(const struct stream *s, u32 off)
{
	u32 i;

	for (i = 0; s->at[i + 1] <= off; i++)
		;
	return i;
}

/*
 * Which FPDU do the markers between @from and @end show first, of those that begin at @from or
 * later? Return: its index; s->n: none
 */
static u32 shown(const struct stream *s, u32 from, u32 end, u32 *seen)
{
	u32 off, i;

	*seen = 0;
	for (off = from; off + 4 <= end; off++) {
		if ((s->pos + off) % 512)
			continue;
		i = fpdu_of(s, off);
		if (s->at[i] >= from)
			return i;
		*seen = off + 4 - from;
	}
	return s->n;
}

/* Looks for an FPDU in the octets from @from to @end, in one piece and in several pieces. */
static bool check_find(const struct stream *s, u32 from, u32 end)
{
	u32 cuts[8], seen, i, k, got;
	struct pieces_cursor pc;
	struct pieces p;
	bool found;

	i = shown(s, from, end, &seen);
	tap_about("at %x from %u to %u", s->pos, from, end);
	for (k = 0; k < ARRAY_SIZE(cuts); k++)
		cuts[k] = (u64)(end - from) * (k + 1) / (ARRAY_SIZE(cuts) + 1);
	for (k = 0; k <= ARRAY_SIZE(cuts); k += ARRAY_SIZE(cuts)) {
		pieces_cut(&p, s->octets + from, end - from, cuts, k);
		pc = pieces_start(&p);
		got = iwt_ahead_find(&pc.c, sizeof(pc), end - from, s->pos + from, &found);
		CHECK_EQ(found, i < s->n);
		CHECK_EQ(got, found ? s->at[i] - from : seen);
		pieces_free(&p);
	}
	return i < s->n;
}

static void test_find(void)
{
	u32 round, k, found = 0, all = 0;
	struct stream s;

	tap_begin("ahead: markers show where an FPDU begins");
	for (round = 0; round < 400; round++) {
		make(&s, round % 4 ? 1400 : 100);
		for (k = 0; k < 50; k++, all++) {
			u32 from = any() % (s.at[s.n] - 1), left = s.at[s.n] - from;

			found += check_find(&s, from, from + 1 + any() % (k & 1 ? left : 700) % left);
		}
		free(s.octets);
	}
	CHECK(found > all / 4 && found < all);
	tap_end();
}

/* A marker in front of an FPDU is missing, so the FPDU is incomplete: it is not found. */
static void test_front(void)
{
	struct frame_rules put = { .pos = 512, .markers = true, .crc = true };
	u8 ulpdu[600] = { 0xc1, 0x40 }, frame[700];
	struct iwt_cursor c;
	u32 n, cut, off;
	bool found;

	tap_begin("ahead: the marker in front of an FPDU belongs to the FPDU");
	n = frame_ulpdu(ulpdu, sizeof(ulpdu), &put, frame);
	for (cut = 0; cut <= 8; cut++) {
		c = (struct iwt_cursor){ .p = frame + cut, .len = n - cut };
		off = iwt_ahead_find(&c, sizeof(c), n - cut, 512 + cut, &found);
		CHECK_EQ(found, !cut);
		CHECK_EQ(off, cut ? 512 - cut + 4 : 0);
	}
	tap_end();
}

/* A cursor that can't be copied: nothing is found. */
static void test_large(void)
{
	struct iwt_cursor c = {};
	bool found = true;

	tap_begin("ahead: a cursor that cannot be cloned");
	CHECK_EQ(iwt_ahead_find(&c, IWT_CURSOR_MAX + 1, 10, 0, &found), 10);
	CHECK(!found);
	tap_end();
}

/* Payload that is an FPDU with a valid CRC is not taken for an FPDU, wherever the gap ends. */
static void test_image(void)
{
	struct frame_rules inner = { .markers = true, .crc = true }, outer = inner;
	u8 ulpdu[1000] = { 0xc1, 0x40 }, image[100], frame[1200];
	u32 n, from, off, size;
	struct iwt_cursor c;
	bool found;

	tap_begin("ahead: an image of an FPDU in payload is not found");
	inner.pos = 8 + IWT_FPDU_LEN_LEN + IWT_DDP_TAGGED_LEN;
	size = frame_ulpdu(ulpdu, 80, &inner, image);
	memcpy(ulpdu + IWT_DDP_TAGGED_LEN, image, size);
	outer.pos = 8;
	n = frame_ulpdu(ulpdu, sizeof(ulpdu), &outer, frame);
	for (from = 1; from < n; from++) {
		c = (struct iwt_cursor){ .p = frame + from, .len = n - from };
		off = iwt_ahead_find(&c, sizeof(c), n - from, 8 + from, &found);
		CHECK(!found);
		CHECK(off <= n - from);
	}
	tap_end();
}

static bool same(const struct iwt_fpdu *a, const struct iwt_fpdu *b)
{
	return a->size == b->size && a->ulpdu_len == b->ulpdu_len && a->hdr_len == b->hdr_len &&
	       a->payload_len == b->payload_len && !memcmp(a->hdr, b->hdr, a->hdr_len) &&
	       a->pos == b->pos && a->ddp.last == b->ddp.last && a->ddp.stag == b->ddp.stag &&
	       a->ddp.to == b->ddp.to && a->ddp.opcode == b->ddp.opcode && a->ddp.tagged &&
	       a->ddp.dv == b->ddp.dv && a->ddp.rv == b->ddp.rv;
}

static void read_at(const struct stream *s, u32 i, struct iwt_fpdu *f)
{
	u32 err;

	CHECK_EQ(frame_read(s->octets + s->at[i], s->at[s->n] - s->at[i], s->pos + s->at[i],
			    &rules, f, &err), IWT_FPDU_OK);
}

/* All payload of the FPDU counts as read. */
static void check_nothing_left(struct iwt_fpdu *f)
{
	struct iwt_cursor none = {};
	u32 len = 1;

	CHECK(iwt_fpdu_payload(f, &none, &rules));
	CHECK(!iwt_fpdu_piece(f, &none, UINT32_MAX, &len) && !len);
}

/*
 * Remembers random tagged FPDUs of a stream. Then each FPDU is recognised at its turn, and no
 * other FPDU. Return: number of runs
 */
static u32 check_runs(const struct stream *s, u32 places)
{
	u64 place[FPDUS], got;
	struct iwt_fpdu f, g;
	struct iwt_ahead a;
	u32 i, runs;

	iwt_ahead_start(&a, s->pos);
	for (i = 0; i < s->n; i++) {
		place[i] = 0;
		read_at(s, i, &f);
		if (!f.ddp.tagged || any() % 8 == 0 || !iwt_ahead_has_room(&a))
			continue;
		place[i] = 1 + any() % places;
		iwt_ahead_add(&a, &f, place[i]);
	}
	runs = a.n;
	for (i = 0; i < s->n; i++) {
		u32 pos = s->pos + s->at[i];

		tap_about("at %x FPDU %u", s->pos, i);
		read_at(s, i, &f);
		CHECK_EQ(iwt_ahead_at(&a, pos, &g, &got),
			 place[i] ? IWT_AHEAD_PLACED : IWT_AHEAD_NONE);
		if (!place[i])
			continue;
		CHECK(same(&f, &g) && got == place[i] && !g.marked);
		check_nothing_left(&g);
		CHECK_EQ(iwt_ahead_at(&a, pos + 4, &g, &got), IWT_AHEAD_CONFLICT);
		CHECK_EQ(iwt_ahead_at(&a, pos - 4, &g, &got), IWT_AHEAD_NONE);
		iwt_ahead_pass(&a);
	}
	CHECK_EQ(a.n, 0);
	return runs;
}

static void test_runs(void)
{
	u32 round, runs, most = 0, least = FPDUS;
	struct stream s;

	tap_begin("ahead: FPDUs that were placed are recognised at their turn");
	for (round = 0; round < 600; round++) {
		make(&s, round % 3 ? 1400 : 200);
		runs = check_runs(&s, round % 5 ? 1 : 2);
		most = runs > most ? runs : most;
		least = runs < least ? runs : least;
		free(s.octets);
	}
	/* similar FPDUs share a run */
	CHECK(least < 10 && most > 20);
	tap_end();
}

/* No more runs than there is room for; the ring of runs wraps. */
static void test_full(void)
{
	struct iwt_fpdu f, g;
	struct iwt_ahead a;
	struct stream s;
	u32 i, turns;
	u64 place;

	tap_begin("ahead: the number of runs is limited");
	do {
		make(&s, 1400);
		read_at(&s, 0, &f);
		free(s.octets);
	} while (!f.ddp.tagged);
	iwt_ahead_start(&a, f.pos);
	for (turns = 0; turns < 5; turns++) {
		for (i = 0; iwt_ahead_has_room(&a); i++) {
			/* the next FPDU is 4 octets behind the end of this one, so not in its run */
			iwt_ahead_add(&a, &f, i);
			f.pos += f.size + 4;
			f.size = iwt_fpdu_size(f.ulpdu_len, f.pos, true);
		}
		CHECK_EQ(a.n, IWT_AHEAD_RUNS);
		for (i = 0; i < 7; i++) {
			CHECK_EQ(iwt_ahead_at(&a, a.run[a.first].begin, &g, &place),
				 IWT_AHEAD_PLACED);
			iwt_ahead_pass(&a);
		}
	}
	tap_end();
}

void test_ahead(void)
{
	test_find();
	test_front();
	test_large();
	test_image();
	test_runs();
	test_full();
}
