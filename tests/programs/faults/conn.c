// SPDX-License-Identifier: GPL-2.0
/*
 * Steps of iwt_faults: connections of this process to itself. Each attempt has a number, which is
 * the private data of its request. By this number the program recognises a late request of an
 * earlier attempt.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#include "faults.h"
#include "patience.h"

#define PORT		7479
#define WAIT		60000	/* milliseconds to wait for an event that must arrive */
#define PIECE		49152

static struct rdma_event_channel *events, *asked;
static struct rdma_cm_id *listener;
static uint32_t attempt;

/*
 * One end and its memory. Messages and the data of Reads arrive in @in. This end sends @out, and
 * the peer reads @out.
 */
static struct side {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t in[PIECE], out[PIECE];
} active, passive;
static bool connected;

/*
 * Finds the device. At their first use, which is here, libibverbs and librdmacm read the list of
 * devices. So the link must exist, and no allocation may fail.
 */
void iwt_look(void)
{
	struct ibv_device **d = ibv_get_device_list(NULL);

	/* the list is not freed, because iwt_device points to an entry of it */
	for (; d && *d; d++)
		if (!strcmp(ibv_get_device_name(*d), iwt_link))
			iwt_device = *d;
	events = rdma_create_event_channel();
	asked = rdma_create_event_channel();
	if (!iwt_device || !events || !asked)
		iwt_die("a device");
}

static struct sockaddr_in at(const char *address, unsigned int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

/* ---- events ---- */

static bool due(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return patient_poll(&p, 1, ms) == 1;
}

/*
 * Handles a request. If the request belongs to this attempt, stores its rdma_cm_id in @passive
 * and returns true; otherwise destroys the rdma_cm_id.
 */
static bool take_request(struct rdma_cm_event *e)
{
	struct rdma_cm_id *id = e->id;
	uint32_t of = 0;

	if (e->param.conn.private_data_len >= sizeof(of))
		memcpy(&of, e->param.conn.private_data, sizeof(of));
	rdma_ack_cm_event(e);
	if (of == attempt && !passive.id) {
		passive.id = id;
		return true;
	}
	rdma_destroy_id(id);
	return false;
}

/*
 * Waits for an event, and skips requests of earlier attempts. Return: the event's type, or -1 if
 * no event arrives within @ms milliseconds. @status: receives the event's status; may be NULL
 */
static int next(struct rdma_event_channel *c, int ms, int *status)
{
	struct rdma_cm_event *e;
	int type;

	for (;;) {
		if (!due(c->fd, ms) || rdma_get_cm_event(c, &e))
			return -1;
		type = e->event;
		if (status)
			*status = e->status;
		if (type != RDMA_CM_EVENT_CONNECT_REQUEST)
			break;
		if (take_request(e))
			return type;
	}
	rdma_ack_cm_event(e);
	return type;
}

/* ---- listeners ---- */

static int listen_on(const char *address)
{
	struct sockaddr_in a = at(address, PORT);
	unsigned int left;
	int error;

	if (rdma_create_id(asked, &listener, NULL, RDMA_PS_TCP))
		return -1;
	if (!rdma_bind_addr(listener, (struct sockaddr *)&a) && !rdma_listen(listener, 8))
		return 0;
	error = errno;
	left = iwt_pause();
	rdma_destroy_id(listener);
	iwt_resume(left);
	errno = error;
	return -1;
}

int iwt_listen(void) { return listen_on(iwt_address); }
int iwt_listen_all(void) { return listen_on("0.0.0.0"); }
int iwt_unlisten(void) { return rdma_destroy_id(listener); }

/* ---- ends ---- */

static int endpoint(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 } };

	return rdma_create_qp(id, NULL, &a);
}

static void hang_up(struct side *s)
{
	if (s->mr)
		ibv_dereg_mr(s->mr);
	s->mr = NULL;
	if (!s->id)
		return;
	if (s->id->qp)
		rdma_destroy_qp(s->id);
	rdma_destroy_id(s->id);
	s->id = NULL;
}

/* Destroys both ends, and reads the remaining events. */
int iwt_disconnect(void)
{
	int error = errno;

	hang_up(&active);
	while (connected && due(asked->fd, WAIT) &&
	       next(asked, WAIT, NULL) != RDMA_CM_EVENT_DISCONNECTED)
		;
	connected = false;
	hang_up(&passive);
	attempt++;
	while (next(asked, 0, NULL) >= 0)
		;
	errno = error;
	return 0;
}

