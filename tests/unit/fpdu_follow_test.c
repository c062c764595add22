// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of an FPDU can be predicted from the FPDU before it. A predicted FPDU must equal the
 * FPDU that iwt_fpdu_read() reads.
 */
#include <linux/crc32c.h>
#include <linux/unaligned.h>

#include "frame.h"
#include "pieces.h"
#include "unit.h"

#define MULPDU	114	/* 100 octets of payload in a tagged segment, 96 in an untagged segment */
#define TOTAL	350	/* octets of payload: four segments, of which the last is shorter */

/* The FPDUs of one message, one after the other */
struct stream {
	u8 octets[600];
	u32 at[8];	/* offset of each FPDU, and of the end of the last FPDU */
	u32 n;
	u32 pos;	/* stream position of the first FPDU */
	u8 data[TOTAL];	/* payload of the message */
};

static bool is_send(u8 opcode)
{
	return opcode != IWT_OP_WRITE && opcode != IWT_OP_READ_RESP;
}

/* Return: rules of a stream, from two bits of @n */
static struct iwt_fpdu_rules rules_of(u32 n)
{
	return (struct iwt_fpdu_rules){ .crc = n & 1, .markers = n & 2 };
}

/*
 * Makes the FPDUs of a message, at a random position of the stream. @to: tagged offset; for a Send,
 * its message number (MSN)
 */
static void make(struct stream *s, u8 opcode, u64 to, const struct iwt_fpdu_rules *in)
{
	struct frame_rules rules = { .pos = any() << 2, .markers = in->markers, .crc = in->crc };
	struct iwt_txseg m;
	u32 i;

	for (i = 0; i < sizeof(s->data); i++)
		s->data[i] = any();
	s->n = 0;
	s->at[0] = 0;
	s->pos = rules.pos;
	if (is_send(opcode))
		iwt_txseg_send(&m, opcode, 0x77700, to, sizeof(s->data));
	else
		iwt_txseg_tagged(&m, opcode, 0x1234500, to, sizeof(s->data));
	while (!m.done) {
		u8 *out = s->octets + s->at[s->n];
		u32 len = frame_next(&m, MULPDU, s->data, sizeof(s->data), &rules, out);

		s->at[s->n + 1] = s->at[s->n] + len;
		s->n++;
	}
}

static struct iwt_cursor cursor_at(const struct stream *s, u32 i)
{
	return (struct iwt_cursor) {
		.p = s->octets + s->at[i],
		.len = s->at[s->n] - s->at[i],
	};
}

static enum iwt_fpdu_status read_at(const struct stream *s, u32 i,
				    const struct iwt_fpdu_rules *rules,
				    struct iwt_fpdu *f)
{
	struct iwt_cursor c = cursor_at(s, i);
	u32 err;

	return iwt_fpdu_read(&c, sizeof(c), c.len, s->pos + s->at[i], rules, f, &err);
}

static bool follows_at(const struct stream *s, u32 i,
		       const struct iwt_fpdu_rules *rules, struct iwt_fpdu *f)
{
	struct iwt_cursor c = cursor_at(s, i);

	return iwt_fpdu_follows(&c, c.len, rules, f);
}

static u32 alike_at(const struct stream *s, u32 i, const struct iwt_fpdu_rules *rules,
		    const struct iwt_fpdu *f)
{
	struct iwt_cursor c = cursor_at(s, i);

	return iwt_fpdu_goes_on(f, rules) ? iwt_fpdu_alike(&c, c.len, ~0, f) : 0;
}

static bool same(const struct iwt_fpdu *a, const struct iwt_fpdu *b)
{
	return a->size == b->size && a->ulpdu_len == b->ulpdu_len &&
	       a->hdr_len == b->hdr_len && a->payload_len == b->payload_len &&
	       !memcmp(a->hdr, b->hdr, a->hdr_len) && a->pos == b->pos &&
	       a->walked == b->walked && a->flat == b->flat && a->marked == b->marked &&
	       a->ddp.tagged == b->ddp.tagged && a->ddp.last == b->ddp.last &&
	       a->ddp.dv == b->ddp.dv && a->ddp.rv == b->ddp.rv &&
	       a->ddp.opcode == b->ddp.opcode && a->ddp.stag == b->ddp.stag &&
	       a->ddp.to == b->ddp.to && a->ddp.qn == b->ddp.qn &&
	       a->ddp.msn == b->ddp.msn && a->ddp.mo == b->ddp.mo;
}

