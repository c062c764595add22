// SPDX-License-Identifier: GPL-2.0
/* Checks the writing and reading of Terminate messages. */
#include <stdlib.h>

#include "frame.h"
#include "term.h"
#include "unit.h"

/* The Terminate vectors: the error, and the headers of the message that caused the error */
static const struct {
	const char *id, *hdr;
	u32 err;
	u16 seg_len;
	u8 ctrl;
} terms[] = {
	{ "V-T1", "c140999999000000000000000000", 0x11100, 22, 0xc0 },
	{ "V-T2", "414300000000000000000000000100000000", 0x11205, 83, 0xc0 },
	{ "V-T3", "414100000000000000010000000100000000aabbccdd000000000000"
		  "002000000064556677880000000000000300", 0x10102, 46, 0xe0 },
	{ "V-T4", "414300000000000000000000000100000000", 0x12002, 83, 0 },
	{ "V-T5", "", 0x12006, 0, 0 },
	{ "V-T6", "", 0x12007, 0, 0 },
	{ "V-T7", "414c00000000000000000000000100000000", 0x10206, 18, 0xc0 },
	{ "V-T8", "414300000000000000000000000100000000", 0x10000, 20, 0 },
};

static void test_vectors(void)
{
	u8 hdr[70], body[52], frame[128];
	struct frame_rules rules;
	const struct vector *v;
	struct iwt_txseg m;
	struct iwt_term t;
	u32 i, hdr_len, n;

	tap_begin("term: the vectors are written and read");
	for (i = 0; i < ARRAY_SIZE(terms); i++) {
		tap_about("%s", terms[i].id);
		v = vector_find(terms[i].id);
		hdr_len = unhex(terms[i].hdr, hdr);
		memset(body, 0xff, sizeof(body));
		n = iwt_term_build(terms[i].err, hdr, hdr_len,
				   terms[i].seg_len, body);
		iwt_txseg_term(&m, body, n);
		rules = (struct frame_rules){ .crc = true };
		CHECK_EQ(frame_next(&m, 1442, NULL, 0, &rules, frame), v->len);
		CHECK(!memcmp(frame, v->octets, v->len));
		CHECK(m.done);

		CHECK_EQ(iwt_term_parse(v->octets + 20, n, &t), IWT_OK);
		CHECK_EQ(t.err, terms[i].err);
		CHECK_EQ(t.has_len, terms[i].ctrl >> 7);
		CHECK_EQ(t.has_ddp, terms[i].ctrl >> 6 & 1);
		CHECK_EQ(t.has_rdmap, terms[i].ctrl >> 5 & 1);
		CHECK_EQ(t.seg_len, t.has_len ? terms[i].seg_len : 0);
		if (t.has_ddp) {
			CHECK_EQ(t.ddp.opcode, hdr[1] & 15);
			CHECK_EQ(t.ddp.tagged, hdr[0] >> 7);
			CHECK_EQ(t.ddp.last, hdr[0] >> 6 & 1);
		}
	}
	tap_end();
}

static u8 ctrl_of(u32 err, const char *hex, u32 hdr_len, u32 *len)
{
	u8 hdr[70], body[52] = { 0 };

	unhex(hex, hdr);
	*len = iwt_term_build(err, hdr, hdr_len, hdr_len, body);
	return body[2];
}

#define READ_HDR \
	"414100000000000000010000000100000000aabbccdd0000000000000020" \
	"00000064556677880000000000000300"
#define SEND_INV_HDR	"41440000abcd000000000000000100000000"
#define WRITE_HDR	"c140000000010000000000000000"
#define ATOMIC_HDR	"414a00000000000000010000000200000000"

