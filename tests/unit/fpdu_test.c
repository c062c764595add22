// SPDX-License-Identifier: GPL-2.0
/*
 * Checks how FPDUs are read: versions, lengths, markers, CRC, and payload in pieces (RFC 5044).
 */
#include <stdlib.h>

#include <linux/crc32c.h>
#include <linux/unaligned.h>

#include "frame.h"
#include "pieces.h"
#include "rdmap.h"
#include "unit.h"

static const struct iwt_fpdu_rules plain = { .crc = true };

/* Writes the correct CRC into a changed FPDU. */
static void reseal(u8 *frame, u32 len)
{
	put_unaligned_le32(~crc32c(~0, frame, len - 4), frame + len - 4);
}

static u32 copy_of(const char *id, u8 *frame)
{
	const struct vector *v = vector_find(id);

	memcpy(frame, v->octets, v->len);
	return v->len;
}

static void test_pad(void)
{
	struct iwt_fpdu f;
	u8 frame[64];
	u32 err, n = copy_of("V-D5", frame);

	tap_begin("fpdu: the values of pad octets are ignored, but the CRC covers them");
	frame[n - 5] = 0xff;
	CHECK_EQ(frame_read(frame, n, 0, &plain, &f, &err), IWT_FPDU_BAD);
	CHECK_EQ(err, IWT_ERR_MPA_CRC);
	reseal(frame, n);
	CHECK_EQ(frame_read(frame, n, 0, &plain, &f, &err), IWT_FPDU_OK);
	CHECK_EQ(f.payload_len, 1);
	tap_end();
}

/* Reads an FPDU with the versions @dv and @rv, on an IETF stream and on an RDMAC stream. */
static void check_version(const char *id, u8 dv, u8 rv)
{
	struct iwt_fpdu_rules rules = { .crc = true };
	struct iwt_fpdu f;
	u8 frame[64];
	u32 err, n = copy_of(id, frame);
	bool tagged = frame[2] & 0x80;

	frame[2] = (frame[2] & ~3) | dv;
	frame[3] = (frame[3] & 0x3f) | rv << 6;
	reseal(frame, n);
	do {
		tap_about("%s DV %u RV %u rdmac %u", id, dv, rv, rules.rdmac);
		if (dv == !rules.rdmac) {
			CHECK_EQ(frame_read(frame, n, 0, &rules, &f, &err),
				 IWT_FPDU_OK);
			CHECK_EQ(iwt_rdmap_check(&f.ddp, f.ulpdu_len),
				 rv == dv ? IWT_OK : IWT_ERR_OP_VERSION);
		} else {
			CHECK_EQ(frame_read(frame, n, 0, &rules, &f, &err),
				 IWT_FPDU_BAD);
			CHECK_EQ(err, tagged ? IWT_ERR_TAG_VERSION :
				 IWT_ERR_UNT_VERSION);
		}
		rules.rdmac = !rules.rdmac;
	} while (rules.rdmac);
}

static void test_versions(void)
{
	static const char * const ids[] = {
		"V-D1", "V-D2", "V-D3", "V-D5", "V-D9",
	};
	u32 i, bits;

	tap_begin("fpdu: versions (DV, RV) of RDMAC peers and of IETF peers");
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		for (bits = 0; bits < 16; bits++)
			check_version(ids[i], bits >> 2, bits & 3);
	tap_end();
}

static void test_no_crc(void)
{
	static const struct iwt_fpdu_rules none;
	const struct vector *v;
	struct iwt_fpdu f;
	u8 frame[64];
	u32 err, n;

	tap_begin("fpdu: without CRC the CRC field is ignored");
	v = vector_find("V-C0");
	CHECK_EQ(frame_read(v->octets, v->len, 0, &none, &f, &err),
		 IWT_FPDU_OK);
	CHECK_EQ(frame_read(v->octets, v->len, 0, &plain, &f, &err),
		 IWT_FPDU_BAD);
	n = copy_of("V-D9", frame);
	put_unaligned_be32(0xdeadbeef, frame + n - 4);
	CHECK_EQ(frame_read(frame, n, 0, &none, &f, &err), IWT_FPDU_OK);
	CHECK_EQ(f.size, n);
	tap_end();
}

