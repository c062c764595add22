// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_queues: two connections share a completion queue, which is resized all the time. One or two
 * threads take completions from this queue, and other threads post. Each message begins with its
 * number; the other bytes of the message depend on this number and on the end that receives the
 * message.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patience.h"
#include "queues.h"

#define CONNS		2
#define DEPTH		32u		/* most messages in flight in each direction */
#define SLOT		64u		/* bytes of a message */
#define BUFFERS		(2 * DEPTH)	/* first DEPTH for sends, then DEPTH for receives */
#define TAKE		7
#define MARKS		1024u		/* more than the number of messages in flight */

enum { ONE_POLLER, TWO_POLLERS, EVENTS, WAYS };

/* One end of a connection, its buffers and its counts */
struct side {
	struct ibv_qp *qp;
	uint8_t *memory;
	struct ibv_mr *mr;
	uint32_t id;
	pthread_mutex_t lock;		/* guards the fields below, and posting */
	uint32_t sent, send_done, received;
	/* [i]: 1 plus the number n of the last completed message with n % MARKS == i; 0: none */
	uint32_t send_marks[MARKS], marks[MARKS];
};

struct traffic {
	struct side near[CONNS], far[CONNS];
	struct ibv_cq *cq, *far_cq;
	struct ibv_comp_channel *channel;
	int way;
	bool over;			/* stop posting */
	bool quit;			/* all messages are complete: end the threads */
	uint32_t wrong;
	uint64_t taken;
};

static struct traffic t;

static void wrong(const char *what)
{
	if (!__atomic_fetch_add(&t.wrong, 1, __ATOMIC_SEQ_CST))
		printf("# %s\n", what);
}

/* Checks that message @n completes once, and later than message @n - MARKS. */
static void mark(uint32_t *marks, uint32_t n)
{
	if (marks[n % MARKS] > n || (n >= MARKS && marks[n % MARKS] != n + 1 - MARKS))
		wrong("a completion came twice, or one is missing");
	marks[n % MARKS] = n + 1;
}

static uint8_t octet(uint32_t id, uint32_t n, uint32_t i)
{
	return n * 31 + (n >> 8) * 7 + id * 101 + i;
}

static uint8_t *slot(struct side *s, bool receive, uint32_t n)
{
	return s->memory + ((receive ? DEPTH : 0) + n % DEPTH) * SLOT;
}

static struct ibv_sge sge_of(struct side *s, bool receive, uint32_t n)
{
	return (struct ibv_sge) { (uintptr_t)slot(s, receive, n), SLOT, s->mr->lkey };
}

/*
 * Return: the wr_id of a request. It contains the number of the end, the direction, and the
 * number of a sent message or the index of a receive buffer.
 */
static uint64_t name(const struct side *s, bool receive, uint32_t n)
{
	return (uint64_t)s->id << 33 | (uint64_t)receive << 32 | n;
}

static void post_slot(struct side *s, uint32_t n)
{
	struct ibv_sge sge = sge_of(s, true, n);

	memset(slot(s, true, n), 0xee, SLOT);
	if (post_recv(s->qp, name(s, true, n), &sge))
		wrong("ibv_post_recv");
}

/* Sends one message. */
static void send_more(struct side *s)
{
	struct ibv_sge sge = sge_of(s, false, s->sent);
	uint32_t i;

	for (i = 4; i < SLOT; i++)
		slot(s, false, s->sent)[i] = octet(s->id ^ 1, s->sent, i);
	memcpy(slot(s, false, s->sent), &s->sent, 4);
	if (post_send(s->qp, IBV_WR_SEND, name(s, false, s->sent),
		      IBV_SEND_SIGNALED | (s->sent % 3 ? 0 : IBV_SEND_SOLICITED), &sge))
		wrong("ibv_post_send");
	s->sent++;
}

static void received(struct side *s, uint32_t where, bool strict)
{
	const uint8_t *data = slot(s, true, where);
	uint32_t i, n;

	memcpy(&n, data, 4);
	mark(s->marks, n);
	if (strict && n != s->received)
		wrong("receives out of order");
	for (i = 4; i < SLOT; i++)
		if (data[i] != octet(s->id, n, i)) {
			wrong("wrong octets");
			break;
		}
	post_slot(s, where);
	/* now the peer may send another message */
	__atomic_store_n(&s->received, s->received + 1, __ATOMIC_SEQ_CST);
}

/*
 * Checks a completion: the completions of one direction of a queue pair must be in order, and
 * each must occur once. If several threads take completions, they may call this function in
 * another order: so the order is checked only if @strict.
 */
