// SPDX-License-Identifier: GPL-2.0
/* Checks how messages are planned as segments, and how the segments are written. */
#include <stdlib.h>

#include <linux/crc32c.h>
#include <linux/unaligned.h>

#include "frame.h"
#include "mpa.h"
#include "unit.h"

static void test_example(void)
{
	struct iwt_txplan p;
	struct iwt_txseg m;

	/* RFC 5041 5.2: 2048 octets with a MULPDU of 1500 */
	tap_begin("txseg: the example of RFC 5041 5.2");
	iwt_txseg_send(&m, IWT_OP_SEND, 0, 1, 2048);
	CHECK_EQ(m.ddp.mo, 0);
	CHECK_EQ(iwt_txseg_size(&m, 1500), 1508);
	iwt_txseg_next(&m, 1500, &p);
	CHECK_EQ(p.size, 1508);
	CHECK_EQ(p.payload, 1482);
	CHECK(!p.last && !m.done);
	CHECK_EQ(m.ddp.mo, 1482);
	CHECK_EQ(iwt_txseg_size(&m, 1500), 592);
	iwt_txseg_next(&m, 1500, &p);
	CHECK_EQ(p.size, 592);
	CHECK_EQ(p.payload, 566);
	CHECK(p.last && m.done);
	iwt_txseg_tagged(&m, IWT_OP_WRITE, 1, 16384, 2048);
	iwt_txseg_next(&m, 1500, &p);
	CHECK_EQ(p.payload, 1486);
	CHECK_EQ(m.ddp.to, 17870);
	iwt_txseg_next(&m, 1500, &p);
	CHECK_EQ(p.payload, 562);
	CHECK(m.done);
	tap_end();
}

/* iwt_txseg_again() and iwt_txseg_next() give the same FPDU and the same state of the message. */
static void check_again(struct iwt_txseg *m, u32 mulpdu)
{
	struct iwt_txplan p, want;
	struct iwt_txseg twin;
	u32 n = 0;

	iwt_txseg_next(m, mulpdu, &p);
	for (twin = *m; iwt_txseg_again(m, &p); n++) {
		iwt_txseg_next(&twin, mulpdu, &want);
		CHECK(!memcmp(p.head, want.head, want.head_len));
		CHECK_EQ(p.head_len, want.head_len);
		CHECK_EQ(p.payload, want.payload);
		CHECK_EQ(p.size, want.size);
		CHECK_EQ(p.pad, want.pad);
		CHECK(!want.last && !m->done);
		CHECK_EQ(m->left, twin.left);
		CHECK_EQ(m->ddp.to, twin.ddp.to);
		CHECK_EQ(m->ddp.mo, twin.ddp.mo);
	}
	CHECK_EQ(m->left, twin.left);
	CHECK_EQ(n + 1, (16384 - 1) / p.payload);
	iwt_txseg_next(m, mulpdu, &p);
	CHECK(p.last && m->done);
}

/* After iwt_txseg_undo() a segment, even the last segment, is planned again with equal octets. */
static void test_undo(void)
{
	struct iwt_txplan p, want;
	struct iwt_txseg m, was;
	int tagged;

	tap_begin("txseg: an undone segment is planned again in the same way");
	for (tagged = 0; tagged < 2; tagged++) {
		if (tagged)
			iwt_txseg_tagged(&m, IWT_OP_WRITE, 1, -1000ULL, 5000);
		else
			iwt_txseg_send(&m, IWT_OP_SEND, 0, 1, 5000);
		do {
			was = m;
			iwt_txseg_next(&m, 1442, &want);
			iwt_txseg_undo(&m, &want);
			CHECK_EQ(m.left, was.left);
			CHECK_EQ(m.ddp.to, was.ddp.to);
			CHECK_EQ(m.ddp.mo, was.ddp.mo);
			CHECK(!m.done);
			iwt_txseg_next(&m, 1442, &p);
			CHECK_EQ(p.size, want.size);
			CHECK(!memcmp(p.head, want.head, want.head_len));
		} while (!m.done);
	}
	tap_end();
}