static void test_reserved(void)
{
	struct iwt_fpdu f;
	u8 frame[64];
	u32 err, n = copy_of("V-D10", frame);

	tap_begin("fpdu: reserved bits of the headers are ignored");
	frame[2] |= 0x3c;
	frame[3] |= 0x30;
	reseal(frame, n);
	CHECK_EQ(frame_read(frame, n, 0, &plain, &f, &err), IWT_FPDU_OK);
	CHECK_EQ(f.ddp.opcode, IWT_OP_SEND_SE);
	CHECK_EQ(f.ddp.dv, 1);
	CHECK_EQ(iwt_rdmap_check(&f.ddp, f.ulpdu_len), IWT_OK);
	tap_end();
}

static void test_version(void)
{
	struct iwt_fpdu f;
	u8 frame[64];
	u32 err, n, dv;

	tap_begin("fpdu: another DDP version is refused");
	for (dv = 0; dv < 4; dv++) {
		n = copy_of("V-D1", frame);
		frame[2] = 0xc0 | dv;
		reseal(frame, n);
		CHECK_EQ(frame_read(frame, n, 0, &plain, &f, &err),
			 dv == 1 ? IWT_FPDU_OK : IWT_FPDU_BAD);
		CHECK_EQ(err, dv == 1 ? 0 : IWT_ERR_TAG_VERSION);
		CHECK_EQ(f.hdr_len, 14);
		CHECK_EQ(f.hdr[0], 0xc0 | dv);
		n = copy_of("V-D4", frame);
		frame[2] = 0x40 | dv;
		reseal(frame, n);
		CHECK_EQ(frame_read(frame, n, 0, &plain, &f, &err),
			 dv == 1 ? IWT_FPDU_OK : IWT_FPDU_BAD);
		CHECK_EQ(err, dv == 1 ? 0 : IWT_ERR_UNT_VERSION);
		CHECK_EQ(f.hdr_len, 18);
	}
	tap_end();
}

/* ULPDUs of every opcode and every length up to 80 octets, in memory of exactly their size. */
static void test_short(void)
{
	u32 ctrl, op, len, pos, n, err, least;
	struct iwt_fpdu_rules rules;
	struct frame_rules put;
	struct iwt_fpdu f;
	u8 ulpdu[80], *frame;

	memset(ulpdu, 0xee, sizeof(ulpdu));
	tap_begin("fpdu: ULPDUs shorter than their headers");
	for (ctrl = 0; ctrl < 2; ctrl++) {
		for (op = 0; op < 16; op++) {
			for (len = 0; len <= sizeof(ulpdu); len++) {
				for (pos = 504; pos <= 520; pos += 4) {
					tap_about("T %u op %u len %u", ctrl,
						  op, len);
					ulpdu[0] = ctrl ? 0xc1 : 0x41;
					ulpdu[1] = 0x40 | op;
					rules = (struct iwt_fpdu_rules){
						true, pos != 504 };
					put = (struct frame_rules){
						pos, rules.markers, true };
					frame = malloc(120);
					n = frame_ulpdu(ulpdu, len, &put, frame);
					frame = realloc(frame, n);
					memset(&f, 0xa5, sizeof(f));
					least = ctrl ? 14 : 18;
					CHECK_EQ(frame_read(frame, n, pos,
							    &rules, &f, &err),
						 len < least ? IWT_FPDU_BAD :
						 IWT_FPDU_OK);
					CHECK_EQ(err, len < least ?
						 IWT_ERR_DDP_LOCAL : IWT_OK);
					CHECK_EQ(f.size, n);
					CHECK_EQ(f.ulpdu_len, len);
					CHECK(f.hdr_len <= len);
					CHECK(f.hdr_len <= sizeof(f.hdr));
					CHECK_EQ(f.hdr_len + f.payload_len,
						 len);
					CHECK(!memcmp(f.hdr, ulpdu, f.hdr_len));
					free(frame);
				}
			}
		}
	}
	tap_end();
}

