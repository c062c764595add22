// SPDX-License-Identifier: GPL-2.0
/*
 * Checks rx_place.c, which places data behind a gap: at its turn, an FPDU is read again if its
 * memory belongs to another registration, even under the same STag, or to another Read.
 */
#include <stdlib.h>

#include <linux/unaligned.h>

#include "place/rx_priv.h"
#include "place/sock_ahead.h"

#include "frame.h"
#include "unit.h"

#define BASE	0x10000u	/* tagged offset of the region's first byte */
#define STAG	0x1234500u
#define START	1000u		/* stream position of the first FPDU */
#define PAYLOAD	700u
#define FPDUS	3

static const int pd;
static u8 memory[FPDUS * PAYLOAD], sent[FPDUS * PAYLOAD], octets[4096];
/* place of each FPDU in @octets; the number of octets behind the last FPDU */
static u32 at[FPDUS + 1];
/* the octets that have arrived behind a gap: from the FPDU @from on, before the FPDU @until */
static u32 from, until;
/* the maximum number of octets that one look at TCP's tree finds, and the number of looks */
static u32 most = UINT32_MAX, looks;

u32 iwt_sock_peek_ahead(const void *s, u32 *off, struct iwt_ahead_cursor *cur)
{
	u32 seek = max(*off, at[from]), len;

	(void)s;
	looks++;
	if (seek >= at[until])
		return 0;
	len = min(at[until] - seek, most);
	*cur = (struct iwt_ahead_cursor){ .at.c = { .p = octets + seek, .len = len, .more = NULL } };
	*off = seek;
	return len;
}

static bool no_more(struct iwt_cursor *c)
{
	(void)c;
	return false;
}

static void make_octets(u8 opcode)
{
	struct frame_rules rules = { .pos = START, .markers = true, .crc = true };
	u8 ulpdu[IWT_DDP_TAGGED_LEN + PAYLOAD];
	u32 i, k;

	for (i = 0; i < FPDUS; i++) {
		ulpdu[0] = IWT_DDP_TAGGED | 1;
		ulpdu[1] = 1 << 6 | opcode;
		put_unaligned_be32(STAG, ulpdu + 2);
		put_unaligned_be64(BASE + i * PAYLOAD, ulpdu + 6);
		for (k = IWT_DDP_TAGGED_LEN; k < sizeof(ulpdu); k++)
			ulpdu[k] = any();
		memcpy(sent + i * PAYLOAD, ulpdu + IWT_DDP_TAGGED_LEN, PAYLOAD);
		at[i + 1] = at[i] + frame_ulpdu(ulpdu, sizeof(ulpdu), &rules, octets + at[i]);
	}
}

/* A stream that has placed all FPDUs but the first one behind a gap */
static void begin(struct iwt_stream *st, struct iwt_dev *dev, u8 opcode)
{
	make_octets(opcode);
	memset(memory, 0, sizeof(memory));
	*dev = (struct iwt_dev){
		.mr = { .stag = STAG, .kind = IWT_MR_FAST, .octets = memory,
			.region = { .base = BASE, .len = sizeof(memory), .valid = true,
				    .rights = IWT_REMOTE_WRITE | IWT_LOCAL_WRITE, .owner = &pd,
				    .relaxed = IWT_RELAXED } },
	};
	*st = (struct iwt_stream){
		.dev = dev, .actor = { .party = { &pd } }, .rights = IWT_REMOTE_WRITE,
		.rx = { .rules = { .crc = true, .markers = true }, .pos = START, .octets = 1 },
		.readq = { .out = { .sink = { BASE, sizeof(memory), STAG }, .msn = 1 },
			   .out_n = 1 },
	};
	iwt_rx_place_begin(st, iwt_rx_place_new(0));
	from = 1;
	until = FPDUS;
	iwt_rx_place_ahead(st);
	CHECK_EQ(st->counts[IWT_C_RX_AHEAD], FPDUS - 1);
	CHECK(!memcmp(memory + PAYLOAD, sent + PAYLOAD, (FPDUS - 1) * PAYLOAD));
}