static void test_again(void)
{
	static const u32 mulpdu[] = { 128, 1442, 4096 + 14, 4096 + 18, 8942 };
	struct iwt_txseg m;
	u32 i;

	tap_begin("txseg: iwt_txseg_again() plans as iwt_txseg_next() does");
	for (i = 0; i < sizeof(mulpdu) / sizeof(mulpdu[0]); i++) {
		iwt_txseg_tagged(&m, IWT_OP_WRITE, 0x11223344, ~0ull - 4000,
				 16384);
		check_again(&m, mulpdu[i]);
		iwt_txseg_send(&m, IWT_OP_SEND_INV, 7, 1, 16384);
		check_again(&m, mulpdu[i]);
		iwt_txseg_tagged(&m, IWT_OP_READ_RESP, 1, 0, 16384);
		iwt_txseg_rdmac(&m);
		check_again(&m, mulpdu[i]);
	}
	tap_end();
}

/* Plans and writes a message of one segment, and compares the segment with a vector. */
static void check_vector(struct iwt_txseg *m, const char *id, const char *data)
{
	const struct vector *v = vector_find(id);
	struct frame_rules rules = { v->pos, v->markers, true };
	u8 payload[64], frame[128];
	u32 len = unhex(data, payload);

	tap_about("%s", id);
	CHECK_EQ(frame_next(m, 1442, payload, len, &rules, frame), v->len);
	CHECK(!memcmp(frame, v->octets, v->len));
	CHECK(m->done);
}

static void test_vectors(void)
{
	static const struct iwt_rdmap_read rtr = {
		.sink_stag = 1, .src_stag = 1,
	};
	static const struct iwt_rdmap_read read = {
		0xaabbccdd, 0x20, 100, 0x55667788, 0x300,
	};
	/* A FetchAdd is written without the compare fields of the caller. */
	static const struct iwt_atomic add = {
		.op = IWT_AOP_FETCH_ADD, .id = 7, .stag = 0x55667788,
		.to = 0x300, .data = 1, .compare = 99, .compare_mask = 99,
	};
	static const struct iwt_atomic swap = {
		.op = IWT_AOP_CMP_SWAP, .id = 8, .stag = 0x55667788,
		.to = 0x300, .data = 1, .data_mask = ~0ull, .compare = 5,
		.compare_mask = ~0ull,
	};
	struct iwt_txseg m;
	struct iwt_imm imm;

	tap_begin("txseg: the planned segments are those of the vectors");
	unhex("0102030405060708", (u8 *)&imm);
	iwt_txseg_tagged(&m, IWT_OP_WRITE, 1, 0, 0);
	check_vector(&m, "V-D1", "");
	iwt_txseg_read_req(&m, 1, &rtr);
	check_vector(&m, "V-D2", "");
	iwt_txseg_tagged(&m, IWT_OP_READ_RESP, 1, 0, 0);
	check_vector(&m, "V-D3", "");
	iwt_txseg_send(&m, IWT_OP_SEND, 0, 1, 0);
	check_vector(&m, "V-D4", "");
	iwt_txseg_tagged(&m, IWT_OP_WRITE, 0x11223344, 0x1000, 1);
	check_vector(&m, "V-D5", "5a");
	iwt_txseg_read_req(&m, 1, &read);
	check_vector(&m, "V-D7", "");
	iwt_txseg_tagged(&m, IWT_OP_READ_RESP, 0xaabbccdd, 0x20, 4);
	check_vector(&m, "V-D8", "deadbeef");
	iwt_txseg_send(&m, IWT_OP_SEND_INV, 0xdeadbeef, 2, 3);
	check_vector(&m, "V-D9", "78797a");
	/* A Send that invalidates nothing has 0 in place of the STag. */
	iwt_txseg_send(&m, IWT_OP_SEND_SE, 0xdeadbeef, 3, 2);
	check_vector(&m, "V-D10", "6869");
	iwt_txseg_send(&m, IWT_OP_SEND_SE_INV, 0xdeadbeef, 4, 0);
	check_vector(&m, "V-D11", "");
	iwt_txseg_send(&m, IWT_OP_SEND, 0, 0, 0);
	check_vector(&m, "V-D13", "");
	iwt_txseg_imm(&m, IWT_OP_IMM, 5, &imm);
	check_vector(&m, "V-X1", "");
	iwt_txseg_imm(&m, IWT_OP_IMM_SE, 6, &imm);
	check_vector(&m, "V-X2", "");
	iwt_txseg_atomic_req(&m, 2, &add);
	check_vector(&m, "V-X3", "");
	iwt_txseg_atomic_req(&m, 3, &swap);
	check_vector(&m, "V-X4", "");
	iwt_txseg_atomic_resp(&m, 1, 7, 42);
	check_vector(&m, "V-X5", "");
	tap_end();
}

