// SPDX-License-Identifier: GPL-2.0
/* Tests of descriptors that cannot be attached, or that other threads use during the attach. */
#include <errno.h>
#include <fcntl.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"

#define RACES	24
#define STAMPED	300	/* number of bursts */
#define BUF_LOCK	72	/* SO_BUF_LOCK, which older headers lack */

static struct end *end;

/*
 * Tries to attach the descriptor as initiator, and then as responder with a valid Request. Both
 * attempts must fail with the errno @want.
 */
static void unfit(int fd, int want, const char *what)
{
	static const char frame[] = "MPA ID Req Frame\x40\x01\x00\x00";
	struct iwtdv_conn_param param = {};
	struct iwtdv_request req = { .frame_len = 20 };
	struct iwtdv_conn conn = {};
	char name[80];

	memcpy(req.frame, frame, 20);
	snprintf(name, sizeof(name), "initiator: %s", what);
	end->fd = fd;
	iwt_is(iwt_connect(end, NULL, NULL), want, name);
	snprintf(name, sizeof(name), "responder: %s", what);
	iwt_is(iwtdv_accept(end->qp, fd, &req, &param, &conn), want, name);
	end->fd = -1;
}

/* An attempt must not change the sizes of the buffers, or whether TCP changes these sizes. */
struct sizes {
	int receive, send, fixed;
};

static void read_sizes(int fd, struct sizes *sizes)
{
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &sizes->receive, &len) ||
	    getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sizes->send, &len) ||
	    getsockopt(fd, SOL_SOCKET, BUF_LOCK, &sizes->fixed, &len))
		iwt_die("getsockopt");
}

static void unfit_sized(int fd, int want, const char *what)
{
	struct sizes before, after;
	int small = 8192;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)))
		iwt_die("setsockopt");
	read_sizes(fd, &before);
	unfit(fd, want, what);
	read_sizes(fd, &after);
	iwt_ok(!memcmp(&before, &after, sizeof(before)), "the sizes of its buffers are as before");
	close(fd);
}

static void unfit_close(int fd, int want, const char *what)
{
	unfit(fd, want, what);
	close(fd);
}

static void not_connected(void)
{
	uint16_t port = 0;
	int fds[2];

	unfit_close(socket(AF_INET, SOCK_STREAM, 0), ENOTCONN,
		    "a socket that is not connected");
	unfit_close(iwt_listen(iwt_ip, &port), ENOTCONN, "a listening socket");

	iwt_tcp_pair(iwt_ip, fds);
	shutdown(fds[1], SHUT_WR);
	if (recv(fds[0], &port, 1, 0))
		iwt_die("recv");
	unfit_close(fds[0], ENOTCONN, "a socket that the peer has closed");
	close(fds[1]);

	iwt_tcp_pair(iwt_ip, fds);
	shutdown(fds[0], SHUT_WR);
	unfit_close(fds[0], ENOTCONN, "a socket after shutdown()");
	close(fds[1]);
}

static void other_kinds(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fds[2], fd;

	unfit(-1, EBADF, "descriptor -1");
	unfit(9999, EBADF, "a descriptor that is not open");
	unfit_close(open("/dev/null", O_RDWR), ENOTSOCK, "a descriptor that is not a socket");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		iwt_die("connect");
	unfit_close(fd, EPROTOTYPE, "a UDP socket");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		iwt_die("socketpair");
	unfit_close(fds[0], EPROTOTYPE, "a UNIX socket");
	close(fds[1]);
}

static void elsewhere(void)
{
	int here = open("/proc/self/ns/net", O_RDONLY);
	int there = iwt_netns ? open(iwt_netns, O_RDONLY) : -1;
	int fds[2];

	iwt_tcp_pair("127.0.0.1", fds);
	unfit_sized(fds[0], EADDRNOTAVAIL, "a socket with an address of another device");
	close(fds[1]);
	if (there < 0 || setns(there, CLONE_NEWNET)) {
		iwt_skip("a socket of another network namespace", "no namespace was given");
		return;
	}
	iwt_tcp_pair("127.0.0.1", fds);
	if (setns(here, CLONE_NEWNET))
		iwt_die("setns");
	unfit_sized(fds[0], EADDRNOTAVAIL, "a socket of another network namespace");
	close(fds[1]);
	close(here);
	close(there);
}

