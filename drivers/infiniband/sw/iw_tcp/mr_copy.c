// SPDX-License-Identifier: GPL-2.0
/* Copying of message data. */
#include "mr_copy.h"

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/kasan-checks.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

/* On x86-64, "rep movs" is faster than memcpy() from this number of bytes on. */
#define STRING_MIN	512

/**
 * iwt_copy() - memcpy() for message data
 * @to: destination
 * @from: source; must not overlap the destination
 * @len: bytes
 *
 * Any context. Most calls copy a whole segment. On x86, memcpy() uses the string instruction (rep
 * movs) only if the processor also executes it fast for short copies (FSRM). Without FSRM
 * memcpy() is a loop of moves, which is slower for a segment than the string instruction.
 * copy_from_user() and copy_to_user() use the string instruction for long copies on all
 * processors.
 *
 * Other streams and processes may access the same memory at the same time. This is allowed, and
 * only their programs can prevent it, so KCSAN must not report it.
 */
__no_kcsan void iwt_copy(u8 *to, const u8 *from, size_t len)
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
 * iwt_copy_out() - store received bytes in memory that a program may poll
 * @to: destination
 * @from: source
 * @len: bytes
 *
 * Programs poll on the last bytes of a Write. So the last 8 bytes are stored after all bytes
 * before them are visible. Any context.
 */
void iwt_copy_out(u8 *to, const u8 *from, u32 len)
{
	u32 tail = min_t(u32, len, 8);

	iwt_copy(to, from, len - tail);
	smp_wmb(); /* the body is visible before the tail */
	memcpy(to + len - tail, from + len - tail, tail);
}
