// SPDX-License-Identifier: GPL-2.0

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../userspace-provider/iwtdv.h"
#include "fake.h"
#include "tap.h"
#include "tests.h"

#define HDR		20
#define REQ		"MPA ID Req Frame"
#define REP		"MPA ID Rep Frame"
#define MESSAGE		(1 << 18)

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static int ours, theirs;

static void connect_sockets(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct timeval patience = { .tv_sec = 10 };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ours = socket(AF_INET, SOCK_STREAM, 0);
	ok(!bind(fd, (struct sockaddr *)&a, len) && !listen(fd, 1) &&
	   !getsockname(fd, (struct sockaddr *)&a, &len) &&
	   !connect(ours, (struct sockaddr *)&a, len), "iwtdv: two sockets are connected");
	theirs = accept(fd, NULL, NULL);
	setsockopt(theirs, SOL_SOCKET, SO_RCVTIMEO, &patience,
		   sizeof(patience));
	close(fd);
}

static void begin(void)
{
	context = fake_open();
	cq = fake_make_cq(context, 16);
	qp = fake_make_qp(context, cq, 4, 0);
	connect_sockets();
}

static void end(void)
{
	fake_drop_qp(qp);
	fake.ops.destroy_cq(cq);
	fake_close(context);
	close(ours);
	close(theirs);
}

static void put_frame(uint8_t *frame, const char *key, uint8_t flags,
		      uint8_t rev, uint16_t pd_len)
{
	memcpy(frame, key, 16);
	frame[16] = flags;
	frame[17] = rev;
	frame[18] = pd_len >> 8;
	frame[19] = pd_len & 0xff;
}

static void peer_sends(const char *key, uint8_t flags, uint8_t rev,
		       uint16_t pd_len, const char *behind)
{
	uint8_t frame[HDR + 600];

	memset(frame, 'p', sizeof(frame));
	/* the depths, if the frame has them */
	memcpy(frame + HDR, "\x71\x72\x73\x74", 4);
	put_frame(frame, key, flags, rev, pd_len);
	send(theirs, frame, HDR + (pd_len < 600 ? pd_len : 0), 0);
	send(theirs, behind, strlen(behind), 0);
}

static bool is_shut_down(void)
{
	char buf[64];
	ssize_t n;

	if (send(ours, "x", 1, MSG_NOSIGNAL) >= 0)
		return false;
	do {
		n = recv(theirs, buf, sizeof(buf), 0);
	} while (n > 0);

	return !n || errno == ECONNRESET;
}

/*
 * Return: true if the socket contains exactly @text. The provider must not read the bytes after a
 * frame.
 */
static bool behind_is(const char *text)
{
	char buf[16];

	return recv(ours, buf, sizeof(buf), MSG_DONTWAIT) ==
	       (ssize_t)strlen(text) && !memcmp(buf, text, strlen(text));
}

static void test_initiator(void)
{
	struct iwtdv_conn_param param = { .ird = 5, .ord = 6, .private_data = "pd",
					  .private_data_len = 2 };
	struct iwtdv_conn conn = {};
	uint8_t sent[HDR + 2];

	begin();
	put_frame(fake.frame, REQ, 0x50, 2, 2);
	/* after each of these errors the provider repeats the method */
	fake.attach_err[0] = EINTR;
	fake.attach_err[2] = EAGAIN;
	peer_sends(REP, 0x50, 2, 4 + 500, "FPDU");
	is(iwtdv_connect(qp, ours, &param, &conn), 0, "connect: iwtdv_connect() succeeds");
	is(fake.ioctls, 4, "connect: the provider repeats a method while TCP has no room");
	is(recv(theirs, sent, sizeof(sent), MSG_WAITALL), sizeof(sent),
	   "connect: a Request of the right length is sent");
	ok(!memcmp(sent, fake.frame, sizeof(sent)), "connect: the Request is that of the kernel");
	ok(fake.mpa_param.ird == 5 && fake.mpa_param.ord == 6 && !fake.mpa_param.flags,
	   "connect: the kernel gets the parameters");
	is(fake.request_len, HDR + 2, "connect: the kernel gets the whole Request");
	is(fake.reply_len, HDR + 504, "connect: the kernel gets the whole Reply");
	is(conn.private_data_len, 500, "connect: the private data do not include the depths");
	ok(conn.ird == 3 && conn.ord == 2 && conn.flags == IWTDV_CONN_CRC,
	   "connect: the negotiated parameters are returned");
	ok(behind_is("FPDU"), "connect: bytes behind the Reply are not read");
	end();
}

