// SPDX-License-Identifier: GPL-2.0
/*
 * A process may ask TCP to report ICMP errors of a connection (IP_RECVERR). After such an error
 * TCP lets the next send() fail, but the connection continues. These tests watch the segments of
 * an attached socket, and send "host unreachable" messages for the newest segment. The queue pair
 * must not fail.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "patience.h"

#define IDLE_TIMES	10
#define BURSTS		100
#define HITS		10
#define SECONDS		60

/* A simulated router on the path of the segments that one end sends */
struct router {
	int tcp, icmp;
	uint16_t port;		/* port of the sending end, in network byte order */
	uint32_t next;		/* sequence number after the last segment seen */
	struct {		/* the part of the segment that the ICMP message quotes */
		struct iphdr ip;
		uint16_t source, dest;
		uint32_t seq;
	} quote;
	long sent;
	volatile bool stop;
};

static void on_the_way(struct router *r, int fd)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	memset(r, 0, sizeof(*r));
	r->tcp = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_TCP);
	r->icmp = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	if (r->tcp < 0 || r->icmp < 0 || getsockname(fd, (struct sockaddr *)&addr, &len))
		iwt_die("raw sockets");
	r->port = addr.sin_port;
}

static void off(struct router *r)
{
	close(r->tcp);
	close(r->icmp);
}

/* Stores the headers of @packet, if @packet is the newest segment that the end has sent. */
static void keep(struct router *r, const uint8_t *packet, size_t len)
{
	const struct iphdr *ip = (const void *)packet;
	const struct tcphdr *th = (const void *)(packet + sizeof(*ip));
	uint32_t next;

	if (len < sizeof(*ip) + sizeof(*th) || ip->ihl != 5 || th->source != r->port)
		return;
	next = ntohl(th->seq) + ntohs(ip->tot_len) - (ip->ihl + th->doff) * 4;
	if (r->quote.source && (int32_t)(next - r->next) < 0)
		return;
	r->next = next;
	r->quote.ip = *ip;
	r->quote.source = th->source;
	r->quote.dest = th->dest;
	r->quote.seq = htonl(next);
}

static void look(struct router *r)
{
	static __thread uint8_t packet[65536];
	ssize_t len;

	while ((len = recv(r->tcp, packet, sizeof(packet), 0)) > 0)
		keep(r, packet, len);
}

static uint16_t checksum(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/*
 * Reports the newest segment as lost. The report quotes the sequence number after that segment,
 * so TCP accepts the report until a later segment is acknowledged.
 */
static void complain(struct router *r)
{
	struct {
		struct icmphdr icmp;
		uint8_t quote[sizeof(r->quote)];
	} m = { .icmp = { .type = ICMP_DEST_UNREACH, .code = ICMP_HOST_UNREACH } };
	struct sockaddr_in to = { .sin_family = AF_INET };

	look(r);
	if (!r->quote.source)
		return;
	memcpy(m.quote, &r->quote, sizeof(m.quote));
	m.icmp.checksum = checksum(&m, sizeof(m));
	to.sin_addr.s_addr = r->quote.ip.saddr;
	if (sendto(r->icmp, &m, sizeof(m), 0, (struct sockaddr *)&to, sizeof(to)) == sizeof(m))
		r->sent++;
}

static void *complain_on(void *arg)
{
	struct router *r = arg;

	while (!r->stop) {
		complain(r);
		usleep(50);
	}
	return NULL;
}

/* Reads one of the TcpExt counters of this network namespace. */
static long tcp_counter(const char *name)
{
	char names[8192], values[8192], *n, *v, *more_n, *more_v;
	FILE *f = fopen("/proc/net/netstat", "r");
	long value = 0;

	if (!f || !fgets(names, sizeof(names), f) || !fgets(values, sizeof(values), f))
		iwt_die("netstat");
	fclose(f);
	n = strtok_r(names, " \n", &more_n);
	v = strtok_r(values, " \n", &more_v);
	for (; n && v; n = strtok_r(NULL, " \n", &more_n), v = strtok_r(NULL, " \n", &more_v))
		if (!strcmp(n, name))
			value = strtol(v, NULL, 10);
	return value;
}

static long not_heard(void)
{
	return tcp_counter("OutOfWindowIcmps") + tcp_counter("LockDroppedIcmps");
}

/*
 * Waits until TCP has stored an error for the socket. Return: the error, or 0 if there is no
 * error in time.
 */
static int error_of(int fd)
{
	socklen_t len = sizeof(int);
	struct patience p = {};
	int err = 0;

	while (!err && patient(&p, PATIENCE, 0)) {
		usleep(10000);
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	}
	return err;
}

/* Sends ICMP errors while all segments have been acknowledged. */
static bool while_idle(struct end *e[2], struct router *r)
{
	int i;

	for (i = 0; i < IDLE_TIMES; i++) {
		complain(r);
		if (!iwt_send(e[0], "there?") || !iwt_receive(e[1], "there?"))
			return false;
	}
	return true;
}

/* Sends ICMP errors during traffic, until TCP has accepted HITS errors. */
static void under_way(struct end *e[2], struct router *r)
{
	struct patience p = {};
	long before = not_heard(), heard;
	pthread_t thread;
	bool good[2];

	r->sent = 0;
	if (pthread_create(&thread, NULL, complain_on, r))
		iwt_die("pthread_create");
	do {
		iwt_bursts(e, BURSTS, good);
		heard = r->sent - (not_heard() - before);
	} while (good[0] && good[1] && heard < HITS && patient(&p, SECONDS, 0));
	r->stop = true;
	pthread_join(thread, NULL);
	iwt_ok(good[0] && good[1], "ICMP: messages pass during the traffic");
	iwt_ok(heard >= HITS, "ICMP: TCP accepts reports during the traffic");
}

/* The peer ends the connection, and the process has not read the ICMP error yet. */
static void before_the_end(struct end *e[2], struct router *r)
{
	complain(r);
	iwt_is(iwt_modify(e[1], IBV_QPS_SQD), 0, "ICMP: the peer ends the connection");
	iwt_ok(iwt_failed(e[0]), "ICMP: the queue pair notices the end");
	iwt_ok(iwt_hung_up(e[0]->fd) && iwt_hung_up(e[1]->fd),
	       "ICMP: both ends close the connection");
}

void iwt_icmp(void)
{
	struct router r;
	struct end *e[2];
	int fds[2], on = 1;

	iwt_tcp_pair(iwt_ip, fds);
	if (setsockopt(fds[0], IPPROTO_IP, IP_RECVERR, &on, sizeof(on)))
		iwt_die("IP_RECVERR");
	on_the_way(&r, fds[0]);
	iwt_ok(iwt_say(fds[0], "text") && iwt_hear(fds[1], "text"),
	       "ICMP: text passes before the attach");
	complain(&r);
	iwt_is(error_of(fds[0]), EHOSTUNREACH, "ICMP: TCP stores an error for the socket");
	iwt_attach_pair(e, fds);
	iwt_ok(while_idle(e, &r), "ICMP: reports while all segments are acknowledged");
	under_way(e, &r);
	before_the_end(e, &r);
	off(&r);
	iwt_close_pair(e);
}
