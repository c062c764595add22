// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_bench: reads the options (usage() lists them), and runs the mode that the options select.
 *
 * -m, -o: mode and operation; -S: bytes of a message (65536); -q: number of queue pairs (1), or
 * in the mode "conn" number of connections at the same time; -d: requests under way on each queue
 * pair, at least 4 (128, or 1024 divided by the number of queue pairs if there are more than 8;
 * the modes "conn" and "mem" always have 16); -b: messages of a flow in both directions; -r: a
 * shared receive queue; -k: on-demand paging; -e: a flow sleeps instead of polling; -I, -i:
 * measure the idle time of the processors, as the kernel reports it or as iwt_idle counts it in a
 * file; -g: a message of a flow every so many microseconds, and the server prints quantiles of the
 * messages' delays (pace.c; only with -n, Writes and one queue pair); -t, -n: duration in milliseconds (1000), or number of messages; -w: number of messages
 * before the measurement. The default of PORT is 18600.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"

void bench_wc(const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "iwt_bench: a completion: %s\n", ibv_wc_status_str(wc->status));
	exit(1);
}

static void usage(void)
{
	fputs("usage: iwt_bench -s|-c -a ADDRESS [-p PORT] [-m flow|lat|conn|mem|still]\n"
	      "	[-o write|read|send|atomic] [-S OCTETS] [-q QPS] [-d DEPTH] [-b] [-r] [-k] [-e]\n"
	      "	[-I | -i FILE OF iwt_idle]\n"
	      "	[-t MILLISECONDS | -n MESSAGES] [-w MESSAGES TO WARM UP] [-g MICROSECONDS]\n"
	      "Server and client are to have the same options but -s, -c, -I, -i. With -I or -i, and -n,\n"
	      "the server of a flow reports as well.\n", stderr);
	exit(2);
}

static int word(const char *given, const char *const *words, int n)
{
	while (n--)
		if (!strcmp(given, words[n]))
			return n;
	usage();
	return 0;
}

static void numbers(struct bench_opts *o, int c)
{
	uint64_t n = strtoull(optarg, NULL, 0);

	switch (c) {
	case 'S': o->size = n; break;
	case 'q': o->qps = n; break;
	case 'd': o->depth = n; break;
	case 't': o->ms = n; break;
	case 'n': o->count = n; break;
	case 'w': o->warm = n; break;
	case 'g': o->gap = n; break;
	default: usage();
	}
}

static void options(struct bench_opts *o, int argc, char **argv)
{
	static const char *const modes[] = { "flow", "lat", "conn", "mem", "still" };
	static const char *const ops[] = { "write", "read", "send", "atomic" };
	bool client = false;
	int c;

	while ((c = getopt(argc, argv, "sca:p:m:o:S:q:d:brkeIi:t:n:w:g:")) != -1) {
		switch (c) {
		case 's': o->server = true; break;
		case 'c': client = true; break;
		case 'a': o->addr = optarg; break;
		case 'p': o->port = optarg; break;
		case 'm': o->mode = word(optarg, modes, 5); break;
		case 'o': o->op = word(optarg, ops, 4); break;
		case 'b': o->bidir = true; break;
		case 'r': o->srq = true; break;
		case 'k': o->odp = true; break;
		case 'e': o->events = true; break;
		case 'I': o->idle = true; break;
		case 'i': o->idle = true; bench_idle_from(optarg); break;
		default: numbers(o, c);
		}
	}
	/* a Send of 0 bytes marks the end, and a Send of 1 byte is a credit */
	if (o->server == client || !o->addr || !o->qps || o->size < 2 || o->size > 1u << 30 ||
	    (o->op == BENCH_ATOMIC && (o->mode != BENCH_LAT || o->size != 8)))
		usage();
	if (o->gap && (o->mode != BENCH_FLOW || o->op != BENCH_WRITE || o->qps != 1 || o->bidir ||
		       !o->count || o->count > BENCH_SAMPLES))
		usage();
	/*
	 * by default, all queue pairs together have enough requests for any path, but no more
	 * than about a thousand, or 4 for each queue pair
	 */
	if (!o->depth)
		o->depth = o->qps > 8 ? 1024 / o->qps : 128;
	if (o->depth < 4)
		o->depth = 4;
}

int main(int argc, char **argv)
{
	struct bench b = { .o = { .port = "18600", .size = 65536, .qps = 1, .ms = 1000 } };
	struct rlimit files = { 65536, 65536 };
	struct bench_result r = { 0 };

	options(&b.o, argc, argv);
	setrlimit(RLIMIT_NOFILE, &files);
	b.conn = calloc(b.o.qps, sizeof(*b.conn));
	if (b.o.gap && b.o.server)
		b.arrival = bench_samples();
	b.ec = rdma_create_event_channel();
	if (!b.conn || !b.ec)
		bench_die("rdma_create_event_channel");
	b.addr = bench_address(b.o.addr, b.o.port);
	if (b.o.server)
		bench_listen(&b);
	switch (b.o.mode) {
	case BENCH_FLOW: bench_flow(&b, &r); break;
	case BENCH_LAT: bench_lat(&b, &r); break;
	case BENCH_CONN: bench_setup(&b, &r); break;
	case BENCH_MEM: bench_mem(&b, &r); break;
	case BENCH_STILL: bench_still(&b, &r); break;
	}
	if (!b.o.server || ((b.o.idle || b.o.gap) && r.messages))
		bench_print(&r);
	return 0;
}