static void completed(struct side *s, const struct ibv_wc *wc, bool strict)
{
	uint32_t n = wc->wr_id;

	if (wc->status || wc->qp_num != s->qp->qp_num) {
		wrong("a completion with an error");
		return;
	}
	pthread_mutex_lock(&s->lock);
	if (wc->wr_id >> 32 & 1) {
		received(s, n, strict);
	} else {
		mark(s->send_marks, n);
		if (strict && n != s->send_done)
			wrong("sends out of order");
		__atomic_store_n(&s->send_done, s->send_done + 1, __ATOMIC_SEQ_CST);
	}
	pthread_mutex_unlock(&s->lock);
}

static int take(struct ibv_cq *cq, struct side *sides, bool strict)
{
	struct ibv_wc wc[TAKE];
	int n = ibv_poll_cq(cq, TAKE, wc), i;

	if (n < 0) {
		wrong("ibv_poll_cq");
		return 0;
	}
	for (i = 0; i < n; i++)
		completed(&sides[wc[i].wr_id >> 34], &wc[i], strict);
	return n;
}

/* May @s send another message? A send buffer of @s and a receive of @peer must be free. */
static bool may_send(struct side *s, struct side *peer)
{
	return s->sent - __atomic_load_n(&s->send_done, __ATOMIC_SEQ_CST) < DEPTH &&
	       s->sent - __atomic_load_n(&peer->received, __ATOMIC_SEQ_CST) < DEPTH;
}

static void *poster(void *arg)
{
	struct side *s = arg, *peer = s->id & 1 ? &t.near[s->id / 2] : &t.far[s->id / 2];

	while (!__atomic_load_n(&t.over, __ATOMIC_SEQ_CST)) {
		pthread_mutex_lock(&s->lock);
		if (may_send(s, peer))
			send_more(s);
		pthread_mutex_unlock(&s->lock);
		sched_yield();
	}
	return NULL;
}

static bool quit(void)
{
	return __atomic_load_n(&t.quit, __ATOMIC_SEQ_CST);
}

static void *far_poller(void *arg)
{
	while (!quit())
		if (!take(t.far_cq, t.far, true))
			sched_yield();
	return NULL;
}

static void *near_poller(void *arg)
{
	while (!quit()) {
		int n = take(t.cq, t.near, t.way == ONE_POLLER);

		__atomic_fetch_add(&t.taken, n, __ATOMIC_SEQ_CST);
		if (!n)
			sched_yield();
	}
	return NULL;
}

/*
 * Sleeps until there is an event, then takes completions. A completion that raises no event would
 * never be taken: the test would time out.
 */
