/* SPDX-License-Identifier: GPL-2.0 */
/* Copies of the octets of messages. */
#ifndef IWT_COPY_H
#define IWT_COPY_H

#include <linux/kasan-checks.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

/* From how many octets on the string instruction is worth its beginning. */
#define IWT_COPY_STRING	512

/**
 * iwt_copy() - as memcpy(), for octets of messages
 * @to: destination
 * @from: source; the two do not overlap
 * @len: octets
 *
 * Most are of whole segments. memcpy() of x86 uses the string instruction only where
 * it is fast for a few octets too (FSRM), else a loop of moves, which is slower for so
 * many. The kernel's copies from and to processes have the instruction everywhere.
 */
static inline void iwt_copy(void *to, const void *from, size_t len)
{
#ifdef CONFIG_X86_64
	if (len >= IWT_COPY_STRING) {
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

#endif
