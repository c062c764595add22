// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_tcpref: measures TCP without RDMA, for comparison with iwt_bench on the same path.
 *
 *	iwt_tcpref -s|-c -a ADDRESS [-p PORT] [-D] [-l] [-m] [-I | -i FILE] [-q CONNECTIONS]
 *		[-S BYTES] [-t MS | -n MESSAGES] [-w WARMUP] [-g US]
 *
 * Client (-c) and server (-s) are started with the same other options; defaults are in parentheses
 * here. The client writes messages of BYTES (65536) to CONNECTIONS connections (1), and the server
 * reads the messages. The client stops after MS milliseconds (1000) or after MESSAGES messages.
 * Before the measurement the client sends WARMUP messages; with -l it sends none. With -D the
 * server does not read the messages: its kernel discards them, so that the data are copied once,
 * as with RDMA. The client measures until the server has read the last byte of each connection.
 * -l: the server answers each message, and the client waits for the answer.
 * -m: opens idle connections, and measures how much memory of the kernel they use.
 * -I, -i: measure the idle time of the processors, too, as the kernel reports it (-I), or as
 * iwt_idle counts it in FILE (-i). A server with -I or -i, and without -l, also prints a result.
 * -g, with -n: a message is due every US microseconds, and the server prints quantiles of the
 * messages' delays: the time from the moment when a message is due until the server has read it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include <unistd.h>

#include "bench_base.h"

#define CHUNK	(256 * 1024)

static struct {
	const char *addr, *port;
	bool server, discard, latency, idle, apart, memory;
	unsigned int qps, ms, gap;
	uint32_t size;
	uint64_t count, warm;
} o = { .port = "18601", .qps = 1, .ms = 1000, .size = 65536 };

static char *buf;
static uint32_t buf_len;

static void timer(void)
{
	if (!o.count)
		bench_timer(o.ms);
}

