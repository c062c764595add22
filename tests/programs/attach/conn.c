// SPDX-License-Identifier: GPL-2.0
/* Functions for queue pairs, sockets and test results, which all parts of iwt_attach use. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "patience.h"

static int count, bad;

void iwt_die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	fflush(stdout);
	exit(1);
}

void iwt_ok(bool good, const char *what)
{
	bad += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", ++count, what);
	fflush(stdout);
}

void iwt_is(int got, int want, const char *what)
{
	if (got != want)
		printf("# %d (%s) instead of %d\n", got, strerror(got), want);
	iwt_ok(got == want, what);
}

void iwt_skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++count, what, why);
	fflush(stdout);
}

int iwt_plan(void)
{
	printf("1..%d\n", count);
	return bad ? 1 : 0;
}

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), iwt_device) &&
		    iwtdv_is_supported(list[i]))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

static bool post_recv(struct end *e, uint64_t i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf[i],
		.length = BUF,
		.lkey = e->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad_wr;

	return !ibv_post_recv(e->qp, &wr, &bad_wr);
}

static void make_qp(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.cap = {
			.max_send_wr = 16,
			.max_recv_wr = RECVS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	uint64_t i;

	e->qp = ibv_create_qp(e->pd, &attr);
	if (!e->qp)
		iwt_die("ibv_create_qp");
	for (i = 0; i < RECVS; i++)
		if (!post_recv(e, i))
			iwt_die("ibv_post_recv");
}

struct end *iwt_open(void)
{
	struct end *e = calloc(1, sizeof(*e));

	if (!e)
		iwt_die("calloc");
	e->fd = -1;
	e->ctx = open_device();
	if (!e->ctx)
		iwt_die("open the device");
	e->pd = ibv_alloc_pd(e->ctx);
	e->scq = ibv_create_cq(e->ctx, 64, NULL, NULL, 0);
	e->rcq = ibv_create_cq(e->ctx, 64, NULL, NULL, 0);
	if (!e->pd || !e->scq || !e->rcq)
		iwt_die("ibv_create_cq");
	e->mr = ibv_reg_mr(e->pd, e->buf, sizeof(e->buf),
			   IBV_ACCESS_LOCAL_WRITE);
	if (!e->mr)
		iwt_die("ibv_reg_mr");
	make_qp(e);
	return e;
}

void iwt_destroy_qp(struct end *e)
{
	if (e->qp && ibv_destroy_qp(e->qp))
		iwt_die("ibv_destroy_qp");
	e->qp = NULL;
}

void iwt_close(struct end *e)
{
	iwt_destroy_qp(e);
	ibv_dereg_mr(e->mr);
	ibv_destroy_cq(e->scq);
	ibv_destroy_cq(e->rcq);
	ibv_dealloc_pd(e->pd);
	ibv_close_device(e->ctx);
	if (e->fd >= 0)
		close(e->fd);
	free(e);
}

/*
 * Waits for one completion. Return: 1, a negative value if ibv_poll_cq() fails, or 0 if no
 * completion arrives within PATIENCE seconds.
 */
int iwt_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct patience p = {};
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		if (n)
			return n;
		usleep(1000);
	} while (patient(&p, PATIENCE, 0));
	return 0;
}

static bool post_send(struct end *e, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf[RECVS],
		.length = len,
		.lkey = e->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = RECVS,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	};
	struct ibv_send_wr *bad_wr;

	return !ibv_post_send(e->qp, &wr, &bad_wr);
}

bool iwt_post(struct end *e, const char *text)
{
	uint32_t len = strlen(text);

	memcpy(e->buf[RECVS], text, len);
	return post_send(e, len);
}

bool iwt_send(struct end *e, const char *text)
{
	struct ibv_wc wc;

	return iwt_post(e, text) && iwt_wc(e->scq, &wc) == 1 && !wc.status;
}

struct burst {
	struct end *end;
	int times;
	bool good;
};

/* Sends RECVS / 2 messages and receives the same number, @times times. */
static bool burst(struct end *e, int times)
{
	struct ibv_wc wc;
	int i;

	memset(e->buf[RECVS], 0x5a, BUF);
	while (times--) {
		for (i = 0; i < RECVS / 2; i++)
			if (!post_send(e, BUF))
				return false;
		for (i = 0; i < RECVS / 2; i++) {
			if (iwt_wc(e->scq, &wc) != 1 || wc.status)
				return false;
			if (iwt_wc(e->rcq, &wc) != 1 || wc.status || wc.byte_len != BUF ||
			    memcmp(e->buf[wc.wr_id], e->buf[RECVS], BUF) ||
			    !post_recv(e, wc.wr_id))
				return false;
		}
	}
	return true;
}

static void *do_burst(void *arg)
{
	struct burst *b = arg;

	b->good = burst(b->end, b->times);
	return NULL;
}

/* Runs burst() on both ends at the same time, and stores the results in @good. */
void iwt_bursts(struct end *e[2], int times, bool good[2])
{
	struct burst other = { .end = e[1], .times = times };
	pthread_t thread;

	if (pthread_create(&thread, NULL, do_burst, &other))
		iwt_die("pthread_create");
	good[0] = burst(e[0], times);
	pthread_join(thread, NULL);
	good[1] = other.good;
}

/*
 * Waits for one message, and posts its receive again.
 *
 * Return: false if this failed, or if the message differs from @text. If @text is NULL, any
 * message is good.
 */