static void test_refusals(void)
{
	struct iwtdv_conn_param param = { .flags = IWTDV_CONN_PLAIN, .timeout = 50 };
	struct iwtdv_conn conn = {};

	begin();
	put_frame(fake.frame, REQ, 0x40, 1, 0);
	peer_sends(REP, 0x60, 1, 3, "text");
	is(iwtdv_connect(qp, ours, &param, &conn), ECONNREFUSED,
	   "connect: a Reply with R returns ECONNREFUSED");
	is(fake.mpa_param.flags, IWT_MPA_PLAIN,
	   "connect: the kernel gets the flag for revision 1");
	is(conn.private_data_len, 3, "connect: the private data of this Reply are returned");
	ok(behind_is("text"), "connect: bytes behind this Reply are not read");
	is(fake.ioctls, 1, "connect: after this Reply the connection is not switched to RDMA");

	peer_sends(REP, 0x40, 1, 513, "");
	is(iwtdv_connect(qp, ours, &param, &conn), EPROTO,
	   "connect: a Reply with too long private data returns EPROTO");
	ok(is_shut_down(), "connect: and ends the connection");
	end();

	begin();
	put_frame(fake.frame, REQ, 0x40, 1, 0);
	is(iwtdv_connect(qp, ours, &param, &conn), ETIMEDOUT,
	   "connect: no Reply before the deadline returns ETIMEDOUT");
	ok(is_shut_down(), "connect: and ends the connection");
	end();

	begin();
	param.flags = 1u << 31;
	is(iwtdv_connect(qp, ours, &param, &conn), EOPNOTSUPP,
	   "connect: unknown flags return EOPNOTSUPP");
	param.flags = 0;
	fake.attach_err[0] = EPROTONOSUPPORT;
	is(iwtdv_connect(qp, ours, &param, &conn), EOPNOTSUPP,
	   "connect: a kernel without delayed startup returns EOPNOTSUPP");
	is(iwtdv_connect(qp, -1, &param, &conn), EBADF,
	   "connect: -1 as the descriptor returns EBADF");
	end();
}

/*
 * The socket's error queue is not empty, so poll() always returns at once. The startup must work
 * nevertheless, and must end at its deadline, without a busy loop.
 */
static void test_error_queue(void)
{
	struct iwtdv_conn_param param = { .timeout = 100 };
	struct iwtdv_request req = {};
	struct iwtdv_conn conn = {};

	begin();
	fake.error_queue = true;
	is(iwtdv_get_request(ours, NULL, 0, 100, &req), ETIMEDOUT,
	   "error queue: without a Request, iwtdv_get_request() returns ETIMEDOUT");
	ok(fake.polls < 1000, "error queue: %u calls of poll() in 100 ms", fake.polls);
	end();

	begin();
	put_frame(fake.frame, REQ, 0x40, 1, 0);
	fake.error_queue = true;
	is(iwtdv_connect(qp, ours, &param, &conn), ETIMEDOUT,
	   "error queue: without a Reply, iwtdv_connect() returns ETIMEDOUT");
	ok(fake.polls < 1000, "error queue: %u calls of poll() in 100 ms, initiator", fake.polls);
	end();

	begin();
	put_frame(fake.frame, REQ, 0x40, 1, 0);
	fake.error_queue = true;
	/* TCP never has room: the wait for room must obey the time limit, too */
	fake.attach_err[0] = fake.attach_err[1] = EAGAIN;
	fake.attach_err[2] = fake.attach_err[3] = EAGAIN;
	is(iwtdv_connect(qp, ours, &param, &conn), ETIMEDOUT,
	   "error queue: without room in TCP, iwtdv_connect() returns ETIMEDOUT");
	end();

	begin();
	fake.error_queue = true;
	peer_sends(REQ, 0x50, 2, 4, "");
	is(iwtdv_get_request(ours, NULL, 0, 0, &req), 0,
	   "error queue: a Request that arrives is returned");
	end();
}

/* A newer program has unknown members in its structures, which the provider must not write. */
static void test_versions(void)
{
	struct {
		struct iwtdv_conn conn;
		uint8_t behind[64];
	} c;
	struct {
		struct iwtdv_request req;
		uint8_t behind[64];
	} r;
	struct iwtdv_conn_param param = {};
	bool good = true;
	unsigned int i;

	begin();
	memset(&c, 0xa5, sizeof(c));
	memset(&r, 0xa5, sizeof(r));
	peer_sends(REQ, 0x50, 2, 4, "");
	is(iwtdv_get_request(ours, NULL, 0, 0, &r.req), 0,
	   "newer program: a Request is returned");
	is(r.req.comp_mask, 0, "newer program: comp_mask of the Request returns no unknown bit");
	is(iwtdv_accept(qp, ours, &r.req, &param, &c.conn), 0,
	   "newer program: iwtdv_accept() succeeds");
	is(c.conn.comp_mask, 0,
	   "newer program: comp_mask of the connection returns no unknown bit");
	for (i = 0; i < sizeof(c.behind); i++)
		good &= c.behind[i] == 0xa5 && r.behind[i] == 0xa5;
	ok(good, "newer program: the unknown members are not written");
	/*
	 * Programs that were compiled for the first version of iwtdv.h find arrays of 512 and 532
	 * bytes at these offsets.
	 */
	is(offsetof(struct iwtdv_conn, private_data) + 512, 530,
	   "newer program: the private data of iwtdv_conn are where they were in the first version");
	is(offsetof(struct iwtdv_request, frame) + 532, 550,
	   "newer program: the frame of iwtdv_request is where it was in the first version");
	end();
}

