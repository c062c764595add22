// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_conn: opens many connections; the server accepts, rejects or drops them.
 *
 *	iwt_conn -s [-a ADDRESS] [-p PORT] [-b BACKLOG] [-n CONNECTIONS]
 *	iwt_conn -c ADDRESS [-p PORT] [-n CONNECTIONS] [-r ROUNDS] [-w WINDOW] [-t SECONDS] [-k]
 *	iwt_conn -c ADDRESS [-p PORT] [-t SECONDS] -x
 *
 * The private data of a connection request tell the server what to do: the first byte is a
 * command, the second byte is the number of bytes of private data in the answer. Without -n
 * the client tests rejections and sizes of private data. With -n the client opens CONNECTIONS
 * connections, all at once or WINDOW at a time, and exchanges ROUNDS messages (5) on each
 * connection. The client fails if nothing arrives for SECONDS (60). With -k the client keeps its
 * connections until it receives SIGUSR1. With -x the client expects that the connection is
 * refused, because no server listens. BACKLOG (128) is the backlog of the listener. The
 * CONNECTIONS of the server is the number of simultaneous connections for which its completion
 * queue has to be large enough. The default of PORT is 7471. Results of the client in TAP.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#include "patience.h"

#define MSG_LEN 3001
#define RECVS 4

enum { ACCEPT = 'A', REJECT = 'R', DROP = 'D' };

struct conn {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t buf[(RECVS + 1) * MSG_LEN];	/* RECVS received messages, and one to send */
	uint8_t answer[256];
	uint32_t no, done;
	bool up, down;
};

static struct rdma_event_channel *ec;
static struct ibv_comp_channel *chan;
static struct ibv_cq *cq;
static struct ibv_pd *pd;
static int port = 7471, timeout_s = 60, backlog = 128;
static uint32_t connections, rounds = 5, at_a_time = UINT32_MAX;
static bool keep;
static sigset_t go_on;
static unsigned int n_ok, n_bad;

static void report(bool good, const char *what, const char *why)
{
	printf("%sok %u - %s%s%s\n", good ? "" : "not ", n_ok + n_bad + 1, what,
	       good ? "" : ": ", good ? "" : why);
	fflush(stdout);
	if (good)
		n_ok++;
	else
		n_bad++;
}

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static void fill(uint8_t *p, uint32_t seed, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = (seed * 2654435761u + i * 40503u) >> 11;
}

static bool same(const uint8_t *p, uint32_t seed, uint32_t len)
{
	uint8_t want[MSG_LEN];

	fill(want, seed, len);
	return !memcmp(p, want, len);
}

static void setup_device(struct ibv_context *v)
{
	uint32_t cqe = 4000;

	if (pd)
		return;
	pd = ibv_alloc_pd(v);
	/* room for all work requests of all connections */
	if (connections * 2 * (RECVS + 1) > cqe)
		cqe = connections * 2 * (RECVS + 1);
	chan = ibv_create_comp_channel(v);
	cq = chan ? ibv_create_cq(v, cqe, NULL, chan, 0) : NULL;
	if (!pd || !cq || ibv_req_notify_cq(cq, 0))
		die("device");
}

static int setup_conn(struct conn *c)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = { RECVS + 2, RECVS + 2, 1, 1, 0 } };

	setup_device(c->id->verbs);
	a.send_cq = cq;
	a.recv_cq = cq;
	c->mr = ibv_reg_mr(pd, c->buf, sizeof(c->buf), IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		return -1;
	return rdma_create_qp(c->id, pd, &a);
}

/*
 * @slot: index of the message in @c->buf. The wr_id of a request is the address of the
 * connection, a multiple of 64, plus @slot.
 */
static int post_recv(struct conn *c, uint32_t slot)
{
	struct ibv_sge sge = { (uintptr_t)c->buf + slot * MSG_LEN, MSG_LEN, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)c | slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(c->id->qp, &wr, &bad);
}

static int post_send(struct conn *c, uint32_t slot)
{
	struct ibv_sge sge = { (uintptr_t)c->buf + slot * MSG_LEN, MSG_LEN, c->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uintptr_t)c | slot, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;

	return ibv_post_send(c->id->qp, &wr, &bad);
}

static struct conn *new_conn(struct rdma_cm_id *id)
{
	struct conn *c = aligned_alloc(64, (sizeof(*c) + 63) & ~63ul);

	if (!c)
		die("memory");
	memset(c, 0, sizeof(*c));
	c->id = id;
	if (id)
		id->context = c;
	return c;
}

static void free_conn(struct conn *c)
{
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->id)
		rdma_destroy_id(c->id);
	free(c);
}

/* The server */