/* Return: true if a marker divides the headers of FPDU @i */
static bool divided(const struct stream *s, u32 i, const struct iwt_fpdu *f,
		    const struct iwt_fpdu_rules *rules)
{
	u32 pos = s->pos + s->at[i], n;

	if (pos % 512 == 0)
		pos += 4;
	for (n = 0; n < IWT_FPDU_LEN_LEN + f->hdr_len; n++)
		if (rules->markers && (pos + n) % 512 == 0)
			return true;
	return false;
}

/*
 * All FPDUs except the first and the last are predicted, and equal the FPDU that is read. Return:
 * number of predicted FPDUs
 */
static u32 check_message(u8 opcode, u64 to, u32 how)
{
	struct iwt_fpdu_rules rules = rules_of(how);
	struct iwt_fpdu f = {}, g;
	u32 followed = 0;
	struct stream s;
	u32 i;

	make(&s, opcode, to, &rules);
	for (i = 0; i < s.n; i++) {
		bool expected = i && i < s.n - 1 && !divided(&s, i, &f, &rules);

		tap_about("opcode %u to %llx rules %u at %x segment %u", opcode,
			  (unsigned long long)to, how, s.pos, i);
		CHECK_EQ(follows_at(&s, i, &rules, &f), expected);
		CHECK_EQ(read_at(&s, i, &rules, &g), IWT_FPDU_OK);
		CHECK(!g.follows);
		followed += expected;
		if (expected)
			CHECK(f.follows && same(&f, &g));
		else
			f = g;
	}
	return followed;
}

static void test_message(void)
{
	u32 round, followed = 0;

	tap_begin("fpdu: the prediction gives the same FPDU as the parser");
	for (round = 0; round < 4000; round++) {
		followed += check_message(IWT_OP_WRITE, 0x1000, round);
		followed += check_message(IWT_OP_WRITE, -150ull, round);
		followed += check_message(IWT_OP_READ_RESP, 0xffffffc0, round);
		followed += check_message(IWT_OP_SEND, 1, round);
		followed += check_message(IWT_OP_SEND_SE_INV, 0xffffffff, round);
	}
	CHECK(followed > 4000 * 5 * 3 / 2);
	tap_end();
}

/*
 * Changes one bit of a segment. Return: true if the segment is predicted in spite of the change
 */
static bool follows_changed(u8 opcode, u32 how, bool anywhere)
{
	struct iwt_fpdu_rules rules = rules_of(how);
	u32 bit = any() % 8, front = is_send(opcode) ? 20 : 16, at;
	struct iwt_fpdu first, f, g;
	struct stream s;

	make(&s, opcode, any(), &rules);
	at = any() % (anywhere ? s.at[2] - s.at[1] : front);
	CHECK_EQ(read_at(&s, 0, &rules, &first), IWT_FPDU_OK);
	s.octets[s.at[1] + at] ^= 1 << bit;
	tap_about("opcode %u octet %u bit %u rules %u at %x", opcode, at, bit, how, s.pos);
	f = first;
	if (!follows_at(&s, 1, &rules, &f)) {
		CHECK(!memcmp(&f, &first, sizeof(f)));
		return false;
	}
	/* some bits of a marker in front of the segment are ignored */
	CHECK(!rules.crc && (at >= front || rules.markers));
	CHECK_EQ(read_at(&s, 1, &rules, &g), IWT_FPDU_OK);
	CHECK(same(&f, &g));
	return true;
}

/* Bits that a peer changes: a predicted segment equals the segment that is read. */
static void test_changed(u8 opcode, const char *name)
{
	u32 round, followed = 0;

	tap_begin("fpdu: a changed %s is not predicted, or the parser reads the same", name);
	for (round = 0; round < 20000; round++)
		followed += follows_changed(opcode, round, round % 3 == 0);
	CHECK(followed > 0);
	tap_end();
}

