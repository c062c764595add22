// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program for two hosts. Both ends exchange text over TCP, agree to use
 * RDMA, and then use RDMA on the same connection (RFC 5044 7.1.3):
 *
 *	cc -o iwtdv_hello iwtdv_hello.c -liw_tcp -libverbs
 *	iwtdv_hello iwt_eth0 7000			first host
 *	iwtdv_hello iwt_eth0 7000 192.0.2.1		second host
 *
 * The server answers in text if a client sends anything but "rdma?":
 *
 *	nc 192.0.2.1 7000
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/iwtdv.h>

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char buf[2][256];	/* received, sent */

static void fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(err));
	exit(1);
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name) &&
		    iwtdv_is_supported(list[i]))
			context = ibv_open_device(list[i]);
	if (!context)
		fail(name, ENODEV);
	ibv_free_device_list(list);
}

static void make_queue_pair(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf[0], .length = sizeof(buf[0]) };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_recv_wr *bad;
	int err;

	cq = ibv_create_cq(context, 2, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!cq || !mr)
		fail("resources", errno);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &attr);
	if (!qp)
		fail("queue pair", errno);
	/* post before the switch: the peer may send right after the switch */
	sge.lkey = mr->lkey;
	err = ibv_post_recv(qp, &wr, &bad);
	if (err)
		fail("receive", err);
}

static void completion(void)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	if (n < 0 || wc.status)
		fail("completion", EIO);
	if (wc.opcode & IBV_WC_RECV)
		printf("by RDMA: %.*s\n", (int)wc.byte_len, buf[0]);
}

static void say_by_rdma(const char *text)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buf[1],
		.length = snprintf(buf[1], sizeof(buf[1]), "%s", text),
		.lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	};
	struct ibv_send_wr *bad;
	int err;

	err = ibv_post_send(qp, &wr, &bad);
	if (err)
		fail("send", err);
	completion();
}

static int tcp(const char *host, const char *port)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = host ? 0 : AI_PASSIVE,
	};
	struct addrinfo *ai;
	int fd, one = 1;

	if (getaddrinfo(host, port, &hints, &ai))
		fail("address", EINVAL);
	fd = socket(ai->ai_family, SOCK_STREAM, 0);
	if (host) {
		if (connect(fd, ai->ai_addr, ai->ai_addrlen))
			fail("connect", errno);
		return fd;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1))
		fail("listen", errno);
	return accept(fd, NULL, NULL);
}

/* Reads one line, and no byte after the line: that byte may belong to an MPA frame. */
static void read_line(int fd, char *line, size_t size)
{
	size_t len = 0;

	while (len < size - 1 && recv(fd, line + len, 1, 0) == 1 &&
	       line[len] != '\n')
		len++;
	line[len] = 0;
	printf("by TCP: %s\n", line);
}

static void serve(int fd)
{
	struct iwtdv_conn_param param = { .ird = 1, .ord = 1 };
	struct iwtdv_request request = {};
	struct iwtdv_conn conn = {};
	char line[64];
	int err;

	read_line(fd, line, sizeof(line));
	if (strcmp(line, "rdma?")) {
		send(fd, "text it is\n", 11, MSG_NOSIGNAL);
		return;
	}
	err = iwtdv_get_request(fd, "rdma!\n", 6, 0, &request);
	if (err)
		fail("iwtdv_get_request", err);
	err = iwtdv_accept(qp, fd, &request, &param, &conn);
	if (err)
		fail("iwtdv_accept", err);
	completion();
	say_by_rdma("welcome");
}

static void ask(int fd)
{
	struct iwtdv_conn_param param = { .ird = 1, .ord = 1 };
	struct iwtdv_conn conn = {};
	char line[64];
	int err;

	send(fd, "rdma?\n", 6, MSG_NOSIGNAL);
	read_line(fd, line, sizeof(line));
	if (strcmp(line, "rdma!"))
		return;
	err = iwtdv_connect(qp, fd, &param, &conn);
	if (err == ECONNREFUSED)
		return;		/* a real program would continue with text over TCP */
	if (err)
		fail("iwtdv_connect", err);
	say_by_rdma("hello");
	completion();
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 3)
		fail("usage: iwtdv_hello DEVICE PORT [HOST]", EINVAL);
	open_device(argv[1]);
	make_queue_pair();
	fd = tcp(argc > 3 ? argv[3] : NULL, argv[2]);
	if (fd < 0)
		fail("accept", errno);
	if (argc > 3)
		ask(fd);
	else
		serve(fd);
	ibv_destroy_qp(qp);
	close(fd);
	return 0;
}
