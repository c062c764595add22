// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_sockmap CGROUP PORT: loads a BPF program that puts the socket of each new connection to
 * PORT into a map of sockets, before the listener accepts the connection. Runs until standard
 * input ends, then prints the number of sockets. Exits with status 4 if the kernel lacks or
 * forbids a call of bpf(2).
 *
 * The program calls bpf(2) itself, because libraries for BPF differ from one release to the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES		64

#define INSN(c, d, s, o, i) \
	((struct bpf_insn) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define LOAD(d, s, o)	INSN(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define LOAD8(d, s, o)	INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, s, o)	INSN(BPF_STX | BPF_MEM | BPF_W, d, s, o, 0)
#define STORE8(d, s, o)	INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define UNLESS(d, i, n)	INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, n, i)
#define MAP(d, fd)	INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)
#define CALL(f)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define EXIT()		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static char log_text[65536];

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(__NR_bpf, command, attr, sizeof(*attr));
}

/* Exits: with status 4 if this kernel lacks or forbids the system call, else with status 1. */
static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n%s", what, strerror(errno), log_text);
	exit(errno == ENOSYS || errno == EINVAL || errno == EPERM ? 4 : 1);
}

static int make_map(uint32_t type, uint32_t value, uint32_t entries)
{
	union bpf_attr a = { .map_type = type, .key_size = 4, .value_size = value, .max_entries = entries };
	int fd = bpf(BPF_MAP_CREATE, &a);

	if (fd < 0)
		die("map");
	return fd;
}

/*
 * Loads the BPF program. It adds sockets to the map @socks, and counts these sockets in element 0
 * of the map @count. Return: file descriptor of the BPF program
 */
static int load(int socks, int count, uint16_t port)
{
	struct bpf_insn prog[] = {
		MOV(6, 1),
		LOAD(2, 6, offsetof(struct bpf_sock_ops, op)),
		UNLESS(2, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 25),
		LOAD(2, 6, offsetof(struct bpf_sock_ops, local_port)),
		UNLESS(2, port, 23),
		MOV_IMM(2, 0),
		STORE(10, 2, -4),
		MAP(1, count),
		MOV(2, 10),
		ADD_IMM(2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 15, 0),
		MOV(7, 0),
		LOAD8(2, 7, 0),
		INSN(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, ENTRIES - 1),
		STORE(10, 2, -4),
		MOV(1, 6),
		MAP(2, socks),
		MOV(3, 10),
		ADD_IMM(3, -4),
		MOV_IMM(4, BPF_ANY),
		CALL(BPF_FUNC_sock_map_update),
		UNLESS(0, 0, 3),
		LOAD8(2, 7, 0),
		ADD_IMM(2, 1),
		STORE8(7, 2, 0),
		MOV_IMM(0, 1),
		EXIT(),
	};
	union bpf_attr a = {
		.prog_type = BPF_PROG_TYPE_SOCK_OPS,
		.insns = (uintptr_t)prog,
		.insn_cnt = sizeof(prog) / sizeof(prog[0]),
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log_text,
		.log_size = sizeof(log_text),
		.log_level = 1,
	};
	int fd = bpf(BPF_PROG_LOAD, &a);

	if (fd < 0)
		die("program");
	return fd;
}

static uint64_t how_many(int count)
{
	uint32_t key = 0;
	uint64_t n = 0;
	union bpf_attr a = { .map_fd = count, .key = (uintptr_t)&key, .value = (uintptr_t)&n };

	if (bpf(BPF_MAP_LOOKUP_ELEM, &a))
		die("count");
	return n;
}

int main(int argc, char **argv)
{
	union bpf_attr a = { .attach_type = BPF_CGROUP_SOCK_OPS };
	int count, group;
	char octet;

	if (argc != 3)
		return 2;
	group = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (group < 0)
		die(argv[1]);
	count = make_map(BPF_MAP_TYPE_ARRAY, 8, 1);
	a.attach_bpf_fd = load(make_map(BPF_MAP_TYPE_SOCKMAP, 4, ENTRIES), count, atoi(argv[2]));
	a.target_fd = group;
	if (bpf(BPF_PROG_ATTACH, &a))
		die("attach");
	puts("attached");
	fflush(stdout);
	while (read(0, &octet, 1) > 0)
		;
	if (bpf(BPF_PROG_DETACH, &a))
		die("detach");
	printf("%llu sockets\n", (unsigned long long)how_many(count));
	return 0;
}