/* A Read Request is one segment. The next segment is not predicted, even if L is not set. */
static void test_no_payload(void)
{
	struct frame_rules rules = {};
	struct iwt_fpdu_rules in = {};
	struct iwt_rdmap_read read = { .size = 1 };
	struct iwt_fpdu f;
	struct iwt_txseg m;
	struct stream s = { .n = 2 };

	tap_begin("fpdu: no prediction after a Read Request that is not the last segment");
	iwt_txseg_read_req(&m, 1, &read);
	s.at[1] = frame_next(&m, MULPDU, NULL, 0, &rules, s.octets);
	s.octets[2] &= ~IWT_DDP_LAST;
	memcpy(s.octets + s.at[1], s.octets, s.at[1]);
	s.at[2] = 2 * s.at[1];
	CHECK_EQ(read_at(&s, 0, &in, &f), IWT_FPDU_OK);
	CHECK(!f.ddp.last);
	CHECK(!follows_at(&s, 1, &in, &f));
	tap_end();
}

/* Flips @rounds random bits of the segments after the first segment. */
static void change_some(struct stream *s, u32 rounds)
{
	while (rounds--)
		s->octets[s->at[1] + any() % (s->at[s->n] - s->at[1])] ^= 1 << any() % 8;
}

/*
 * iwt_fpdu_alike() must count the same segments that iwt_fpdu_follows() predicts one by one
 * without checking CRCs. Return: the number of segments.
 */
static u32 check_alike(u8 opcode, bool crc, u32 changes)
{
	struct iwt_fpdu_rules rules = { .crc = crc }, lax = {};
	struct iwt_fpdu first, f, g;
	struct iwt_cursor c;
	struct stream s;
	u32 n, i;

	make(&s, opcode, any(), &rules);
	CHECK_EQ(read_at(&s, 0, &rules, &first), IWT_FPDU_OK);
	change_some(&s, changes);
	n = alike_at(&s, 1, &rules, &first);
	tap_about("opcode %u crc %u changes %u alike %u", opcode, crc, changes, n);
	f = first;
	for (i = 0; i < n; i++) {
		const u8 *p = s.octets + s.at[1] + i * first.size;

		g = f;
		CHECK(follows_at(&s, 1 + i, &lax, &f));
		CHECK_EQ(iwt_fpdu_crc_holds(p, first.size, &rules),
			 follows_at(&s, 1 + i, &rules, &g));
	}
	CHECK(!follows_at(&s, 1 + n, &lax, &f));
	if (n) {
		g = first;
		c = cursor_at(&s, 1);
		iwt_fpdu_pass(&g, &c, n);
		CHECK(g.follows && same(&f, &g));
	}
	return n;
}

static void test_alike(u8 opcode, const char *name)
{
	u32 round, seen[4] = {};

	tap_begin("fpdu: the run of a %s has the segments that are predicted one by one", name);
	for (round = 0; round < 20000; round++)
		seen[check_alike(opcode, round & 1, any() % 4)]++;
	CHECK(seen[0] && seen[1] && seen[2] && !seen[3]);
	tap_end();
}

/* Only FPDUs that end within the received octets, and within the piece, are counted. */
static void test_alike_there(void)
{
	struct iwt_fpdu_rules rules = {}, markers = { .markers = true };
	struct iwt_fpdu first, none = {};
	struct iwt_cursor c;
	struct stream s;
	u32 n;

	tap_begin("fpdu: a run has only whole segments, in one piece, of one message");
	make(&s, IWT_OP_WRITE, any(), &rules);
	CHECK_EQ(read_at(&s, 0, &rules, &first), IWT_FPDU_OK);
	CHECK_EQ(alike_at(&s, 1, &rules, &none), 0);
	CHECK_EQ(alike_at(&s, 1, &markers, &first), 0);
	for (n = 0; n <= s.at[s.n] - s.at[1]; n++) {
		u32 whole = n >= 2 * first.size ? 2 : n / first.size;

		c = cursor_at(&s, 1);
		CHECK_EQ(iwt_fpdu_alike(&c, n, ~0, &first), whole);
		CHECK_EQ(iwt_fpdu_alike(&c, n, 1, &first), whole ? 1 : 0);
		CHECK_EQ(iwt_fpdu_alike(&c, n, 0, &first), 0);
		c.len = n;
		CHECK_EQ(iwt_fpdu_alike(&c, 4096, ~0, &first), whole);
	}
	tap_end();
}

