// SPDX-License-Identifier: GPL-2.0
/*
 * Gives the device much work at once: megabytes that wait in the socket before the attach, and
 * deep queues to flush. The driver must do the work in steps, and must do older work first. The
 * peer is a thread of this program that implements MPA, because the Python peer (tests/peer)
 * would be too slow.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "patience.h"

#define WRITE		0x40	/* RDMAP version and opcode */
#define SEND		0x43
#define PIECE		IWT_PIECE
#define MEGS		4
#define TINY		IWT_TINY
#define DEPTH		16384
#define LAST		IWT_LAST
#define STILL		5000	/* milliseconds without a new byte that end the wait for bytes */

uint32_t peer_crc32c(uint32_t crc, const uint8_t *p, size_t len);

static long counter(const char *name)
{
	char path[256];
	long n = -1;
	FILE *f;

	/* RDMA core reads the device's counters again only after some milliseconds */
	usleep(30000);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
		 iwt_device, name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &n) != 1)
		printf("# no counter %s\n", name);
	if (f)
		fclose(f);
	return n;
}

/* Builds an FPDU with length, pad and CRC. Return: bytes of the FPDU. */
static size_t frame(uint8_t *to, const void *hdr, size_t hdr_len, const void *data, size_t len)
{
	size_t all = 2 + hdr_len + len, whole = (all + 3) & ~3u;
	uint16_t ulpdu = htons(all - 2);
	uint32_t crc;

	memset(to, 0, whole);
	memcpy(to, &ulpdu, 2);
	memcpy(to + 2, hdr, hdr_len);
	memcpy(to + 2 + hdr_len, data, len);
	crc = htole32(peer_crc32c(0, to, whole));
	memcpy(to + whole, &crc, 4);
	return whole + 4;
}

static size_t put_write(uint8_t *to, const struct ibv_mr *mr, size_t len)
{
	uint8_t hdr[14] = { 0xc1, WRITE }, data[PIECE];
	uint32_t stag = htonl(mr->rkey);
	uint64_t at = htobe64((uintptr_t)mr->addr);

	memset(data, 0x77, sizeof(data));
	memcpy(hdr + 2, &stag, 4);
	memcpy(hdr + 6, &at, 8);
	return frame(to, hdr, sizeof(hdr), data, len);
}

static size_t put_send(uint8_t *to, const char *text)
{
	uint8_t hdr[18] = { 0x41, SEND, [13] = 1 };

	return frame(to, hdr, sizeof(hdr), text, strlen(text));
}

/*
 * Composes the bytes that the peer sends: a Reply, copies of one Write with @payload bytes until
 * there are at least @octets bytes, and a Send.
 */
void iwt_peer_compose(struct peer *p, const struct ibv_mr *mr, size_t payload, size_t octets)
{
	static const char reply[] = "MPA ID Rep Frame\x40\x01\x00";
	size_t one;

	p->octets = malloc(octets + 4096);
	if (!p->octets)
		iwt_die("malloc");
	memcpy(p->octets, reply, 20);
	p->len = 20;
	one = put_write(p->octets + p->len, mr, payload);
	for (p->len += one; p->len < octets; p->len += one)
		memcpy(p->octets + p->len, p->octets + 20, one);
	p->len += put_send(p->octets + p->len, LAST);
}

static struct peer *waited_for;

/*
 * Signal handler that interrupts the reader's system call. The call continues when all bytes have
 * arrived, or when no more bytes arrive because the receive buffer is full: bytes that arrive in
 * small pieces need more memory.
 */
static void wait_for_all(int signal)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	int there = 0, before = 0, still = 0;
	uint64_t since = running_ms();
	struct peer *p = waited_for;
	volatile int i;

	while (!ioctl(p->reader_fd, FIONREAD, &there) && there < (int)p->len) {
		still = there == before ? still + 1 : 0;
		if (!still)
			since = running_ms();
		if ((p->still && still == p->still) || running_ms() - since >= STILL)
			break;
		before = there;
		nanosleep(&nap, NULL);
	}
	p->partial = !p->still && there < (int)p->len;
	p->going = true;
	for (i = 0; i < p->delay; i++)
		;
}

