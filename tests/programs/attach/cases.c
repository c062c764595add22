// SPDX-License-Identifier: GPL-2.0
/* Tests of the delayed startup on connected sockets (iwtdv(7)). Both ends are in this process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach.h"
#include "patience.h"

#define RESETS		200
#define REQUEST_HDR	"MPA ID Req Frame"

static void open_pair(struct end *e[2])
{
	int fds[2];

	iwt_tcp_pair(iwt_ip, fds);
	e[0] = iwt_open();
	e[1] = iwt_open();
	e[0]->fd = fds[0];
	e[1]->fd = fds[1];
}

static bool talk(struct end *e[2])
{
	return iwt_send(e[0], "from the initiator") &&
	       iwt_receive(e[1], "from the initiator") &&
	       iwt_send(e[1], "from the responder") &&
	       iwt_receive(e[0], "from the responder");
}

static bool as_set(const struct iwtdv_conn *conn)
{
	return !(conn->flags & IWTDV_CONN_CRC) == iwt_link.no_crc &&
	       !(conn->flags & IWTDV_CONN_ENHANCED) == iwt_link.plain;
}

/*
 * Both ends use the same link. Therefore they must agree on CRC and on the enhanced startup as
 * the settings of this link require, and report these terms. The depths must follow from the
 * depths that iwt_connect() and respond() offer; revision 1 has no depths.
 */
static void judge_terms(const struct responder *r, const struct iwtdv_conn *conn)
{
	if (iwt_link.plain)
		iwt_ok(r->req.ird == IWTDV_DEPTH_ANY && r->req.ord == IWTDV_DEPTH_ANY,
		       "depths are not told");
	else
		iwt_ok(r->req.ird == 8 && r->req.ord == 8 && r->conn.ird == 4 &&
		       r->conn.ord == 4 && conn->ird == 8 && conn->ord == 4,
		       "depths are agreed");
	iwt_ok(as_set(conn) && as_set(&r->conn) && conn->flags == r->conn.flags,
	       "CRC and the enhanced startup, as the link is set");
}

/*
 * The initiator sends "hello". The responder answers with "hello ack", which is its last
 * streaming message. Then the ends exchange Request and Reply (RFC 5044, 7.1.3).
 */
static void delayed(void)
{
	struct responder r = { .last_message = "hello ack", .pd = "reply" };
	struct iwtdv_conn conn = {};
	struct end *e[2];
	int err;

	open_pair(e);
	r.end = e[1];
	iwt_ok(iwt_say(e[0]->fd, "hello") && iwt_hear(e[1]->fd, "hello"),
	       "the ends talk in streaming mode");
	iwt_respond(&r);
	iwt_ok(iwt_hear(e[0]->fd, "hello ack"),
	       "the initiator receives the last streaming message");
	err = iwt_connect(e[0], "request", &conn);
	iwt_is(iwt_responded(&r), 0, "the responder attaches its socket");
	iwt_is(err, 0, "the initiator attaches its socket");
	iwt_ok(r.req.private_data_len == 7 &&
	       !memcmp(r.req.frame + r.req.private_data_offset, "request", 7),
	       "the responder receives the private data of the Request");
	iwt_ok(conn.private_data_len == 5 &&
	       !memcmp(conn.private_data, "reply", 5),
	       "the initiator receives the private data of the Reply");
	judge_terms(&r, &conn);
	iwt_ok(talk(e), "messages pass in both directions");
	iwt_close_pair(e);
}

static void plain(void)
{
	struct iwtdv_conn_param param = {
		.flags = IWTDV_CONN_PLAIN,
		.ird = 1,
		.ord = 1,
	};
	struct responder r = {};
	struct iwtdv_conn conn = {};
	struct end *e[2];

	open_pair(e);
	r.end = e[1];
	iwt_respond(&r);
	iwt_is(iwtdv_connect(e[0]->qp, e[0]->fd, &param, &conn), 0,
	       "revision 1: the initiator attaches");
	iwt_is(iwt_responded(&r), 0, "revision 1: the responder attaches");
	iwt_ok(!(conn.flags & IWTDV_CONN_ENHANCED) &&
	       r.req.ird == IWTDV_DEPTH_ANY, "revision 1: no depths are exchanged");
	iwt_ok(talk(e), "revision 1: messages pass");
	iwt_close_pair(e);
}

