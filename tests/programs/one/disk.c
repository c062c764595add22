// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_disk: measures a file or a disk, mostly of a server.
 *
 *	iwt_disk -o read|write|randread|randwrite [-S BYTES] [-d DEPTH] [-t MS | -n OPERATIONS]
 *		[-w WARMUP] [-I] FILE
 *	iwt_disk -o create [-t MS | -n OPERATIONS] [-w WARMUP] [-I] DIRECTORY
 *
 * Reads or writes blocks of BYTES (4096) without the page cache, in order or at random; DEPTH (1)
 * operations are outstanding. With -o create an operation creates a file and removes the file
 * again. First executes WARMUP operations that are not measured. Then stops after MS milliseconds
 * (1000) or after OPERATIONS operations. -I: measures the idle time of the processors, too. Prints
 * the result in the form of iwt_bench.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench_base.h"
#include "random.h"

static struct {
	const char *path;
	bool write, random, create, idle;
	unsigned int depth, ms;
	size_t size;
	uint64_t count, warm;
} o = { .depth = 1, .ms = 1000, .size = 4096 };

static int file;
static uint64_t blocks, next;
static aio_context_t aio;
static struct iocb *slots;

static void open_file(void)
{
	off_t len;

	file = open(o.path, (o.write ? O_RDWR : O_RDONLY) | O_DIRECT);
	if (file < 0)
		bench_die(o.path);
	len = lseek(file, 0, SEEK_END);
	blocks = len < 0 ? 0 : len / o.size;
	if (!blocks || blocks > UINT32_MAX) {
		errno = EINVAL;
		bench_die(o.path);
	}
}

/* Allocates a buffer for each outstanding operation. */
static void make_slots(void)
{
	unsigned int i;
	void *buf = NULL;

	slots = calloc(o.depth, sizeof(*slots));
	if (!slots || syscall(SYS_io_setup, o.depth, &aio))
		bench_die("io_setup");
	for (i = 0; i < o.depth; i++) {
		if (posix_memalign(&buf, 4096, o.size))
			bench_die("memory");
		/* if nothing were written, all pages of the buffer would be the same zero page */
		memset(buf, 0x5a, o.size);
		slots[i] = (struct iocb) {
			.aio_lio_opcode = o.write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
			.aio_fildes = file,
			.aio_buf = (uintptr_t)buf,
			.aio_nbytes = o.size,
		};
	}
}

static void begin_operation(struct iocb *slot)
{
	slot->aio_data = (uintptr_t)slot;
	slot->aio_offset = (o.random ? below(blocks) : next++ % blocks) * o.size;
	if (syscall(SYS_io_submit, aio, 1, &slot) != 1)
		bench_die("io_submit");
}

/* more - may another operation begin? @begun: the number of those that have begun */
static bool more(uint64_t begun, uint64_t count)
{
	return count ? begun < count : !bench_stop;
}

/* Executes @count operations or, if @count is 0, operations until bench_stop. Return: their number */
static uint64_t move_blocks(uint64_t count)
{
	struct io_event ev[64];
	uint64_t begun, done = 0;
	long n, i;

	for (begun = 0; begun < o.depth && more(begun, count); begun++)
		begin_operation(&slots[begun]);
	while (done < begun) {
		n = syscall(SYS_io_getevents, aio, 1, 64, ev, NULL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			bench_die("io_getevents");
		for (i = 0; i < n; i++) {
			if (ev[i].res != (int64_t)o.size) {
				errno = ev[i].res < 0 ? -ev[i].res : EIO;
				bench_die(o.path);
			}
			done++;
			if (more(begun, count)) {
				begin_operation((struct iocb *)(uintptr_t)ev[i].data);
				begun++;
			}
		}
	}
	return done;
}

static uint64_t create_files(uint64_t count)
{
	static const char name[] = "iwt_disk.new";
	uint64_t n;
	int fd;

	for (n = 0; more(n, count); n++) {
		fd = openat(file, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
		if (fd < 0 || close(fd) || unlinkat(file, name, 0))
			bench_die(name);
	}
	return n;
}

static void measure(void)
{
	uint64_t (*run)(uint64_t count) = o.create ? create_files : move_blocks;
	struct bench_result r = { 0 };

	if (o.warm)
		run(o.warm);
	if (!o.count)
		bench_timer(o.ms);
	bench_begin(&r, o.idle);
	r.messages = run(o.count);
	bench_end(&r, o.idle);
	r.octets = o.create ? 0 : r.messages * o.size;
	bench_print(&r);
}

static bool operation(const char *name)
{
	o.create = !strcmp(name, "create");
	o.random = !strncmp(name, "rand", 4);
	name += o.random ? 4 : 0;
	o.write = !strcmp(name, "write");
	return o.create || o.write || !strcmp(name, "read");
}

static void number(int c)
{
	uint64_t n = strtoull(optarg, NULL, 0);

	switch (c) {
	case 'S': o.size = n; break;
	case 'd': o.depth = n; break;
	case 't': o.ms = n; break;
	case 'n': o.count = n; break;
	case 'w': o.warm = n; break;
	}
}

int main(int argc, char **argv)
{
	bool known = false;
	int c;

	while ((c = getopt(argc, argv, "o:S:d:t:n:w:I")) != -1) {
		switch (c) {
		case 'o': known = operation(optarg); break;
		case 'I': o.idle = true; break;
		case '?': return 2;
		default: number(c);
		}
	}
	o.path = argv[optind];
	if (!known || !o.path || !o.size || !o.depth) {
		fputs("usage: iwt_disk -o read|write|randread|randwrite|create [-S OCTETS] [-d DEPTH]\n"
		      "	[-t MILLISECONDS | -n OPERATIONS] [-w OPERATIONS TO WARM UP] [-I] FILE\n", stderr);
		return 2;
	}
	if (o.create) {
		file = open(o.path, O_RDONLY | O_DIRECTORY);
		if (file < 0)
			bench_die(o.path);
	} else {
		open_file();
		make_slots();
	}
	measure();
	return 0;
}