/* Checks how many octets of the ULPDU are copied as its header, for each opcode. */
static void test_headers(void)
{
	static const u32 untagged[16] = {
		18, 46, 18, 18, 18, 18, 18, 70, 26, 26, 70, 30, 18, 18, 18, 18,
	};
	u8 ulpdu[100] = { 0 }, frame[120];
	struct frame_rules put;
	u32 op, tagged, err, n;
	struct iwt_fpdu f;

	tap_begin("fpdu: length of the headers for each opcode");
	for (op = 0; op < 16; op++) {
		for (tagged = 0; tagged < 2; tagged++) {
			tap_about("T %u op %u", tagged, op);
			put = (struct frame_rules){ .crc = true };
			ulpdu[0] = tagged ? 0xc1 : 0x41;
			ulpdu[1] = 0x40 | op;
			n = frame_ulpdu(ulpdu, sizeof(ulpdu), &put, frame);
			CHECK_EQ(frame_read(frame, n, 0, &plain, &f, &err),
				 IWT_FPDU_OK);
			CHECK_EQ(f.hdr_len, tagged ? 14 : untagged[op]);
			CHECK_EQ(f.payload_len, 100 - f.hdr_len);
		}
	}
	tap_end();
}

static void test_marker_content(void)
{
	struct iwt_fpdu_rules rules = { true, true };
	const struct vector *v = vector_find("V-M9");
	static const u32 at[] = { 20, 532, 1044 };
	struct iwt_fpdu f;
	u8 frame[1500];
	u32 i, bit, err;

	tap_begin("fpdu: each bit of a marker is changed under a valid CRC");
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		for (bit = 0; bit < 32; bit++) {
			tap_about("marker %u bit %u", i, bit);
			memcpy(frame, v->octets, v->len);
			frame[at[i] + bit / 8] ^= 0x80 >> bit % 8;
			reseal(frame, v->len);
			/* receivers ignore the reserved half and the lowest two bits of the pointer */
			if (bit < 16 || bit >= 30) {
				CHECK_EQ(frame_read(frame, v->len, v->pos,
						    &rules, &f, &err),
					 IWT_FPDU_OK);
			} else {
				CHECK_EQ(frame_read(frame, v->len, v->pos,
						    &rules, &f, &err),
					 IWT_FPDU_BAD);
				CHECK_EQ(err, IWT_ERR_MPA_MARKER);
			}
		}
	}
	/* The pointer of a marker in front of an FPDU must be 0, except for its two low bits. */
	copy_of("V-M3", frame);
	frame[3] = 4;
	reseal(frame, 52);
	CHECK_EQ(frame_read(frame, 52, 512, &rules, &f, &err), IWT_FPDU_BAD);
	CHECK_EQ(err, IWT_ERR_MPA_MARKER);
	frame[3] = 3;
	reseal(frame, 52);
	CHECK_EQ(frame_read(frame, 52, 512, &rules, &f, &err), IWT_FPDU_OK);
	tap_end();
}

/* A wrong marker is found even if CRC is not used. */
static void test_marker_alone(void)
{
	struct iwt_fpdu_rules rules = { false, true };
	struct iwt_fpdu f;
	u8 frame[64];
	u32 err;

	tap_begin("fpdu: markers are checked also without CRC");
	copy_of("V-M5", frame);
	frame[51] ^= 1;
	CHECK_EQ(frame_read(frame, 52, 472, &rules, &f, &err), IWT_FPDU_OK);
	frame[43] ^= 4;
	CHECK_EQ(frame_read(frame, 52, 472, &rules, &f, &err), IWT_FPDU_BAD);
	CHECK_EQ(err, IWT_ERR_MPA_MARKER);
	tap_end();
}