/* Attaches sockets with unusual options, which a program may have set for other purposes. */
static void odd_options(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	int small = 4096, one = 1, i;
	struct responder r = {};
	struct end *e[2];

	open_pair(e);
	r.end = e[1];
	for (i = 0; i < 2; i++) {
		setsockopt(e[i]->fd, SOL_SOCKET, SO_LINGER, &linger,
			   sizeof(linger));
		setsockopt(e[i]->fd, SOL_SOCKET, SO_RCVBUF, &small,
			   sizeof(small));
		setsockopt(e[i]->fd, SOL_SOCKET, SO_SNDBUF, &small,
			   sizeof(small));
		setsockopt(e[i]->fd, SOL_SOCKET, SO_RCVLOWAT, &small,
			   sizeof(small));
		setsockopt(e[i]->fd, IPPROTO_TCP, TCP_CORK, &one, sizeof(one));
		fcntl(e[i]->fd, F_SETFL, O_NONBLOCK);
	}
	small = 1;
	/* with SO_RCVLOWAT of 4096, the wait for the startup frames would never end */
	setsockopt(e[0]->fd, SOL_SOCKET, SO_RCVLOWAT, &small, sizeof(small));
	setsockopt(e[1]->fd, SOL_SOCKET, SO_RCVLOWAT, &small, sizeof(small));
	iwt_respond(&r);
	iwt_is(iwt_connect(e[0], NULL, NULL), 0, "odd socket options: the initiator attaches");
	iwt_is(iwt_responded(&r), 0, "odd socket options: the responder attaches");
	iwt_ok(talk(e), "odd socket options: messages pass");
	iwt_close_pair(e);
}

/* The Request is already in the socket's receive buffer when the responder calls the library. */
static void queued_request(void)
{
	struct responder r = {};
	struct end *e[2];

	open_pair(e);
	r.end = e[1];
	iwt_ok(iwt_say(e[0]->fd, REQUEST_HDR) &&
	       send(e[0]->fd, "\x40\x01\x00\x02pd", 6, 0) == 6,
	       "queued Request: the Request is sent before the attach");
	iwt_respond(&r);
	iwt_is(iwt_responded(&r), 0, "queued Request: the responder attaches");
	iwt_ok(iwt_hear(e[0]->fd, "MPA ID Rep Frame"), "queued Request: the Reply arrives");
	iwt_close_pair(e);
}

static void descriptor_after(void)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct pollfd pfd = { .events = POLLIN | POLLOUT };
	socklen_t size = sizeof(int);
	struct utsname os;
	struct end *e[2];
	char octet = 'x';
	int one = 1, fd;

	iwt_make_pair(e, iwt_ip);
	fd = e[0]->fd;
	pfd.fd = fd;
	iwt_ok(send(fd, &octet, 1, MSG_NOSIGNAL) < 0 && errno == EOPNOTSUPP,
	       "send() is refused");
	iwt_ok(recv(fd, &octet, 1, MSG_DONTWAIT) < 0 && errno == EOPNOTSUPP,
	       "recv() is refused");
	iwt_ok(write(fd, &octet, 1) < 0 && read(fd, &octet, 1) < 0,
	       "read() and write() are refused");
	iwt_ok(shutdown(fd, SHUT_RDWR) < 0 && errno == EOPNOTSUPP,
	       "shutdown() is refused");
	iwt_ok(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 &&
	       setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 4) < 0,
	       "setsockopt() of TCP is refused");
	if (uname(&os) || !strncmp(os.release, "6.1.", 4))
		iwt_skip("setsockopt() of sockets is refused",
			 "this kernel does not ask the protocol");
	else
		iwt_ok(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &one, sizeof(one)) < 0 &&
		       errno == EOPNOTSUPP &&
		       setsockopt(fd, SOL_SOCKET, SO_MARK, &one, sizeof(one)) < 0,
		       "setsockopt() of sockets is refused");
	iwt_ok(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &one, &size),
	       "getsockopt() of sockets succeeds");
	iwt_ok(listen(fd, 1) < 0 && accept(fd, NULL, NULL) < 0,
	       "listen() and accept() are refused");
	ss.ss_family = AF_UNSPEC;
	iwt_ok(connect(fd, (struct sockaddr *)&ss, sizeof(ss)) < 0,
	       "connect() is refused");
	iwt_ok(!getpeername(fd, (struct sockaddr *)&ss, &len) &&
	       !getsockname(fd, (struct sockaddr *)&ss, &len),
	       "getpeername() and getsockname() succeed");
	iwt_ok(!poll(&pfd, 1, 0), "poll() reports nothing");
	iwt_ok(talk(e), "messages pass after the refused calls");
	iwt_is(iwt_connect(e[0], NULL, NULL), EBUSY,
	       "an attached socket is not attached again");
	iwt_close_pair(e);
}