/* The turn of the FPDU @i. Return: true if nothing of its payload is left to place */
static bool turn(struct iwt_stream *st, struct iwt_fpdu *f, u32 i)
{
	struct iwt_sock_cursor cur = {
		.c = { .p = octets + at[i], .len = at[FPDUS] - at[i], .more = no_more },
	};
	u32 err, len;
	const u8 *p;

	CHECK_EQ(iwt_rx_read_placing(st, f, &cur, at[FPDUS] - at[i], &err), IWT_FPDU_OK);
	CHECK_EQ(f->size, at[i + 1] - at[i]);
	CHECK_EQ(f->ddp.to, BASE + i * PAYLOAD);
	st->rx.pos += f->size;
	CHECK(iwt_fpdu_payload(f, &cur.c, &st->rx.rules));
	p = iwt_fpdu_piece(f, &cur.c, UINT32_MAX, &len);
	if (!p)
		return true;
	CHECK(len && p >= octets + at[i] && p < octets + at[i + 1]);
	return false;
}

static void test_kept(void)
{
	static const u8 opcodes[] = { IWT_OP_WRITE, IWT_OP_READ_RESP };
	struct iwt_fpdu f = {};
	struct iwt_stream st;
	struct iwt_dev dev;
	u32 i;

	tap_begin("placing ahead: an FPDU that was placed is not placed again");
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		begin(&st, &dev, opcodes[i]);
		CHECK(!turn(&st, &f, 0));
		CHECK(turn(&st, &f, 1));
		CHECK(turn(&st, &f, 2));
		CHECK_EQ(st.counts[IWT_C_RX_AHEAD_KEPT], 2);
		free(st.rx.place);
	}
	tap_end();
}

/* As iwt_mr_register(): the same region and STag, perhaps other memory */
static void test_registered_again(void)
{
	struct iwt_fpdu f = {};
	struct iwt_stream st;
	struct iwt_dev dev;

	tap_begin("placing ahead: memory that was registered again is written again");
	begin(&st, &dev, IWT_OP_WRITE);
	CHECK(!turn(&st, &f, 0));
	CHECK(turn(&st, &f, 1));
	dev.mr.region.relaxed = IWT_RELAXED;
	CHECK(!turn(&st, &f, 2));
	CHECK_EQ(st.counts[IWT_C_RX_AHEAD_KEPT], 1);
	free(st.rx.place);

	/* another stream has placed ahead into the new registration, which has a number now */
	begin(&st, &dev, IWT_OP_WRITE);
	dev.mr_touches++;
	dev.mr.region.relaxed = dev.mr_touches + IWT_RELAXED;
	CHECK(!turn(&st, &f, 0));
	CHECK(!turn(&st, &f, 1));
	CHECK_EQ(st.counts[IWT_C_RX_AHEAD_KEPT], 0);
	free(st.rx.place);
	tap_end();
}

static void test_other_read(void)
{
	struct iwt_fpdu f = {};
	struct iwt_stream st;
	struct iwt_dev dev;

	tap_begin("placing ahead: a Response to another Read is placed again");
	begin(&st, &dev, IWT_OP_READ_RESP);
	CHECK(!turn(&st, &f, 0));
	CHECK(turn(&st, &f, 1));
	st.readq.out.msn++;
	CHECK(!turn(&st, &f, 2));
	free(st.rx.place);
	tap_end();
}

/* The number of a registration never equals the mark of a registration without a number. */
static void test_numbers(void)
{
	struct iwt_stream st;
	struct iwt_dev dev;
	u32 first;

	tap_begin("placing ahead: each registration gets another number");
	begin(&st, &dev, IWT_OP_WRITE);
	first = dev.mr.region.relaxed;
	CHECK(first > IWT_RELAXED);
	dev.mr.region.relaxed = IWT_RELAXED;
	dev.mr_touches = UINT32_MAX;
	iwt_rx_place_begin(&st, st.rx.place);
	iwt_rx_place_ahead(&st);
	CHECK(dev.mr.region.relaxed > IWT_RELAXED);
	free(st.rx.place);
	tap_end();
}

/*
 * Stream positions count modulo 2^32. A stream may receive more than 2^31 octets between two gaps:
 * then the octets behind the second gap must be placed, too.
 */