static void server_request(struct rdma_cm_id *id, const uint8_t *data, uint32_t len)
{
	uint8_t cmd = len ? data[0] : ACCEPT, n = len > 1 ? data[1] : 0, answer[256];
	struct rdma_conn_param p = { .private_data = n ? answer : NULL, .private_data_len = n,
				     .responder_resources = 1, .initiator_depth = 1 };
	struct conn *c;
	uint32_t i;

	/* the private data after the first two bytes must have arrived unchanged */
	if (len > 2 && !same(data + 2, len, len - 2))
		cmd = DROP;
	fill(answer, n + 1000, n);
	if (cmd == REJECT && rdma_reject(id, n ? answer : NULL, n))
		perror("rdma_reject");
	if (cmd != ACCEPT) {
		rdma_destroy_id(id);
		return;
	}
	c = new_conn(id);
	if (setup_conn(c))
		die("connection");
	for (i = 0; i < RECVS; i++)
		if (post_recv(c, i))
			die("ibv_post_recv");
	if (rdma_accept(id, &p)) {
		perror("rdma_accept");
		free_conn(c);
	}
}

static void server_cm(void)
{
	struct rdma_cm_event *ev;
	uint8_t data[256];
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	uint32_t len;

	if (rdma_get_cm_event(ec, &ev))
		die("rdma_get_cm_event");
	type = ev->event;
	id = ev->id;
	len = ev->param.conn.private_data_len;
	memcpy(data, ev->param.conn.private_data ? ev->param.conn.private_data : data, len);
	rdma_ack_cm_event(ev);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		server_request(id, data, len);
	} else if (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_CONNECT_ERROR) {
		rdma_disconnect(id);
		/* do not free the connection: queued completions still contain its address */
		((struct conn *)id->context)->down = true;
	}
}

/* Sends each received message back. When the Send is complete, posts the buffer again. */
static void server_wc(const struct ibv_wc *wc)
{
	struct conn *c = (struct conn *)(uintptr_t)(wc->wr_id & ~63ull);
	uint32_t slot = wc->wr_id & 63;

	if (wc->status != IBV_WC_SUCCESS)
		return;
	if (wc->opcode == IBV_WC_RECV ? post_send(c, slot) : post_recv(c, slot))
		perror("post");
}

static void poll_cq(void (*fn)(const struct ibv_wc *wc))
{
	struct ibv_cq *got;
	struct ibv_wc wc;
	void *arg;

	if (ibv_get_cq_event(chan, &got, &arg))
		die("ibv_get_cq_event");
	ibv_ack_cq_events(got, 1);
	if (ibv_req_notify_cq(cq, 0))
		die("ibv_req_notify_cq");
	while (ibv_poll_cq(cq, 1, &wc) > 0)
		fn(&wc);
}

static struct addrinfo *resolve(const char *addr)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *ai;
	char s[16];

	snprintf(s, sizeof(s), "%d", port);
	if (getaddrinfo(addr, s, &hints, &ai))
		die("address");
	return ai;
}

static void serve(const char *addr)
{
	struct addrinfo *ai = resolve(addr);
	struct rdma_cm_id *id;

	if (rdma_create_id(ec, &id, NULL, RDMA_PS_TCP) || rdma_bind_addr(id, ai->ai_addr) ||
	    rdma_listen(id, backlog))
		die("rdma_listen");
	for (;;) {
		struct pollfd p[2] = { { ec->fd, POLLIN, 0 }, { chan ? chan->fd : -1, POLLIN, 0 } };

		poll(p, 2, -1);
		if (p[0].revents)
			server_cm();
		if (p[1].revents)
			poll_cq(server_wc);
	}
}

/* One connection after the other */

static int last_status;

static enum rdma_cm_event_type next_event(struct rdma_cm_id *id, uint8_t *data, int *len)
{
	struct pollfd p = { .fd = ec->fd, .events = POLLIN };
	enum rdma_cm_event_type type;
	struct rdma_cm_event *ev;

	if (patient_poll(&p, 1, timeout_s * 1000) <= 0)
		return -1;
	if (rdma_get_cm_event(ec, &ev))
		die("rdma_get_cm_event");
	type = ev->id == id ? ev->event : (enum rdma_cm_event_type)-1;
	last_status = ev->status;
	*len = ev->param.conn.private_data_len;
	if (*len)
		memcpy(data, ev->param.conn.private_data, *len);
	rdma_ack_cm_event(ev);
	return type;
}

static bool expect(struct rdma_cm_id *id, enum rdma_cm_event_type want, char *why)
{
	uint8_t data[256];
	int len;
	enum rdma_cm_event_type got = next_event(id, data, &len);

	if (got != want)
		sprintf(why, "%s instead of %s", (int)got == -1 ? "no event" : rdma_event_str(got),
			rdma_event_str(want));
	return got == want;
}

