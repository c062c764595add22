// SPDX-License-Identifier: GPL-2.0
/* Copies of the octets of messages. */
#include "mr_copy.h"

#include <linux/atomic.h>
#include <linux/kasan-checks.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

/* Octets from which on the string instruction pays. */
#define STRING_MIN	512

/**
 * iwt_copy() - as memcpy(), for octets of messages
 * @to: destination
 * @from: source; the two do not overlap
 * @len: octets
 *
 * Any context. Most copies are of whole segments. memcpy() of x86 uses the string instruction
 * only on processors where it is fast for a few octets too (FSRM), else a loop of moves, which
 * is slower for a segment. The kernel's copies from and to processes use the instruction
 * everywhere.
 */
void iwt_copy(u8 *to, const u8 *from, size_t len)
{
#ifdef CONFIG_X86_64
	if (len >= STRING_MIN) {
		size_t words = len / 8;
		u64 last = get_unaligned((const u64 *)(from + len - 8));

		kasan_check_read(from, len);
		kasan_check_write(to, len);
		put_unaligned(last, (u64 *)(to + len - 8));
		asm volatile("rep movsq"
			     : "+c" (words), "+D" (to), "+S" (from)
			     :
			     : "memory");
		return;
	}
#endif
	memcpy(to, from, len);
}

/**
 * iwt_copy_out() - store received octets where somebody may be polling
 * @to: destination
 * @from: source
 * @len: octets
 *
 * Programs poll on the last octets of a Write. Those are stored after everything before them is
 * visible.
 */
void iwt_copy_out(u8 *to, const u8 *from, u32 len)
{
	u32 tail = min_t(u32, len, 8);

	iwt_copy(to, from, len - tail);
	smp_wmb(); /* the body is visible before the tail */
	memcpy(to + len - tail, from + len - tail, tail);
}