static void test_long_order(void)
{
	struct iwt_sock_cursor cur = { .c = { .p = octets, .len = 4, .more = no_more } };
	struct iwt_fpdu f = {};
	struct iwt_stream st;
	struct iwt_dev dev;
	u32 err, i;

	tap_begin("placing ahead: 3 GiB in order between two gaps");
	begin(&st, &dev, IWT_OP_WRITE);
	CHECK(!turn(&st, &f, 0));
	CHECK(turn(&st, &f, 1));
	CHECK(turn(&st, &f, 2));
	/* in each GiB the engine reads only one FPDU, of which 4 octets have arrived */
	for (i = 1; i <= 3; i++) {
		st.rx.pos = START + (i << 30);
		CHECK_EQ(iwt_rx_read_placing(&st, &f, &cur, 4, &err), IWT_FPDU_MORE);
	}
	iwt_rx_place_ahead(&st);
	CHECK_EQ(st.counts[IWT_C_RX_AHEAD], 2 * (FPDUS - 1));
	free(st.rx.place);
	tap_end();
}

/* Lets the stream look at all FPDUs behind the gap again. Return: number of FPDUs it placed */
static u32 places(struct iwt_stream *st)
{
	u32 i, n, wrong = 0;

	memset(memory, 0, sizeof(memory));
	st->counts[IWT_C_RX_AHEAD] = 0;
	iwt_rx_place_begin(st, st->rx.place);
	iwt_rx_place_ahead(st);
	n = st->counts[IWT_C_RX_AHEAD];
	/* the FPDUs from the first one behind the gap on, and no others */
	for (i = 0; i < sizeof(memory); i++)
		wrong += memory[i] != (i / PAYLOAD - 1 < n ? sent[i] : 0);
	CHECK_EQ(wrong, 0);
	return n;
}

/* Data are placed ahead only if the stream and the memory allow it. */
static void test_allowed(void)
{
	struct iwt_stream st;
	struct iwt_dev dev;
	struct iwt_mr *mr = &dev.mr;

	tap_begin("placing ahead: a Write needs the rights, and memory that allows any order");
	begin(&st, &dev, IWT_OP_WRITE);
	st.rights = IWT_REMOTE_READ | IWT_LOCAL_WRITE;
	CHECK_EQ(places(&st), 0);
	st.rights |= IWT_REMOTE_WRITE;
	CHECK_EQ(places(&st), 2);
	mr->region.rights = IWT_LOCAL_WRITE;
	CHECK_EQ(places(&st), 0);
	mr->region.rights = IWT_REMOTE_WRITE | IWT_REMOTE_ATOMIC;
	CHECK_EQ(places(&st), 0);
	mr->region.rights = IWT_REMOTE_WRITE;
	mr->kind = IWT_MR_ODP;
	CHECK_EQ(places(&st), 0);
	mr->kind = IWT_MR_USER;
	CHECK_EQ(places(&st), 2);
	mr->windows = 1;
	CHECK_EQ(places(&st), 0);
	mr->windows = 0;
	mr->region.relaxed = 0;
	CHECK_EQ(places(&st), 0);
	mr->region.relaxed = IWT_RELAXED;
	mr->region.len = 3 * PAYLOAD - 1;
	CHECK_EQ(places(&st), 1);
	mr->region.len = 3 * PAYLOAD;
	mr->stag++;
	CHECK_EQ(places(&st), 0);
	mr->stag--;
	st.rx.place_stop = true;
	CHECK_EQ(places(&st), 0);
	st.rx.place_stop = false;
	st.rx.discard = true;
	CHECK_EQ(places(&st), 0);
	st.rx.discard = false;
	st.rx.stalled = true;
	CHECK_EQ(places(&st), 0);
	st.rx.stalled = false;
	st.rx.octets = 0;
	CHECK_EQ(places(&st), 0);
	st.rx.octets = 1;
	CHECK_EQ(places(&st), 2);
	free(st.rx.place);
	tap_end();
}

