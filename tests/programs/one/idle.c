// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_idle FILE: measures idle time. The program runs whenever no other task needs the processor,
 * and counts its instructions in the first eight bytes of FILE. If the (emulated) processor
 * executes one instruction per nanosecond, the elapsed nanoseconds minus this count are the
 * number of instructions that all other code has executed. (The idle time that the kernel reports
 * is less exact: it includes part of the time of interrupts that arrive at an idle processor.)
 * The program runs until it is killed.
 */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void count(volatile uint64_t *n)
{
#ifdef __x86_64__
	asm volatile("1: addq $2, (%0)\n"
		     "   jmp 1b" : : "r" (n) : "memory");
#else
	(void)n;
	errx(1, "not on this architecture");
#endif
}

int main(int argc, char **argv)
{
	struct sched_param param = { 0 };
	volatile uint64_t *n;
	int fd;

	if (argc != 2)
		errx(2, "usage: iwt_idle FILE");
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*n)))
		err(1, "%s", argv[1]);
	n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (n == MAP_FAILED || sched_setscheduler(0, SCHED_IDLE, &param))
		err(1, "%s", argv[1]);
	printf("counting\n");
	fflush(stdout);
	count(n);
	return 0;
}