/* Waits for the event @type. If another event or no event arrives, sets errno. */
static int awaited(int type)
{
	int status = 0, got = next(events, WAIT, &status);

	if (got == type)
		return 0;
	errno = got < 0 ? ETIMEDOUT : status < 0 ? -status : EPROTO;
	return -1;
}

/* Creates an active end with a queue pair. If this fails, releases everything and returns -1. */
int iwt_resolve(void)
{
	struct sockaddr_in a = at(iwt_address, PORT);
	unsigned int left;
	int error;

	if (rdma_create_id(events, &active.id, NULL, RDMA_PS_TCP)) {
		active.id = NULL;
		return -1;
	}
	if (!rdma_resolve_addr(active.id, NULL, (struct sockaddr *)&a, 5000) &&
	    !awaited(RDMA_CM_EVENT_ADDR_RESOLVED) &&
	    !rdma_resolve_route(active.id, 5000) &&
	    !awaited(RDMA_CM_EVENT_ROUTE_RESOLVED) && !endpoint(active.id))
		return 0;
	error = errno;
	left = iwt_pause();
	hang_up(&active);
	iwt_resume(left);
	errno = error;
	return -1;
}
int iwt_unresolve(void) { hang_up(&active); return 0; }

static struct rdma_conn_param param(void)
{
	return (struct rdma_conn_param) {
		.responder_resources = 4,
		.initiator_depth = 4,
		.private_data = &attempt,
		.private_data_len = sizeof(attempt),
	};
}

static void resolved(void)
{
	if (iwt_resolve())
		iwt_die("an end that connects");
}

static void requested(void)
{
	if (next(asked, WAIT, NULL) != RDMA_CM_EVENT_CONNECT_REQUEST)
		iwt_die("no request");
}

/*
 * Waits until both ends are established. The caller has called iwt_pause(), so no allocation
 * fails.
 */
static int established(void)
{
	if (awaited(RDMA_CM_EVENT_ESTABLISHED))
		return -1;
	if (next(asked, WAIT, NULL) != RDMA_CM_EVENT_ESTABLISHED)
		return IWT_WRONG;
	connected = true;
	return 0;
}

/* Connects. The @n-th allocation in rdma_connect() fails. */
int iwt_connect(unsigned int n)
{
	struct rdma_conn_param p = param();
	unsigned int left;
	int rc;

	resolved();
	iwt_arm(n);
	rc = rdma_connect(active.id, &p);
	/* rdma_connect() continues in the background: allocations from now on are not counted */
	left = iwt_pause();
	if (!rc) {
		requested();
		if (endpoint(passive.id) || rdma_accept(passive.id, &p))
			iwt_die("accepting");
		rc = established();
	}
	iwt_resume(left);
	return rc;
}

static int accept_from(unsigned int n, bool with_qp)
{
	struct rdma_conn_param p = param();
	unsigned int left;
	int rc;

	resolved();
	if (rdma_connect(active.id, &p))
		iwt_die("connecting");
	requested();
	if (!with_qp && endpoint(passive.id))
		iwt_die("a queue pair");
	iwt_arm(n);
	rc = (with_qp && endpoint(passive.id)) || rdma_accept(passive.id, &p) ? -1 : 0;
	left = iwt_pause();
	if (!rc)
		rc = established();
	iwt_resume(left);
	return rc;
}

int iwt_accept_all(unsigned int n) { return accept_from(n, true); }
int iwt_accept_only(unsigned int n) { return accept_from(n, false); }

/* ---- data ---- */

static void fill(uint8_t *to, uint32_t seed)
{
	int i;

	for (i = 0; i < PIECE; i++)
		to[i] = seed + i + (i >> 8);
}

static bool holds(const uint8_t *got, uint32_t seed, size_t len)
{
	static uint8_t want[PIECE];

	fill(want, seed);
	return !memcmp(got, want, len);
}

static int prepare(struct side *s, uint32_t seed)
{
	memset(s->in, 0, PIECE);
	fill(s->out, seed);
	s->mr = ibv_reg_mr(s->id->pd, s, sizeof(*s), IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	return s->mr ? 0 : -1;
}

static int receive(struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)s->in, PIECE, s->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	return ibv_post_recv(s->id->qp, &wr, &bad) ? -1 : 0;
}