/* The same as check_vector(), but with version 0 of DDP and of RDMAP (RFC 5044 C.1). */
static void check_rdmac(struct iwt_txseg *m, const char *id)
{
	struct frame_rules rules = { .crc = true };
	const struct vector *v = vector_find(id);
	u8 frame[2048], want[2048];
	u32 n;

	tap_about("%s", id);
	memcpy(want, v->octets, v->len);
	want[2] &= ~3;
	want[3] &= 0x3f;
	put_unaligned_le32(~crc32c(~0, want, v->len - 4), want + v->len - 4);
	iwt_txseg_rdmac(m);
	n = frame_next(m, 1442, NULL, 0, &rules, frame);
	CHECK_EQ(n, v->len);
	CHECK(!memcmp(frame, want, n));
}

static void test_rdmac(void)
{
	static const struct iwt_rdmap_read rtr = {
		.sink_stag = 1, .src_stag = 1,
	};
	static const u8 term[] = { 0x20, 0x02, 0, 0 };
	struct iwt_txseg m;

	tap_begin("txseg: segments for an RDMAC peer");
	iwt_txseg_tagged(&m, IWT_OP_WRITE, 1, 0, 0);
	check_rdmac(&m, "V-D1");
	iwt_txseg_read_req(&m, 1, &rtr);
	check_rdmac(&m, "V-D2");
	iwt_txseg_tagged(&m, IWT_OP_READ_RESP, 1, 0, 0);
	check_rdmac(&m, "V-D3");
	iwt_txseg_send(&m, IWT_OP_SEND, 0, 1, 0);
	check_rdmac(&m, "V-D4");
	iwt_txseg_term(&m, term, sizeof(term));
	check_rdmac(&m, "V-T4");
	tap_end();
}

static const u32 mulpdus[] = {
	128, 129, 130, 506, 530, 1430, 1442, 1454, 8942, 32734, 64768,
};

static void start(struct iwt_txseg *m, u8 op, u32 len)
{
	if (op == IWT_OP_WRITE || op == IWT_OP_READ_RESP)
		iwt_txseg_tagged(m, op, 0x1234, 0xfffffff0, len);
	else
		iwt_txseg_send(m, op, 0xdeadbeef, 9, len);
}

/* Reads the segments of one message, and compares the data of the whole message. */
static void check_message(u8 op, u32 len, u32 mulpdu, const u8 *data)
{
	static const struct iwt_fpdu_rules rules = { .crc = true };
	static u8 frame[70000];
	struct frame_rules put = { .crc = true };
	u32 at = 0, n, err, hdr;
	struct iwt_txseg m;
	struct iwt_fpdu f;

	start(&m, op, len);
	hdr = m.ddp.tagged ? 14 : 18;
	do {
		n = frame_next(&m, mulpdu, data, len, &put, frame);
		if (!CHECK_EQ(frame_read(frame, n, 0, &rules, &f, &err),
			      IWT_FPDU_OK))
			return;
		CHECK_EQ(f.size, n);
		CHECK_EQ(f.size % 4, 0);
		CHECK(f.ulpdu_len <= mulpdu);
		CHECK_EQ(f.hdr_len, hdr);
		CHECK_EQ(iwt_rdmap_check(&f.ddp, f.ulpdu_len), IWT_OK);
		CHECK_EQ(f.ddp.opcode, op);
		CHECK_EQ(f.ddp.last, m.done);
		if (f.ddp.tagged) {
			CHECK_EQ(f.ddp.to, 0xfffffff0ULL + at);
			CHECK_EQ(f.ddp.stag, 0x1234);
		} else {
			CHECK_EQ(f.ddp.mo, at);
			CHECK_EQ(f.ddp.msn, 9);
			CHECK_EQ(f.ddp.stag,
				 op == IWT_OP_SEND_INV ||
				 op == IWT_OP_SEND_SE_INV ? 0xdeadbeef : 0);
		}
		CHECK(!memcmp(frame + 2 + hdr, data + at, f.payload_len));
		/* All segments except the last segment have the largest size. */
		if (!m.done)
			CHECK_EQ(f.ulpdu_len, mulpdu);
		at += f.payload_len;
	} while (!m.done);
	CHECK_EQ(at, len);
}