static void test_responder(void)
{
	struct iwtdv_conn_param param = {};
	struct iwtdv_request req = {};
	struct iwtdv_conn conn = {};
	char said[5];

	begin();
	peer_sends(REQ, 0x50, 2, 4 + 508, "");
	is(iwtdv_get_request(ours, "ack", 3, 0, &req), 0,
	   "accept: iwtdv_get_request() returns a Request");
	ok(recv(theirs, said, 3, MSG_WAITALL) == 3 && !memcmp(said, "ack", 3),
	   "accept: the last message of the program is sent");
	ok(req.private_data_len == 508 && req.private_data_offset == 24 &&
	   req.frame_len == 532, "accept: the longest private data are returned");
	ok(req.ird == (0x7172 & IWTDV_DEPTH_ANY) && req.ord == (0x7374 & IWTDV_DEPTH_ANY),
	   "accept: the depths are returned");
	fake.attach_err[0] = EINVAL;
	fake.attach_err[1] = EINTR;
	is(iwtdv_accept(qp, ours, &req, &param, &conn), EINVAL,
	   "accept: the kernel's refusal is returned");
	is(iwtdv_accept(qp, ours, &req, &param, &conn), 0, "accept: iwtdv_accept() succeeds");
	is(fake.request_len, 532, "accept: the kernel gets the Request");
	is(fake.reply_len, 0, "accept: and no Reply");
	req.frame_len = 533;
	is(iwtdv_accept(qp, ours, &req, &param, &conn), EINVAL,
	   "accept: a Request without a header returns EINVAL");
	put_frame(fake.frame, REP, 0x60, 1, 2);
	req.frame_len = 20;
	is(iwtdv_reject(context, ours, &req, "no", 2), 0, "reject: iwtdv_reject() succeeds");
	is(fake.private_data_len, 2, "reject: the kernel gets the private data");
	ok(recv(theirs, said, 3, MSG_WAITALL) == 3 && !memcmp(said, "MPA", 3),
	   "reject: the kernel's Reply is sent");
	end();

	begin();
	send(theirs, "MPB", 3, 0);
	is(iwtdv_get_request(ours, NULL, 0, 0, &req), EPROTO,
	   "accept: a wrong octet of the key returns EPROTO");
	ok(is_shut_down(), "accept: and ends the connection");
	close(ours);
	ours = socket(AF_INET, SOCK_DGRAM, 0);
	is(iwtdv_get_request(ours, NULL, 0, 0, &req), EPROTOTYPE,
	   "accept: a socket of UDP returns EPROTOTYPE");
	end();
}

/* The peer reads the last message of the program, and then sends a Request. */
static void *peer_reads(void *heard)
{
	ssize_t n = recv(theirs, heard, MESSAGE, MSG_WAITALL);

	peer_sends(REQ, 0x50, 2, 4, "");

	return (void *)n;
}

/* The last message of the program is longer than the send buffer, so TCP takes it in parts. */
static void test_long_message(void)
{
	static uint8_t message[MESSAGE], heard[MESSAGE];
	struct iwtdv_request req = {};
	int size = 4096;
	pthread_t peer;
	unsigned int i;
	void *n;

	begin();
	for (i = 0; i < MESSAGE; i++)
		message[i] = i * 7 + (i >> 8);
	setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	pthread_create(&peer, NULL, peer_reads, heard);
	is(iwtdv_get_request(ours, message, MESSAGE, 0, &req), 0,
	   "long message: iwtdv_get_request() returns a Request");
	pthread_join(peer, &n);
	ok((ssize_t)n == MESSAGE && !memcmp(heard, message, MESSAGE),
	   "long message: the whole message is sent");
	end();
}

void test_iwtdv(void)
{
	test_long_message();
	test_initiator();
	test_refusals();
	test_error_queue();
	test_versions();
	test_responder();
}
