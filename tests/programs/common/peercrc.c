// SPDX-License-Identifier: GPL-2.0
/* CRC32c for crc32c.py of tests/peer, because a function in Python would be too slow. */
#include <stddef.h>
#include <stdint.h>

static uint32_t table[256];

static void __attribute__((constructor)) fill(void)
{
	uint32_t i, j, v;

	for (i = 0; i < 256; i++) {
		for (v = i, j = 0; j < 8; j++)
			v = v >> 1 ^ (v & 1 ? 0x82f63b78 : 0);
		table[i] = v;
	}
}

uint32_t peer_crc32c(uint32_t crc, const uint8_t *p, size_t len)
{
	for (crc = ~crc; len; len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}