/* Compares the payload of @f at @c with @payload, and moves @c to the end of the FPDU. */
static void check_payload(struct pieces_cursor *c, struct iwt_fpdu *f, const u8 *payload,
			  const struct iwt_fpdu_rules *rules)
{
	struct pieces_cursor at = *c;
	u32 len, got = 0;
	const u8 *p;

	CHECK(iwt_fpdu_payload(f, &at.c, rules));
	while ((p = iwt_fpdu_piece(f, &at.c, UINT32_MAX, &len))) {
		CHECK(got + len <= f->payload_len && !memcmp(p, payload + got, len));
		got += len;
	}
	CHECK_EQ(got, f->payload_len);
	CHECK(iwt_cursor_skip(&c->c, f->size));
	if (f->flat)
		return;
	CHECK(iwt_cursor_skip(&at.c, iwt_fpdu_rest(f, rules)));
	CHECK_EQ(at.next, c->next);
	CHECK_EQ(at.c.len, c->c.len);
}

/*
 * Reads a message from pieces of random length. Return: number of predicted FPDUs that lay in
 * several pieces
 */
static u32 check_cut(u8 opcode, u32 how)
{
	struct iwt_fpdu_rules rules = rules_of(how);
	struct iwt_fpdu f = {}, g = {};
	struct pieces_cursor c;
	struct pieces pieces;
	u32 cuts[6], i, followed = 0, placed = 0;
	struct stream s;
	u32 err;

	make(&s, opcode, any(), &rules);
	for (i = 0; i < ARRAY_SIZE(cuts); i++)
		cuts[i] = (i ? cuts[i - 1] : 0) + 1 + any() % 90;
	pieces_cut(&pieces, s.octets, s.at[s.n], cuts, ARRAY_SIZE(cuts));
	c = pieces_start(&pieces);
	for (i = 0; i < s.n; i++) {
		u32 left = s.at[s.n] - s.at[i];
		u32 room;
		bool follows;

		tap_about("opcode %u rules %u at %x segment %u cut at %u %u %u %u %u %u", opcode,
			  how, s.pos, i, cuts[0], cuts[1], cuts[2], cuts[3], cuts[4], cuts[5]);
		if (!c.c.len)
			CHECK(c.c.more(&c.c));
		CHECK_EQ(iwt_fpdu_read(&c.c, sizeof(c), left, s.pos + s.at[i], &rules, &g,
				       &err), IWT_FPDU_OK);
		CHECK(!iwt_fpdu_follows(&c.c, g.size - 1, &rules, &f));
		follows = iwt_fpdu_follows(&c.c, left, &rules, &f);
		CHECK(!follows || (i && i < s.n - 1 && same(&f, &g)));
		CHECK(!follows || !(rules.crc || rules.markers) || f.flat || f.marked);
		room = rules.crc || rules.markers ? g.size : IWT_FPDU_LEN_LEN + g.hdr_len;
		CHECK(follows || !i || i == s.n - 1 || c.c.len < room || divided(&s, i, &g, &rules));
		followed += follows && !f.flat;
		f = g;
		check_payload(&c, &f, s.data + placed, &rules);
		placed += f.payload_len;
	}
	pieces_free(&pieces);
	return followed;
}

static void test_cut(u8 opcode, const char *name)
{
	u32 round, followed = 0;

	tap_begin("fpdu: a %s in pieces is parsed, predicted and skipped alike", name);
	for (round = 0; round < 20000; round++)
		followed += check_cut(opcode, round);
	CHECK(followed > 0);
	tap_end();
}

/*
 * A bit of the payload, the pad or the CRC of FPDU @i is wrong, and the octets are cut into two
 * pieces at a random offset.
 */
static void check_cut_bad(u8 opcode, u32 i, bool markers)
{
	struct iwt_fpdu_rules rules = { .crc = true, .markers = markers };
	struct iwt_fpdu f = {};
	struct pieces_cursor c;
	struct pieces pieces;
	struct stream s;
	u32 cut, bad, left, err;

	make(&s, opcode, any(), &rules);
	if (i)
		CHECK_EQ(read_at(&s, i - 1, &rules, &f), IWT_FPDU_OK);
	left = s.at[s.n] - s.at[i];
	cut = 1 + any() % (left - 1);
	bad = 20 + any() % (s.at[i + 1] - s.at[i] - 20);
	s.octets[s.at[i] + bad] ^= 1 << any() % 8;
	pieces_cut(&pieces, s.octets + s.at[i], left, &cut, 1);
	c = pieces_start(&pieces);
	CHECK(c.c.len || c.c.more(&c.c));
	tap_about("opcode %u at %x segment %u cut at %u, octet %u is wrong", opcode, s.pos, i, cut,
		  bad);
	CHECK(!iwt_fpdu_follows(&c.c, left, &rules, &f));
	CHECK_EQ(iwt_fpdu_read(&c.c, sizeof(c), left, s.pos + s.at[i], &rules, &f, &err),
		 IWT_FPDU_BAD);
	CHECK_EQ(err, IWT_ERR_MPA_CRC);
	pieces_free(&pieces);
}

