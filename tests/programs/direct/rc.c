// SPDX-License-Identifier: GPL-2.0
/* Tests: what programs expect of InfiniBand's reliable connections. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "direct.h"

#define STREAMS	12

static void connect_both(struct end *x, struct end *y, const struct how *x_how,
			 const struct how *y_how)
{
	if (connect_end(x, y, x_how) || connect_end(y, x, y_how))
		die("connect");
}

static void make_both(struct end *x, struct end *y)
{
	end_make(x, &a);
	end_make(y, &b);
	connect_both(x, y, &usual, &usual);
}

static void drop_both(struct end *x, struct end *y)
{
	end_drop(x);
	end_drop(y);
}

/* A Send waits for a receive, and the requests after the Send wait, too. */
static void waits(struct end *x, struct end *y, const char *what)
{
	bool good;

	memset(y->side->mem, 0, BUFFER);
	fill_tx(x, 0x21);
	if (post_op(x, IBV_WR_SEND, 1, y) || post_op(x, IBV_WR_RDMA_WRITE, 2, y))
		die("post");
	report(quiet(x, 300) && arrived(y, 0), "%s: a Send without a receive waits", what);
	if (post_recv(y, 3))
		die("post_recv");
	good = ends(y, 3, IBV_WC_SUCCESS) &&
	       ends(x, 1, IBV_WC_SUCCESS) &&
	       ends(x, 2, IBV_WC_SUCCESS) && arrived(y, 0x21);
	report(good, "%s: the receive wakes the stream", what);
}

/* Each of several streams waits for a receive of the same shared queue. */
static void share(void)
{
	struct ibv_srq *srq = srq_make(&b);
	struct end x[STREAMS], y[STREAMS];
	struct ibv_wc wc;
	int i, got = 0;

	for (i = 0; i < STREAMS; i++) {
		end_make(&x[i], &a);
		end_make_srq(&y[i], &b, srq);
		connect_both(&x[i], &y[i], &usual, &usual);
		if (post_op(&x[i], IBV_WR_SEND, i, &y[i]))
			die("post");
	}
	report(quiet(&x[0], 300), "a shared queue: the streams wait");
	/* two streams end while they wait: the other streams must get all receives */
	for (i = 0; i < 2; i++)
		drop_both(&x[i], &y[i]);
	for (i = 2; i < STREAMS; i++)
		if (post_recv(&y[2], 100 + i))
			die("post_recv");
	for (i = 2; i < STREAMS; i++) {
		got += ends(&x[i], i, IBV_WC_SUCCESS);
		reap(y[i].cq, &wc, 1);
		got += wc.status == IBV_WC_SUCCESS;
	}
	report(got == 2 * (STREAMS - 2), "a shared queue: each stream gets one receive");
	for (i = 2; i < STREAMS; i++)
		drop_both(&x[i], &y[i]);
	if (ibv_destroy_srq(srq))
		die("ibv_destroy_srq");
}

/*
 * The peer's Send waits for a receive of this end. Meanwhile Sends of this end must complete,
 * although the peer sends their confirmations after the Send that waits. A Read of this end waits
 * until the receive is posted.
 */
static void send_first(void)
{
	struct end x, y;
	int i, good = 0;

	make_both(&x, &y);
	if (!talk(&x, &y) || post_op(&y, IBV_WR_SEND, 2, &x))
		die("post");
	report(quiet(&y, 100), "the peer sends first: its Send waits");
	for (i = 10; i < 20; i++) {
		if (post_recv(&y, 100 + i) || post_op(&x, IBV_WR_SEND, i, &y))
			die("post");
		good += ends(&x, i, IBV_WC_SUCCESS) && ends(&y, 100 + i, IBV_WC_SUCCESS);
	}
	report(good == 10, "the peer sends first: requests complete meanwhile");
	if (post_op(&x, IBV_WR_RDMA_READ, 30, &y) || post_op(&x, IBV_WR_RDMA_WRITE, 31, &y))
		die("post");
	report(quiet(&x, 100), "the peer sends first: a Read waits, and all requests behind it");
	if (post_recv(&x, 3))
		die("post_recv");
	report(ends(&x, 3, IBV_WC_SUCCESS) && ends(&y, 2, IBV_WC_SUCCESS) &&
	       ends(&x, 30, IBV_WC_SUCCESS) && ends(&x, 31, IBV_WC_SUCCESS),
	       "the peer sends first: then the receive completes, and the Read");
	report(talk(&x, &y), "the peer sends first: the connection goes on");
	drop_both(&x, &y);
}

/*
 * Several Sends of the peer wait, one after the other. Between two receives of this end, a Send
 * of this end must complete, although the peer sends the confirmation after all Sends that still
 * wait.
 */
static void several_wait(void)
{
	int i, n = 8, good = 0;
	struct ibv_wc wc;
	struct end x, y;

	make_both(&x, &y);
	if (!talk(&x, &y))
		die("talk");
	for (i = 0; i < n; i++)
		if (post_op(&y, IBV_WR_SEND, 40 + i, &x))
			die("post");
	report(quiet(&y, 100), "several Sends wait");
	for (i = 0; i < n; i++) {
		if (post_recv(&y, 60 + i) || post_op(&x, IBV_WR_SEND, 80 + i, &y))
			die("post");
		good += ends(&x, 80 + i, IBV_WC_SUCCESS);
		if (post_recv(&x, 20 + i))
			die("post_recv");
		good += ends(&x, 20 + i, IBV_WC_SUCCESS);
	}
	report(good == 2 * n, "several Sends wait: requests complete between the receives");
	/* the peer's receives and Sends complete; one confirmation may complete several Sends */
	for (i = 0; i < 2 * n; i++) {
		reap(y.cq, &wc, 1);
		good += wc.status == IBV_WC_SUCCESS;
	}
	report(good == 4 * n, "several Sends wait: then they complete");
	report(talk(&x, &y), "several Sends wait: the connection goes on");
	drop_both(&x, &y);
}

