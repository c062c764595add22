// SPDX-License-Identifier: GPL-2.0
/* Tests: queue pairs that leave, that are reset, and many queue pairs at once. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "direct.h"

/* The peer is destroyed: the queue pair stays in RTS until it sends. */
void test_leave(void)
{
	struct end x, y;
	int order;

	for (order = 0; order < 2; order++) {
		end_make(&x, order ? &b : &a);
		end_make(&y, order ? &a : &b);
		if (connect_end(&x, &y, &usual) || connect_end(&y, &x, &usual) || !talk(&x, &y) ||
		    post_recv(&x, 5))
			die("connect");
		end_drop(&y);
		report(quiet(&x, 300) && state_of(&x) == IBV_QPS_RTS,
		       "the peer of %s leaves: the state and the receives stay", x.side->name);
		if (post_op(&x, IBV_WR_RDMA_WRITE, 1, &x) || post_op(&x, IBV_WR_RDMA_READ, 2, &x))
			die("post");
		report(ends(&x, 1, IBV_WC_RETRY_EXC_ERR) &&
		       ends(&x, 5, IBV_WC_WR_FLUSH_ERR) &&
		       ends(&x, 2, IBV_WC_WR_FLUSH_ERR) &&
		       state_of(&x) == IBV_QPS_ERR,
		       "the peer of %s leaves: the next request fails", x.side->name);
		end_drop(&x);
	}
	end_make(&x, &a);
	end_make(&y, &b);
	if (connect_end(&x, &y, &usual) || connect_end(&y, &x, &usual) || !talk(&x, &y))
		die("connect");
	end_drop(&y);
	usleep(100000);
	report(!to_state(&x, IBV_QPS_RESET), "a queue pair whose peer has left can be reset");
	end_make(&y, &b);
	report(!connect_end(&x, &y, &usual) && !connect_end(&y, &x, &usual) && talk(&x, &y),
	       "a queue pair whose peer has left can connect again");
	end_drop(&x);
	end_drop(&y);
}

/* Resets a queue pair in each state, and connects it again. */
void test_reset(void)
{
	struct end x, y;
	int state, order;

	for (order = 0; order < 2; order++) {
		end_make(&x, order ? &b : &a);
		for (state = 0; state < 6; state++) {
			end_make(&y, order ? &a : &b);
			if (to_init(&x) || (state && to_rtr(&x, &y, &usual)) ||
			    (state > 1 && to_rts(&x, &usual)) ||
			    (state > 2 && (connect_end(&y, &x, &usual) || !talk(&x, &y))))
				die("connect");
			if (state == 4)
				post_op(&x, IBV_WR_SEND, 3, &y);	/* without a receive */
			if (state == 5 && to_state(&x, IBV_QPS_ERR))
				die("to_state");
			report(!to_state(&x, IBV_QPS_RESET), "%s: reset in state %d", x.side->name,
			       state);
			report(quiet(&x, 1), "%s: no completion is left of state %d", x.side->name,
			       state);
			end_drop(&y);
		}
		end_make(&y, order ? &a : &b);
		report(!connect_end(&x, &y, &usual) && !connect_end(&y, &x, &usual) && talk(&x, &y),
		       "%s: after all resets the queue pair connects", x.side->name);
		end_drop(&x);
		end_drop(&y);
	}
}

static void shuffle(uint32_t *order, uint32_t n)
{
	uint32_t i, j, was;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n - 1; i; i--) {
		j = below(i + 1);
		was = order[i];
		order[i] = order[j];
		order[j] = was;
	}
}

/* Makes @n connections. Their ends begin in a random order. */
void test_many(uint32_t n)
{
	struct end *x = calloc(2 * n, sizeof(*x)), *e;
	uint32_t *order = calloc(2 * n, sizeof(*order)), i, good = 0;

	for (i = 0; i < 2 * n; i++)
		end_make(&x[i], i & 1 ? &b : &a);
	shuffle(order, 2 * n);
	for (i = 0; i < 2 * n; i++) {
		e = &x[order[i]];
		if (to_init(e) || post_recv(e, 1) || connect_end(e, &x[order[i] ^ 1], &usual) ||
		    post_op(e, IBV_WR_SEND, 2, &x[order[i] ^ 1]))
			die("connect");
	}
	for (i = 0; i < 2 * n; i++) {
		struct ibv_wc wc[2];

		reap(x[i].cq, wc, 2);
		good += wc[0].status == IBV_WC_SUCCESS && wc[1].status == IBV_WC_SUCCESS;
	}
	report(good == 2 * n, "%u queue pairs connect at once: a Send in each direction", n);
	for (i = 0; i < 2 * n; i++)
		end_drop(&x[order[i]]);
	free(order);
	free(x);
}

/* A thread that makes, connects, uses, resets and destroys queue pairs of one link. */
struct churn {
	pthread_t thread;
	struct end *mine;
	const struct end *peer;
	uint32_t rounds;
	uint32_t seed;
};

static void drain(struct end *e)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(e->cq, 1, &wc) > 0)
		;
}

static void *churn(void *arg)
{
	struct churn *c = arg;
	uint32_t i;

	for (i = 0; i < c->rounds; i++) {
		switch (rand_r(&c->seed) % 5) {
		case 0:
			to_state(c->mine, IBV_QPS_ERR);
			break;
		case 1:
			post_op(c->mine, IBV_WR_RDMA_WRITE, 1, c->peer);
			break;
		case 2:
			post_recv(c->mine, 2);
			break;
		default:
			to_state(c->mine, IBV_QPS_RESET);
			connect_end(c->mine, c->peer, &usual);
			break;
		}
		usleep(rand_r(&c->seed) % 3000);
		drain(c->mine);
	}
	return NULL;
}

/*
 * Both ends of several connections change their state at random, and several threads change the
 * state of the same queue pair. In the end all ends connect.
 */
void test_churn(uint32_t rounds)
{
	enum { PAIRS = 3 };
	struct end x[2 * PAIRS];
	struct churn c[4 * PAIRS];
	uint32_t i, good = 0;

	for (i = 0; i < 2 * PAIRS; i++)
		end_make(&x[i], i & 1 ? &b : &a);
	for (i = 0; i < 4 * PAIRS; i++) {
		c[i] = (struct churn) { .mine = &x[i / 2], .peer = &x[i / 2 ^ 1], .rounds = rounds,
					.seed = below(1 << 30) };
		if (pthread_create(&c[i].thread, NULL, churn, &c[i]))
			die("pthread_create");
	}
	for (i = 0; i < 4 * PAIRS; i++)
		pthread_join(c[i].thread, NULL);
	for (i = 0; i < 2 * PAIRS; i++)
		if (to_state(&x[i], IBV_QPS_RESET))
			die("reset");
	for (i = 0; i < 2 * PAIRS; i++)
		drain(&x[i]);
	for (i = 0; i < 2 * PAIRS; i += 2)
		good += !connect_end(&x[i], &x[i + 1], &usual) &&
			!connect_end(&x[i + 1], &x[i], &usual) && talk(&x[i], &x[i + 1]);
	report(good == PAIRS, "after random changes of state all queue pairs connect");
	for (i = 0; i < 2 * PAIRS; i++)
		end_drop(&x[i]);
}
