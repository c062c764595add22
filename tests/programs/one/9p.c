// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_9p ADDRESS PORT SERVER-ADDRESS SERVER-PORT: a gateway from RDMA to TCP. RDMA clients
 * connect to ADDRESS and PORT; the gateway forwards their 9p messages to a 9p server that
 * supports only TCP. Over RDMA each 9p message is one Send, in both directions. Over TCP the
 * size field at the beginning of each message shows where the message ends. The gateway runs
 * until it is killed.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

enum { DEPTH = 64, LONGEST = 256 << 10 };

static const char *server_address, *server_port;

struct client {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *in, *out;	/* buffers: DEPTH messages from the client, one message to the client */
	int fd;
};

static void fail(const char *what)
{
	fprintf(stderr, "iwt_9p: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int dial(void)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *info;
	int fd, one = 1;

	if (getaddrinfo(server_address, server_port, &hints, &info))
		fail("getaddrinfo");
	fd = socket(info->ai_family, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, info->ai_addr, info->ai_addrlen))
		fail("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	freeaddrinfo(info);
	return fd;
}

static bool all_out(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done <= 0)
			return false;
		p += done;
		n -= done;
	}
	return true;
}

static bool all_in(int fd, char *p, size_t n)
{
	while (n) {
		ssize_t done = read(fd, p, n);

		if (done <= 0)
			return false;
		p += done;
		n -= done;
	}
	return true;
}

/* Forwards the answers of the 9p server to the client until the server closes the connection */
static void *answers(void *arg)
{
	struct client *c = arg;
	struct ibv_wc wc;
	uint32_t size;

	while (all_in(c->fd, c->out, 4)) {
		memcpy(&size, c->out, 4);
		size = le32toh(size);
		if (size < 4 || size > LONGEST || !all_in(c->fd, c->out + 4, size - 4))
			break;
		if (rdma_post_send(c->id, NULL, c->out, size, c->mr, 0))
			break;
		if (rdma_get_send_comp(c->id, &wc) <= 0 || wc.status)
			break;
	}
	rdma_disconnect(c->id);
	return NULL;
}

/* Forwards the requests of a client until the client disconnects, then frees the client */
static void *requests(void *arg)
{
	struct client *c = arg;
	pthread_t other;
	struct ibv_wc wc;

	c->fd = dial();
	if (rdma_accept(c->id, NULL) || pthread_create(&other, NULL, answers, c))
		fail("rdma_accept");
	while (rdma_get_recv_comp(c->id, &wc) > 0 && !wc.status) {
		char *p = (char *)(uintptr_t)wc.wr_id;

		if (!all_out(c->fd, p, wc.byte_len) || rdma_post_recv(c->id, p, p, LONGEST, c->mr))
			break;
	}
	shutdown(c->fd, SHUT_RDWR);
	pthread_join(other, NULL);
	close(c->fd);
	rdma_dereg_mr(c->mr);
	rdma_destroy_ep(c->id);
	free(c->in);
	free(c);
	return NULL;
}

static void begin(struct rdma_cm_id *id)
{
	struct client *c = calloc(1, sizeof(*c));
	pthread_t thread;

	c->id = id;
	c->in = malloc((size_t)(DEPTH + 1) * LONGEST);
	c->out = c->in + (size_t)DEPTH * LONGEST;
	c->mr = rdma_reg_msgs(id, c->in, (size_t)(DEPTH + 1) * LONGEST);
	if (!c->mr)
		fail("rdma_reg_msgs");
	for (int i = 0; i < DEPTH; i++) {
		char *p = c->in + (size_t)i * LONGEST;

		if (rdma_post_recv(id, p, p, LONGEST, c->mr))
			fail("rdma_post_recv");
	}
	if (pthread_create(&thread, NULL, requests, c))
		fail("pthread_create");
	pthread_detach(thread);
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *listener, *id;

	if (argc != 5) {
		fprintf(stderr, "usage: iwt_9p ADDRESS PORT SERVER-ADDRESS SERVER-PORT\n");
		return 2;
	}
	server_address = argv[3];
	server_port = argv[4];
	if (rdma_getaddrinfo(argv[1], argv[2], &hints, &info) || rdma_create_ep(&listener, info, NULL, &attr) ||
	    rdma_listen(listener, 8))
		fail("listen");
	while (!rdma_get_request(listener, &id))
		begin(id);
	fail("rdma_get_request");
}