/* RFC 5040 4.8: the error, and the message with the error, decide which headers are included. */
static void test_headers(void)
{
	u32 len;

	tap_begin("term: the headers that a Terminate includes");
	CHECK_EQ(ctrl_of(0x10000, READ_HDR, 46, &len), 0);
	CHECK_EQ(len, 4);
	CHECK_EQ(ctrl_of(0x10102, READ_HDR, 46, &len), 0xe0);
	CHECK_EQ(len, 52);
	/* If the Read Request is cut off, the Terminate does not contain its RDMAP header. */
	CHECK_EQ(ctrl_of(0x10102, READ_HDR, 45, &len), 0xc0);
	CHECK_EQ(len, 24);
	CHECK_EQ(ctrl_of(0x10109, SEND_INV_HDR, 18, &len), 0xc0);
	CHECK_EQ(ctrl_of(0x10102, WRITE_HDR, 14, &len), 0xc0);
	CHECK_EQ(len, 20);
	CHECK_EQ(ctrl_of(0x10102, ATOMIC_HDR, 18, &len), 0xc0);
	CHECK_EQ(ctrl_of(0x102ff, READ_HDR, 46, &len), 0xc0);
	CHECK_EQ(ctrl_of(0x11202, READ_HDR, 46, &len), 0xc0);
	CHECK_EQ(ctrl_of(0x11100, WRITE_HDR, 14, &len), 0xc0);
	CHECK_EQ(ctrl_of(0x12002, WRITE_HDR, 14, &len), 0);
	CHECK_EQ(len, 4);
	/* The segment is shorter than its header, or there is no segment at all. */
	CHECK_EQ(ctrl_of(0x11000, WRITE_HDR, 13, &len), 0x80);
	CHECK_EQ(len, 6);
	CHECK_EQ(ctrl_of(0x11000, READ_HDR, 17, &len), 0x80);
	CHECK_EQ(ctrl_of(0x11000, "", 0, &len), 0);
	CHECK_EQ(len, 4);
	tap_end();
}

static struct iwt_term parse(const char *hex)
{
	struct iwt_term t;
	u8 octets[80];

	memset(&t, 0xa5, sizeof(t));
	CHECK_EQ(iwt_term_parse(octets, unhex(hex, octets), &t), IWT_OK);
	return t;
}

static void test_peers(void)
{
	struct iwt_term t;

	tap_begin("term: malformed Terminates of known peers");
	/* mirrored nibbles and flags: the peer means error 1205 with M and D */
	t = parse("21050300");
	CHECK_EQ(t.err, IWT_ERR(2, 0, 5));
	CHECK(!t.has_len && !t.has_ddp && !t.has_rdmap);
	t = parse("02020000");
	CHECK_EQ(t.err, IWT_ERR(0, 2, 2));
	/* an MPA error with error type 3, and with the right error type 0 */
	CHECK_EQ(parse("23020000").err, IWT_ERR_MPA_CRC);
	CHECK_EQ(parse("20020000").err, IWT_ERR_MPA_CRC);
	/* zeros instead of absent headers */
	t = parse("00000000" "0000" "0000000000000000000000000000");
	CHECK(!t.has_len && !t.has_ddp && !t.has_rdmap);
	/* reserved bits are set */
	t = parse("12051fff");
	CHECK_EQ(t.err, IWT_ERR_UNT_LONG);
	CHECK(!t.has_len && !t.has_ddp && !t.has_rdmap);
	/* the flag D without the flag M */
	t = parse("1100400000ff" WRITE_HDR);
	CHECK(!t.has_len && t.has_ddp);
	CHECK_EQ(t.seg_len, 0);
	/* the flag R with a tagged header; the flag R without the flag D */
	t = parse("0102e0000016" WRITE_HDR "00000000000000000000000000000000"
		  "000000000000000000000000");
	CHECK(t.has_len && t.has_ddp && !t.has_rdmap);
	t = parse("0102a0000016" READ_HDR);
	CHECK(t.has_len && !t.has_ddp && !t.has_rdmap);
	tap_end();
}

static void test_cut(void)
{
	const struct vector *v = vector_find("V-T3");
	struct iwt_term t;
	u8 *exact;
	u32 len;

	tap_begin("term: a Terminate that is cut at every octet");
	for (len = 0; len <= 52; len++) {
		tap_about("%u octets", len);
		exact = malloc(len);
		memcpy(exact, v->octets + 20, len);
		memset(&t, 0xa5, sizeof(t));
		CHECK_EQ(iwt_term_parse(exact, len, &t),
			 len < 4 ? IWT_ERR_OP_UNSPEC : IWT_OK);
		CHECK_EQ(t.err, len < 4 ? 0 : IWT_ERR_PROT_ACCESS);
		CHECK_EQ(t.has_len, len >= 6);
		CHECK_EQ(t.seg_len, len >= 6 ? 46 : 0);
		CHECK_EQ(t.has_ddp, len >= 24);
		CHECK_EQ(t.has_rdmap, len >= 52);
		free(exact);
	}
	tap_end();
}

void test_term(void)
{
	test_vectors();
	test_headers();
	test_peers();
	test_cut();
}
