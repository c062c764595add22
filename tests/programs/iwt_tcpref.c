// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_tcpref: what TCP does on the same path, between a client and a server that
 * were given the same options. Messages of -S octets are written to -q
 * connections, and the server reads them (or, with -D, has the kernel discard
 * them: one copy of the data, as RDMA has); the client's time ends when the
 * server has seen the end of all. -l: messages that are answered, one at a time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CHUNK	(256 * 1024)

static struct {
	const char *addr, *port;
	bool server, discard, latency, idle;
	unsigned int qps, ms;
	uint32_t size;
	uint64_t count, warm;
} o = { .port = "18601", .qps = 1, .ms = 1000, .size = 65536 };

static volatile bool stop;
static char *buf;

static void die(const char *what)
{
	fprintf(stderr, "iwt_tcpref: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* as bench_idle() of iwt_bench */
static uint64_t idle_ns(void)
{
	unsigned long long ns, sum = 0;
	char line[256];
	FILE *f = o.idle ? fopen("/proc/timer_list", "r") : NULL;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %llu nsecs", &ns) == 1)
			sum += ns;
	if (f)
		fclose(f);
	return sum;
}

static void on_timer(int sig) { stop = true; }

static void timer(void)
{
	struct itimerval tv = { .it_value = { o.ms / 1000, o.ms % 1000 * 1000 } };
	struct sigaction sa = { .sa_handler = on_timer };

	stop = false;
	if (o.count)
		return;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &tv, NULL);
}

static struct addrinfo *resolve(void)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai;

	if (getaddrinfo(o.addr, o.port, &hints, &ai))
		die(o.addr);
	return ai;
}

