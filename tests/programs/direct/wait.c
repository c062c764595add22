// SPDX-License-Identifier: GPL-2.0
/* Tests: many streams that wait for receives of a shared receive queue. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "direct.h"

#define STREAMS	16
#define SENDS	200	/* number of Sends of each stream */

static struct ibv_srq *srq;
static struct end x[STREAMS], y[STREAMS];

static void open_all(void)
{
	int i;

	srq = srq_make(&b);
	for (i = 0; i < STREAMS; i++) {
		end_make(&x[i], &a);
		end_make_srq(&y[i], &b, srq);
		if (connect_end(&x[i], &y[i], &usual) || connect_end(&y[i], &x[i], &usual))
			die("connect");
	}
}

static void close_all(void)
{
	int i;

	for (i = 0; i < STREAMS; i++) {
		if (x[i].qp)
			end_drop(&x[i]);
		if (y[i].qp)
			end_drop(&y[i]);
	}
	if (ibv_destroy_srq(srq))
		die("ibv_destroy_srq");
}

static void send_all(int first, int n)
{
	int i;

	for (i = first; i < first + n; i++)
		if (post_op(&x[i], IBV_WR_SEND, i, &y[i]))
			die("post");
	report(quiet(&x[first], 200), "%d streams wait", n);
}

/* Posts @n receives as one list, or fewer if the queue is full. Return: number of receives */
static int try_list(int n)
{
	struct ibv_sge sge = { (uintptr_t)b.mem, BUFFER, b.mr->lkey };
	struct ibv_recv_wr wr[STREAMS], *bad;
	int i, err;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_recv_wr) { .wr_id = i, .sg_list = &sge, .num_sge = 1,
					       .next = i + 1 < n ? &wr[i + 1] : NULL };
	err = ibv_post_srq_recv(srq, wr, &bad);
	if (err && err != ENOMEM)
		die("ibv_post_srq_recv");
	return err ? bad - wr : n;
}

static void post_list(int n)
{
	if (try_list(n) != n)
		die("the queue is full");
}

/* Return: true if the Sends of exactly @n streams complete, whichever streams they are. */
static bool any_complete(int n)
{
	struct patience p = {};
	struct ibv_wc wc;
	int i, got = 0;

	while (got < n && patient(&p, PATIENCE, got)) {
		for (i = 0; i < STREAMS; i++)
			if (x[i].qp && ibv_poll_cq(x[i].cq, 1, &wc) == 1)
				got += wc.status == IBV_WC_SUCCESS;
		usleep(200);
	}
	usleep(20000);
	for (i = 0; i < STREAMS; i++)
		if (x[i].qp && ibv_poll_cq(x[i].cq, 1, &wc) == 1)
			got++;
	return got == n;
}

/* A list wakes as many streams as it has receives. */
static void lists(void)
{
	open_all();
	send_all(0, STREAMS);
	post_list(5);
	report(any_complete(5), "a list of 5 receives wakes 5 streams");
	post_list(1);
	report(any_complete(1), "one receive wakes one stream");
	post_list(STREAMS);
	report(any_complete(STREAMS - 6), "a longer list wakes the others");
	/* receives are left: these messages need not wait */
	if (post_op(&x[0], IBV_WR_SEND, 0, &y[0]))
		die("post");
	report(any_complete(1), "a receive is left for the next message");
	close_all();
}

/*
 * Streams end while they wait: at the front, in the middle and at the end of the list of streams
 * that wait.
 */
static void leave(void)
{
	static const int gone[] = { 0, 1, 7, 8, STREAMS - 1 };
	const int n = sizeof(gone) / sizeof(gone[0]);
	int i;

	open_all();
	send_all(0, STREAMS);
	for (i = 0; i < n; i++) {
		end_drop(i % 2 ? &x[gone[i]] : &y[gone[i]]);
		(i % 2 ? &x[gone[i]] : &y[gone[i]])->qp = NULL;
	}
	usleep(50000);
	/* a stream may have ended after its peer was destroyed, or may still wait */
	post_list(STREAMS);
	report(any_complete(STREAMS - n), "streams end while they wait: the others go on");
	close_all();
}

