// SPDX-License-Identifier: GPL-2.0
/* Tests: when requests complete, and which request fails with which status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "direct.h"

#define UNSIGNALED	1000	/* requests */
#define READS		200	/* more than the steps before a wrap in the laboratory "wrap" */

static void pair(struct end *x, struct end *y, bool sig_all)
{
	end_make_signaled(x, &a, sig_all);
	end_make(y, &b);
	if (connect_end(x, y, &usual) || connect_end(y, x, &usual))
		die("connect");
	/* wait until both ends are connected */
	if (post_signaled(x, IBV_WR_RDMA_WRITE, 1, y) || !ends(x, 1, IBV_WC_SUCCESS))
		die("a Write");
}

static void drop(struct end *x, struct end *y)
{
	end_drop(x);
	end_drop(y);
}

/* Posts a request as soon as the queue has room. Return: false if the queue stays full. */
static bool squeeze(struct end *x, enum ibv_wr_opcode op, uint64_t wr_id, const struct end *y)
{
	struct patience p = {};
	int err;

	while ((err = post_op(x, op, wr_id, y)) == ENOMEM && patient(&p, PATIENCE, 0))
		usleep(200);
	return !err;
}

/*
 * The entries of unsignaled requests become free, although these requests have no completions.
 * The send queue has DEPTH entries, which is less than the number of requests that the test
 * posts.
 */
static void unsignaled(void)
{
	struct end x, y;
	int i, n = 0;

	pair(&x, &y, false);
	for (i = 0; i < UNSIGNALED; i++)
		n += squeeze(&x, IBV_WR_RDMA_WRITE, i, &y);
	report(n == UNSIGNALED, "requests without a signal: the queue does not stay full");
	report(quiet(&x, 50), "requests without a signal have no completion");
	fill_tx(&x, 0x66);
	report(!post_signaled(&x, IBV_WR_RDMA_WRITE, 7, &y) && ends(&x, 7, IBV_WC_SUCCESS) &&
	       arrived(&y, 0x66), "the first request with a signal completes behind them");
	drop(&x, &y);
}

/* Requests after a Send that waits for a receive must not complete before this Send. */
static void order(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_RDMA_WRITE, IBV_WR_SEND,
	};
	const int n = sizeof(ops) / sizeof(ops[0]);
	struct end x, y;
	int i, good = 0;

	pair(&x, &y, true);
	if (post_op(&x, IBV_WR_RDMA_WRITE, 50, &y))
		die("post");
	for (i = 0; i < n; i++)
		if (post_op(&x, ops[i], i, &y))
			die("post");
	report(ends(&x, 50, IBV_WC_SUCCESS), "order: a Write before the Send completes");
	report(quiet(&x, 200), "order: nothing behind the Send completes");
	if (post_recv(&y, 60))
		die("post_recv");
	for (i = 0; i < n - 2; i++)
		good += ends(&x, i, IBV_WC_SUCCESS);
	report(good == n - 2, "order: with the receive, requests complete in order");
	/* the Write before the second Send is placed; its confirmation follows this Send */
	report(quiet(&x, 100), "order: the second Send waits");
	if (post_recv(&y, 61))
		die("post_recv");
	report(ends(&x, n - 2, IBV_WC_SUCCESS) && ends(&x, n - 1, IBV_WC_SUCCESS),
	       "order: the second Send completes");
	drop(&x, &y);
}

/* The peer's queue pair is reset or destroyed while requests are unconfirmed. */
static void lost(bool reset)
{
	const char *what = reset ? "reset" : "destroyed";
	struct end x, y;

	pair(&x, &y, true);
	if (post_op(&x, IBV_WR_RDMA_WRITE, 1, &y) || post_op(&x, IBV_WR_SEND, 2, &y) ||
	    post_op(&x, IBV_WR_RDMA_WRITE, 3, &y) || post_op(&x, IBV_WR_RDMA_READ, 4, &y))
		die("post");
	report(ends(&x, 1, IBV_WC_SUCCESS), "the peer is %s: an earlier Write has completed", what);
	if (reset && to_state(&y, IBV_QPS_RESET))
		die("RESET");
	if (!reset)
		end_drop(&y);
	report(ends(&x, 2, IBV_WC_RETRY_EXC_ERR) && ends(&x, 3, IBV_WC_WR_FLUSH_ERR) &&
	       ends(&x, 4, IBV_WC_WR_FLUSH_ERR), "the peer is %s: the first request shows it", what);
	end_drop(&x);
	if (reset)
		end_drop(&y);
}

/* An unsignaled request that fails has a completion. */
static void silent_failure(void)
{
	struct end x, y;

	pair(&x, &y, false);
	if (post_op(&x, IBV_WR_SEND, 1, &y) || post_op(&x, IBV_WR_RDMA_WRITE, 2, &y))
		die("post");
	end_drop(&y);
	report(ends(&x, 1, IBV_WC_RETRY_EXC_ERR) && ends(&x, 2, IBV_WC_WR_FLUSH_ERR),
	       "requests without a signal: the peer leaves");
	end_drop(&x);
}

/*
 * An error of this end makes one request fail: earlier requests complete, later requests are
 * flushed.
 */