static int socket_of(const struct addrinfo *ai)
{
	int one = 1, fd = socket(ai->ai_family, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		bench_die("socket");
	return fd;
}

/* Sends or receives @len bytes. Return: false at the end of the stream */
static bool all(int fd, ssize_t (*io)(int, void *, size_t, int), size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = io(fd, buf + done, len - done, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			bench_die("socket");
		if (!n)
			return false;
		done += n;
	}
	return true;
}

static ssize_t send_some(int fd, void *p, size_t len, int flags)
{
	return send(fd, p, len, flags | MSG_NOSIGNAL);
}

/*
 * Receives up to CHUNK bytes. Successive calls use successive parts of a buffer that is as long
 * as a message, because RDMA also writes a message to memory of the message's length. Return: as
 * recv(2)
 */
static ssize_t receive(int fd)
{
	static uint32_t at;
	ssize_t got;

	if (buf_len - at < CHUNK)
		at = 0;
	got = recv(fd, buf + at, CHUNK, MSG_DONTWAIT | (o.discard ? MSG_TRUNC : 0));
	if (got > 0)
		at += got;
	return got;
}

/*
 * The bytes that the server has received since it began to measure, and the result. The server
 * begins to measure when it has received WARMUP messages, which warm up the connections.
 */
static struct {
	uint64_t octets;
	struct bench_result r;
} seen;

static void came(size_t octets)
{
	seen.octets += octets;
	if (seen.r.ns || !o.idle || seen.octets < o.warm * o.size)
		return;
	bench_begin(&seen.r, true);
	seen.octets = 0;
}

static void report_seen(void)
{
	if (!seen.r.ns)
		return;
	bench_end(&seen.r, true);
	seen.r.octets = seen.octets;
	seen.r.messages = seen.octets / o.size;
	bench_print(&seen.r);
}

static void serve_stream(const int *fds)
{
	struct epoll_event ev[64], add = { .events = EPOLLIN };
	int ep = epoll_create1(0), n, i;
	unsigned int open = o.qps, k;
	ssize_t got;

	for (k = 0; k < o.qps; k++) {
		add.data.fd = fds[k];
		if (epoll_ctl(ep, EPOLL_CTL_ADD, fds[k], &add))
			bench_die("epoll");
	}
	while (open) {
		n = epoll_wait(ep, ev, 64, 20000);
		if (n <= 0)
			bench_die("epoll_wait");
		for (i = 0; i < n; i++) {
			got = receive(ev[i].data.fd);
			if (got > 0)
				came(got);
			if (got > 0 || (got < 0 && errno == EAGAIN))
				continue;
			if (got < 0)
				bench_die("recv");
			epoll_ctl(ep, EPOLL_CTL_DEL, ev[i].data.fd, NULL);
			open--;
		}
	}
	report_seen();
	for (k = 0; k < o.qps; k++)
		close(fds[k]);
}

/* Reads WARMUP + MESSAGES messages. Each begins with the time when it was due. */
static void serve_paced(int fd)
{
	uint64_t *sample = bench_samples(), due = 0, begin = 0, n;

	for (n = 0; n < o.warm + o.count && all(fd, recv, o.size); n++) {
		memcpy(&due, buf, sizeof(due));
		if (n >= o.warm)
			sample[n - o.warm] = bench_now() - due;
		if (n == o.warm)
			begin = due;
	}
	seen.r.ns = bench_now() - begin;
	seen.r.messages = o.count;
	seen.r.octets = o.count * o.size;
	bench_quantiles(&seen.r, sample, 1);
	bench_print(&seen.r);
	free(sample);
	close(fd);
}

static void server(void)
{
	struct addrinfo *ai = bench_address(o.addr, o.port);
	int *fds = calloc(o.qps, sizeof(*fds)), listener = socket_of(ai);
	unsigned int i;

	if (bind(listener, ai->ai_addr, ai->ai_addrlen) || listen(listener, 1024))
		bench_die("listen");
	printf("listening\n");
	fflush(stdout);
	for (i = 0; i < o.qps; i++) {
		int one = 1;

		fds[i] = accept(listener, NULL, NULL);
		if (fds[i] < 0 || setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
			bench_die("accept");
	}
	if (o.gap) {
		serve_paced(fds[0]);
		return;
	}
	if (!o.latency) {
		serve_stream(fds);
		return;
	}
	while (all(fds[0], recv, o.size))
		all(fds[0], send_some, o.size);
}

/* Sends on one connection, and waits while its send buffer is full. Return: number of messages */
static uint64_t stream_one(int fd)
{
	uint64_t n;

	for (n = 0; !bench_stop && (!o.count || n < o.count); n++)
		all(fd, send_some, o.size);
	return n;
}

/* Sends on each connection whose send buffer has room. Return: number of whole messages */
static uint64_t stream_many(const int *fds)
{
	struct epoll_event ev[64], add = { .events = EPOLLOUT };
	int ep = epoll_create1(0), n, i;
	uint64_t octets = 0;
	unsigned int k;
	ssize_t sent;

	for (k = 0; k < o.qps; k++) {
		add.data.fd = fds[k];
		epoll_ctl(ep, EPOLL_CTL_ADD, fds[k], &add);
	}
	while (!bench_stop && (!o.count || octets < o.count * o.size)) {
		n = epoll_wait(ep, ev, 64, 20000);
		for (i = 0; i < n; i++) {
			sent = send(ev[i].data.fd, buf, o.size, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (sent < 0 && errno != EAGAIN && errno != EINTR)
				bench_die("send");
			octets += sent > 0 ? sent : 0;
		}
	}
	return octets / o.size;
}

/* Waits until the peer has acknowledged all data, so that both ends measure the same bytes. */
static void acknowledged(int fd)
{
	int left;

	while (!ioctl(fd, SIOCOUTQ, &left) && left)
		usleep(1000);
}

static void client_stream(const int *fds, struct bench_result *r)
{
	unsigned int i;
	uint64_t n;

	for (n = 0; n < o.warm; n++)
		all(fds[n % o.qps], send_some, o.size);
	for (i = 0; o.apart && i < o.qps; i++)
		acknowledged(fds[i]);
	timer();
	bench_begin(r, o.idle);
	r->messages = o.qps == 1 ? stream_one(fds[0]) : stream_many(fds);
	for (i = 0; i < o.qps; i++)
		shutdown(fds[i], SHUT_WR);
	for (i = 0; i < o.qps; i++)
		all(fds[i], recv, 1);
	bench_end(r, o.idle);
}

static void client_paced(int fd, struct bench_result *r)
{
	uint64_t due = bench_now() + 1000000, n;

	r->ns = due;
	for (n = 0; n < o.warm + o.count; n++, due += o.gap * 1000ull) {
		bench_sleep_until(due);
		memcpy(buf, &due, sizeof(due));
		all(fd, send_some, o.size);
	}
	shutdown(fd, SHUT_WR);
	all(fd, recv, 1);
	r->ns = bench_now() - r->ns;
	r->messages = o.count;
}

static void client_latency(int fd, struct bench_result *r)
{
	uint64_t *sample = bench_samples(), start = bench_now(), last = start, t, n;

	timer();
	for (n = 0; !bench_stop && (!o.count || n < o.count); n++) {
		all(fd, send_some, o.size);
		all(fd, recv, o.size);
		t = bench_now();
		sample[n % BENCH_SAMPLES] = t - last;
		last = t;
	}
	r->messages = n;
	r->ns = last - start;
	bench_quantiles(r, sample, 0.5);
	free(sample);
}

static void connect_some(const struct addrinfo *ai, int *fds, unsigned int n)
{
	while (n--) {
		*fds = socket_of(ai);
		if (connect(*fds++, ai->ai_addr, ai->ai_addrlen))
			bench_die("connect");
	}
}

/* Measures the memory of idle connections. Both ends of each connection are on this machine. */
static void client_memory(const struct addrinfo *ai, int *fds, struct bench_result *r)
{
	uint64_t before, start = bench_now();

	connect_some(ai, fds, 1);
	before = bench_kernel_memory();
	connect_some(ai, fds + 1, o.qps - 1);
	r->octets = bench_kernel_memory() - before;
	r->ns = bench_now() - start;
	r->messages = 2 * (o.qps - 1);
}

static void client(void)
{
	const struct addrinfo *ai = bench_address(o.addr, o.port);
	int *fds = calloc(o.qps, sizeof(*fds));
	struct bench_result r = { 0 };

	if (o.memory) {
		client_memory(ai, fds, &r);
		bench_print(&r);
		return;
	}
	connect_some(ai, fds, o.qps);
	if (o.gap)
		client_paced(fds[0], &r);
	else if (o.latency)
		client_latency(fds[0], &r);
	else
		client_stream(fds, &r);
	r.octets = r.messages * o.size;
	bench_print(&r);
}

static void number(int c)
{
	uint64_t n = strtoull(optarg, NULL, 0);

	switch (c) {
	case 'q': o.qps = n; break;
	case 'S': o.size = n; break;
	case 't': o.ms = n; break;
	case 'n': o.count = n; break;
	case 'w': o.warm = n; break;
	case 'g': o.gap = n; break;
	}
}

int main(int argc, char **argv)
{
	struct rlimit files = { 65536, 65536 };
	bool is_client = false;
	int c;

	while ((c = getopt(argc, argv, "sca:p:DlmIi:q:S:t:n:w:g:")) != -1) {
		switch (c) {
		case 's': o.server = true; break;
		case 'c': is_client = true; break;
		case 'a': o.addr = optarg; break;
		case 'p': o.port = optarg; break;
		case 'D': o.discard = true; break;
		case 'l': o.latency = true; break;
		case 'm': o.memory = true; break;
		case 'I': o.idle = true; break;
		case 'i': o.idle = o.apart = true; bench_idle_from(optarg); break;
		case '?': return 2;
		default: number(c);
		}
	}
	if (o.server == is_client || !o.addr || !o.qps || !o.size ||
	    (o.gap && (!o.count || o.count > BENCH_SAMPLES || o.qps != 1 || o.size < 8))) {
		fputs("usage: iwt_tcpref -s|-c -a ADDRESS [-p PORT] [-D] [-l] [-m] [-I | -i FILE OF iwt_idle]\n"
		      "	[-q CONNECTIONS] [-S OCTETS] [-t MILLISECONDS | -n MESSAGES] [-w MESSAGES TO WARM UP]\n"
		      "	[-g MICROSECONDS]\n", stderr);
		return 2;
	}
	setrlimit(RLIMIT_NOFILE, &files);
	buf_len = o.size > CHUNK ? o.size : CHUNK;
	buf = malloc(buf_len);
	if (!buf)
		bench_die("memory");
	/* if nothing were written, all pages of the buffer would be the same zero page */
	memset(buf, 0x5a, buf_len);
	if (o.server)
		server();
	else
		client();
	return 0;
}