/* The size changes while streams wait. */
static void resize(void)
{
	struct ibv_srq_attr attr = { .max_wr = 16 * DEPTH };

	open_all();
	send_all(0, STREAMS);
	errno = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
	if (errno)
		die("ibv_modify_srq");
	post_list(3);
	report(any_complete(3), "a larger ring: its flag is set, too");
	attr.max_wr = 2 * STREAMS;
	errno = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
	if (errno)
		die("ibv_modify_srq");
	post_list(STREAMS - 3);
	report(any_complete(STREAMS - 3), "a smaller ring: its flag is set, too");
	close_all();
}

/* Posts single receives and lists at random times. */
static void *poster(void *seed)
{
	unsigned int s = (uintptr_t)seed;
	int left = STREAMS * SENDS / 2;

	while (left) {
		int n = 1 + rand_r(&s) % 4;

		if (n > left)
			n = left;
		if (rand_r(&s) % 3)
			usleep(rand_r(&s) % 300);
		left -= try_list(n);
	}
	return NULL;
}

/* Two threads post, while all streams send: each message finds a receive. */
static void traffic(void)
{
	int sent[STREAMS] = {}, done[STREAMS] = {}, i, n, total = 0, bad = 0;
	struct ibv_wc wc[16];
	struct patience p = {};
	pthread_t thread[2];

	open_all();
	for (i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, poster, (void *)(uintptr_t)(i + below(1000))))
			die("pthread_create");
	while (total < 2 * STREAMS * SENDS && patient(&p, PATIENCE, total)) {
		for (i = 0; i < STREAMS; i++) {
			if (sent[i] < SENDS && sent[i] - done[i] < DEPTH / 2) {
				if (post_op(&x[i], IBV_WR_SEND, sent[i], &y[i]))
					die("post");
				sent[i]++;
			}
			n = ibv_poll_cq(x[i].cq, 16, wc);
			total += n;
			while (n-- > 0) {
				bad += wc[n].status != IBV_WC_SUCCESS;
				done[i]++;
			}
			n = ibv_poll_cq(y[i].cq, 16, wc);
			total += n;
			while (n-- > 0)
				bad += wc[n].status != IBV_WC_SUCCESS;
		}
	}
	report(total == 2 * STREAMS * SENDS && !bad,
	       "two threads post as needed: all %d messages arrive", STREAMS * SENDS);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	close_all();
}

/* Streams end at random while others wait and threads post. */
static void *ender(void *arg)
{
	unsigned int s = 7;
	int i;

	for (i = 1; i < STREAMS; i += 2) {
		usleep(rand_r(&s) % 20000);
		end_drop(&y[i]);
		y[i].qp = NULL;
	}
	return arg;
}

static void storm(void)
{
	int i, n, rounds, got = 0;
	struct patience p = {};
	struct ibv_wc wc[16];
	pthread_t thread;

	open_all();
	for (rounds = 0; rounds < 8; rounds++)
		for (i = 0; i < STREAMS; i++)
			if (post_op(&x[i], IBV_WR_SEND, rounds, &y[i]))
				die("post");
	if (pthread_create(&thread, NULL, ender, NULL))
		die("pthread_create");
	while (got < 8 * STREAMS / 2 && patient(&p, PATIENCE, got)) {
		try_list(1 + below(3));
		usleep(below(500));
		for (i = 0; i < STREAMS; i += 2) {
			n = ibv_poll_cq(x[i].cq, 16, wc);
			while (n-- > 0)
				got += wc[n].status == IBV_WC_SUCCESS;
		}
		if (got % 16 == 15)
			usleep(1000);
	}
	report(got == 8 * STREAMS / 2, "streams end at random: the others get their receives");
	pthread_join(thread, NULL);
	close_all();
}

void test_wait(void)
{
	lists();
	leave();
	resize();
	traffic();
	storm();
}

/* Waits for ever with many streams, for a test that kills the process. */
void test_stay(void)
{
	open_all();
	send_all(0, STREAMS);
	report(true, "the streams wait");
	fflush(stdout);
	pause();
}