static void test_messages(void)
{
	static const u8 ops[] = {
		IWT_OP_WRITE, IWT_OP_READ_RESP, IWT_OP_SEND, IWT_OP_SEND_INV,
		IWT_OP_SEND_SE, IWT_OP_SEND_SE_INV,
	};
	u32 op, m, k, hdr, lens[8];
	u8 *data = malloc(140000);

	for (k = 0; k < 140000; k++)
		data[k] = any();
	tap_begin("txseg: messages are cut into segments and read back");
	for (op = 0; op < ARRAY_SIZE(ops); op++) {
		for (m = 0; m < ARRAY_SIZE(mulpdus); m++) {
			hdr = ops[op] == IWT_OP_WRITE ||
			      ops[op] == IWT_OP_READ_RESP ? 14 : 18;
			lens[0] = 0;
			lens[1] = 1;
			lens[2] = 3;
			lens[3] = mulpdus[m] - hdr - 1;
			lens[4] = mulpdus[m] - hdr;
			lens[5] = mulpdus[m] - hdr + 1;
			lens[6] = 2 * (mulpdus[m] - hdr);
			lens[7] = 2 * (mulpdus[m] - hdr) + 1;
			for (k = 0; k < ARRAY_SIZE(lens); k++) {
				tap_about("op %u len %u mulpdu %u", ops[op],
					  lens[k], mulpdus[m]);
				check_message(ops[op], lens[k], mulpdus[m],
					      data);
			}
		}
	}
	tap_end();
	free(data);
}

/* A message of 2^32 - 1 octets is only planned, not written: the test has no such payload. */
static void test_largest(void)
{
	u64 sum = 0, fpdus = 0;
	struct iwt_txplan p;
	struct iwt_txseg m;

	tap_begin("txseg: the longest message");
	iwt_txseg_send(&m, IWT_OP_SEND, 0, 1, ~0);
	while (!m.done) {
		iwt_txseg_next(&m, 64768, &p);
		sum += p.payload;
		fpdus++;
	}
	CHECK_EQ(sum, 0xffffffff);
	CHECK_EQ(fpdus, (0xffffffffULL + 64749) / 64750);
	iwt_txseg_tagged(&m, IWT_OP_WRITE, 1, 0xffffffff00000000, ~0);
	while (!m.done)
		iwt_txseg_next(&m, 64768, &p);
	CHECK_EQ(m.ddp.to, 0xffffffffffffffff);
	tap_end();
}

static void test_bounds(void)
{
	struct iwt_txplan p;
	struct iwt_txseg m;
	u8 body[100];

	tap_begin("txseg: a MULPDU outside its bounds is limited to them");
	iwt_txseg_tagged(&m, IWT_OP_WRITE, 1, 0, 1000000);
	iwt_txseg_next(&m, 0, &p);
	CHECK_EQ(p.payload, 128 - 14);
	iwt_txseg_next(&m, ~0, &p);
	CHECK_EQ(p.payload, 64768 - 14);
	/* A Terminate that is too long is cut to the maximum length. */
	memset(body, 7, sizeof(body));
	iwt_txseg_term(&m, body, sizeof(body));
	iwt_txseg_next(&m, 128, &p);
	CHECK(p.last);
	CHECK_EQ(p.head_len, 72);
	CHECK_EQ(p.size, 76);
	tap_end();
}

void test_txseg(void)
{
	test_example();
	test_undo();
	test_again();
	test_vectors();
	test_rdmac();
	test_messages();
	test_largest();
	test_bounds();
}
