// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the function crc32c() of these tests (crc32c.c) against published values, such as those
 * of RFC 7143 A.4, and against the FPDU vectors, two of which are Figures 5 and 6 of RFC 5044.
 */
#include <linux/crc32c.h>
#include <linux/unaligned.h>

#include "unit.h"

/* The CRC register after the data and the CRC field of any good FPDU, before the complement. */
#define RESIDUE	0xb798b438

static u32 crc(const void *p, u32 len)
{
	return ~crc32c(~0, p, len);
}

static void test_known(void)
{
	u8 zeros[32] = { 0 }, ones[32], up[32], down[32], read10[48];
	u32 i;

	for (i = 0; i < 32; i++) {
		ones[i] = 0xff;
		up[i] = i;
		down[i] = 31 - i;
	}
	tap_begin("CRC32c of published data");
	CHECK_EQ(crc("123456789", 9), 0xe3069283);
	CHECK_EQ(crc(zeros, 32), 0x8a9136aa);
	CHECK_EQ(crc(ones, 32), 0x62a8ab43);
	CHECK_EQ(crc(up, 32), 0x46dd794e);
	CHECK_EQ(crc(down, 32), 0x113fdb5c);
	CHECK_EQ(unhex("01c00000000000000000000000000000"
		       "14000000000004000000001400000018"
		       "28000000000000000200000000000000", read10), 48);
	CHECK_EQ(crc(read10, 48), 0xd9963a56);
	tap_end();
}

static void test_residue(void)
{
	const struct vector *v;

	tap_begin("CRC32c residue of every FPDU vector");
	for (v = vectors; v < vectors + vector_count; v++) {
		if (v->id[2] == 'S' || v->id[2] == 'C')
			continue;
		tap_about("%s", v->id);
		CHECK_EQ(crc32c(~0, v->octets, v->len), RESIDUE);
	}
	tap_end();
}

static void test_in_parts(void)
{
	u8 data[64];
	u32 i, k;

	for (i = 0; i < sizeof(data); i++)
		data[i] = any();
	tap_begin("CRC32c computed in parts");
	for (i = 0; i <= sizeof(data); i++) {
		k = crc32c(~0, data, i);
		CHECK_EQ(~crc32c(k, data + i, sizeof(data) - i),
			 crc(data, sizeof(data)));
	}
	tap_end();
}

void test_crc(void)
{
	test_known();
	test_residue();
	test_in_parts();
}