static bool try_connect(struct conn *c, struct sockaddr *addr, const uint8_t *priv, uint8_t len, char *why)
{
	struct rdma_conn_param p = { .private_data = len ? priv : NULL, .private_data_len = len,
				     .responder_resources = 1, .initiator_depth = 1, .retry_count = 7 };

	if (rdma_create_id(ec, &c->id, c, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_resolve_addr(c->id, NULL, addr, timeout_s * 1000))
		die("rdma_resolve_addr");
	if (!expect(c->id, RDMA_CM_EVENT_ADDR_RESOLVED, why))
		return false;
	if (rdma_resolve_route(c->id, timeout_s * 1000))
		die("rdma_resolve_route");
	if (!expect(c->id, RDMA_CM_EVENT_ROUTE_RESOLVED, why))
		return false;
	if (setup_conn(c))
		die("connection");
	if (rdma_connect(c->id, &p)) {
		sprintf(why, "rdma_connect: %s", strerror(errno));
		return false;
	}
	return true;
}

/*
 * Connects. Sends @plen bytes of private data, of which the first is @cmd, and expects @n bytes
 * of private data in the answer.
 */
static void one(struct sockaddr *addr, uint8_t cmd, uint32_t plen, uint32_t n)
{
	struct conn *c = new_conn(NULL);
	enum rdma_cm_event_type want = cmd == ACCEPT ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_REJECTED;
	enum rdma_cm_event_type got;
	uint8_t priv[256], data[256];
	char why[200] = "", what[100];
	bool good = false;
	int len = 0;

	priv[0] = cmd;
	priv[1] = n;
	if (plen > 2)
		fill(priv + 2, plen, plen - 2);
	snprintf(what, sizeof(what), "%s, %u octets of private data there, %u back",
		 cmd == ACCEPT ? "accept" : cmd == REJECT ? "reject" : "drop", plen, n);
	if (try_connect(c, addr, priv, plen, why)) {
		got = next_event(c->id, data, &len);
		good = got == want;
		if (!good) {
			sprintf(why, "%s", (int)got == -1 ? "no event" : rdma_event_str(got));
		} else if (len != (int)n || !same(data, n + 1000, n)) {
			good = false;
			sprintf(why, "%d octets of private data, or other ones", len);
		}
	}
	if (good && cmd == ACCEPT) {
		rdma_disconnect(c->id);
		good = expect(c->id, RDMA_CM_EVENT_DISCONNECTED, why);
	}
	report(good, what, why);
	free_conn(c);
}

static void all_private(struct sockaddr *addr)
{
	static const uint8_t sizes[] = { 0, 1, 3, 4, 5, 63, 148, 196, 248, 251, 252, 253, 255 };
	uint32_t i;

	one(addr, ACCEPT, 0, 0);
	for (i = 0; i < sizeof(sizes); i++) {
		one(addr, REJECT, 2, sizes[i]);
		one(addr, ACCEPT, 2, sizes[i]);
		if (sizes[i] > 2)
			one(addr, ACCEPT, sizes[i], 7);
	}
	one(addr, DROP, 2, 0);
	one(addr, REJECT, 255, 255);
	one(addr, ACCEPT, 255, 255);
}

static void nobody(struct sockaddr *addr)
{
	struct conn *c = new_conn(NULL);
	enum rdma_cm_event_type got = -1;
	uint8_t data[256];
	char why[200] = "";
	int len;

	if (try_connect(c, addr, NULL, 0, why)) {
		got = next_event(c->id, data, &len);
		sprintf(why, "%s, status %d", (int)got == -1 ? "no event" : rdma_event_str(got),
			last_status);
	}
	report(got == RDMA_CM_EVENT_REJECTED && last_status == -ECONNREFUSED,
	       "nobody listens: refused", why);
	free_conn(c);
}

/* Many connections at once */

static uint32_t wanted, begun, up, through, gone, wrong;
static struct conn **conns;
static struct sockaddr *target;

/* Begins new connections, as long as fewer than @at_a_time connections are being established. */
static void begin_some(void)
{
	while (begun < wanted && begun - up < at_a_time) {
		struct conn *c = new_conn(NULL);

		conns[begun] = c;
		c->no = begun++;
		if (rdma_create_id(ec, &c->id, c, RDMA_PS_TCP) ||
		    rdma_resolve_addr(c->id, NULL, target, timeout_s * 1000))
			die("rdma_resolve_addr");
	}
}

static void client_wc(const struct ibv_wc *wc)
{
	struct conn *c = (struct conn *)(uintptr_t)(wc->wr_id & ~63ull);
	uint32_t slot = wc->wr_id & 63;

	if (wc->status != IBV_WC_SUCCESS) {
		if (c->done < rounds) {
			wrong++;
			printf("# connection %u: %s\n", c->no, ibv_wc_status_str(wc->status));
		}
		return;
	}
	if (wc->opcode != IBV_WC_RECV)
		return;
	if (wc->byte_len != MSG_LEN || !same(c->buf + slot * MSG_LEN, c->no * 100 + c->done, MSG_LEN)) {
		wrong++;
		printf("# connection %u: round %u came back changed\n", c->no, c->done);
	}
	if (++c->done == rounds) {
		through++;
		return;
	}
	fill(c->buf + RECVS * MSG_LEN, c->no * 100 + c->done, MSG_LEN);
	if (post_recv(c, slot) || post_send(c, RECVS))
		die("post");
}

static void established(struct conn *c)
{
	up++;
	c->up = true;
	fill(c->buf + RECVS * MSG_LEN, c->no * 100, MSG_LEN);
	if (post_send(c, RECVS))
		die("ibv_post_send");
	begin_some();
}

static void client_cm(void)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7 };
	enum rdma_cm_event_type type;
	struct rdma_cm_event *ev;
	struct conn *c;
	uint32_t i;

	if (rdma_get_cm_event(ec, &ev))
		die("rdma_get_cm_event");
	type = ev->event;
	c = ev->id->context;
	rdma_ack_cm_event(ev);
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(c->id, timeout_s * 1000))
			die("rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (setup_conn(c))
			die("connection");
		for (i = 0; i < RECVS; i++)
			if (post_recv(c, i))
				die("ibv_post_recv");
		if (rdma_connect(c->id, &p))
			die("rdma_connect");
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established(c);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (!c->down)
			gone++;
		c->down = true;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		wrong++;
		printf("# connection %u: %s\n", c->no, rdma_event_str(type));
	}
}