static void closed_before(void)
{
	struct end *e[2];

	iwt_make_pair(e, iwt_ip);
	close(e[0]->fd);
	close(e[1]->fd);
	e[0]->fd = -1;
	e[1]->fd = -1;
	iwt_ok(talk(e), "messages pass after close() of both descriptors");
	iwt_destroy_qp(e[0]);
	iwt_ok(iwt_failed(e[1]), "the end of the queue pair ends the connection");
	iwt_close_pair(e);
}

static void ends(void)
{
	struct end *e[2];

	iwt_make_pair(e, iwt_ip);
	iwt_is(iwt_modify(e[0], IBV_QPS_SQD), 0, "SQD ends the connection gracefully");
	iwt_ok(iwt_failed(e[1]) && iwt_failed(e[0]), "both queue pairs fail after SQD");
	iwt_ok(iwt_hung_up(e[0]->fd) && iwt_hung_up(e[1]->fd),
	       "both descriptors report POLLHUP after SQD");
	iwt_is(iwt_modify(e[0], IBV_QPS_RESET), 0, "RESET makes the queue pair idle");
	iwt_close_pair(e);

	iwt_make_pair(e, iwt_ip);
	iwt_is(iwt_modify(e[1], IBV_QPS_ERR), 0, "ERR ends the connection abruptly");
	iwt_ok(iwt_failed(e[0]) && iwt_hung_up(e[0]->fd),
	       "the other queue pair fails after ERR");
	iwt_ok(iwt_hung_up(e[1]->fd), "the descriptor of the end in ERR reports POLLHUP");
	iwt_close_pair(e);

	iwt_make_pair(e, iwt_ip);
	iwt_destroy_qp(e[0]);
	iwt_ok(iwt_hung_up(e[0]->fd) && iwt_failed(e[1]),
	       "a queue pair destroyed, the descriptor open");
	iwt_close_pair(e);
}

/* A peer that sends a Reply, spins @spins times in a loop, and resets the connection. */
struct rude {
	int fd;
	int spins;
	pthread_t thread;
};

static void *be_rude(void *arg)
{
	struct linger at_once = { .l_onoff = 1 };
	struct rude *r = arg;
	uint8_t f[24];
	/* the last 4 bytes of an enhanced frame contain the depths (IRD and ORD) */
	ssize_t len = iwt_link.plain ? 20 : sizeof(f);
	volatile int i;

	if (recv(r->fd, f, len, MSG_WAITALL) == len) {
		memcpy(f, "MPA ID Rep Frame", 16);
		/* keep the other fields of the Request: its IRD is equal to its ORD */
		send(r->fd, f, len, 0);
	}
	for (i = 0; i < r->spins; i++)
		;
	setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(r->fd);
	return NULL;
}

/*
 * The moment of the reset varies. At each moment, either the attach must fail or the queue pair
 * must notice the reset.
 */
