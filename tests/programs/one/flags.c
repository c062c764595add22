// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_flags: checks that the instruction CMPXCHG16B does not change the control flags of the
 * processor, such as the interrupt flag (the only flag that the instruction may change is ZF).
 * QEMU 7.2 replaces all flags by the operand of an earlier comparison. The next interrupt saves
 * and restores this operand as the flags of the kernel. The kernel then runs with interrupts off,
 * copies backwards, or stops with a double fault. For this reason the virtual machines of the
 * laboratory do not offer the instruction under QEMU. The program succeeds if the instruction is
 * correct, or if the processor does not have this instruction.
 */
#include <stdint.h>
#include <stdio.h>

#ifdef __x86_64__
#include <cpuid.h>

/* The flags that CMP may change (CMPXCHG16B only ZF). All other flags must stay as they were. */
#define ARITHMETIC 0x8d5UL

static uint64_t flags_before(void)
{
	uint64_t flags;

	asm volatile("pushfq\n\tpop %0" : "=r" (flags) : : "memory");
	return flags;
}

/*
 * The first CMPXCHG16B and the jump make QEMU record that the value of the flags is complete. CMP
 * then stores only its operand, from which QEMU has to compute the flags later. At the second
 * CMPXCHG16B a faulty QEMU uses this operand as if it were the complete value of the flags.
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