static void in_use(void)
{
	int fds[2];

	iwt_tcp_pair(iwt_ip, fds);
	if (setsockopt(fds[0], IPPROTO_TCP, TCP_ULP, "tls", 4))
		iwt_skip("a socket with kTLS", "this kernel has no kTLS");
	else
		unfit(fds[0], EBUSY, "a socket with kTLS");
	close(fds[0]);
	close(fds[1]);
}

/* Requests timestamps of the segments that @fd sends. Return: 0 or an errno value */
static int want_stamps(int fd)
{
	int how = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
		  SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_ACK |
		  SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;

	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &how, sizeof(how)) ? errno : 0;
}

/*
 * The process requests timestamps before the attach, so TCP queues a report for each segment, in
 * the context that sends the segment. No program can read the reports of an attached socket. All
 * messages must arrive nevertheless, while both ends send at the same time.
 */
static void stamped(void)
{
	struct end *e[2];
	bool good[2];
	int fds[2];

	/* small segments: TCP sends most segments of a message later, in a softirq */
	iwt_mss_pair(iwt_ip, 536, fds);
	iwt_is(want_stamps(fds[0]) | want_stamps(fds[1]), 0,
	       "both sockets request timestamps of TCP");
	iwt_attach_pair(e, fds);
	/* some kernels refuse setsockopt() on an attached socket, others accept it */
	want_stamps(fds[0]);
	want_stamps(fds[1]);
	iwt_bursts(e, STAMPED, good);
	iwt_ok(good[0], "timestamps: messages of the first end arrive");
	iwt_ok(good[1], "timestamps: messages of the second end arrive");
	iwt_close_pair(e);
}

/*
 * A driver that was built without delayed startup refuses all calls, and does not use the
 * sockets.
 */
void iwt_without(void)
{
	static const char frame[] = "MPA ID Req Frame\x40\x01\x00\x00";
	struct iwtdv_request req = { .frame_len = 20 };
	int fds[2];

	memcpy(req.frame, frame, 20);
	end = iwt_open();
	iwt_tcp_pair(iwt_ip, fds);
	unfit(fds[0], EOPNOTSUPP, "delayed startup not supported");
	iwt_is(iwtdv_reject(end->ctx, fds[0], &req, NULL, 0), EOPNOTSUPP,
	       "reject: delayed startup not supported");
	iwt_ok(iwt_say(fds[0], "text") && iwt_hear(fds[1], "text"),
	       "delayed startup not supported: the socket sends text");
	iwt_ok(iwt_say(fds[1], "text") && iwt_hear(fds[0], "text"),
	       "delayed startup not supported: the socket receives text");
	close(fds[0]);
	close(fds[1]);
	iwt_close(end);
}

void iwt_fds(void)
{
	end = iwt_open();
	not_connected();
	other_kinds();
	elsewhere();
	in_use();
	iwt_close(end);
	stamped();
}

struct racer {
	pthread_t thread;
	int fd;
	int what;
	volatile bool stop;
};

/* Makes system calls on the descriptor @fd. @what selects the calls. */
static void abuse(int fd, int what)
{
	struct sockaddr_in6 any = { .sin6_family = AF_UNSPEC };
	int one = 1, family = AF_INET;
	char buf[64] = {};

	switch (what) {
	case 0:
		send(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case 1:
		recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		break;
	case 2:
		setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 4);
		setsockopt(fd, IPPROTO_IPV6, IPV6_ADDRFORM, &family,
			   sizeof(family));
		break;
	case 3:
		connect(fd, (struct sockaddr *)&any, sizeof(any));
		listen(fd, 1);
		break;
	case 4:
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		recv(fd, buf, sizeof(buf), 0);
		break;
	case 5:
		shutdown(fd, SHUT_RDWR);
		break;
	}
}

static void *race(void *arg)
{
	struct racer *r = arg;

	while (!r->stop)
		abuse(r->fd, r->what);
	return NULL;
}

