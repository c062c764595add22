// SPDX-License-Identifier: GPL-2.0
/*
 * Mode "flow" of iwt_bench: a stream of messages over each queue pair, for some time or for a
 * number of messages. After the last message the client sends an empty Send, and the stream ends
 * when the server has answered this Send. The answer proves that all messages have arrived; the
 * completion of a Write does not prove this. With -g, the messages of a flow are paced (pace.c).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "bench.h"
#include "patience.h"

#define PATIENCE	20	/* seconds that a completion may take */

/*
 * Counts a receive that was used and posted again. Sends one credit to the peer for every
 * rx_depth / 4 of these receives.
 */
static void consumed(struct bench *b, struct bench_conn *c)
{
	if (++c->consumed < b->rx_depth / 4)
		return;
	c->consumed = 0;
	bench_tell(b, c, 1);
}

static void message(struct bench *b, struct bench_conn *c)
{
	if (b->arrival)
		b->arrival[b->arrived++ % BENCH_SAMPLES] = bench_now();
	consumed(b, c);
}

static void completion(struct bench *b, const struct ibv_wc *wc)
{
	struct bench_conn *c;

	bench_wc(wc);
	c = bench_conn_of(b, wc);
	if (!(wc->opcode & IBV_WC_RECV)) {
		bench_retire(b, wc);
		return;
	}
	bench_recv(b, c);
	if (!wc->byte_len)
		b->ended++;
	else if (wc->byte_len == 1)
		c->credit += b->rx_depth / 4;
	else
		message(b, c);
}

static int reap(struct bench *b)
{
	struct ibv_wc wc[32];
	int n = ibv_poll_cq(b->cq, 32, wc), i;

	if (n < 0)
		bench_die("ibv_poll_cq");
	for (i = 0; i < n; i++)
		completion(b, &wc[i]);
	return n;
}

/*
 * Must the next completion arrive within a time limit? Without posted requests there is no limit:
 * the peer may send at any time, and if the peer exits, a receive completes with an error.
 */
static bool is_limited(const struct bench *b)
{
	for (unsigned int i = 0; i < b->o.qps; i++)
		if (b->conn[i].inflight)
			return true;
	return false;
}

/*
 * Waits for a completion. The timer that ends the posting must also end this wait, because the
 * last requests may be unsignalled; then no completion arrives. The timer ends the wait even if
 * it expires between the caller's check of bench_stop and ppoll(). Return: as ppoll().
 */