static void *answer(void *arg)
{
	struct peer *p = arg;
	size_t sent = 0;
	ssize_t n;
	char req[20];

	if (recv(p->fd, req, sizeof(req), MSG_WAITALL) != sizeof(req))
		return NULL;
	waited_for = p;
	pthread_kill(p->reader, SIGUSR1);
	while (sent < p->len) {
		n = send(p->fd, p->octets + sent, p->len - sent, MSG_NOSIGNAL);
		if (n <= 0)
			return NULL;
		sent += n;
	}
	if (p->then)
		p->then(p);
	return NULL;
}

/*
 * Attaches @e as the initiator to @fds[0]; the peer uses @fds[1]. Return: 0 or the attach's
 * errno.
 */
int iwt_peer_begin(struct end *e, struct peer *p, const int fds[2])
{
	struct iwtdv_conn_param param = { .flags = IWTDV_CONN_PLAIN };
	struct iwtdv_conn conn;

	e->fd = fds[0];
	p->fd = fds[1];
	p->reader = pthread_self();
	p->reader_fd = e->fd;
	if (pthread_create(&p->thread, NULL, answer, p))
		iwt_die("pthread_create");
	signal(SIGUSR1, wait_for_all);
	return iwtdv_connect(e->qp, e->fd, &param, &conn);
}

static void begin(struct end *e, struct peer *p, const int fds[2])
{
	errno = iwt_peer_begin(e, p, fds);
	if (errno)
		iwt_die("iwtdv_connect");
}

/* Ends the peer's stream with a FIN or a reset; if @how is STAYS, does nothing. */
void iwt_peer_end(int fd, int how)
{
	struct linger now = { .l_onoff = 1 };

	if (how == FIN)
		shutdown(fd, SHUT_WR);
	if (how != RST)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* Waits for the FIN of the other end. Return: false if the FIN does not arrive in time. */
bool iwt_peer_ended(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char octet;

	return patient_poll(&pfd, 1, PATIENCE * 1000) == 1 && recv(fd, &octet, 1, MSG_DONTWAIT) == 0;
}

/* Registers the memory that the peer writes to. */
struct ibv_mr *iwt_peer_memory(struct end *e)
{
	uint8_t *memory = aligned_alloc(4096, 4096);
	struct ibv_mr *mr = ibv_reg_mr(e->pd, memory, PIECE, IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_WRITE);

	if (!mr)
		iwt_die("ibv_reg_mr");
	return mr;
}

/*
 * Connects two sockets. SO_RCVLOWAT enlarges the receive buffer of @fds[0], so that @all bytes
 * fit.
 */
void iwt_room_pair(int fds[2], int all)
{
	iwt_tcp_pair(iwt_ip, fds);
	if (setsockopt(fds[0], SOL_SOCKET, SO_RCVLOWAT, &all, sizeof(all)))
		iwt_die("SO_RCVLOWAT");
}

/* Frees @e and all memory of the peer. */
void iwt_peer_forget(struct end *e, struct ibv_mr *mr, struct peer *p)
{
	void *memory = mr->addr;

	ibv_dereg_mr(mr);
	iwt_close(e);
	free(p->octets);
	free(memory);
}

/*
 * Attaches a socket in which many bytes wait. The bytes and the FPDUs that the engine processes
 * in one run must be limited. Unless @how is STAYS, the peer ends the connection immediately
 * after the attach.
 */
static void waiting(size_t payload, size_t octets, int how, const char *what)
{
	struct end *e = iwt_open();
	struct ibv_mr *mr = iwt_peer_memory(e);
	struct peer p = {};
	long before, runs;
	char name[80];
	int fds[2];

	iwt_peer_compose(&p, mr, payload, octets);
	iwt_room_pair(fds, p.len);
	before = counter("rx_budget");
	begin(e, &p, fds);
	iwt_peer_end(fds[1], how);
	snprintf(name, sizeof(name), "%s: all data are processed", what);
	iwt_ok(iwt_receive(e, LAST), name);
	runs = counter("rx_budget") - before + 1;
	printf("# %ld runs\n", runs);
	snprintf(name, sizeof(name), "%s: the engine works in steps", what);
	if (p.partial)
		iwt_skip(name, IWT_NO_ROOM);
	else
		iwt_ok(p.len / runs <= 5 << 18 && p.len / (payload + 20) / runs <= 2500, name);
	pthread_join(p.thread, NULL);
	if (how == FIN) {
		snprintf(name, sizeof(name), "%s: the end after the data is orderly", what);
		iwt_ok(iwt_failed(e) && iwt_peer_ended(fds[1]), name);
	}
	if (how == STAYS) {
		snprintf(name, sizeof(name), "%s: a message passes after the data", what);
		iwt_ok(iwt_send(e, "well"), name);
	}
	if (how != RST)
		close(fds[1]);
	iwt_peer_forget(e, mr, &p);
}

/* Opens an end with the deepest queues that the device supports. */
static struct end *open_deep(void)
{
	struct end *e = iwt_open();
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	iwt_destroy_qp(e);
	ibv_destroy_cq(e->scq);
	ibv_destroy_cq(e->rcq);
	e->scq = ibv_create_cq(e->ctx, 2 * DEPTH, NULL, NULL, 0);
	e->rcq = ibv_create_cq(e->ctx, 2 * DEPTH, NULL, NULL, 0);
	if (!e->scq || !e->rcq)
		iwt_die("ibv_create_cq");
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	e->qp = ibv_create_qp(e->pd, &attr);
	if (!e->qp)
		iwt_die("ibv_create_qp");
	return e;
}

static bool post_write(struct end *e, uint64_t id)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf[0],
		.length = BUF,
		.lkey = e->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
	};

	return !ibv_post_send(e->qp, &wr, &bad);
}