#define RETURNS	3000	/* attempts of each thread */

static __thread bool keep_open;

/*
 * The library calls this function instead of libc's shutdown(). After a failed startup the
 * library shuts the socket down. If @keep_open is set, this function does nothing, so the socket
 * stays open, as in a process that attaches sockets without the library.
 */
int shutdown(int fd, int how)
{
	return keep_open ? 0 : syscall(SYS_shutdown, fd, how);
}

struct returner {
	struct end *end;
	int fd;
	int other;	/* first errno other than EPROTO and EBUSY; -1: a success; 0: none */
};

/*
 * Tries to attach as responder, although other bytes follow the Request in the receive buffer.
 * The driver takes over the socket, finds these bytes, and returns the socket to the process.
 */
static void *return_often(void *arg)
{
	static const char frame[] = "MPA ID Req Frame\x40\x01\x00\x00";
	struct iwtdv_request req = { .frame_len = 20 };
	struct iwtdv_conn_param param = {};
	struct returner *r = arg;
	struct iwtdv_conn conn;
	int i, err;

	memcpy(req.frame, frame, 20);
	keep_open = true;
	for (i = 0; i < RETURNS && !r->other; i++) {
		err = iwtdv_accept(r->end->qp, r->fd, &req, &param, &conn);
		if (err != EPROTO && err != EBUSY)
			r->other = err ? err : -1;
	}
	return NULL;
}

/*
 * Two threads try to attach the same socket. When the attach of one thread fails, the driver
 * gives the socket back to the process; meanwhile the other thread can begin its next attach. The
 * driver may call the socket's callbacks only while it owns the socket (lock_sock()): lockdep
 * reports a call without this lock.
 */
static void returned(void)
{
	struct returner r[2];
	pthread_t thread[2];
	int fds[2], i;

	iwt_tcp_pair(iwt_ip, fds);
	if (!iwt_say(fds[1], "text"))
		iwt_die("send");
	for (i = 0; i < 2; i++) {
		r[i] = (struct returner) { .end = iwt_open(), .fd = fds[0] };
		if (pthread_create(&thread[i], NULL, return_often, &r[i]))
			iwt_die("pthread_create");
	}
	for (i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		iwt_is(r[i].other, 0,
		       "two threads attach a socket: the kernel returns the socket each time");
		iwt_close(r[i].end);
	}
	iwt_ok(iwt_hear(fds[0], "text"),
	       "two threads attach a socket: TCP can use the socket afterwards");
	close(fds[0]);
	close(fds[1]);
}

/*
 * While a thread makes system calls on one of the sockets, the sockets are attached. The calls
 * may break the connection. The test checks that the kernel survives, and that the next
 * connection works.
 */
void iwt_race(void)
{
	struct responder resp = {};
	struct racer r = {};
	struct end *e[2];
	int fds[2], i;

	for (i = 0; i < RACES; i++) {
		iwt_tcp_pair(iwt_ip, fds);
		e[0] = iwt_open();
		e[1] = iwt_open();
		e[0]->fd = fds[0];
		e[1]->fd = fds[1];
		resp = (struct responder) { .end = e[1] };
		r = (struct racer) { .fd = fds[i / 6 % 2], .what = i % 6 };
		iwt_respond(&resp);
		if (pthread_create(&r.thread, NULL, race, &r))
			iwt_die("pthread_create");
		usleep(i % 4 * 100);
		iwt_connect(e[0], NULL, NULL);
		if (!iwt_responded(&resp))
			usleep(i % 3 * 1000);
		iwt_destroy_qp(e[0]);
		iwt_destroy_qp(e[1]);
		r.stop = true;
		/* if the attach failed, race() may still wait in a system call */
		shutdown(fds[0], SHUT_RDWR);
		shutdown(fds[1], SHUT_RDWR);
		pthread_join(r.thread, NULL);
		iwt_close_pair(e);
	}
	iwt_timeout = 0;
	iwt_make_pair(e, iwt_ip);
	iwt_ok(iwt_send(e[0], "well") && iwt_receive(e[1], "well"),
	       "a connection works after the races with system calls");
	iwt_close_pair(e);
	returned();
}