/* Handles events until *@what reaches @wanted. Return: false after an error or a timeout */
static bool until(uint32_t *what)
{
	struct patience wait = {};

	while (*what < wanted && !wrong) {
		struct pollfd p[2] = { { ec->fd, POLLIN, 0 }, { chan ? chan->fd : -1, POLLIN, 0 } };

		if (!patient(&wait, timeout_s, *what))
			return false;
		poll(p, 2, 200);
		if (p[0].revents)
			client_cm();
		if (p[1].revents)
			poll_cq(client_wc);
	}
	return !wrong;
}

static void many(struct sockaddr *addr, uint32_t n)
{
	char why[100];
	uint32_t i;
	int sig;

	conns = calloc(n, sizeof(*conns));
	wanted = n;
	target = addr;
	begin_some();
	until(&up);
	sprintf(why, "%u of %u", up, n);
	report(up == n && !wrong, "all connections are established", why);
	until(&through);
	sprintf(why, "%u of %u, %u wrong", through, n, wrong);
	report(through == n && !wrong, "messages return unchanged on all connections", why);
	if (keep)
		sigwait(&go_on, &sig);
	for (i = 0; i < begun; i++)
		if (conns[i]->up && !conns[i]->down)
			rdma_disconnect(conns[i]->id);
	until(&gone);
	sprintf(why, "%u of %u", gone, n);
	report(gone == n && !wrong, "all connections end", why);
	for (i = 0; i < begun; i++)
		free_conn(conns[i]);
	free(conns);
}

int main(int argc, char **argv)
{
	const char *server = NULL, *client = NULL;
	struct addrinfo *ai;
	bool none = false, serving = false;
	int c;

	while ((c = getopt(argc, argv, "sc:a:p:n:r:w:b:t:kx")) != -1) {
		switch (c) {
		case 's': serving = true; break;
		case 'a': server = optarg; break;
		case 'c': client = optarg; break;
		case 'p': port = atoi(optarg); break;
		case 'n': connections = atoi(optarg); break;
		case 'r': rounds = atoi(optarg); break;
		case 'w': at_a_time = atoi(optarg); break;
		case 'b': backlog = atoi(optarg); break;
		case 't': timeout_s = atoi(optarg); break;
		case 'k': keep = true; break;
		case 'x': none = true; break;
		default: return 2;
		}
	}
	sigemptyset(&go_on);
	sigaddset(&go_on, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go_on, NULL);
	ec = rdma_create_event_channel();
	if (!ec)
		die("rdma_create_event_channel");
	if (serving)
		serve(server);
	if (!client)
		return 2;
	ai = resolve(client);
	if (none)
		nobody(ai->ai_addr);
	else if (connections)
		many(ai->ai_addr, connections);
	else
		all_private(ai->ai_addr);
	printf("1..%u\n", n_ok + n_bad);
	return n_bad != 0;
}