static bool post_buffer(struct end *e, uint64_t id)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = id };

	return !ibv_post_recv(e->qp, &wr, &bad);
}

static void fill(struct end *e)
{
	uint64_t i;

	for (i = 0; i < DEPTH; i++)
		if (!post_buffer(e, i) || !post_write(e, i))
			iwt_die("post");
}

/*
 * Checks that all requests complete in order, and that no request succeeds after a failed
 * request. After the first failure this function posts one more request by @post, which must
 * complete last. Return: the number of failed requests, or -1 if a check failed.
 */
static int drain(struct end *e, struct ibv_cq *cq, bool (*post)(struct end *e, uint64_t id))
{
	uint64_t i, end = DEPTH;
	struct ibv_wc wc;
	int failed = 0;

	for (i = 0; i < end; i++) {
		if (iwt_wc(cq, &wc) != 1 || wc.wr_id != i) {
			printf("# %llu: %llu\n", (unsigned long long)i,
			       (unsigned long long)wc.wr_id);
			return -1;
		}
		if (!wc.status && failed)
			return -1;
		if (wc.status && !failed++ && post && !post(e, end++))
			return -1;
	}
	return ibv_poll_cq(cq, 1, &wc) ? -1 : failed;
}

/*
 * Returns an end with full queues. The peer does not read, so most of the requests cannot
 * complete until the caller ends the peer's stream.
 */
static struct end *fill_deep(struct peer *p, int fds[2])
{
	struct end *e = open_deep();

	iwt_tcp_pair(iwt_ip, fds);
	p->octets = (uint8_t *)strdup("MPA ID Rep Frame\x40\x01");
	p->octets = realloc(p->octets, 20);
	memset(p->octets + 18, 0, 2);
	p->len = 20;
	begin(e, p, fds);
	pthread_join(p->thread, NULL);
	free(p->octets);
	fill(e);
	return e;
}