static void reset_behind_reply(void)
{
	int i, fds[2], attached = 0, noticed = 0;
	struct rude peer;
	struct end *e;

	for (i = 0; i < RESETS && attached == noticed; i++) {
		iwt_tcp_pair(iwt_ip, fds);
		e = iwt_open();
		e->fd = fds[0];
		peer = (struct rude) { .fd = fds[1], .spins = i % 50 * 1000 };
		if (pthread_create(&peer.thread, NULL, be_rude, &peer))
			iwt_die("pthread_create");
		if (!iwt_connect(e, NULL, NULL)) {
			attached++;
			noticed += iwt_failed(e) && iwt_hung_up(e->fd);
		}
		pthread_join(peer.thread, NULL);
		iwt_close(e);
	}
	printf("# of %d connections, %d were attached\n", i, attached);
	iwt_ok(attached == noticed, "a reset behind the Reply is noticed");
}

/*
 * The program has requested timestamps and has not read TCP's reports, so poll() returns at once
 * with POLLERR. The peer sends no frame: the wait for a frame must time out nevertheless.
 */
static void unread_reports(void)
{
	int what = SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE;
	struct iwtdv_conn_param param = { .timeout = 200 };
	struct iwtdv_request req = {};
	struct iwtdv_conn conn = {};
	struct pollfd pfd = {};
	struct end *e[2];
	int i;

	open_pair(e);
	for (i = 0; i < 2; i++) {
		pfd.fd = e[i]->fd;
		iwt_ok(!setsockopt(pfd.fd, SOL_SOCKET, SO_TIMESTAMPING, &what, sizeof(what)) &&
		       iwt_say(pfd.fd, "hello") && iwt_hear(e[!i]->fd, "hello") &&
		       patient_poll(&pfd, 1, PATIENCE * 1000) == 1 && pfd.revents == POLLERR,
		       "unread reports: TCP has a report");
	}
	iwt_is(iwtdv_get_request(e[1]->fd, NULL, 0, 200, &req), ETIMEDOUT,
	       "unread reports: the wait for a Request times out");
	iwt_close_pair(e);

	open_pair(e);
	pfd.fd = e[0]->fd;
	iwt_ok(!setsockopt(pfd.fd, SOL_SOCKET, SO_TIMESTAMPING, &what, sizeof(what)) &&
	       iwt_say(pfd.fd, "hello") && iwt_hear(e[1]->fd, "hello") &&
	       patient_poll(&pfd, 1, PATIENCE * 1000) == 1,
	"unread reports: TCP has another report");
	iwt_is(iwtdv_connect(e[0]->qp, e[0]->fd, &param, &conn), ETIMEDOUT,
	       "unread reports: the wait for a Reply times out");
	iwt_close_pair(e);
}

/*
 * Rows MPA-71 and MPA-74 of Documentation/conformance: after a reject, both programs can use TCP,
 * and can attach again.
 */
static void rejected(void)
{
	struct responder r = { .reject = true, .pd = "no" };
	struct iwtdv_conn conn = {};
	struct end *e[2];

	open_pair(e);
	r.end = e[1];
	iwt_respond(&r);
	iwt_is(iwt_connect(e[0], "please", &conn), ECONNREFUSED,
	       "reject: the initiator is refused");
	iwt_is(iwt_responded(&r), 0, "reject: the responder rejects");
	iwt_ok(conn.private_data_len == 2 && !memcmp(conn.private_data, "no", 2),
	       "reject: the initiator receives the private data");
	iwt_ok(iwt_say(e[0]->fd, "so be it") && iwt_hear(e[1]->fd, "so be it") &&
	       iwt_say(e[1]->fd, "sorry") && iwt_hear(e[0]->fd, "sorry"),
	       "reject: both programs continue with TCP");
	r = (struct responder) { .end = e[1] };
	iwt_respond(&r);
	iwt_is(iwt_connect(e[0], NULL, NULL), 0, "after a reject: the initiator attaches");
	iwt_is(iwt_responded(&r), 0, "after a reject: the responder attaches");
	iwt_ok(talk(e), "after a reject: messages pass");
	iwt_close_pair(e);
}

