// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_threads: several threads post to the same queue pairs, by ibv_post_send() and by
 * ibv_wr_*(), and several threads poll the only completion queue, by ibv_poll_cq() and by
 * ibv_start_poll(). Each request must complete once, and the peer's memory must contain the last
 * value of each posting thread. Then one thread polls while another thread is between
 * ibv_start_poll() and ibv_end_poll(), which seldom happens in the first part of the test.
 *
 *	iwt_threads ADDRESS [POSTS]
 *
 * POSTS is the number of requests of each posting thread (20000). The peer is iwt_hostile -s. A
 * posting thread waits only if a send queue is full. On a machine without an idle processor the
 * driver may defer posts, which only the polling threads flush.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "patience.h"

#define PORT		"7474"
#define QPS		3
#define POSTERS		4
#define POLLERS		3
#define DEPTH		64
#define PATIENCE	100	/* seconds */

struct grant {
	uint64_t addr;
	uint32_t rkey;
	uint32_t len;
} __attribute__((packed));

struct conn {
	struct rdma_cm_id *id;
	struct ibv_qp_ex *ex;
	struct grant peer;
	atomic_int room;
};

static struct conn conns[QPS];
static struct ibv_pd *pd;
static struct ibv_cq_ex *cq;
static struct ibv_mr *mr;
static uint64_t result[QPS][POSTERS];
static uint32_t posts = 20000;
/* for each request: has it completed? */
static atomic_uchar *seen[POSTERS];
static atomic_uint done, bad;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "# %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_objects(struct ibv_context *verbs)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = QPS * DEPTH * 2 };

	pd = ibv_alloc_pd(verbs);
	cq = ibv_create_cq_ex(verbs, &attr);
	if (!pd || !cq)
		die("pd or cq");
	mr = ibv_reg_mr(pd, result, sizeof(result), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("ibv_reg_mr");
}

static void dial(struct conn *c, const char *address)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *ai;
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 8 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};

	if (rdma_getaddrinfo(address, PORT, &hints, &ai) ||
	    rdma_create_id(NULL, &c->id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(c->id, NULL, ai->ai_dst_addr, 30000) ||
	    rdma_resolve_route(c->id, 30000))
		die("address");
	rdma_freeaddrinfo(ai);
	if (!pd)
		make_objects(c->id->verbs);
	attr.pd = pd;
	attr.send_cq = ibv_cq_ex_to_cq(cq);
	attr.recv_cq = ibv_cq_ex_to_cq(cq);
	if (rdma_create_qp_ex(c->id, &attr))
		die("rdma_create_qp_ex");
	c->ex = ibv_qp_to_qp_ex(c->id->qp);
	if (!c->ex || rdma_connect(c->id, &param) || !c->id->event)
		die("rdma_connect");
	memcpy(&c->peer, c->id->event->param.conn.private_data, sizeof(c->peer));
	atomic_store(&c->room, DEPTH);
}

static int post(struct conn *c, bool extended, uint64_t wr_id, uint64_t addr, uint64_t value)
{
	struct ibv_sge sge = { (uintptr_t)&value, sizeof(value), 0 };
	struct ibv_send_wr *failed, wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma = { addr, c->peer.rkey },
	};

	if (!extended)
		return ibv_post_send(c->id->qp, &wr, &failed);
	ibv_wr_start(c->ex);
	c->ex->wr_id = wr_id;
	c->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(c->ex, c->peer.rkey, addr);
	ibv_wr_set_inline_data(c->ex, &value, sizeof(value));
	return ibv_wr_complete(c->ex);
}

/*
 * Posts Writes to each queue pair in turn. A Write stores its number plus 1 in the peer's memory,
 * in a word that only this thread writes. So this word contains the number of the last post plus
 * 1 at the end.
 */
static void *poster(void *arg)
{
	uint64_t me = (uintptr_t)arg;
	uint32_t i;

	for (i = 0; i < posts; i++) {
		uint64_t q = i % QPS;
		struct conn *c = &conns[q];
		uint64_t addr = c->peer.addr + me * sizeof(uint64_t);

		while (atomic_fetch_sub(&c->room, 1) <= 0) {
			atomic_fetch_add(&c->room, 1);
			sched_yield();
		}
		if (post(c, me % 2, q << 48 | me << 32 | i, addr, i + 1)) {
			fprintf(stderr, "# post %u of thread %u failed\n", i, (unsigned int)me);
			atomic_fetch_add(&bad, 1);
			return NULL;
		}
	}
	return arg;
}

static void completed(uint64_t wr_id, int status)
{
	uint32_t who = wr_id >> 32 & 0xffff, i = wr_id;

	if (status || wr_id >> 48 >= QPS || who >= POSTERS || i >= posts ||
	    atomic_exchange(&seen[who][i], 1)) {
		if (!atomic_fetch_add(&bad, 1))
			fprintf(stderr, "# completion %llx: status %d\n",
				(unsigned long long)wr_id, status);
		return;
	}
	atomic_fetch_add(&conns[wr_id >> 48].room, 1);
	atomic_fetch_add(&done, 1);
}