static void flushed(void)
{
	struct peer p = {};
	struct end *e;
	int fds[2], sends, recvs;
	long before = counter("flush_budget");

	e = fill_deep(&p, fds);
	iwt_peer_end(fds[1], RST);
	sends = drain(e, e->scq, post_write);
	recvs = drain(e, e->rcq, post_buffer);
	printf("# %d and %d flushed in %ld steps\n", sends, recvs,
	       counter("flush_budget") - before + 1);
	iwt_ok(sends > DEPTH / 2, "deep queues: sends are flushed in order");
	iwt_ok(recvs == DEPTH + 1, "deep queues: receives are flushed in order");
	iwt_ok(counter("flush_budget") - before >= DEPTH / 1024,
	       "deep queues: the flush works in steps");
	iwt_close(e);
}

/*
 * A change to the state RESET completes the flush before it returns, and the provider removes the
 * completions. The next connection of the queue pair must not execute older requests, and a post
 * of a receive must not ring the doorbell.
 */
static void reset(void)
{
	struct responder r = {};
	struct peer p = {};
	struct end *e[2];
	struct ibv_wc wc;
	int fds[2], err;
	long before;

	e[0] = fill_deep(&p, fds);
	iwt_peer_end(fds[1], RST);
	while ((err = iwt_modify(e[0], IBV_QPS_RESET)) == EBUSY || err == EINVAL)
		usleep(100);
	iwt_is(err, 0, "deep queues: a reset succeeds");
	iwt_ok(!ibv_poll_cq(e[0]->scq, 1, &wc) && !ibv_poll_cq(e[0]->rcq, 1, &wc),
	       "deep queues: no completion is left after the reset");
	iwt_tcp_pair(iwt_ip, fds);
	close(e[0]->fd);
	e[0]->fd = fds[0];
	e[1] = iwt_open();
	e[1]->fd = fds[1];
	r.end = e[1];
	iwt_respond(&r);
	iwt_is(iwt_connect(e[0], NULL, NULL), 0, "deep queues: the next connection is made");
	iwt_responded(&r);
	iwt_ok(iwt_send(e[0], "first") && iwt_receive(e[1], "first"),
	       "deep queues: the next connection sees no older request");
	before = counter("doorbell");
	iwt_ok(post_buffer(e[0], 0) && post_buffer(e[0], 1) && counter("doorbell") == before,
	       "deep queues: during this connection posts of receives make no system call");
	iwt_close_pair(e);
}

/* A flush by ibv_modify_qp() is complete when the call returns. */
static void to_error(void)
{
	struct peer p = {};
	struct ibv_wc *wc = calloc(DEPTH, sizeof(*wc));
	struct end *e;
	int fds[2];

	e = fill_deep(&p, fds);
	iwt_is(iwt_modify(e, IBV_QPS_ERR), 0,
	       "deep queues: a change to the error state succeeds");
	iwt_ok(ibv_poll_cq(e->rcq, DEPTH, wc) == DEPTH,
	       "deep queues: this change returns after the flush");
	iwt_peer_end(fds[1], RST);
	/* the queue pair is destroyed while the device reports the end of the connection */
	iwt_close(e);
	free(wc);

	e = fill_deep(&p, fds);
	iwt_peer_end(fds[1], RST);
	iwt_destroy_qp(e);
	iwt_ok(true, "deep queues: a queue pair is destroyed during the flush");
	iwt_close(e);
}

void iwt_steps(void)
{
	waiting(PIECE, MEGS << 20, STAYS, "megabytes");
	waiting(0, TINY * 20, STAYS, "small FPDUs");
	waiting(PIECE, MEGS << 20, FIN, "megabytes and FIN");
	waiting(0, TINY * 20, FIN, "small FPDUs and FIN");
	waiting(0, TINY * 20, RST, "small FPDUs and RST");
	flushed();
	reset();
	to_error();
}