static void improper(void)
{
	struct iwtdv_conn_param param = { .timeout = 200 };
	struct iwtdv_request req = {};
	struct iwtdv_conn conn = {};
	struct end *e[2];

	open_pair(e);
	iwt_say(e[0]->fd, "GET / HTTP/1.0\r\n\r\n");
	iwt_is(iwtdv_get_request(e[1]->fd, NULL, 0, 0, &req), EPROTO,
	       "improper: text in place of a Request");
	iwt_ok(!iwt_hear(e[0]->fd, "x"), "the connection is closed");
	iwt_close_pair(e);

	open_pair(e);
	iwt_is(iwtdv_get_request(e[1]->fd, NULL, 0, 200, &req), ETIMEDOUT,
	       "improper: the initiator is silent");
	iwt_ok(!iwt_hear(e[0]->fd, "x"), "the connection is closed");
	iwt_close_pair(e);

	open_pair(e);
	iwt_is(iwtdv_connect(e[0]->qp, e[0]->fd, &param, &conn), ETIMEDOUT,
	       "improper: the responder is silent");
	iwt_close_pair(e);

	open_pair(e);
	iwt_say(e[0]->fd, REQUEST_HDR);
	send(e[0]->fd, "\x40\x01\x00\x00xx", 6, 0);
	iwt_is(iwtdv_get_request(e[1]->fd, NULL, 0, 0, &req), 0,
	       "improper: octets follow a Request");
	iwt_is(iwtdv_accept(e[1]->qp, e[1]->fd, &req, &param, &conn), EPROTO,
	       "improper: this Request is not accepted");
	iwt_ok(send(e[1]->fd, "x", 1, MSG_NOSIGNAL) < 0, "the connection is closed");
	iwt_close_pair(e);

	/* two initiators (row MPA-78): the Request of the other end is already in the buffer */
	open_pair(e);
	iwt_say(e[1]->fd, REQUEST_HDR);
	iwt_is(iwt_connect(e[0], NULL, NULL), ENOTEMPTY,
	       "improper: an initiator has received octets before");
	iwt_ok(iwt_hear(e[0]->fd, REQUEST_HDR), "improper: these octets can still be read");
	iwt_close_pair(e);
}

static void bad_queue_pairs(void)
{
	struct iwtdv_conn_param param = {};
	struct iwtdv_request req = {};
	struct iwtdv_conn conn = {};
	struct end *e[2];
	int fds[2];

	open_pair(e);
	iwt_modify(e[0], IBV_QPS_ERR);
	iwt_is(iwt_connect(e[0], NULL, NULL), EINVAL,
	       "an initiator whose queue pair is in the error state");
	iwt_say(e[0]->fd, REQUEST_HDR);
	send(e[0]->fd, "\x40\x01\x00\x00", 4, 0);
	iwt_modify(e[1], IBV_QPS_ERR);
	iwt_is(iwtdv_get_request(e[1]->fd, NULL, 0, 0, &req), 0, "the responder gets a Request");
	iwt_is(iwtdv_accept(e[1]->qp, e[1]->fd, &req, &param, &conn), EINVAL,
	       "a responder whose queue pair is in the error state");
	iwt_modify(e[1], IBV_QPS_RESET);
	iwt_is(iwtdv_accept(e[1]->qp, e[1]->fd, &req, &param, &conn), 0,
	       "a responder whose queue pair has been reset");
	iwt_ok(iwt_hear(e[0]->fd, "MPA ID Rep Frame"), "the Reply of this responder arrives");
	iwt_tcp_pair(iwt_ip, fds);
	close(e[0]->fd);
	e[0]->fd = fds[0];
	iwt_is(iwtdv_connect(e[1]->qp, e[0]->fd, &param, &conn), EINVAL,
	       "a connected queue pair is not attached again");
	close(fds[1]);
	iwt_close_pair(e);
}

void iwt_cases(void)
{
	delayed();
	plain();
	odd_options();
	queued_request();
	descriptor_after();
	closed_before();
	ends();
	reset_behind_reply();
	unread_reports();
	rejected();
	improper();
	bad_queue_pairs();
	iwt_frames();
}