static int post(struct side *s, enum ibv_wr_opcode op, const struct side *to, uint32_t len)
{
	uint8_t *at = op == IBV_WR_RDMA_READ ? s->in : s->out;
	const uint8_t *there = op == IBV_WR_RDMA_READ ? to->out : to->in;
	struct ibv_sge sge = { (uintptr_t)at, len, s->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED,
	};

	wr.wr.rdma.remote_addr = (uintptr_t)there;
	wr.wr.rdma.rkey = to->mr->rkey;
	return ibv_post_send(s->id->qp, &wr, &bad) ? -1 : 0;
}

/*
 * Waits for one completion. Return: 0 if the request succeeded, -1 if it failed, IWT_WRONG if no
 * completion arrived.
 */
static int done(struct ibv_cq *cq)
{
	struct patience p = {};
	struct ibv_wc wc;
	int n;

	while (patient(&p, WAIT / 1000, 0)) {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n) {
			if (n > 0 && wc.status)
				printf("# %s\n", ibv_wc_status_str(wc.status));
			errno = n < 0 ? EIO : ECONNRESET;
			return n == 1 && !wc.status ? 0 : -1;
		}
		usleep(100);
	}
	printf("# a completion is missing\n");
	return IWT_WRONG;
}

static int wrong(const char *what)
{
	printf("# %s: not what was sent\n", what);
	return IWT_WRONG;
}

/*
 * Waits until a Write and the Send after the Write complete, and checks the data of the Write.
 */
static int arrives(struct side *from, struct side *to, uint32_t seed)
{
	int rc;

	rc = done(from->id->send_cq) ?: done(from->id->send_cq);
	rc = rc ?: done(to->id->recv_cq);
	return rc || holds(to->in, seed, PIECE) ? rc : wrong("a Write and a Send");
}

static int reads(struct side *s, const struct side *from, uint32_t seed)
{
	int rc;

	memset(s->in, 0, PIECE);
	rc = post(s, IBV_WR_RDMA_READ, from, PIECE) ?: done(s->id->send_cq);
	return rc || holds(s->in, seed, PIECE) ? rc : wrong("a Read");
}

static int both_ways(void)
{
	int rc;

	rc = receive(&passive) ?: receive(&active);
	rc = rc ?: post(&active, IBV_WR_RDMA_WRITE, &passive, PIECE);
	rc = rc ?: post(&active, IBV_WR_SEND, &passive, 1000);
	rc = rc ?: post(&passive, IBV_WR_RDMA_WRITE, &active, PIECE);
	rc = rc ?: post(&passive, IBV_WR_SEND, &active, 1000);
	rc = rc ?: arrives(&active, &passive, 1) ?: arrives(&passive, &active, 2);
	return rc ?: reads(&active, &passive, 2) ?: reads(&passive, &active, 1);
}

/* Exchanges data over a new connection while the @n-th allocation fails. No data may be lost. */
int iwt_post(unsigned int n)
{
	int rc;

	if (iwt_connect(0))
		iwt_die("a connection");
	if (prepare(&active, 1) || prepare(&passive, 2))
		iwt_die("memory");
	iwt_arm(n);
	rc = both_ways();
	return rc ? IWT_WRONG : 0;
}

/* ---- a peer with a plain TCP socket ---- */

/*
 * Connects, sends a part of a Request, and ends its direction of the stream. The device must end
 * the other direction.
 */
int iwt_knock(void)
{
	struct sockaddr_in a = at(iwt_address, PORT);
	int error, rc = -1, one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	char octet;

	if (fd < 0)
		return -1;
	/*
	 * If the allocation of a RST fails, TCP does not send this RST again. But TCP answers a probe
	 * with a RST if the connection has ended.
	 */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof(one));
	if (!connect(fd, (struct sockaddr *)&a, sizeof(a)) &&
	    send(fd, "MPA ID Req", 10, MSG_NOSIGNAL) == 10 && !shutdown(fd, SHUT_WR)) {
		if (!due(fd, WAIT))
			rc = IWT_WRONG;
		else
			rc = recv(fd, &octet, 1, 0) && errno != ECONNRESET ? -1 : 0;
	}
	error = errno;
	close(fd);
	errno = error;
	return rc;
}
