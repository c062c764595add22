// SPDX-License-Identifier: GPL-2.0
/*
 * The receive buffer is full, and contains more bytes than the receive engine processes in one
 * run. The peer has more bytes to send. After the first part of the run, TCP must already
 * announce a new window to the peer, not only at the end of the run.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

#include "attach.h"

#define ROOM	(5 << 18)	/* bytes that fit into the receive buffer */
#define ALL	(9 << 19)	/* bytes that the peer sends */
#define MOST	(1 << 19)	/* bytes: a part of a run frees less, a whole run frees more */

/*
 * Returns a raw socket that receives all TCP segments that arrive in this network namespace,
 * including segments that were sent in the same namespace.
 */
static int watch(void)
{
	int fd = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_TCP);
	int size = 64 << 20;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		iwt_die("raw socket");
	return fd;
}

/*
 * Returns the first window, in bytes, that the socket @fd announced after a window of 0,
 * according to the segments in @raw; or 0 if there is no such window. @scale is the window scale
 * of @fd.
 */
static uint32_t first_window(int raw, int fd, unsigned int scale)
{
	static uint8_t packet[65536];
	const struct iphdr *ip = (const void *)packet;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	uint32_t first = 0;
	bool closed = false;
	ssize_t n;

	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		iwt_die("getsockname");
	while ((n = recv(raw, packet, sizeof(packet), 0)) > 0) {
		const struct tcphdr *th = (const void *)(packet + ip->ihl * 4);

		if (n < ip->ihl * 4 + (ssize_t)sizeof(*th) || th->source != addr.sin_port)
			continue;
		if (th->window && closed && !first)
			first = ntohs(th->window) << scale;
		closed = closed || !th->window;
	}
	return first;
}

void iwt_window(void)
{
	struct end *e = iwt_open();
	struct ibv_mr *mr = iwt_peer_memory(e);
	struct peer p = { .still = 2000 };
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int fds[2], raw;
	uint32_t room;

	iwt_peer_compose(&p, mr, IWT_PIECE, ALL);
	iwt_room_pair(fds, ROOM);
	if (getsockopt(fds[0], IPPROTO_TCP, TCP_INFO, &info, &len))
		iwt_die("TCP_INFO");
	raw = watch();
	iwt_is(iwt_peer_begin(e, &p, fds), 0, "a closed window: the socket is attached");
	iwt_ok(iwt_receive(e, IWT_LAST), "a closed window: all data are processed");
	pthread_join(p.thread, NULL);
	room = first_window(raw, fds[0], info.tcpi_rcv_wscale);
	printf("# %u octets\n", room);
	iwt_ok(room && room <= MOST, "a closed window: it opens after the first step");
	close(raw);
	close(fds[1]);
	iwt_peer_forget(e, mr, &p);
}

/*
 * The program has chosen small receive buffers. The driver makes the buffers large enough for the
 * largest FPDU.
 */
void iwt_buffer(void)
{
	int fds[2], i, size = 4096;
	socklen_t len = sizeof(size);
	struct end *e[2];
	bool good = true;

	iwt_tcp_pair(iwt_ip, fds);
	for (i = 0; i < 2; i++)
		if (setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))
			iwt_die("SO_RCVBUF");
	iwt_attach_pair(e, fds);
	for (i = 0; i < 2; i++) {
		if (getsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &size, &len))
			iwt_die("SO_RCVBUF");
		printf("# a receive buffer has %d bytes\n", size);
		good &= size >= 128 << 10;
	}
	iwt_ok(good, "small receive buffers grow at the attach");
	iwt_close_pair(e);
}
