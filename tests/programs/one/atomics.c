// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_atomics: many queue pairs, and a thread on the other host, change the same word by atomic
 * operations.
 *
 *	iwt_atomics -s ADDRESS [-p PORT]		until it is killed
 *	iwt_atomics -c ADDRESS [-p PORT] [-q QPS] [-n ADDS]
 *
 * The words are in the memory of the server. A thread of the server adds 1 to the first word as
 * fast as it can, from the client's start command to its stop command. On the client each of QPS
 * queue pairs adds 1 to this word ADDS times, with up to DEPTH requests at a time. Then the queue
 * pairs count up another word by compare and swap. No operation may get lost, and no two
 * additions, and no two successful swaps, may return the same old value. Defaults: PORT 7475, QPS
 * 32, ADDS 2000. Results in TAP.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#include "patience.h"
#include "results.h"

#define DEPTH 16

enum { ADDED, SWAPPED, START, STOP, LOCAL, STOPPED, WORDS };

struct grant {
	uint64_t addr;
	uint32_t rkey;
} __attribute__((packed));

struct conn {
	struct rdma_cm_id *id;
	struct grant to;
	uint32_t posted, done;	/* numbers of additions; later @done counts successful swaps */
	uint64_t last;		/* result of the last addition; later: value that a swap expects */
};

static const char *port = "7475";
static uint32_t n_qps = 32, n_adds = 2000;

static struct rdma_cm_id *endpoint(const char *address, bool passive)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP,
				       .ai_flags = passive ? RAI_PASSIVE : 0 }, *res;
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(address, port, &hints, &res) || rdma_create_ep(&id, res, NULL, NULL))
		die("rdma_create_ep");
	rdma_freeaddrinfo(res);
	return id;
}

static struct ibv_mr *words_of(struct ibv_pd *pd, void *at, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, len, IBV_ACCESS_LOCAL_WRITE | access);

	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

static void make_qp(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
				      .sq_sig_all = 1, .cap = { 2 * DEPTH, 1, 1, 1, 8 } };

	if (rdma_create_qp(id, NULL, &a))
		die("rdma_create_qp");
}

/* The server */

static _Alignas(4096) uint64_t words[4096 / 8];

