// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_check: an MPI program that checks the data that it receives. Rank 0 exchanges messages of
 * many sizes with each other rank; the ranks have many messages under way at a time; all ranks
 * call collective operations. At the end, all ranks together compute the heat in a plate, and
 * rank 0 compares the result with its own computation. The argument is the maximum size in bytes
 * of the messages that rank 0 exchanges.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, bad;
static double octets;

static void wrong(const char *what, long n)
{
	if (!bad++)
		printf("rank %d: %s %ld: wrong data\n", rank, what, n);
}

static void fill(unsigned char *p, size_t n, unsigned int seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (seed = seed * 1103515245 + 12345) >> 16;
}

static void compare(const unsigned char *p, size_t n, unsigned int seed, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (unsigned char)((seed = seed * 1103515245 + 12345) >> 16)) {
			wrong(what, i);
			return;
		}
	octets += n;
}

static void ping_pong(unsigned char *buf, size_t n, int with)
{
	int other = rank ? 0 : with;

	if (rank && rank != with)
		return;
	for (int round = 0; round < 4; round++) {
		if (!rank) {
			fill(buf, n, round + n);
			MPI_Send(buf, n, MPI_BYTE, other, round, MPI_COMM_WORLD);
			memset(buf, 0, n);
		}
		MPI_Recv(buf, n, MPI_BYTE, other, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		compare(buf, n, round + n, "ping-pong");
		if (rank)
			MPI_Send(buf, n, MPI_BYTE, other, round, MPI_COMM_WORLD);
	}
}

static void many(unsigned char *buf, size_t n)
{
	enum { MANY = 32 };
	MPI_Request req[2 * MANY];
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
	unsigned char *in = buf, *out = buf + MANY * n;

	for (int i = 0; i < MANY; i++) {
		MPI_Irecv(in + i * n, n, MPI_BYTE, last, i, MPI_COMM_WORLD, &req[i]);
		fill(out + i * n, n, i + rank);
	}
	for (int i = MANY - 1; i >= 0; i--)
		MPI_Isend(out + i * n, n, MPI_BYTE, next, i, MPI_COMM_WORLD, &req[MANY + i]);
	MPI_Waitall(2 * MANY, req, MPI_STATUSES_IGNORE);
	for (int i = 0; i < MANY; i++)
		compare(in + i * n, n, i + last, "many messages");
}

static void collectives(int n)
{
	long *a = malloc(n * ranks * sizeof(*a)), *b = malloc(n * ranks * sizeof(*b));

	for (int i = 0; i < n; i++)
		a[i] = rank ? -1 : i * 7;
	MPI_Bcast(a, n, MPI_LONG, 0, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		if (a[i] != i * 7)
			wrong("bcast", i);
	for (int i = 0; i < n; i++)
		a[i] = i + rank;
	MPI_Allreduce(a, b, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		if (b[i] != (long)i * ranks + ranks * (ranks - 1) / 2)
			wrong("allreduce", i);
	MPI_Scan(a, b, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		if (b[i] != (long)i * (rank + 1) + rank * (rank + 1) / 2)
			wrong("scan", i);
	MPI_Allgather(a, n, MPI_LONG, b, n, MPI_LONG, MPI_COMM_WORLD);
	for (int i = 0; i < n * ranks; i++)
		if (b[i] != i % n + i / n)
			wrong("allgather", i);
	for (int i = 0; i < n * ranks; i++)
		a[i] = rank * 1000000L + i;
	MPI_Alltoall(a, n, MPI_LONG, b, n, MPI_LONG, MPI_COMM_WORLD);
	for (int i = 0; i < n * ranks; i++)
		if (b[i] != i / n * 1000000L + rank * n + i % n)
			wrong("alltoall", i);
	octets += (3.0 + 2 * ranks) * n * sizeof(*a);
	free(a);
	free(b);
}

enum { WIDTH = 512, ROWS = 96, STEPS = 50 };

/*
 * Rows 1 to @rows of the plate belong to this rank. Row 0 belongs to the rank @up, and row @rows
 * + 1 to the rank @down.
 */
static void heat(double (*t)[WIDTH], int rows, int up, int down)
{
	static double next[ROWS + 2][WIDTH];

	for (int step = 0; step < STEPS; step++) {
		MPI_Sendrecv(t[1], WIDTH, MPI_DOUBLE, up, 1, t[rows + 1], WIDTH, MPI_DOUBLE, down, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Sendrecv(t[rows], WIDTH, MPI_DOUBLE, down, 2, t[0], WIDTH, MPI_DOUBLE, up, 2,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int y = 1; y <= rows; y++)
			for (int x = 1; x < WIDTH - 1; x++)
				next[y][x] = (t[y - 1][x] + t[y + 1][x] + t[y][x - 1] + t[y][x + 1]) / 4;
		for (int y = 1; y <= rows; y++)
			memcpy(&t[y][1], &next[y][1], (WIDTH - 2) * sizeof(double));
	}
}

static void plate(void)
{
	static double mine[ROWS + 2][WIDTH], all[ROWS + 2][WIDTH], alone[ROWS + 2][WIDTH];
	int rows = ROWS / ranks;

	for (int y = 1; y <= rows; y++)
		mine[y][0] = rank * rows + y;
	heat(mine, rows, rank ? rank - 1 : MPI_PROC_NULL, rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL);
	MPI_Gather(mine[1], rows * WIDTH, MPI_DOUBLE, all[1], rows * WIDTH, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (rank)
		return;
	for (int y = 1; y <= rows * ranks; y++)
		alone[y][0] = y;
	heat(alone, rows * ranks, MPI_PROC_NULL, MPI_PROC_NULL);
	if (memcmp(all[1], alone[1], sizeof(double) * WIDTH * rows * ranks))
		wrong("plate", 0);
	octets += sizeof(double) * WIDTH * rows * ranks;
}

int main(int argc, char **argv)
{
	size_t max = argc > 1 ? strtoul(argv[1], NULL, 0) : 4 << 20;
	unsigned char *buf = malloc(2 * max + 64 * 65536);
	double sum;
	int all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (size_t n = 0; n <= max; n = n ? n * 4 : 1)
		for (int with = 1; with < ranks; with++)
			ping_pong(buf, n, with);
	for (size_t n = 1; n <= 65536; n *= 16)
		many(buf, n);
	for (int n = 1; n <= 10000; n *= 10)
		collectives(n);
	plate();
	MPI_Reduce(&octets, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf("%d ranks, %.0f octets compared, %d wrong\n", ranks, sum, all);
	MPI_Finalize();
	return !!all;
}
