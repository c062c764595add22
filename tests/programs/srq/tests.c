// SPDX-License-Identifier: GPL-2.0
/* iwt_srq: the tests. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/iw_tcp-abi.h>

#include "patience.h"
#include "srq.h"

#define POSTERS	3

static int resize_to(struct server *s, uint32_t size)
{
	struct ibv_srq_attr attr = { .max_wr = size };
	int ret = ibv_modify_srq(s->srq, &attr, IBV_SRQ_MAX_WR);

	if (!ret) {
		if (ibv_query_srq(s->srq, &attr) || attr.max_wr < size || attr.max_sge < PIECES)
			wrong(s, "size after a change", attr.max_wr, size);
		s->size = attr.max_wr;
	}
	return ret;
}

static int limit_to(struct server *s, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	int ret = ibv_modify_srq(s->srq, &attr, IBV_SRQ_LIMIT);

	if (!ret)
		s->limit = limit;
	return ret;
}

static uint32_t limit_of(struct server *s)
{
	struct ibv_srq_attr attr = {};

	if (ibv_query_srq(s->srq, &attr))
		wrong(s, "ibv_query_srq", errno, 0);
	return attr.srq_limit;
}

/* ---- invalid requests ---- */

static void refuse_srq(struct server *s, uint32_t wr, uint32_t sge)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = wr, .max_sge = sge } };
	struct ibv_srq *srq = ibv_create_srq(s->recv_pd, &attr);

	if (srq || errno != EINVAL)
		wrong(s, "an impossible queue was created", wr, sge);
}

static void refuse_types(struct server *s)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.pd = s->recv_pd,
	};
	struct ibv_srq *srq;
	uint32_t number;

	attr.srq_type = IBV_SRQT_TM;
	if (ibv_create_srq_ex(s->verbs, &attr) || errno != EOPNOTSUPP)
		wrong(s, "a queue of another type was created", errno, 0);
	attr.srq_type = IBV_SRQT_BASIC;
	srq = ibv_create_srq_ex(s->verbs, &attr);
	if (!srq || !ibv_get_srq_num(srq, &number) || ibv_destroy_srq(srq))
		wrong(s, "ibv_create_srq_ex", errno, 0);
}

static void refuse_posts(struct server *s)
{
	struct ibv_sge sge[PIECES + 32] = {};
	struct conn *c = one_conn(s);
	struct ibv_recv_wr wr[2] = { { .wr_id = 1, .next = &wr[1] }, { .num_sge = PIECES + 32 } }, *bad;

	wr[0].num_sge = PIECES + 32;
	wr[0].sg_list = sge;
	wr[1].sg_list = sge;
	if (ibv_post_srq_recv(s->srq, wr, &bad) != EINVAL || bad != wr)
		wrong(s, "a list that is too long was posted", 0, 0);
	wr[0].num_sge = -1;
	if (ibv_post_srq_recv(s->srq, wr, &bad) != EINVAL || bad != wr)
		wrong(s, "a list of negative length was posted", 0, 0);
	wr[0].num_sge = 0;
	wr[0].next = NULL;
	if (c && (ibv_post_recv(c->id->qp, wr, &bad) != EINVAL || bad != wr))
		wrong(s, "a receive was posted to the queue pair itself", 0, 0);
}