void test_receives(void)
{
	struct ibv_srq *srq = srq_make(&b);
	struct end x, y;
	int i;

	make_both(&x, &y);
	waits(&x, &y, "own queue");
	waits(&y, &x, "own queue, other direction");
	for (i = 0; i < 50; i++)
		if (!talk(&x, &y))
			break;
	report(i == 50, "the connection goes on");
	drop_both(&x, &y);

	end_make(&x, &a);
	end_make_srq(&y, &b, srq);
	connect_both(&x, &y, &usual, &usual);
	waits(&x, &y, "shared queue");
	waits(&x, &y, "shared queue, once more");
	drop_both(&x, &y);
	if (ibv_destroy_srq(srq))
		die("ibv_destroy_srq");

	make_both(&x, &y);
	if (!talk(&x, &y) || post_op(&x, IBV_WR_SEND, 1, &y))
		die("post");
	report(quiet(&x, 100), "a queue pair is destroyed while it waits for a receive");
	end_drop(&y);
	report(ends(&x, 1, IBV_WC_RETRY_EXC_ERR),
	       "the peer is destroyed while it waits: the Send fails");
	end_drop(&x);
	share();
	send_first();
	several_wait();
}

/*
 * Many Sends wait, and the peer posts one receive after the other, without a pause and without
 * polling. So each receive needs a doorbell. The peer posts no request.
 */
void test_rings(void)
{
	int round, i, good = 0;
	struct ibv_wc wc;
	struct end x, y;

	make_both(&x, &y);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < DEPTH; i++)
			if (post_op(&x, IBV_WR_SEND, i, &y))
				die("post");
		if (!quiet(&x, 100))
			break;
		for (i = 0; i < DEPTH; i++)
			if (post_recv(&y, i))
				die("post_recv");
		for (i = 0; i < DEPTH; i++) {
			reap(x.cq, &wc, 1);
			good += wc.status == IBV_WC_SUCCESS;
			reap(y.cq, &wc, 1);
			good += wc.status == IBV_WC_SUCCESS;
		}
	}
	report(good == 10 * DEPTH, "many receives are posted one by one, and all Sends complete");
	drop_both(&x, &y);
}

/* The clock by which the device measures; running_ms() is slower while the machine is busy. */
static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

static void limit(const char *what, uint8_t timer, uint8_t retry, unsigned int least_ms)
{
	struct how sender = usual, receiver = usual;
	struct end x, y;
	uint64_t since;

	sender.rnr_retry = retry;
	receiver.min_rnr_timer = timer;
	end_make(&x, &a);
	end_make(&y, &b);
	connect_both(&x, &y, &sender, &receiver);
	if (!talk(&x, &y))
		die("talk");
	since = now_ms();
	if (post_op(&x, IBV_WR_RDMA_WRITE, 1, &y) || post_op(&x, IBV_WR_SEND, 2, &y) ||
	    post_op(&x, IBV_WR_RDMA_WRITE, 3, &y))
		die("post");
	report(ends(&x, 1, IBV_WC_SUCCESS) &&
	       ends(&x, 2, IBV_WC_RNR_RETRY_EXC_ERR) &&
	       ends(&x, 3, IBV_WC_WR_FLUSH_ERR), "%s: the Send fails", what);
	report(now_ms() - since >= least_ms, "%s: not too early", what);
	drop_both(&x, &y);
}

void test_limits(void)
{
	limit("no retry", 12, 0, 0);
	limit("short limit", 14, 3, 0);
	/* an RNR timer of 491.52 ms (31), and two retries */
	limit("long limit", 31, 2, 700);
}

/* The peer refuses the second of three requests. */
static void refused(const char *what, enum ibv_wr_opcode op, int status)
{
	struct end x, y, wrong;
	struct side side = b;
	struct ibv_mr mr = *b.mr;

	make_both(&x, &y);
	if (!talk(&x, &y))
		die("talk");
	wrong = y;
	wrong.side = &side;
	side.mr = &mr;
	mr.rkey ^= 0x500;
	if (post_op(&x, IBV_WR_RDMA_WRITE, 1, &y) || post_op(&x, op, 2, &wrong) ||
	    post_op(&x, IBV_WR_RDMA_WRITE, 3, &y))
		die("post");
	report(ends(&x, 1, IBV_WC_SUCCESS) &&
	       ends(&x, 2, status) &&
	       ends(&x, 3, IBV_WC_WR_FLUSH_ERR), "%s to a wrong key", what);
	drop_both(&x, &y);
}

/* The consumer of the peer has granted no rights. */
static void no_rights(void)
{
	struct end x, y;

	end_make(&x, &a);
	end_make(&y, &b);
	y.access = 0;
	connect_both(&x, &y, &usual, &usual);
	if (!talk(&x, &y) || post_op(&x, IBV_WR_RDMA_WRITE, 1, &y))
		die("post");
	report(ends(&x, 1, IBV_WC_REM_ACCESS_ERR), "a Write without the right");
	drop_both(&x, &y);
}

void test_errors(void)
{
	refused("a Write", IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	refused("a Read", IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR);
	refused("an atomic operation", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_REM_ACCESS_ERR);
	no_rights();
}