static int poll_some(void)
{
	struct ibv_wc wc[5];
	int n = ibv_poll_cq(ibv_cq_ex_to_cq(cq), 5, wc), i;

	for (i = 0; i < n; i++)
		completed(wc[i].wr_id, wc[i].status);
	return n;
}

static int poll_extended(void)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t id[5];
	int status[5], n = 0, i, ret = ibv_start_poll(cq, &attr);

	if (ret)
		return ret == ENOENT ? 0 : -1;
	do {
		id[n] = cq->wr_id;
		status[n++] = cq->status;
	} while (n < 5 && !ibv_next_poll(cq));
	ibv_end_poll(cq);
	for (i = 0; i < n; i++)
		completed(id[i], status[i]);
	return n;
}

static void *poller(void *arg)
{
	bool extended = (uintptr_t)arg % 2;

	while (atomic_load(&done) < posts * POSTERS && !atomic_load(&bad)) {
		int n = extended ? poll_extended() : poll_some();

		if (n < 0) {
			atomic_fetch_add(&bad, 1);
			fprintf(stderr, "# polling failed\n");
		}
		if (!n)
			sched_yield();
	}
	return NULL;
}

/* Reads the last value of each thread from the peer's memory, and checks this value. */
static void compare(struct conn *c, int q)
{
	struct ibv_sge sge = { (uintptr_t)result[q], sizeof(result[q]), mr->lkey };
	struct ibv_send_wr *failed, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { c->peer.addr, c->peer.rkey },
	};
	struct ibv_wc wc;
	uint64_t want;
	int n, i;

	if (ibv_post_send(c->id->qp, &wr, &failed))
		die("read");
	while (!(n = ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc)))
		sched_yield();
	if (n < 0 || wc.status)
		die("read");
	/* this queue pair had the posts q, q + QPS, ...; a post writes its number plus 1 */
	want = (posts - 1 - q) / QPS * QPS + q + 1;
	for (i = 0; i < POSTERS; i++)
		if (result[q][i] != want) {
			fprintf(stderr, "# thread %d on queue pair %d: %llu\n", i, q,
				(unsigned long long)result[q][i]);
			atomic_fetch_add(&bad, 1);
		}
}

/*
 * Takes one completion: by ibv_poll_cq() if @arg is NULL, else by ibv_start_poll(). Return: the
 * address of the wr_id of the completion
 */
static void *take_one(void *arg)
{
	static uint64_t taken;
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc;
	int n;

	do {
		if (arg) {
			n = !ibv_start_poll(cq, &attr);
			if (!n)
				continue;
			taken = cq->wr_id;
			ibv_end_poll(cq);
		} else {
			n = ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc);
			taken = wc.wr_id;
		}
	} while (!n);
	return &taken;
}

/*
 * Two requests complete. This thread reads the first completion between ibv_start_poll() and
 * ibv_end_poll(). Another thread polls meanwhile, and would take the same completion if no lock
 * prevented this. After ibv_end_poll() the other thread must get the second completion.
 */
static void overlap(struct conn *c, bool extended)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t *taken, first;
	pthread_t other;

	if (post(c, false, 1, c->peer.addr, 0) || post(c, false, 2, c->peer.addr, 0))
		die("post");
	while (ibv_start_poll(cq, &attr))
		sched_yield();
	if (pthread_create(&other, NULL, take_one, extended ? cq : NULL))
		die("thread");
	usleep(100000);
	first = cq->wr_id;
	ibv_end_poll(cq);
	if (pthread_join(other, (void **)&taken))
		die("pthread_join");
	if (first == 1 && *taken == 2)
		return;
	fprintf(stderr, "# %s: two polls took %llu and %llu\n",
		extended ? "ibv_start_poll" : "ibv_poll_cq",
		(unsigned long long)first, (unsigned long long)*taken);
	atomic_fetch_add(&bad, 1);
}

static uint64_t completions(void)
{
	return atomic_load(&done);
}

int main(int argc, char **argv)
{
	pthread_t threads[POSTERS + POLLERS];
	uintptr_t i;

	if (argc < 2)
		return 2;
	if (argc > 2)
		posts = strtoul(argv[2], NULL, 0);
	/* if the threads hang, a signal ends the program and the test fails */
	patient_alarm(PATIENCE, completions);
	for (i = 0; i < POSTERS; i++) {
		seen[i] = calloc(posts, 1);
		if (!seen[i])
			die("memory");
	}
	for (i = 0; i < QPS; i++)
		dial(&conns[i], argv[1]);
	for (i = 0; i < POLLERS; i++)
		if (pthread_create(&threads[POSTERS + i], NULL, poller, (void *)i))
			die("thread");
	for (i = 0; i < POSTERS; i++)
		if (pthread_create(&threads[i], NULL, poster, (void *)i))
			die("thread");
	for (i = 0; i < POSTERS + POLLERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < QPS && !atomic_load(&bad); i++)
		compare(&conns[i], i);
	for (i = 0; i < 2 && !atomic_load(&bad); i++)
		overlap(&conns[0], i);
	fprintf(stderr, "# %u of %u completions\n", atomic_load(&done), posts * POSTERS);
	for (i = 0; i < QPS; i++)
		rdma_disconnect(conns[i].id);
	return atomic_load(&bad) || atomic_load(&done) != posts * POSTERS;
}