static void test_sink(void)
{
	struct iwt_stream st;
	struct iwt_dev dev;
	struct iwt_read_out *out = &st.readq.out;

	tap_begin("placing ahead: a Response answers the only Read");
	begin(&st, &dev, IWT_OP_READ_RESP);
	st.rights = 0;	/* those of the peer's Writes */
	CHECK_EQ(places(&st), 2);
	st.readq.out_n = 2;
	CHECK_EQ(places(&st), 0);
	st.readq.out_n = 0;
	CHECK_EQ(places(&st), 0);
	st.readq.out_n = 1;
	out->atomic = true;
	CHECK_EQ(places(&st), 0);
	out->atomic = false;
	out->rtr = true;
	CHECK_EQ(places(&st), 0);
	out->rtr = false;
	st.rx.answered = 1;
	CHECK_EQ(places(&st), 0);
	st.rx.answered = 0;
	out->sink.lkey++;
	CHECK_EQ(places(&st), 0);
	out->sink.lkey--;
	out->sink.length = 3 * PAYLOAD - 1;
	CHECK_EQ(places(&st), 1);
	out->sink.length = PAYLOAD;
	CHECK_EQ(places(&st), 0);
	out->sink.length = 3 * PAYLOAD;
	out->got = PAYLOAD;
	CHECK_EQ(places(&st), 2);
	out->got = 3 * PAYLOAD;
	CHECK_EQ(places(&st), 0);
	out->got = 0;
	dev.mr.region.rights = IWT_REMOTE_WRITE;
	CHECK_EQ(places(&st), 0);
	dev.mr.region.rights = IWT_LOCAL_WRITE;
	CHECK_EQ(places(&st), 2);
	free(st.rx.place);
	tap_end();
}

/*
 * If one look does not find all octets behind a gap, the stream examines the rest in its next call:
 * the octets that follow belong to the same gap.
 */
static void test_limited(void)
{
	struct iwt_stream st;
	struct iwt_dev dev;

	tap_begin("placing ahead: octets behind a gap that one look does not find");
	begin(&st, &dev, IWT_OP_WRITE);
	most = at[3] - at[1] - 8;
	looks = 0;
	CHECK_EQ(places(&st), 1);
	CHECK_EQ(looks, 2);
	most = UINT32_MAX;
	iwt_rx_place_ahead(&st);
	CHECK_EQ(st.counts[IWT_C_RX_AHEAD], 2);
	CHECK(!memcmp(memory + PAYLOAD, sent + PAYLOAD, (FPDUS - 1) * PAYLOAD));
	free(st.rx.place);
	tap_end();
}

/* An FPDU with a wrong CRC, and the FPDUs behind it, are only received in order. */
static void test_bad_crc(void)
{
	struct iwt_stream st;
	struct iwt_dev dev;

	tap_begin("placing ahead: an FPDU with an error is not placed");
	begin(&st, &dev, IWT_OP_WRITE);
	octets[at[2] + 40] ^= 1;
	CHECK_EQ(places(&st), 1);
	octets[at[1] + 40] ^= 1;
	CHECK_EQ(places(&st), 0);
	free(st.rx.place);
	tap_end();
}

/* An FPDU that was placed: not all of it has arrived in order; or another FPDU ends within it. */
static void test_turns(void)
{
	struct iwt_sock_cursor cur = {};
	struct iwt_fpdu f = {};
	struct iwt_stream st;
	struct iwt_dev dev;
	u32 err = 0;

	tap_begin("placing ahead: the turn of an FPDU that was placed");
	begin(&st, &dev, IWT_OP_WRITE);
	CHECK(!turn(&st, &f, 0));
	CHECK_EQ(iwt_rx_read_placing(&st, &f, &cur, at[2] - at[1] - 1, &err), IWT_FPDU_MORE);
	CHECK_EQ(f.size, at[2] - at[1]);
	CHECK_EQ(st.counts[IWT_C_RX_AHEAD_KEPT], 0);
	CHECK(turn(&st, &f, 1));
	st.rx.pos += 4;
	CHECK_EQ(iwt_rx_read_placing(&st, &f, &cur, at[3] - at[2] - 4, &err), IWT_FPDU_BAD);
	CHECK_EQ(err, IWT_ERR_MPA_MARKER);
	CHECK_EQ(st.counts[IWT_C_RX_AHEAD_KEPT], 1);
	free(st.rx.place);
	tap_end();
}

void test_rx_place(void)
{
	test_kept();
	test_registered_again();
	test_other_read();
	test_numbers();
	test_long_order();
	test_allowed();
	test_sink();
	test_limited();
	test_bad_crc();
	test_turns();
}
