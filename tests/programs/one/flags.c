// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_flags: does CMPXCHG16B leave the processor's other flags alone? QEMU 7.2 puts in their place
 * what was compared before, and an interrupt makes that the flags of the kernel: it then runs
 * with interrupts off, copies backwards, or ends by a double fault. So machines under QEMU do
 * not have the instruction. Succeeds where it is right, and where there is none.
 */
#include <stdint.h>
#include <stdio.h>

#ifdef __x86_64__
#include <cpuid.h>

/* Those that CMP and CMPXCHG16B may change, and those that are as they were */
#define ARITHMETIC 0x8d5UL

static uint64_t flags_before(void)
{
	uint64_t flags;

	asm volatile("pushfq\n\tpop %0" : "=r" (flags) : : "memory");
	return flags;
}

/*
 * The first CMPXCHG16B and the jump let the emulator note that it has all flags. It then knows of
 * the comparison only that it has to make flags of what was compared.
 */
static uint64_t flags_after(uint64_t compared)
{
	static uint64_t word[2] __attribute__((aligned(16)));
	uint64_t flags;

	asm volatile("xor %%eax, %%eax\n\txor %%edx, %%edx\n\txor %%ebx, %%ebx\n\t"
		     "mov %[compared], %%rcx\n\t"
		     "lock cmpxchg16b (%[word])\n\t"
		     "jmp 1f\n1:\t"
		     "cmp %%rcx, %%rdx\n\t"
		     "lock cmpxchg16b (%[word])\n\t"
		     "pushfq\n\tpop %[flags]"
		     : [flags] "=r" (flags)
		     : [compared] "r" (compared), [word] "r" (word)
		     : "rax", "rbx", "rcx", "rdx", "cc", "memory");
	return flags;
}

int main(void)
{
	unsigned int a, b, c = 0, d;
	uint64_t before, after;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_CMPXCHG16B)) {
		puts("no CMPXCHG16B");
		return 0;
	}
	before = flags_before();
	after = flags_after(0x09060e00);
	printf("flags %#jx, then %#jx\n", (uintmax_t)before, (uintmax_t)after);
	return ((before ^ after) & ~ARITHMETIC) != 0;
}
#else
int main(void)
{
	puts("another processor");
	return 0;
}
#endif
