// SPDX-License-Identifier: GPL-2.0
/*
 * CRC32c for builds in user space: computes the same values as the kernel's crc32c(), from the
 * reflected polynomial of RFC 3385. crc_test.c compares the results with published values.
 */
#include <linux/crc32c.h>

#define POLYNOMIAL	0x82f63b78u

static u32 table[256];

__attribute__((constructor))
static void fill(void)
{
	u32 i, bit, r;

	for (i = 0; i < 256; i++) {
		r = i;
		for (bit = 0; bit < 8; bit++)
			r = r & 1 ? r >> 1 ^ POLYNOMIAL : r >> 1;
		table[i] = r;
	}
}

u32 crc32c(u32 crc, const void *p, size_t len)
{
	const u8 *at = p;

	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *at++) & 0xff];
	return crc;
}
