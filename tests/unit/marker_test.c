// SPDX-License-Identifier: GPL-2.0
/* Checks where the markers of MPA are in a stream, and how data are copied around them. */
#include <linux/unaligned.h>

#include "marker.h"
#include "fpdu.h"
#include "unit.h"

/* Stream positions of an FPDU of 48 octets, and the offset of its marker, if it has one. */
static void test_positions(void)
{
	static const struct { u32 pos, at, ptr; } rows[] = {
		{ 0, 0, 0 }, { 508, 4, 4 }, { 492, 20, 0x14 },
		{ 500, 12, 0xc }, { 472, 40, 0x28 }, { 468, 44, 0x2c },
		{ 464, ~0, 0 }, { 512, 0, 0 }, { 0xffffffd4, 44, 0x2c },
		{ 0xfffffe00, 0, 0 }, { 1024, 0, 0 }, { 516, ~0, 0 },
	};
	u8 fpdu[48], out[64];
	struct iwt_marker m;
	u32 i, n;

	for (i = 0; i < sizeof(fpdu); i++)
		fpdu[i] = 0x80 + i;
	tap_begin("marker: position in the stream and value of the pointer");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		tap_about("pos %u", rows[i].pos);
		iwt_marker_begin(&m, rows[i].pos);
		n = iwt_marker_copy(&m, fpdu, sizeof(fpdu), out);
		CHECK_EQ(m.pos, rows[i].pos + n);
		if (rows[i].at == (u32)~0) {
			CHECK_EQ(n, 48);
			CHECK(!memcmp(out, fpdu, 48));
			continue;
		}
		CHECK_EQ(n, 52);
		CHECK_EQ(get_unaligned_be32(out + rows[i].at), rows[i].ptr);
		CHECK(!memcmp(out, fpdu, rows[i].at));
		CHECK(!memcmp(out + rows[i].at + 4, fpdu + rows[i].at,
			      48 - rows[i].at));
	}
	tap_end();
}

/* Copying in parts gives the same octets as copying in one step. */
static void test_parts(void)
{
	u8 fpdu[1456], whole[1500], parts[1500];
	struct iwt_marker m;
	u32 pos, i, n, k, run;

	for (i = 0; i < sizeof(fpdu); i++)
		fpdu[i] = any();
	tap_begin("marker: an FPDU copied in parts equals one copied in one step");
	for (pos = 0; pos <= 1024; pos += 4) {
		tap_about("pos %u", pos);
		iwt_marker_begin(&m, pos);
		n = iwt_marker_copy(&m, fpdu, sizeof(fpdu), whole);
		CHECK_EQ(n, iwt_fpdu_size(sizeof(fpdu) - 6, pos, true));
		iwt_marker_begin(&m, pos);
		for (i = 0, k = 0; i < sizeof(fpdu); i += run) {
			run = 1 + any() % 300;
			if (run > sizeof(fpdu) - i)
				run = sizeof(fpdu) - i;
			k += iwt_marker_copy(&m, fpdu + i, run, parts + k);
		}
		CHECK_EQ(k, n);
		CHECK(!memcmp(parts, whole, n));
		CHECK_EQ(iwt_marker_copy(&m, fpdu, 0, parts), 0);
	}
	tap_end();
}

void test_marker(void)
{
	test_positions();
	test_parts();
}