bool iwt_receive(struct end *e, const char *text)
{
	struct ibv_wc wc;

	if (iwt_wc(e->rcq, &wc) != 1 || wc.status)
		return false;
	if (text && (wc.byte_len != strlen(text) ||
		     memcmp(e->buf[wc.wr_id], text, wc.byte_len)))
		return false;
	snprintf(e->text, BUF, "%.*s", (int)wc.byte_len,
		 (char *)e->buf[wc.wr_id]);
	/* the post fails if the device was removed meanwhile */
	return post_recv(e, wc.wr_id);
}

/* Return: true if the next receive completes because the end of the connection has flushed it. */
bool iwt_failed(struct end *e)
{
	struct ibv_wc wc;

	return iwt_wc(e->rcq, &wc) == 1 && wc.status == IBV_WC_WR_FLUSH_ERR;
}

bool iwt_hung_up(int fd)
{
	struct pollfd pfd = { .fd = fd };

	return patient_poll(&pfd, 1, PATIENCE * 1000) == 1 && pfd.revents & POLLHUP;
}

int iwt_modify(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
}

static socklen_t address(const char *ip, uint16_t port,
			 struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *a4 = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, ip, &a4->sin_addr) == 1) {
		a4->sin_family = AF_INET;
		a4->sin_port = htons(port);
		return sizeof(*a4);
	}
	if (inet_pton(AF_INET6, ip, &a6->sin6_addr) != 1)
		iwt_die(ip);
	a6->sin6_family = AF_INET6;
	a6->sin6_port = htons(port);
	return sizeof(*a6);
}

int iwt_listen(const char *ip, uint16_t *port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(ip, *port, &ss);
	int one = 1;
	int fd = socket(ss.ss_family, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&ss, len) ||
	    listen(fd, 8) || getsockname(fd, (struct sockaddr *)&ss, &len))
		iwt_die("listen");
	*port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
	return fd;
}

int iwt_dial(const char *ip, uint16_t port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(ip, port, &ss);
	int fd = socket(ss.ss_family, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&ss, len))
		iwt_die("connect");
	return fd;
}

/* Connects two sockets. If @mss is not 0, the segments of @fds[0] have at most @mss bytes. */
void iwt_mss_pair(const char *ip, int mss, int fds[2])
{
	uint16_t port = 0;
	int fd = iwt_listen(ip, &port);

	if (mss && setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)))
		iwt_die("TCP_MAXSEG");
	fds[0] = iwt_dial(ip, port);
	fds[1] = accept(fd, NULL, NULL);
	if (fds[1] < 0)
		iwt_die("accept");
	close(fd);
}

void iwt_tcp_pair(const char *ip, int fds[2])
{
	iwt_mss_pair(ip, 0, fds);
}

bool iwt_say(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL) ==
	       (ssize_t)strlen(text);
}

bool iwt_hear(int fd, const char *text)
{
	char got[256];
	size_t want = strlen(text), len = 0;
	ssize_t n;

	while (len < want) {
		n = recv(fd, got + len, want - len, 0);
		if (n <= 0)
			return false;
		len += n;
	}
	return !memcmp(got, text, want);
}

static void *respond(void *arg)
{
	struct responder *r = arg;
	struct end *e = r->end;
	struct iwtdv_conn_param param = {
		.private_data = r->pd,
		.private_data_len = r->pd ? strlen(r->pd) : 0,
		.ird = 4,
		.ord = 4,
		.timeout = iwt_timeout,
	};

	r->err = iwtdv_get_request(e->fd, r->last_message, r->last_message ?
				   strlen(r->last_message) : 0, iwt_timeout,
				   &r->req);
	if (r->err)
		return NULL;
	if (r->reject)
		r->err = iwtdv_reject(e->ctx, e->fd, &r->req, r->pd,
				      param.private_data_len);
	else
		r->err = iwtdv_accept(e->qp, e->fd, &r->req, &param, &r->conn);
	return NULL;
}

void iwt_respond(struct responder *r)
{
	if (pthread_create(&r->thread, NULL, respond, r))
		iwt_die("pthread_create");
}

int iwt_responded(struct responder *r)
{
	pthread_join(r->thread, NULL);
	return r->err;
}

int iwt_connect(struct end *e, const char *pd, struct iwtdv_conn *conn)
{
	struct iwtdv_conn_param param = {
		.private_data = pd,
		.private_data_len = pd ? strlen(pd) : 0,
		.ird = 8,
		.ord = 8,
		.timeout = iwt_timeout,
	};
	struct iwtdv_conn unused = {};

	return iwtdv_connect(e->qp, e->fd, &param, conn ?: &unused);
}

/* Creates two ends and attaches them to the connected sockets @fds. @e[0] is the initiator. */
void iwt_attach_pair(struct end *e[2], const int fds[2])
{
	struct responder r = {};

	e[0] = iwt_open();
	e[1] = iwt_open();
	e[0]->fd = fds[0];
	e[1]->fd = fds[1];
	r.end = e[1];
	iwt_respond(&r);
	errno = iwt_connect(e[0], NULL, NULL);
	if (errno)
		iwt_die("iwtdv_connect");
	errno = iwt_responded(&r);
	if (errno)
		iwt_die("iwtdv_accept");
}

void iwt_make_pair(struct end *e[2], const char *ip)
{
	int fds[2];

	iwt_tcp_pair(ip, fds);
	iwt_attach_pair(e, fds);
}

void iwt_close_pair(struct end *e[2])
{
	iwt_close(e[0]);
	iwt_close(e[1]);
}