static int wait_completion(struct bench *b, struct pollfd *fd)
{
	const struct timespec slice = { .tv_nsec = 200000000 };
	bool limited = is_limited(b);
	struct patience wait = {};
	sigset_t timer, before;
	int n = -1;

	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	sigprocmask(SIG_BLOCK, &timer, &before);
	errno = EINTR;
	if (!b->posting || !bench_stop) {
		do {
			n = ppoll(fd, 1, limited ? &slice : NULL, &before);
		} while (!n && patient(&wait, PATIENCE, 0));
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return n;
}

/*
 * bench_progress - handles completions. If there are none and @sleep is set, sleeps until there is
 * one, or until the timer expires.
 */
void bench_progress(struct bench *b, bool sleep)
{
	struct pollfd fd = { .fd = b->cc->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;
	int n;

	if (reap(b) || !sleep)
		return;
	if (ibv_req_notify_cq(b->cq, 0))
		bench_die("ibv_req_notify_cq");
	if (reap(b))
		return;
	n = wait_completion(b, &fd);
	if (n == 0) {
		errno = ETIMEDOUT;
		bench_die("nothing completes");
	}
	if (n < 0 && errno == EINTR)
		return;
	if (ibv_get_cq_event(b->cc, &cq, &context))
		bench_die("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
}

static bool fill(struct bench *b, struct bench_conn *c, uint64_t count)
{
	bool any = false;

	while (!bench_stop && c->inflight < b->o.depth && (!count || c->posted < count) &&
	       (b->o.op != BENCH_SEND || c->credit)) {
		if (b->o.op == BENCH_SEND)
			c->credit--;
		c->posted++;
		bench_data(b, c, c->posted % b->every == 0);
		any = true;
	}
	return any;
}

/*
 * Posts @count messages on each queue pair; if @count is 0, posts messages until the timer
 * expires. Return: the number of messages on all queue pairs.
 */
static uint64_t pump(struct bench *b, uint64_t count)
{
	uint64_t sum = 0;
	bool more = true;
	unsigned int i;

	for (i = 0; i < b->o.qps; i++)
		b->conn[i].posted = 0;
	b->posting = true;
	while (more && !bench_stop) {
		more = !count;
		for (i = 0; i < b->o.qps; i++) {
			fill(b, &b->conn[i], count);
			more |= b->conn[i].posted < count;
		}
		bench_progress(b, b->o.events && more);
	}
	b->posting = false;
	for (i = 0; i < b->o.qps; i++)
		sum += b->conn[i].posted;
	return sum;
}

/*
 * Writes the number of messages into the peer's memory, and sends an end on each queue pair. The
 * data of Reads have arrived when the Reads complete, and the end completes after the Reads.
 */
static void end(struct bench *b, uint64_t messages)
{
	unsigned int i;

	bench_report(b, &b->conn[0], messages);
	for (i = 0; i < b->o.qps; i++) {
		while (b->conn[i].inflight >= b->o.depth + BENCH_SPARE - 4)
			bench_progress(b, b->o.events);
		bench_tell(b, &b->conn[i], 0);
	}
}

static void wait_ends(struct bench *b, bool sleep)
{
	while (b->ended < b->o.qps)
		bench_progress(b, sleep);
	b->ended = 0;
}

static void drain(struct bench *b)
{
	for (unsigned int i = 0; i < b->o.qps; i++)
		while (b->conn[i].inflight)
			bench_progress(b, b->o.events);
}

static uint64_t client_phase(struct bench *b, uint64_t count)
{
	uint64_t messages, peers;

	if (!count)
		bench_timer(b->o.ms);
	messages = b->o.gap ? bench_paced(b, count) : pump(b, count);
	end(b, messages);
	wait_ends(b, b->o.events);
	drain(b);
	memcpy(&peers, b->buf, 8);
	return messages + (b->o.bidir ? peers : 0);
}

/*
 * While the server waits for the client's ends, it polls only if the messages are Sends, for
 * which it must post receives, and -e is not given; otherwise it sleeps. The client may
 * disconnect as soon as it has received the ends of the last phase. So after the server has sent
 * these ends, it must not poll for completions any more.
 */
static uint64_t server_phase(struct bench *b, uint64_t count)
{
	uint64_t messages = 0;

	drain(b);
	if (b->o.bidir) {
		if (!count)
			bench_timer(b->o.ms);
		messages = pump(b, count);
	}
	wait_ends(b, b->o.events || b->o.op != BENCH_SEND);
	return messages;
}

static void client(struct bench *b, struct bench_result *r, uint64_t warm, uint64_t count)
{
	if (warm)
		client_phase(b, warm);
	bench_begin(r, b->o.idle);
	r->messages = client_phase(b, count);
	bench_end(r, b->o.idle);
}

/*
 * The server begins to measure before it sends the end of the first phase: when the client has
 * received this end, the client begins the second phase, which may occupy the processor.
 */
static void server(struct bench *b, struct bench_result *r, uint64_t warm, uint64_t count)
{
	uint64_t messages = 0;

	bench_serve(b);
	if (warm)
		messages = server_phase(b, warm);
	b->arrived = 0;
	bench_begin(r, b->o.idle);
	if (warm)
		end(b, messages);
	messages = server_phase(b, count);
	bench_end(r, b->o.idle);
	r->messages = count * b->o.qps;
	if (b->o.gap)
		bench_delays(b, r);
	end(b, messages);
}

void bench_flow(struct bench *b, struct bench_result *r)
{
	uint64_t count = b->o.count / b->o.qps, warm = b->o.warm / b->o.qps;

	if (b->o.count && !count)
		count = 1;
	if (b->o.server) {
		server(b, r, warm, count);
	} else {
		bench_connect(b, b->o.qps);
		client(b, r, warm, count);
	}
	r->octets = r->messages * b->o.size;
	bench_leave(b);
}
