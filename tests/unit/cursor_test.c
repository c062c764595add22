// SPDX-License-Identifier: GPL-2.0
/* Checks the functions of cursors, which read octets from one or more pieces of memory. */
#include <linux/crc32c.h>

#include "pieces.h"
#include "unit.h"

#define LEN	24

static void fill(u8 *data)
{
	u32 i;

	for (i = 0; i < LEN; i++)
		data[i] = i + 1;
}

/* Reads all octets of @pc in steps of at most @step octets, and checks that no more follow. */
static void walk(struct pieces_cursor pc, const u8 *want, u32 step)
{
	u32 at = 0, len;
	const u8 *p;

	while ((p = iwt_cursor_piece(&pc.c, step, &len))) {
		CHECK(len >= 1 && len <= step);
		CHECK(!memcmp(p, want + at, len));
		at += len;
	}
	CHECK_EQ(len, 0);
	CHECK_EQ(at, LEN);
	CHECK(!iwt_cursor_piece(&pc.c, step, &len));
}

static void test_pieces(void)
{
	u32 cuts[2], step;
	struct pieces p;
	u8 data[LEN];

	fill(data);
	tap_begin("cursor: pieces of every length, read in steps of every length");
	for (cuts[0] = 0; cuts[0] <= LEN; cuts[0]++) {
		for (cuts[1] = cuts[0]; cuts[1] <= LEN; cuts[1]++) {
			pieces_cut(&p, data, LEN, cuts, 2);
			for (step = 1; step <= LEN + 1; step += 5)
				walk(pieces_start(&p), data, step);
			pieces_free(&p);
		}
	}
	tap_end();
}

static void test_copy_skip_crc(void)
{
	struct pieces_cursor pc, again;
	u32 cuts[2], skip, crc;
	u8 data[LEN], got[LEN];
	struct pieces p;

	fill(data);
	tap_begin("cursor: skip, copy and CRC over data in two pieces, split everywhere");
	for (cuts[0] = 0; cuts[0] <= LEN; cuts[0] += 3) {
		for (cuts[1] = cuts[0]; cuts[1] <= LEN; cuts[1]++) {
			pieces_cut(&p, data, LEN, cuts, 2);
			for (skip = 0; skip <= LEN; skip++) {
				pc = pieces_start(&p);
				CHECK(iwt_cursor_skip(&pc.c, skip));
				again = pc;
				CHECK(iwt_cursor_copy(&pc.c, got, LEN - skip));
				CHECK(!memcmp(got, data + skip, LEN - skip));
				crc = ~0;
				CHECK(iwt_cursor_crc(&again.c, LEN - skip,
						     &crc));
				CHECK_EQ(crc, crc32c(~0, data + skip,
						     LEN - skip));
			}
			pieces_free(&p);
		}
	}
	tap_end();
}

static void test_early_end(void)
{
	static const u32 cuts[] = { 5, 9 };
	u8 data[LEN], got[LEN + 1];
	struct pieces_cursor pc;
	struct pieces p;
	u32 crc = ~0, len;

	fill(data);
	pieces_cut(&p, data, LEN, cuts, 2);
	tap_begin("cursor: more octets are wanted than the pieces have");
	pc = pieces_start(&p);
	CHECK(!iwt_cursor_copy(&pc.c, got, LEN + 1));
	CHECK(!memcmp(got, data, LEN));
	pc = pieces_start(&p);
	CHECK(!iwt_cursor_skip(&pc.c, LEN + 1));
	pc = pieces_start(&p);
	CHECK(!iwt_cursor_crc(&pc.c, LEN + 1, &crc));
	pc = pieces_start(&p);
	CHECK(!iwt_cursor_piece(&pc.c, 0, &len));
	CHECK_EQ(len, 0);
	CHECK_EQ(pc.c.len, 5);
	pieces_free(&p);
	/* The cursor has one piece, and no function more() that would supply another piece. */
	pc.c = (struct iwt_cursor){ .p = data, .len = 2 };
	CHECK(iwt_cursor_copy(&pc.c, got, 2));
	CHECK(!iwt_cursor_copy(&pc.c, got, 1));
	tap_end();
}

/* Returns an empty piece twice, and then a piece of three octets. */
static bool empty_then_three(struct iwt_cursor *c)
{
	static const u8 three[] = { 1, 2, 3 };
	static u32 calls;

	c->p = three;
	c->len = calls++ < 2 ? 0 : 3;
	return calls <= 3;
}

static void test_empty_pieces(void)
{
	struct iwt_cursor c = { .more = empty_then_three };
	u8 got[3];

	tap_begin("cursor: empty pieces");
	CHECK(iwt_cursor_copy(&c, got, 3));
	CHECK_EQ(got[2], 3);
	CHECK(!iwt_cursor_copy(&c, got, 1));
	tap_end();
}

void test_cursor(void)
{
	test_pieces();
	test_copy_skip_crc();
	test_early_end();
	test_empty_pieces();
}