static void own_error(void)
{
	struct side side = a;
	struct ibv_mr mr = *a.mr;
	struct end x, y;

	pair(&x, &y, true);
	if (post_op(&x, IBV_WR_RDMA_WRITE, 1, &y) || post_op(&x, IBV_WR_RDMA_WRITE, 2, &y))
		die("post");
	side.mr = &mr;
	mr.lkey ^= 0x500;
	x.side = &side;
	if (post_op(&x, IBV_WR_RDMA_WRITE, 3, &y) || post_op(&x, IBV_WR_RDMA_WRITE, 4, &y))
		die("post");
	report(ends(&x, 1, IBV_WC_SUCCESS) && ends(&x, 2, IBV_WC_SUCCESS) &&
	       ends(&x, 3, IBV_WC_LOC_PROT_ERR) && ends(&x, 4, IBV_WC_WR_FLUSH_ERR),
	       "an error of this end fails one request");
	drop(&x, &y);
}

/* The peer refuses the second of three messages. */
static void refusals(void)
{
	struct ibv_mr mr = *b.mr;
	struct side side = b;
	struct end x, y, wrong;

	/* the second of two Writes to the same key exceeds the region */
	pair(&x, &y, true);
	wrong = y;
	wrong.side = &side;
	side.mem = b.mem + BUFFER + 1;
	if (post_op(&x, IBV_WR_RDMA_WRITE, 1, &y) || post_op(&x, IBV_WR_RDMA_WRITE, 2, &wrong) ||
	    post_op(&x, IBV_WR_RDMA_WRITE, 3, &y))
		die("post");
	report(ends(&x, 1, IBV_WC_SUCCESS) && ends(&x, 2, IBV_WC_REM_ACCESS_ERR) &&
	       ends(&x, 3, IBV_WC_WR_FLUSH_ERR), "the second Write goes beyond the region");
	drop(&x, &y);

	/* the second of three Sends is too long for its receive */
	pair(&x, &y, true);
	wrong = y;
	wrong.side = &side;
	side = b;
	side.mr = &mr;
	if (post_recv(&y, 10) || post_short_recv(&y, 11) || post_recv(&y, 12) ||
	    post_op(&x, IBV_WR_SEND, 1, &y) || post_op(&x, IBV_WR_SEND, 2, &y) ||
	    post_op(&x, IBV_WR_SEND, 3, &y))
		die("post");
	report(ends(&x, 1, IBV_WC_SUCCESS) && ends(&x, 2, IBV_WC_REM_INV_REQ_ERR) &&
	       ends(&x, 3, IBV_WC_WR_FLUSH_ERR), "the second Send is too long");
	report(ends(&y, 10, IBV_WC_SUCCESS) && ends(&y, 11, IBV_WC_LOC_LEN_ERR) &&
	       ends(&y, 12, IBV_WC_WR_FLUSH_ERR), "the second Send is too long: the receives");
	drop(&x, &y);
}

/*
 * Posts a Write and @op in one call, so that the engine frames both together. Return: true if both
 * complete.
 */
static bool write_and(struct end *x, const struct end *y, enum ibv_wr_opcode op)
{
	bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = {
		.addr = (uintptr_t)x->side->mem + BUFFER, .length = 8, .lkey = x->side->mr->lkey,
	};
	struct ibv_send_wr second = { .wr_id = 2, .opcode = op, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr first = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge,
				     .num_sge = 1, .next = &second };
	uint64_t to = (uintptr_t)y->side->mem;
	struct ibv_send_wr *bad;

	first.wr.rdma.remote_addr = to;
	first.wr.rdma.rkey = y->side->mr->rkey;
	if (atomic) {
		second.wr.atomic.remote_addr = to;
		second.wr.atomic.rkey = y->side->mr->rkey;
	} else {
		second.wr.rdma = first.wr.rdma;
	}
	return !ibv_post_send(x->qp, &first, &bad) && ends(x, 1, IBV_WC_SUCCESS) &&
	       ends(x, 2, IBV_WC_SUCCESS);
}

/*
 * The Reads and atomic operations of the program confirm the requests before them, so the engine
 * needs no Reads of its own, except one for the Write of pair(). The caller looks at the counter.
 */
/* A program that only reads needs no confirmations. */
static void only_reads(void)
{
	struct end x, y;
	int i, good = 0;

	end_make(&x, &a);
	end_make(&y, &b);
	if (connect_end(&x, &y, &usual) || connect_end(&y, &x, &usual))
		die("connect");
	for (i = 0; i < READS; i++)
		good += !post_signaled(&x, i & 1 ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_RDMA_READ,
				       i, &y) && ends(&x, i, IBV_WC_SUCCESS);
	report(good == READS && quiet(&x, 300), "%d of %d Reads and atomic operations", good, READS);
	drop(&x, &y);
}

void test_reads(void)
{
	struct end x, y;
	int i, good = 0;

	only_reads();

	pair(&x, &y, true);
	for (i = 0; i < 8; i++)
		good += write_and(&x, &y, i & 1 ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_RDMA_READ);
	report(good == 8, "each Write completes with the Read or atomic operation behind it");
	drop(&x, &y);
}

void test_confirm(void)
{
	unsignaled();
	order();
	lost(false);
	lost(true);
	silent_failure();
	own_error();
	refusals();
}