void test_refusals(struct server *s)
{
	struct ibv_device_attr dev = {};

	wait_for(s, all_up, "connections");
	if (ibv_query_device(s->verbs, &dev) || !(dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		wrong(s, "attributes of the device", dev.device_cap_flags, 0);
	refuse_srq(s, 0, 1);
	refuse_srq(s, dev.max_srq_wr + 1, 1);
	refuse_srq(s, UINT32_MAX, 1);
	refuse_srq(s, 1, dev.max_srq_sge + 1);
	refuse_srq(s, 1, UINT32_MAX);
	refuse_types(s);
	refuse_posts(s);
	if (resize_to(s, 0) != EINVAL || resize_to(s, dev.max_srq_wr + 1) != EINVAL ||
	    resize_to(s, UINT32_MAX) != EINVAL)
		wrong(s, "an impossible size was accepted", 0, 0);
	if (limit_to(s, s->size + 1) != EINVAL)
		wrong(s, "a limit above the size was accepted", 0, 0);
	if (ibv_destroy_srq(s->srq) != EBUSY)
		wrong(s, "a queue in use was destroyed", 0, 0);
	conclude(s, "impossible requests are refused");
}

/* ---- everything at once ---- */

static void *poster(void *arg)
{
	struct server *s = arg;
	uint32_t n, done, before, turn = 0;
	uint16_t slots[16];
	int ret;

	while (!atomic_load(&s->stop)) {
		if (atomic_load(&s->pause)) {
			atomic_fetch_add(&s->paused, 1);
			while (atomic_load(&s->pause))
				usleep(200);
			atomic_fetch_sub(&s->paused, 1);
			continue;
		}
		n = take_free(s, slots, 1 + turn++ % 8);
		if (!n) {
			usleep(200);
			continue;
		}
		before = *(volatile uint32_t *)&s->completed;
		ret = post_slots(s, slots, n, &done);
		give_free(s, slots + done, n - done);
		if (ret && ret != ENOMEM)
			wrong(s, "ibv_post_srq_recv", ret, done);
		/* 16 is the smallest size of the queue in these tests */
		if (ret == ENOMEM && atomic_load(&s->posted) - before < 16)
			wrong(s, "a queue that is full too early", atomic_load(&s->posted), before);
		if (ret)
			usleep(200);
	}
	return NULL;
}

static void pause_posters(struct server *s, bool on)
{
	atomic_store(&s->pause, on);
	while (atomic_load(&s->paused) != (on ? POSTERS : 0))
		look(s);
}

/*
 * Return: the number of posted receives that no ordered message needs. A posting thread increases
 * s->posted a moment after it has posted. Some of these receives may have completed already, so
 * s->posted may be less than s->completed.
 */
static uint32_t spare(struct server *s)
{
	int32_t left = atomic_load(&s->posted) - s->completed;

	return left > (int32_t)s->committed ? left - s->committed : 0;
}

static void try_resize(struct server *s)
{
	uint32_t before = s->completed, size = 16 << below(7);
	int ret = resize_to(s, size);

	if (ret && ret != EINVAL)
		wrong(s, "a change of the size", ret, size);
	if (ret && s->limit <= size && atomic_load(&s->posted) - before <= size)
		wrong(s, "a size that was refused", size, atomic_load(&s->posted) - before);
}

static void some_step(struct server *s)
{
	struct conn *c = some_conn(s);
	uint32_t what = below(100), n;

	if (what < 10) {
		try_resize(s);
	} else if (what < 20) {
		/* a limit close to the size is reached soon, although the threads still post */
		limit_to(s, chance(30) ? s->size - below(4) : below(s->size + 2));
	} else if (usable(c) && what < 24) {
		break_conn(s, c);
	} else if (usable(c) && what < 28) {
		if (spare(s) >= 3)
			order(s, c, ORDER_BREAK, 1 + below(3));
	} else if (usable(c)) {
		n = below(30) + 1;
		order(s, c, ORDER_SEND, n < spare(s) ? n : spare(s));
	}
	look(s);
}

/*
 * Orders as many messages as there should be receives in the queue, and checks that all receives
 * have been used.
 */
static void use_up(struct server *s)
{
	uint32_t left = atomic_load(&s->posted) - s->completed;

	while (left && !s->wrong[0]) {
		uint32_t n = left < 64 ? left : 64;

		order(s, one_conn(s), ORDER_SEND, n);
		wait_for(s, quiet, "the receives that are left");
		left -= n;
	}
	if (atomic_load(&s->posted) != s->completed)
		wrong(s, "receives that are left", atomic_load(&s->posted), s->completed);
	if (s->n_free != SLOTS)
		wrong(s, "free slots at the end", s->n_free, SLOTS);
}

static bool limit_told(struct server *s)
{
	return s->limits != s->limits_before;
}

void test_random(struct server *s, uint32_t rounds)
{
	pthread_t threads[POSTERS];
	uint32_t i;

	/* break one connection now, because a few random rounds may break no connection */
	break_conn(s, one_conn(s));
	for (i = 0; i < POSTERS; i++)
		if (pthread_create(&threads[i], NULL, poster, s))
			die("pthread_create");
	for (i = 0; i < rounds && !s->wrong[0]; i++) {
		some_step(s);
		if (i % 100 == 99) {
			pause_posters(s, true);
			wait_for(s, quiet, "the ordered messages");
			pause_posters(s, false);
		}
	}
	atomic_store(&s->stop, true);
	for (i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	wait_for(s, quiet, "the ordered messages");
	s->limits_before = s->limits;
	/* the event is reported at once, or when the first receive is used */
	limit_to(s, s->size);
	use_up(s);
	wait_for(s, limit_told, "no event for the limit");
	printf("# %u connections, %u receives, %u limits\n", s->serial, s->completed, s->limits);
	if (s->serial <= CONNS)
		wrong(s, "no connection ended during the test", s->serial, 0);
	conclude(s, "threads post and resize while streams begin and end");
}

/* ---- without other threads ---- */

/* Posts @n more receives, and records their order. */
static void post_some(struct server *s, uint32_t n)
{
	uint16_t slot;
	uint32_t done;

	while (n--) {
		if (!take_free(s, &slot, 1))
			die("slots");
		s->order[atomic_load(&s->posted) % SLOTS] = slot;
		if (post_slots(s, &slot, 1, &done))
			wrong(s, "ibv_post_srq_recv", n, 0);
	}
}

static void send_some(struct server *s, uint32_t n)
{
	order(s, one_conn(s), ORDER_SEND, n);
	wait_for(s, quiet, "messages");
}

static void look_limits(struct server *s, uint32_t want, const char *when)
{
	struct patience p = {};
	int i;

	/* another thread of the kernel reports the events */
	for (i = 0; i < 20 || (s->limits != want && patient(&p, 60, s->moved)); i++) {
		look(s);
		usleep(1000);
	}
	if (s->limits != want)
		wrong(s, when, s->limits, want);
}

/*
 * While a limit event waits to be read, the driver must not add more limit events: otherwise the
 * events of an empty queue would use up the memory of the kernel. The driver may add one more
 * event while this process reads the first event.
 */
static void leave_unread(struct server *s)
{
	uint32_t want;
	int i;

	s->limits_before = s->limits;
	for (i = 0; i < 40; i++) {
		if (limit_to(s, 1))
			wrong(s, "limit", 1, 0);
		/* another thread of the kernel reports the event */
		usleep(500);
	}
	if (limit_of(s))
		wrong(s, "limit whose event waits", limit_of(s), 0);
	usleep(20000);
	wait_for(s, limit_told, "no event for limits that are reached already");
	if (s->limits - s->limits_before > 2)
		wrong(s, "events that were not read", s->limits - s->limits_before, 1);
	/* the event has been read: the driver must report the next event */
	want = s->limits;
	if (limit_to(s, 1))
		wrong(s, "limit", 1, 0);
	look_limits(s, want + 1, "no event after the unread event was read");
}

void test_limit(struct server *s, uint32_t rounds)
{
	uint32_t left, limit, want, i;

	if (resize_to(s, 64))
		wrong(s, "resize", errno, 0);
	s->next = atomic_load(&s->posted);
	s->in_order = true;
	for (i = 0; i < rounds && !s->wrong[0]; i++) {
		left = 10 + below(50);
		limit = 1 + below(left);
		post_some(s, left);
		want = s->limits;
		if (limit_to(s, limit) || limit_of(s) != limit)
			wrong(s, "limit", limit, limit_of(s));
		send_some(s, left - limit);
		look_limits(s, want, "an event with enough receives");
		if (limit_of(s) != limit)
			wrong(s, "limit before its event", limit_of(s), limit);
		send_some(s, 1);
		look_limits(s, ++want, "no event below the limit");
		if (limit_of(s))
			wrong(s, "limit after its event", limit_of(s), 0);
		send_some(s, limit - 1);
		look_limits(s, want, "a second event for one limit");
		if (limit_to(s, 1))
			wrong(s, "limit", 1, 0);
		look_limits(s, ++want, "no event for a limit that is reached already");
		if (i < 3)
			leave_unread(s);
	}
	conclude(s, "a limit raises one event each time it is set, when fewer receives remain");
}

void test_resize(struct server *s, uint32_t rounds)
{
	struct ibv_srq_attr attr;
	uint32_t n, i, turn;

	for (i = 0; i < rounds && !s->wrong[0]; i++) {
		if (resize_to(s, 512))
			wrong(s, "resize", 512, 0);
		n = 17 + below(490);
		post_some(s, n);
		if (resize_to(s, n / 2) != EINVAL)
			wrong(s, "a size below the posted receives was accepted", n / 2, n);
		for (turn = 0; turn < 3; turn++) {
			if (resize_to(s, n + below(300)))
				wrong(s, "resize", n, turn);
			send_some(s, 5);
			post_some(s, 5);
		}
		while (n) {
			turn = n < 60 ? n : 60;
			send_some(s, turn);
			n -= turn;
		}
		attr = (struct ibv_srq_attr) { .max_wr = 64, .srq_limit = 65 };
		if (ibv_modify_srq(s->srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) != EINVAL)
			wrong(s, "a limit above the size was accepted", 0, 0);
		if (ibv_query_srq(s->srq, &attr) || attr.max_wr != s->size || attr.srq_limit)
			wrong(s, "a refusal that changes something", attr.max_wr, attr.srq_limit);
	}
	conclude(s, "receives stay and keep their order when the size changes");
}

static bool one_broken(struct server *s)
{
	return s->fatal;
}

/* A Send that finds no receive ends its stream, and no other stream. */
void test_empty(struct server *s)
{
	struct conn *c = one_conn(s);
	uint32_t before = s->serial;

	s->fatal = 0;
	if (c) {
		order(s, c, ORDER_SEND, 1);
		s->committed--;
		c->asked--;
		c->broken = true;
	}
	wait_for(s, one_broken, "the end of a stream without receives");
	wait_for(s, quiet, "a new connection");
	if (s->serial != before + 1 || s->fatal != 1)
		wrong(s, "streams that ended, events", s->serial - before, s->fatal);
	post_some(s, 10);
	send_some(s, 10);
	conclude(s, "a Send that finds no receive ends its stream, and no other");
}

/* ---- a corrupt ring ---- */

/*
 * @before, @after: the text of /proc/self/maps before and after a shared queue was created.
 * Return: the address of the new mapping of uverbs, which is the ring of this queue, or NULL
 */
static struct iwt_ring_ctl *new_ring(const char *before, const char *after)
{
	char line[512];
	size_t n = 0;

	for (; *after; after += n + 1) {
		n = strcspn(after, "\n");
		snprintf(line, sizeof(line), "%.*s\n", (int)n, after);
		if (strstr(line, "uverbs") && !strstr(before, line))
			return (void *)strtoull(line, NULL, 16);
	}
	return NULL;
}

static char *maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char *text = calloc(1, 1 << 18);

	if (!f || !text || !fread(text, 1, (1 << 18) - 1, f))
		die("maps");
	fclose(f);
	return text;
}

static bool errors_told(struct server *s)
{
	return s->errors;
}

/* Breaks all connections. The client connects again, and the new connections use @srq. */
static void move_to(struct server *s, struct ibv_srq *srq)
{
	uint32_t want = s->serial + CONNS;
	int i;

	s->srq = srq;
	for (i = 0; i < ENDS; i++)
		if (s->conns[i].id)
			break_conn(s, &s->conns[i]);
	wait_for(s, all_up, "new connections");
	if (s->serial != want)
		wrong(s, "connections", s->serial, want);
}

/*
 * According to the producer index, the ring contains 65 receives, but it has only 64 entries. A
 * resize must refuse to copy 65 receives, although the new ring has 256 entries. Return: true if
 * the resize was refused.
 */
static bool refuse_move(struct ibv_srq *srq, struct iwt_ring_ctl *ring)
{
	struct ibv_srq_attr attr = { .max_wr = 256 };
	uint32_t was = ring->prod;
	bool refused;

	__atomic_store_n(&ring->prod, was + 65, __ATOMIC_RELEASE);
	refused = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR) == EINVAL;
	/* if the resize was not refused, the old ring does not exist any more */
	if (refused)
		__atomic_store_n(&ring->prod, was, __ATOMIC_RELEASE);
	return refused;
}

/* Creates a shared queue with 64 entries. *@ring: the ring of this queue */
static struct ibv_srq *second_queue(struct server *s, struct iwt_ring_ctl **ring)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 64, .max_sge = PIECES } };
	char *before = maps(), *after;
	struct ibv_srq *srq;

	srq = ibv_create_srq(s->recv_pd, &attr);
	after = maps();
	*ring = srq ? new_ring(before, after) : NULL;
	if (!*ring)
		die("a second queue");
	free(before);
	free(after);
	return srq;
}