static int socket_of(const struct addrinfo *ai)
{
	int one = 1, fd = socket(ai->ai_family, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("socket");
	return fd;
}

/* all octets, in either direction; false at the end of the stream */
static bool all(int fd, ssize_t (*io)(int, void *, size_t, int), size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = io(fd, buf + done, len - done, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("socket");
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

static void serve_stream(const int *fds)
{
	struct epoll_event ev[64], add = { .events = EPOLLIN };
	int ep = epoll_create1(0), n, i;
	unsigned int open = o.qps, k;
	ssize_t got;

	for (k = 0; k < o.qps; k++) {
		add.data.fd = fds[k];
		if (epoll_ctl(ep, EPOLL_CTL_ADD, fds[k], &add))
			die("epoll");
	}
	while (open) {
		n = epoll_wait(ep, ev, 64, 20000);
		if (n <= 0)
			die("epoll_wait");
		for (i = 0; i < n; i++) {
			got = recv(ev[i].data.fd, buf, CHUNK,
				   MSG_DONTWAIT | (o.discard ? MSG_TRUNC : 0));
			if (got > 0 || (got < 0 && errno == EAGAIN))
				continue;
			if (got < 0)
				die("recv");
			epoll_ctl(ep, EPOLL_CTL_DEL, ev[i].data.fd, NULL);
			open--;
		}
	}
	for (k = 0; k < o.qps; k++)
		close(fds[k]);
}

static void server(void)
{
	struct addrinfo *ai = resolve();
	int *fds = calloc(o.qps, sizeof(*fds)), listener = socket_of(ai);
	unsigned int i;

	if (bind(listener, ai->ai_addr, ai->ai_addrlen) || listen(listener, 1024))
		die("listen");
	printf("listening\n");
	fflush(stdout);
	for (i = 0; i < o.qps; i++) {
		int one = 1;

		fds[i] = accept(listener, NULL, NULL);
		if (fds[i] < 0 || setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
			die("accept");
	}
	if (!o.latency) {
		serve_stream(fds);
		return;
	}
	while (all(fds[0], recv, o.size))
		all(fds[0], send_some, o.size);
}

/* one connection, the usual way */
static uint64_t stream_one(int fd)
{
	uint64_t n;

	for (n = 0; !stop && (!o.count || n < o.count); n++)
		all(fd, send_some, o.size);
	return n;
}

/* many: whichever has room */
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
	while (!stop && (!o.count || octets < o.count * o.size)) {
		n = epoll_wait(ep, ev, 64, 20000);
		for (i = 0; i < n; i++) {
			sent = send(ev[i].data.fd, buf, o.size, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (sent < 0 && errno != EAGAIN && errno != EINTR)
				die("send");
			octets += sent > 0 ? sent : 0;
		}
	}
	return octets / o.size;
}

static void print(uint64_t messages, uint64_t ns, uint64_t idle, uint64_t p50, uint64_t p99)
{
	printf("messages=%llu octets=%llu ns=%llu idle_ns=%llu p50_ns=%llu p99_ns=%llu\n",
	       (unsigned long long)messages, (unsigned long long)messages * o.size,
	       (unsigned long long)ns, (unsigned long long)idle, (unsigned long long)p50,
	       (unsigned long long)p99);
}

static void client_stream(const int *fds)
{
	uint64_t idle, start, n, ns;
	unsigned int i;

	for (n = 0; n < o.warm; n++)
		all(fds[n % o.qps], send_some, o.size);
	idle = idle_ns();
	timer();
	start = now();
	n = o.qps == 1 ? stream_one(fds[0]) : stream_many(fds);
	for (i = 0; i < o.qps; i++)
		shutdown(fds[i], SHUT_WR);
	for (i = 0; i < o.qps; i++)
		all(fds[i], recv, 1);
	ns = now() - start;
	print(n, ns, idle_ns() - idle, 0, 0);
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void client_latency(int fd)
{
	enum { SAMPLES = 1 << 20 };
	uint64_t *sample = calloc(SAMPLES, sizeof(*sample)), start = now(), last = start, t, n, kept;

	timer();
	for (n = 0; !stop && (!o.count || n < o.count); n++) {
		all(fd, send_some, o.size);
		all(fd, recv, o.size);
		t = now();
		sample[n % SAMPLES] = t - last;
		last = t;
	}
	kept = n < SAMPLES ? n : SAMPLES;
	qsort(sample, kept, sizeof(*sample), order);
	print(n, last - start, 0, sample[kept / 2] / 2, sample[kept * 99 / 100] / 2);
}

static void client(void)
{
	struct addrinfo *ai = resolve();
	int *fds = calloc(o.qps, sizeof(*fds));
	unsigned int i;

	for (i = 0; i < o.qps; i++) {
		fds[i] = socket_of(ai);
		if (connect(fds[i], ai->ai_addr, ai->ai_addrlen))
			die("connect");
	}
	if (o.latency)
		client_latency(fds[0]);
	else
		client_stream(fds);
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
	}
}

int main(int argc, char **argv)
{
	struct rlimit files = { 65536, 65536 };
	bool is_client = false;
	int c;

	while ((c = getopt(argc, argv, "sca:p:DlIq:S:t:n:w:")) != -1) {
		switch (c) {
		case 's': o.server = true; break;
		case 'c': is_client = true; break;
		case 'a': o.addr = optarg; break;
		case 'p': o.port = optarg; break;
		case 'D': o.discard = true; break;
		case 'l': o.latency = true; break;
		case 'I': o.idle = true; break;
		case '?': return 2;
		default: number(c);
		}
	}
	if (o.server == is_client || !o.addr || !o.qps || !o.size) {
		fputs("usage: iwt_tcpref -s|-c -a ADDRESS [-p PORT] [-D] [-l] [-I] [-q CONNECTIONS]\n"
		      "	[-S OCTETS] [-t MILLISECONDS | -n MESSAGES] [-w MESSAGES TO WARM UP]\n", stderr);
		return 2;
	}
	setrlimit(RLIMIT_NOFILE, &files);
	buf = calloc(1, o.size > CHUNK ? o.size : CHUNK);
	if (!buf)
		die("memory");
	if (o.server)
		server();
	else
		client();
	return 0;
}