static void *add_here(void *arg)
{
	uint64_t n = 0;

	while (!__atomic_load_n(&words[START], __ATOMIC_ACQUIRE))
		usleep(1000);
	while (!__atomic_load_n(&words[STOP], __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(&words[ADDED], 1, __ATOMIC_SEQ_CST);
		n++;
	}
	words[LOCAL] = n;
	__atomic_store_n(&words[STOPPED], 1, __ATOMIC_RELEASE);
	return arg;
}

static int serve(const char *address)
{
	struct rdma_cm_id *listener = endpoint(address, true), *id;
	struct grant g = { .addr = (uintptr_t)words };
	struct rdma_conn_param p = { .private_data = &g, .private_data_len = sizeof(g),
				     .responder_resources = DEPTH, .initiator_depth = DEPTH };
	struct ibv_mr *mr = NULL;
	struct ibv_cq *cq;
	pthread_t thread;

	if (rdma_listen(listener, 64))
		die("rdma_listen");
	while (!rdma_get_request(listener, &id)) {
		cq = ibv_create_cq(id->verbs, 64, NULL, NULL, 0);
		if (!cq)
			die("ibv_create_cq");
		make_qp(id, cq);
		if (!mr) {
			mr = words_of(id->pd, words, sizeof(words), IBV_ACCESS_REMOTE_ATOMIC |
				      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
			if (pthread_create(&thread, NULL, add_here, NULL))
				die("pthread_create");
		}
		g.rkey = mr->rkey;
		if (rdma_accept(id, &p))
			die("rdma_accept");
	}
	die("rdma_get_request");
	return 1;
}

/* The client */

static struct conn *conns;
static struct ibv_cq *cq;
static uint64_t *sink;		/* DEPTH results of each queue pair, then the server's WORDS */
static struct ibv_mr *sinks;

static void dial(struct conn *c, const char *address)
{
	struct rdma_conn_param p = { .responder_resources = DEPTH, .initiator_depth = DEPTH };

	c->id = endpoint(address, false);
	if (!cq)
		cq = ibv_create_cq(c->id->verbs, n_qps * DEPTH + 1, NULL, NULL, 0);
	if (!cq)
		die("ibv_create_cq");
	make_qp(c->id, cq);
	if (!sinks)
		sinks = words_of(c->id->pd, sink, 8ul * (n_qps * DEPTH + WORDS), 0);
	if (rdma_connect(c->id, &p))
		die("rdma_connect");
	if (c->id->event->param.conn.private_data_len < sizeof(c->to))
		die("private data");
	memcpy(&c->to, c->id->event->param.conn.private_data, sizeof(c->to));
}

static uint64_t *slot(const struct conn *c, uint32_t n)
{
	return &sink[(c - conns) * DEPTH + n % DEPTH];
}

/*
 * Posts an operation on the server's word with the index @word. @at: local memory of @len bytes,
 * to which an atomic operation or a Read returns data, or from which a Write takes data
 */
static void post(struct conn *c, enum ibv_wr_opcode op, uint32_t word, uint64_t *at, uint32_t len,
		 uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge = { (uintptr_t)at, len, sinks->lkey };
	struct ibv_send_wr wr = { .wr_id = c - conns, .opcode = op, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad;
	uint64_t addr = c->to.addr + 8 * word;

	if (op == IBV_WR_RDMA_READ || op == IBV_WR_RDMA_WRITE) {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = c->to.rkey;
	} else {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = c->to.rkey;
		wr.wr.atomic.compare_add = compare_add;
		wr.wr.atomic.swap = swap;
	}
	errno = ibv_post_send(c->id->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

static struct conn *reap(void)
{
	struct patience p = {};
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		if (!patient(&p, 60, 0))
			die("no completion");
	if (n < 0 || wc.status) {
		printf("# %s\n", ibv_wc_status_str(wc.status));
		die("completion");
	}
	return &conns[wc.wr_id];
}

static void tell(struct conn *c, uint32_t word)
{
	sink[n_qps * DEPTH] = 1;
	post(c, IBV_WR_RDMA_WRITE, word, &sink[n_qps * DEPTH], 8, 0, 0);
	reap();
}

static void read_words(struct conn *c, uint64_t *to)
{
	post(c, IBV_WR_RDMA_READ, 0, &sink[n_qps * DEPTH], 8 * WORDS, 0, 0);
	reap();
	memcpy(to, &sink[n_qps * DEPTH], 8 * WORDS);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool any_twice(uint64_t *found, size_t n)
{
	size_t i;

	qsort(found, n, sizeof(*found), by_value);
	for (i = 1; i < n; i++)
		if (found[i] == found[i - 1])
			return true;
	return false;
}

static void add(void)
{
	size_t all = (size_t)n_qps * n_adds, n = 0;
	uint64_t *found = malloc(all * sizeof(*found)), w[WORDS];
	bool ascending = true;
	struct conn *c;

	if (!found)
		die("memory");
	tell(conns, START);
	do	/* wait until the server adds, so that additions of both hosts overlap */
		read_words(conns, w);
	while (!w[ADDED]);
	for (c = conns; c < conns + n_qps; c++)
		for (; c->posted < DEPTH && c->posted < n_adds; c->posted++)
			post(c, IBV_WR_ATOMIC_FETCH_AND_ADD, ADDED, slot(c, c->posted), 8, 1, 0);
	while (n < all) {
		c = reap();
		found[n] = *slot(c, c->done);
		ascending &= !c->done || found[n] > c->last;
		c->last = found[n++];
		c->done++;
		if (c->posted < n_adds) {
			post(c, IBV_WR_ATOMIC_FETCH_AND_ADD, ADDED, slot(c, c->posted), 8, 1, 0);
			c->posted++;
		}
	}
	tell(conns, STOP);
	do
		read_words(conns, w);
	while (!w[STOPPED]);
	read_words(conns, w);	/* again: STOPPED may be newer than ADDED in the same Read */
	printf("# %zu from here, %llu there\n", all, (unsigned long long)w[LOCAL]);
	report(w[ADDED] == all + w[LOCAL], "the sum of all additions is exact");
	report(ascending, "the old values ascend on each queue pair");
	report(!any_twice(found, all), "no two additions returned the same value");
	report(w[LOCAL], "a processor of the server added at the same time");
	free(found);
}

static void swap(void)
{
	size_t all = (size_t)n_qps * (n_adds / 20 + 1), n = 0, failed = 0;
	uint64_t *found = malloc(all * sizeof(*found)), w[WORDS], was;
	struct conn *c;

	if (!found)
		die("memory");
	for (c = conns; c < conns + n_qps; c++) {
		c->done = 0;
		c->last = 0;
		post(c, IBV_WR_ATOMIC_CMP_AND_SWP, SWAPPED, slot(c, 0), 8, 0, 1);
	}
	/* a swap expects the value that the previous swap of its queue pair found or stored */
	while (n < all) {
		c = reap();
		was = *slot(c, 0);
		if (was == c->last) {
			found[n++] = was;
			was++;
			c->done++;
		} else {
			failed++;
		}
		c->last = was;
		if (c->done < all / n_qps)
			post(c, IBV_WR_ATOMIC_CMP_AND_SWP, SWAPPED, slot(c, 0), 8, was, was + 1);
	}
	read_words(conns, w);
	printf("# %zu swaps, %zu came too late\n", all, failed);
	report(w[SWAPPED] == all, "the swaps counted up the word");
	report(!any_twice(found, all), "no two swaps replaced the same value");
	free(found);
}

static int drive(const char *address)
{
	uint32_t i;

	conns = calloc(n_qps, sizeof(*conns));
	sink = calloc(n_qps * DEPTH + WORDS, 8);
	if (!conns || !sink)
		die("memory");
	for (i = 0; i < n_qps; i++)
		dial(&conns[i], address);
	add();
	swap();
	for (i = 0; i < n_qps; i++)
		rdma_disconnect(conns[i].id);
	return results_end();
}

int main(int argc, char **argv)
{
	const char *server = NULL, *client = NULL;
	int c;

	while ((c = getopt(argc, argv, "s:c:p:q:n:")) != -1) {
		switch (c) {
		case 's': server = optarg; break;
		case 'c': client = optarg; break;
		case 'p': port = optarg; break;
		case 'q': n_qps = strtoul(optarg, NULL, 0); break;
		case 'n': n_adds = strtoul(optarg, NULL, 0); break;
		default: return 2;
		}
	}
	if (optind != argc || !server == !client || !n_qps || !n_adds)
		return 2;
	return server ? serve(server) : drive(client);
}