void test_corrupt(struct server *s)
{
	struct iwt_ring_ctl *ring;
	struct ibv_srq *good = s->srq, *bad = second_queue(s, &ring);
	struct conn *c;
	uint32_t serial;
	int i;

	s->in_order = false;
	if (!report(refuse_move(bad, ring),
		    "a resize refuses a ring with an impossible number of receives"))
		return;
	move_to(s, bad);
	serial = s->serial;
	s->fatal = 0;
	/* new connections use the good queue again */
	s->srq = good;
	__atomic_store_n(&ring->prod, ring->prod + (1 << 20), __ATOMIC_RELEASE);
	c = one_conn(s);
	if (c) {
		order(s, c, ORDER_SEND, 1);
		c->asked--;
		s->committed--;
	}
	for (i = 0; i < ENDS; i++)
		s->conns[i].broken = true;
	wait_for(s, errors_told, "IBV_EVENT_SRQ_ERR");
	wait_for(s, all_up, "the end of all streams");
	if (s->serial != serial + CONNS || s->errors != 1 || s->fatal != CONNS)
		wrong(s, "streams, events", s->serial - serial, s->fatal);
	if (ibv_destroy_srq(bad))
		wrong(s, "ibv_destroy_srq", 0, 0);
	post_some(s, 10);
	send_some(s, 10);
	conclude(s, "an inconsistent ring ends all streams of its queue, and no other");
}
