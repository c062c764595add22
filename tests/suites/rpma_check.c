// SPDX-License-Identifier: GPL-2.0
/*
 * rpma_check server|client ADDRESS PORT: checks librpma's operations. The client writes to the
 * server's memory, flushes, reads, and exchanges messages with the server. The end that receives
 * data compares each byte. At the end the client prints how many bytes were compared, and how
 * many bytes were wrong.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <librpma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (4 << 20)
#define TRY(call) try(call, #call)

/* what the client asks the server to do with the first len bytes of its memory */
enum { COMPARE, FILL, END };

struct request {
	unsigned int what, len, seed;
	unsigned int wrong;	/* the server's answer */
};

static struct rpma_peer *peer;
static struct rpma_conn *conn;
static struct rpma_mr_local *data_mr, *msg_mr;
static struct rpma_mr_remote *remote;
static unsigned char *data;
/* msg[0] is for receives, msg[1] is for Sends */
static struct request *msg;
static unsigned long compared, wrong;

static void try(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, rpma_err_2str(err));
	exit(1);
}

static void fill(unsigned int len, unsigned int seed)
{
	for (unsigned int i = 0; i < len; i++)
		data[i] = (seed = seed * 1103515245 + 12345) >> 16;
}

static unsigned int differ(unsigned int len, unsigned int seed)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < len; i++)
		n += data[i] != (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
	return n;
}

static struct ibv_wc completion(void)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;
	int err;

	TRY(rpma_conn_get_cq(conn, &cq));
	while ((err = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		TRY(rpma_cq_wait(cq));
	TRY(err);
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "a work request failed: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
	return wc;
}

static void receive(void)
{
	TRY(rpma_recv(conn, msg_mr, 0, sizeof(*msg), NULL));
}

static void send_message(void)
{
	TRY(rpma_send(conn, msg_mr, sizeof(*msg), sizeof(*msg), RPMA_F_COMPLETION_ALWAYS, NULL));
}

static void expect(enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	TRY(rpma_conn_next_event(conn, &event));
	if (event == wanted)
		return;
	fprintf(stderr, "unexpected: %s\n", rpma_utils_conn_event_2str(event));
	exit(1);
}

static void memory(const char *address, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *device;

	TRY(rpma_utils_get_ibv_context(address, type, &device));
	TRY(rpma_peer_new(device, &peer));
	data = aligned_alloc(4096, ROOM);
	msg = aligned_alloc(4096, 4096);
	TRY(rpma_mr_reg(peer, data, ROOM, RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST |
			RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST |
			RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, &data_mr));
	TRY(rpma_mr_reg(peer, msg, 4096, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, &msg_mr));
}

static void finish(void)
{
	TRY(rpma_conn_delete(&conn));
	if (remote)
		TRY(rpma_mr_remote_delete(&remote));
	TRY(rpma_mr_dereg(&msg_mr));
	TRY(rpma_mr_dereg(&data_mr));
	TRY(rpma_peer_delete(&peer));
}

/* Answers requests. The immediate data of a Write is the seed of its bytes. */
static void answer(void)
{
	unsigned int what;

	do {
		struct ibv_wc wc = completion();
		struct request r = msg[0];

		what = COMPARE;
		if (!(wc.opcode & IBV_WC_RECV))
			continue;
		if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			r = (struct request){ COMPARE, wc.byte_len, ntohl(wc.imm_data), 0 };
		what = r.what;
		if (what == FILL)
			fill(r.len, r.seed);
		r.wrong = what == COMPARE ? differ(r.len, r.seed) : 0;
		msg[1] = r;
		if (what != END)
			receive();
		send_message();
	} while (what != END);
	completion();
}

static void server(const char *address, const char *port)
{
	struct rpma_conn_private_data mine;
	struct rpma_conn_req *req;
	char descriptor[256];
	struct rpma_ep *ep;
	size_t size;

	memory(address, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	TRY(rpma_mr_get_descriptor_size(data_mr, &size));
	TRY(rpma_mr_get_descriptor(data_mr, descriptor));
	mine = (struct rpma_conn_private_data){ descriptor, size };
	TRY(rpma_ep_listen(peer, address, port, &ep));
	TRY(rpma_ep_next_conn_req(ep, NULL, &req));
	TRY(rpma_conn_req_recv(req, msg_mr, 0, sizeof(*msg), NULL));
	TRY(rpma_conn_req_connect(&req, &mine, &conn));
	expect(RPMA_CONN_ESTABLISHED);
	answer();
	expect(RPMA_CONN_CLOSED);
	TRY(rpma_conn_disconnect(conn));
	TRY(rpma_ep_shutdown(&ep));
	finish();
}

/* Waits for the server's answer, and for the completion of the request */
static void await_answer(unsigned int len)
{
	completion();
	completion();
	wrong += msg[0].wrong;
	compared += len;
}

static void ask(unsigned int what, unsigned int len, unsigned int seed)
{
	msg[1] = (struct request){ what, len, seed, 0 };
	receive();
	send_message();
	await_answer(what == COMPARE ? len : 0);
}

static void sizes(unsigned int len)
{
	fill(len, len);
	TRY(rpma_write(conn, remote, 0, data_mr, 0, len, RPMA_F_COMPLETION_ON_ERROR, NULL));
	TRY(rpma_flush(conn, remote, 0, len, RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS,
		       NULL));
	completion();
	ask(COMPARE, len, len);

	fill(len, len + 1);
	receive();
	TRY(rpma_write_with_imm(conn, remote, 0, data_mr, 0, len, RPMA_F_COMPLETION_ALWAYS,
				len + 1, NULL));
	await_answer(len);

	ask(FILL, len, len + 2);
	TRY(rpma_read(conn, data_mr, 0, remote, 0, len, RPMA_F_COMPLETION_ALWAYS, NULL));
	completion();
	wrong += differ(len, len + 2);
	compared += len;
}

static void client(const char *address, const char *port)
{
	struct rpma_conn_private_data theirs;
	struct rpma_conn_req *req;

	memory(address, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	TRY(rpma_conn_req_new(peer, address, port, NULL, &req));
	TRY(rpma_conn_req_connect(&req, NULL, &conn));
	expect(RPMA_CONN_ESTABLISHED);
	TRY(rpma_conn_get_private_data(conn, &theirs));
	TRY(rpma_mr_remote_from_descriptor(theirs.ptr, theirs.len, &remote));
	for (unsigned int len = 1; len <= ROOM; len *= 4)
		sizes(len);
	fill(RPMA_ATOMIC_WRITE_ALIGNMENT, 7);
	TRY(rpma_atomic_write(conn, remote, 0, (char *)data, RPMA_F_COMPLETION_ALWAYS, NULL));
	completion();
	ask(COMPARE, RPMA_ATOMIC_WRITE_ALIGNMENT, 7);
	ask(END, 0, 0);
	TRY(rpma_conn_disconnect(conn));
	expect(RPMA_CONN_CLOSED);
	finish();
	printf("%lu octets compared, %lu wrong\n", compared, wrong);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "server")) {
		server(argv[2], argv[3]);
	} else if (argc == 4 && !strcmp(argv[1], "client")) {
		client(argv[2], argv[3]);
	} else {
		fprintf(stderr, "usage: %s server|client ADDRESS PORT\n", argv[0]);
		return 2;
	}
	return wrong != 0;
}