static void test_cut_bad(void)
{
	u32 round;

	tap_begin("fpdu: a wrong octet is found wherever the pieces are cut");
	for (round = 0; round < 20000; round++)
		check_cut_bad(round & 1 ? IWT_OP_WRITE : IWT_OP_SEND, any() % 4, round & 2);
	tap_end();
}

static void test_not_there(void)
{
	struct iwt_fpdu_rules rules = { .crc = true };
	struct iwt_fpdu f = {}, first;
	struct iwt_cursor c;
	struct stream s;
	u32 n;

	tap_begin("fpdu: no prediction of an FPDU that is incomplete or in two pieces");
	make(&s, IWT_OP_WRITE, 0, &rules);
	CHECK(!follows_at(&s, 0, &rules, &f));
	CHECK_EQ(read_at(&s, 0, &rules, &first), IWT_FPDU_OK);
	for (n = 0; n <= first.size; n++) {
		c = cursor_at(&s, 1);
		f = first;
		CHECK_EQ(iwt_fpdu_follows(&c, n, &rules, &f), n == first.size);
		c.len = n;
		f = first;
		CHECK_EQ(iwt_fpdu_follows(&c, 4096, &rules, &f), n == first.size);
	}
	tap_end();
}

/*
 * Each bit of the markers in FPDU @i is changed under a right CRC. Only an FPDU with a changed
 * pointer is not predicted. Return: number of markers
 */
static u32 check_wrong_markers(struct stream *s, u32 i, const struct iwt_fpdu *before)
{
	struct iwt_fpdu_rules rules = { .crc = true, .markers = true };
	u32 size = s->at[i + 1] - s->at[i], at, bit, n = 0, err;
	u8 *p = s->octets + s->at[i];

	for (at = -(s->pos + s->at[i]) % 512; at < size; at += 512, n++) {
		for (bit = 0; bit < 32; bit++) {
			struct iwt_cursor c = { .p = p, .len = size };
			struct iwt_fpdu f = *before, g;
			bool counts = bit >= 16 && bit < 30;

			tap_about("at %x marker at %u bit %u", s->pos, at, bit);
			p[at + bit / 8] ^= 0x80 >> bit % 8;
			put_unaligned_le32(~crc32c(~0, p, size - 4), p + size - 4);
			CHECK_EQ(iwt_fpdu_follows(&c, size, &rules, &f),
				 !counts && !divided(s, i, before, &rules));
			CHECK_EQ(iwt_fpdu_read(&c, sizeof(c), size, s->pos + s->at[i], &rules,
					       &g, &err), counts ? IWT_FPDU_BAD : IWT_FPDU_OK);
			CHECK_EQ(err, counts ? IWT_ERR_MPA_MARKER : IWT_OK);
			p[at + bit / 8] ^= 0x80 >> bit % 8;
		}
	}
	return n;
}

static void test_wrong_markers(void)
{
	struct iwt_fpdu_rules rules = { .crc = true, .markers = true };
	struct iwt_fpdu before;
	struct stream s;
	u32 round, n = 0;

	tap_begin("fpdu: an FPDU with a wrong marker is not predicted");
	for (round = 0; round < 1000; round++) {
		make(&s, round & 1 ? IWT_OP_WRITE : IWT_OP_SEND, 1, &rules);
		CHECK_EQ(read_at(&s, 0, &rules, &before), IWT_FPDU_OK);
		n += check_wrong_markers(&s, 1, &before);
	}
	CHECK(n > 100);
	tap_end();
}

void test_fpdu_follow(void)
{
	test_message();
	test_changed(IWT_OP_WRITE, "Write");
	test_changed(IWT_OP_SEND_INV, "Send");
	test_alike(IWT_OP_WRITE, "Write");
	test_alike(IWT_OP_SEND_SE, "Send");
	test_alike_there();
	test_no_payload();
	test_cut(IWT_OP_WRITE, "Write");
	test_cut(IWT_OP_SEND_SE, "Send");
	test_cut_bad();
	test_wrong_markers();
	test_not_there();
}
