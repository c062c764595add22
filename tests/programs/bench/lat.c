// SPDX-License-Identifier: GPL-2.0
/*
 * Mode "lat" of iwt_bench: one message at a time. The peer answers a Write or Send with the same
 * operation, and the latency is half of the round-trip time. A Read or an atomic operation is
 * answered by the device of the peer, and the latency is the whole time. Both ends poll, because
 * only memory shows the arrival of a Write.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench.h"
#include "patience.h"

#define PATIENCE	30		/* seconds that an answer may take */
#define LOOKS		(1u << 24)	/* polls between two checks of the clock */

#if defined(__x86_64__) || defined(__i386__)
/* read the time without a system call, which would add to the measured time */
static uint64_t ticks(void) { return __builtin_ia32_rdtsc(); }
#else
static uint64_t ticks(void) { return bench_now(); }
#endif

/*
 * What look() has received.
 * @sends: number of Sends that have arrived, without the Sends that wait_send() has reported
 * @end: the peer's Send without data, which ends the measurement, has arrived
 */
struct seen {
	unsigned int sends;
	bool end;
};

static void look(struct bench *b, struct seen *s)
{
	struct ibv_wc wc[8];
	int n = ibv_poll_cq(b->cq, 8, wc), i;

	/* the peer may disconnect after its end: ignore later completions */
	for (i = 0; i < n && !s->end; i++) {
		bench_wc(&wc[i]);
		if (!(wc[i].opcode & IBV_WC_RECV)) {
			bench_retire(b, &wc[i]);
			continue;
		}
		bench_recv(b, &b->conn[0]);
		if (wc[i].byte_len)
			s->sends++;
		else
			s->end = true;
	}
}

/*
 * Called after every LOOKS polls: ends the program if no answer arrives within PATIENCE. @wait: the
 * state of the wait, all zero before the first call
 */
static void be_patient(struct patience *wait)
{
	if (patient(wait, PATIENCE, 0))
		return;
	errno = ETIMEDOUT;
	bench_die("no answer");
}

/*
 * Waits until the last byte of the slot that the peer writes to is @value. Returns false if the
 * peer ends the measurement by a Send without data instead.
 */
static bool wait_write(struct bench *b, unsigned char value, struct seen *s)
{
	size_t last = bench_sink(b, 0) + b->o.size - 1;
	volatile unsigned char *p = (unsigned char *)b->buf + last;
	struct patience wait = {};
	unsigned int n = 0;

	while (*p != value) {
		if (++n % 4096 == 0)
			look(b, s);
		if (s->end)
			return false;
		if (n % LOOKS == 0)
			be_patient(&wait);
	}
	return true;
}

static bool wait_send(struct bench *b, struct seen *s)
{
	struct patience wait = {};
	unsigned int n = 0;

	while (!s->sends) {
		look(b, s);
		if (s->end)
			return false;
		if (++n % LOOKS == 0)
			be_patient(&wait);
	}
	s->sends--;
	return true;
}

/* Polls for completions until at most @room requests are in flight. */
static void wait_room(struct bench *b, unsigned int room, struct seen *s)
{
	struct patience wait = {};
	unsigned int n = 0;

	while (b->conn[0].inflight > room) {
		look(b, s);
		if (++n % LOOKS == 0)
			be_patient(&wait);
	}
}

static unsigned char value_of(uint64_t i) { return i % 127 + 1; }

static void say(struct bench *b, uint64_t i)
{
	unsigned char *src = bench_src(b, 0);

	src[b->o.size - 1] = value_of(i);
	bench_data(b, &b->conn[0], i % b->every == 0);
}

static bool hear(struct bench *b, uint64_t i, struct seen *s)
{
	return b->o.op == BENCH_WRITE ? wait_write(b, value_of(i), s) : wait_send(b, s);
}

static void server(struct bench *b)
{
	struct seen s = { 0 };
	uint64_t i;

	/* the device answers Reads and atomic operations itself */
	if (b->o.op == BENCH_READ || b->o.op == BENCH_ATOMIC)
		return;
	for (i = 0; hear(b, i, &s); i++) {
		say(b, i);
		wait_room(b, b->o.depth - 2, &s);
	}
}

static void once(struct bench *b, uint64_t i, struct seen *s)
{
	if (b->o.op == BENCH_READ || b->o.op == BENCH_ATOMIC) {
		bench_data(b, &b->conn[0], true);
		wait_room(b, 0, s);
		return;
	}
	say(b, i);
	hear(b, i, s);
}

static void result(struct bench *b, struct bench_result *r, uint64_t *sample, uint64_t total)
{
	double ns = (double)r->ns / total;

	if (b->o.op == BENCH_WRITE || b->o.op == BENCH_SEND)
		ns /= 2;
	bench_quantiles(r, sample, ns);
	r->octets = r->messages * b->o.size;
}

static void client(struct bench *b, struct bench_result *r)
{
	uint64_t *sample = bench_samples(), i, warm = b->o.warm;
	uint64_t start, first = 0, t, last = 0, idle;
	struct seen s = { 0 };

	for (i = 0; i < warm; i++) {
		once(b, i, &s);
		wait_room(b, b->o.depth - 2, &s);
	}
	if (!b->o.count)
		bench_timer(b->o.ms);
	idle = bench_idle(b->o.idle);
	start = bench_now();
	first = last = ticks();
	for (; !bench_stop && (!b->o.count || i < warm + b->o.count); i++) {
		once(b, i, &s);
		t = ticks();
		sample[(i - warm) % BENCH_SAMPLES] = t - last;
		wait_room(b, b->o.depth - 2, &s);
		last = ticks();
	}
	t = ticks();
	r->ns = bench_now() - start;
	r->idle_ns = bench_idle(b->o.idle) - idle;
	r->messages = i - warm;
	result(b, r, sample, t - first);
	free(sample);
	bench_tell(b, &b->conn[0], 0);
	wait_room(b, 0, &s);
}

void bench_lat(struct bench *b, struct bench_result *r)
{
	b->o.qps = 1;
	if (b->o.server) {
		bench_serve(b);
		server(b);
	} else {
		bench_connect(b, b->o.qps);
		client(b, r);
	}
	bench_leave(b);
}