/* After the payload, iwt_fpdu_rest() octets are left until the end of the FPDU. */
static void check_rest(const struct pieces_cursor *begin, struct iwt_fpdu *f,
		       const struct iwt_fpdu_rules *rules)
{
	struct pieces_cursor at = *begin, end = *begin;
	u32 len;

	CHECK(iwt_fpdu_payload(f, &at.c, rules));
	while (iwt_fpdu_piece(f, &at.c, UINT32_MAX, &len))
		;
	if (f->flat)
		return;
	CHECK(iwt_cursor_skip(&at.c, iwt_fpdu_rest(f, rules)));
	CHECK(iwt_cursor_skip(&end.c, f->size));
	CHECK(at.next == end.next && at.c.len == end.c.len);
}

/* Writes FPDUs of many lengths, cuts the stream into pieces, and reads the FPDUs back. */
static void stream(u32 pos, bool markers, bool crc)
{
	struct iwt_fpdu_rules rules = { crc, markers };
	struct frame_rules put = { pos, markers, crc };
	u8 *octets = malloc(200000), ulpdu[1500];
	u32 total = 0, lens[60], i, k, err, cuts[PIECES_MAX - 1];
	struct pieces_cursor pc;
	struct iwt_fpdu f;
	struct pieces p;

	memset(ulpdu, 0x77, sizeof(ulpdu));
	ulpdu[0] = 0xc1;
	ulpdu[1] = 0x40;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		lens[i] = 14 + any() % (sizeof(ulpdu) - 14);
		total += frame_ulpdu(ulpdu, lens[i], &put, octets + total);
	}
	for (k = 0; k < ARRAY_SIZE(cuts); k++)
		cuts[k] = (u64)total * (k + 1) / PIECES_MAX + any() % 3;
	pieces_cut(&p, octets, total, cuts, ARRAY_SIZE(cuts));
	pc = pieces_start(&p);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		tap_about("pos %x fpdu %u", pos, i);
		if (!CHECK_EQ(iwt_fpdu_read(&pc.c, sizeof(pc), total, pos,
					    &rules, &f, &err), IWT_FPDU_OK))
			break;
		CHECK_EQ(f.ulpdu_len, lens[i]);
		if (f.payload_len)
			check_rest(&pc, &f, &rules);
		CHECK(iwt_cursor_skip(&pc.c, f.size));
		pos += f.size;
		total -= f.size;
	}
	CHECK_EQ(total, 0);
	CHECK_EQ(pos, put.pos);
	pieces_free(&p);
	free(octets);
}

static void test_streams(void)
{
	u32 i;

	tap_begin("fpdu: streams of many FPDUs, also when the position wraps at 2^32");
	for (i = 0; i < 16; i++) {
		stream(0, i & 1, i & 2);
		stream(0xffffff00, i & 1, i & 2);
		stream(-(i + 1) * 4096, i & 1, i & 2);
	}
	tap_end();
}

/* The longest ULPDU that the length field can express, with markers beyond offset 2^16. */
static void test_longest(void)
{
	u8 *ulpdu = calloc(1, 65535), *frame = malloc(67000);
	struct iwt_fpdu_rules rules = { true, true };
	struct frame_rules put = { 4, true, true };
	struct iwt_fpdu f;
	u32 n, err;

	ulpdu[0] = 0xc1;
	ulpdu[1] = 0x40;
	tap_begin("fpdu: ULPDU_Length 65535");
	n = frame_ulpdu(ulpdu, 65535, &put, frame);
	CHECK(n > 65536 + 4);
	CHECK_EQ(iwt_fpdu_size(65535, 4, true), n);
	CHECK_EQ(frame_read(frame, n, 4, &rules, &f, &err), IWT_FPDU_OK);
	CHECK_EQ(f.payload_len, 65535 - 14);
	put = (struct frame_rules){ .crc = true };
	n = frame_ulpdu(ulpdu, 65535, &put, frame);
	CHECK_EQ(n, 65544);
	CHECK_EQ(frame_read(frame, n, 0, &plain, &f, &err), IWT_FPDU_OK);
	tap_end();
	free(ulpdu);
	free(frame);
}