static void *near_sleeper(void *arg)
{
	struct pollfd pfd = { t.channel->fd, POLLIN };
	struct ibv_cq *cq;
	void *context;
	int n;

	while (!quit()) {
		if (ibv_req_notify_cq(t.cq, 0))
			wrong("ibv_req_notify_cq");
		while ((n = take(t.cq, t.near, true)))
			__atomic_fetch_add(&t.taken, n, __ATOMIC_SEQ_CST);
		while (!quit() && poll(&pfd, 1, 100) != 1)
			;
		if (quit())
			break;
		if (ibv_get_cq_event(t.channel, &cq, &context))
			wrong("ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

static void side_make(struct link *l, struct side *s, uint32_t id, struct ibv_qp *qp)
{
	uint32_t n;

	*s = (struct side) { .qp = qp, .id = id, .memory = calloc(BUFFERS, SLOT) };
	pthread_mutex_init(&s->lock, NULL);
	s->mr = s->memory ? ibv_reg_mr(l->pd, s->memory, BUFFERS * SLOT, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!s->mr)
		die("ibv_reg_mr");
	for (n = 0; n < DEPTH; n++)
		post_slot(s, n);
}

static void side_drop(struct side *s)
{
	ibv_dereg_mr(s->mr);
	free(s->memory);
}

/* Waits until @n more completions have been taken. */
static void some_come(uint32_t n)
{
	uint64_t now = __atomic_load_n(&t.taken, __ATOMIC_SEQ_CST), until = now + n;
	struct patience p = {};

	while ((now = __atomic_load_n(&t.taken, __ATOMIC_SEQ_CST)) < until &&
	       !__atomic_load_n(&t.wrong, __ATOMIC_SEQ_CST)) {
		if (!patient(&p, PATIENCE, now))
			wrong("no more completions arrive");
		sched_yield();
	}
}

/* Resizes the queue again and again. All completions in flight always fit into the queue. */
static void resize_often(struct link *l, uint32_t resizes)
{
	uint32_t all = CONNS * 2 * DEPTH, i;
	int before, ask, ret;

	for (i = 0; i < resizes && !__atomic_load_n(&t.wrong, __ATOMIC_SEQ_CST); i++) {
		before = t.cq->cqe;
		ask = all + below(8 * all);
		ret = ibv_resize_cq(t.cq, ask);
		if (ret || t.cq->cqe < ask) {
			printf("# resize %d to %d: %d, %d\n", before, ask, ret, t.cq->cqe);
			wrong("ibv_resize_cq");
		}
		some_come(below(3) * below(30));
	}
}

static bool all_done(void)
{
	int i;

	for (i = 0; i < CONNS; i++) {
		struct side *a = &t.near[i], *b = &t.far[i];

		if (a->sent != __atomic_load_n(&a->send_done, __ATOMIC_SEQ_CST) ||
		    b->sent != __atomic_load_n(&b->send_done, __ATOMIC_SEQ_CST) ||
		    a->sent != __atomic_load_n(&b->received, __ATOMIC_SEQ_CST) ||
		    b->sent != __atomic_load_n(&a->received, __ATOMIC_SEQ_CST))
			return false;
	}
	return true;
}

static void finish(void)
{
	struct patience p = {};

	while (!all_done() && !t.wrong)
		if (!patient(&p, PATIENCE, __atomic_load_n(&t.taken, __ATOMIC_SEQ_CST)))
			wrong("a completion or an event is missing");
		else
			sched_yield();
	__atomic_store_n(&t.quit, true, __ATOMIC_SEQ_CST);
}

static void start(pthread_t *thread, void *(*what)(void *), void *arg)
{
	errno = pthread_create(thread, NULL, what, arg);
	if (errno)
		die("pthread_create");
}

static void run_threads(struct link *l, uint32_t resizes)
{
	static void *(*const pollers[WAYS])(void *) = { near_poller, near_poller, near_sleeper };
	pthread_t posters[2 * CONNS], others[3];
	int n_others = t.way == TWO_POLLERS ? 3 : 2, i;

	start(&others[0], far_poller, NULL);
	for (i = 1; i < n_others; i++)
		start(&others[i], pollers[t.way], NULL);
	for (i = 0; i < CONNS; i++) {
		start(&posters[2 * i], poster, &t.near[i]);
		start(&posters[2 * i + 1], poster, &t.far[i]);
	}
	resize_often(l, resizes);
	__atomic_store_n(&t.over, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < 2 * CONNS; i++)
		pthread_join(posters[i], NULL);
	finish();
	for (i = 0; i < n_others; i++)
		pthread_join(others[i], NULL);
}

static void one_way(struct link *l, int way, uint32_t resizes)
{
	static const char *const names[WAYS] = { "one thread polls", "two threads poll",
						 "a thread sleeps" };
	struct ibv_comp_channel *channel = ibv_create_comp_channel(l->verbs);
	struct conn c[CONNS];
	int i;

	t = (struct traffic) { .way = way, .channel = channel };
	if (!channel || fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		die("ibv_create_comp_channel");
	t.cq = cq_make(l->verbs, CONNS * 2 * DEPTH, channel);
	t.far_cq = cq_make(l->verbs, CONNS * 2 * DEPTH, NULL);
	for (i = 0; i < CONNS; i++) {
		struct ibv_qp_init_attr_ex near = qp_attr(l->pd, t.cq, DEPTH), far = qp_attr(l->pd, t.far_cq, DEPTH);

		conn_make(&c[i], &near, &far);
		side_make(l, &t.near[i], 2 * i, c[i].near->qp);
		side_make(l, &t.far[i], 2 * i + 1, c[i].far->qp);
	}
	run_threads(l, resizes);
	report(!t.wrong && t.taken, "%s during %u resizes: %llu completions", names[way], resizes,
	       (unsigned long long)t.taken);
	for (i = 0; i < CONNS; i++) {
		conn_drop(&c[i]);
		side_drop(&t.near[i]);
		side_drop(&t.far[i]);
	}
	cq_drop(t.cq);
	cq_drop(t.far_cq);
	ibv_destroy_comp_channel(channel);
}

void test_resize_traffic(struct link *l, uint32_t resizes)
{
	int way;

	for (way = 0; way < WAYS; way++)
		one_way(l, way, resizes);
}
