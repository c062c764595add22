/* SPDX-License-Identifier: GPL-2.0 */
#ifndef IWT_SHIM_BITMAP_H
#define IWT_SHIM_BITMAP_H

#define BITS_PER_LONG	(8 * sizeof(long))

static inline int test_bit(unsigned int bit, const unsigned long *map)
{
	return map[bit / BITS_PER_LONG] >> bit % BITS_PER_LONG & 1;
}

static inline void bitmap_set(unsigned long *map, unsigned int first, unsigned int n)
{
	for (; n; n--, first++)
		map[first / BITS_PER_LONG] |= 1UL << first % BITS_PER_LONG;
}

#endif