/* Fewer octets exist than the caller announced, so the last marker is missing. */
static void test_markers_lost(void)
{
	struct iwt_fpdu_rules rules = { .markers = true };
	struct frame_rules put = { .pos = 8, .markers = true };
	u8 ulpdu[2000] = { 0xc1, 0x40 }, *frame = malloc(4096);
	u32 n, len, last, err;
	struct pieces_cursor pc;
	struct iwt_fpdu f;
	struct pieces p;

	tap_begin("fpdu: the octets end in front of a marker");
	n = frame_ulpdu(ulpdu, sizeof(ulpdu), &put, frame);
	last = 512 - 8;
	while (last + 512 < n)
		last += 512;
	CHECK(last > 1024);
	for (len = 20; len < last + 4; len++) {
		tap_about("%u of %u octets", len, n);
		pieces_cut(&p, frame, len, NULL, 0);
		pc = pieces_start(&p);
		CHECK_EQ(iwt_fpdu_read(&pc.c, sizeof(pc), n, 8, &rules, &f,
				       &err), IWT_FPDU_BAD);
		pieces_free(&p);
	}
	tap_end();
	free(frame);
}

static void test_cursor_size(void)
{
	const struct vector *v = vector_find("V-D4");
	struct iwt_cursor c = { .p = v->octets, .len = v->len };
	union {
		struct iwt_cursor c;
		u8 room[IWT_CURSOR_MAX];
	} large = { c };
	struct iwt_fpdu f;
	u32 err;

	tap_begin("fpdu: a cursor that cannot be cloned");
	CHECK_EQ(iwt_fpdu_read(&large.c, sizeof(large), v->len, 0, &plain, &f,
			       &err), IWT_FPDU_OK);
	CHECK_EQ(iwt_fpdu_read(&c, IWT_CURSOR_MAX + 1, v->len, 0, &plain, &f,
			       &err), IWT_FPDU_BAD);
	CHECK_EQ(err, IWT_ERR_DDP_LOCAL);
	CHECK_EQ(iwt_fpdu_read(&c, sizeof(c) - 1, v->len, 0, &plain, &f,
			       &err), IWT_FPDU_BAD);
	CHECK_EQ(f.hdr_len, 0);
	tap_end();
}

static void test_lost_payload(void)
{
	struct iwt_fpdu_rules rules = { true, true };
	const struct vector *v = vector_find("V-M9");
	struct pieces_cursor pc;
	struct iwt_fpdu f;
	struct pieces p;
	u32 err, len, n;

	tap_begin("fpdu: the pieces end within the payload");
	CHECK_EQ(frame_read(v->octets, v->len, v->pos, &rules, &f, &err),
		 IWT_FPDU_OK);
	for (n = 0; n < 40; n++) {
		pieces_cut(&p, v->octets, n, NULL, 0);
		pc = pieces_start(&p);
		/* The marker at offset 20 belongs to the payload octet that follows it. */
		CHECK_EQ(iwt_fpdu_payload(&f, &pc.c, &rules), n >= 16);
		if (n >= 16) {
			while (iwt_fpdu_piece(&f, &pc.c, ~0, &len))
				CHECK(len > 0);
			CHECK_EQ(len, 0);
			CHECK(f.walked <= n - 16);
		}
		pieces_free(&p);
	}
	tap_end();
}

void test_fpdu(void)
{
	test_pad();
	test_versions();
	test_no_crc();
	test_reserved();
	test_version();
	test_short();
	test_headers();
	test_marker_content();
	test_marker_alone();
	test_streams();
	test_longest();
	test_markers_lost();
	test_cursor_size();
	test_lost_payload();
}
