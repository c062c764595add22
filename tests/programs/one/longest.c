// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_longest -a ADDRESS: transfers messages of the maximum length, 2^32-1 bytes (RFC 5040 4.4),
 * and posts a Send that is one byte too long. The memory of a region is a small file, which is
 * mapped again and again. The program connects to itself at ADDRESS, an address of a link. The
 * files consist of huge pages, because a region of this length would have a million small pages;
 * six huge pages must be free. Results in TAP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cm.h"
#include "patience.h"
#include "random.h"
#include "results.h"

#define LONGEST	0xffffffffu
/* Three huge pages: not a power of two, so that bytes at a wrong offset are noticed */
#define PERIOD	(3ul << 21)
/* The value of MFD_HUGE_2MB, which some headers do not define */
#define HUGE_2MB	(21u << 26)
#define SPAN	((((uint64_t)LONGEST + PERIOD) / PERIOD) * PERIOD)

/**
 * struct stretch - memory that maps a file again and again
 * @file: the first mapping of the file
 * @mr: a region of LONGEST + 1 bytes, which begins at @file
 */
struct stretch {
	uint8_t *file;
	struct ibv_mr *mr;
};

static struct conn conn;

static void stretch_make(struct stretch *s, struct ibv_pd *pd)
{
	int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	int fd = memfd_create("iwt_longest", MFD_HUGETLB | (int)HUGE_2MB);
	uint64_t at;

	if (fd < 0 || ftruncate(fd, PERIOD))
		die("memfd");
	/* reserve more addresses than needed, and begin at the first multiple of 2 MiB */
	s->file = mmap(NULL, SPAN + PERIOD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->file == MAP_FAILED)
		die("mmap");
	s->file += -(uintptr_t)s->file & ((2ul << 20) - 1);
	for (at = 0; at < SPAN; at += PERIOD)
		if (mmap(s->file + at, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			die("mmap");
	close(fd);
	s->mr = ibv_reg_mr(pd, s->file, (uint64_t)LONGEST + 1, all);
	if (!s->mr)
		die("ibv_reg_mr");
}

static void stretch_drop(struct stretch *s)
{
	if (ibv_dereg_mr(s->mr) || munmap(s->file, SPAN))
		die("munmap");
}

static struct ibv_sge part(const struct stretch *s, uint64_t from, uint32_t len)
{
	return (struct ibv_sge) { (uintptr_t)s->file + from, len, s->mr->lkey };
}

static void post_receive(struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = n }, *bad;

	errno = ibv_post_recv(conn.far->qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

/*
 * Waits for one completion, like reap(). Sleeps between two polls, to leave the processor to the
 * driver, and waits 60 times as long.
 */
static void reap_long(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct patience p = {};
	int got;

	while (!(got = ibv_poll_cq(cq, 1, wc)) && patient(&p, 60 * PATIENCE, 0))
		usleep(1000);
	if (got != 1) {
		errno = ETIMEDOUT;
		die("a completion");
	}
}

static bool good(const struct ibv_wc *wc, uint32_t len)
{
	return wc->status == IBV_WC_SUCCESS && wc->byte_len == len;
}

static void transfer(const char *what, enum ibv_wr_opcode op, struct stretch *from, struct stretch *to)
{
	struct stretch *local = op == IBV_WR_RDMA_READ ? to : from, *remote = op == IBV_WR_RDMA_READ ? from : to;
	struct ibv_sge sge = part(local, 0, LONGEST);
	struct ibv_sge two[] = { part(to, 0, 0x80000001u), part(to, 0x80000001u, LONGEST - 0x80000001u) };
	struct ibv_wc wc, got = { .status = IBV_WC_SUCCESS, .byte_len = LONGEST };

	memset(to->file, 0, PERIOD);
	fill(from->file, PERIOD);
	if (op == IBV_WR_SEND)
		post_receive(two, 2);
	post_request(conn.near->qp, op, &sge, (uintptr_t)remote->file, remote->mr->rkey);
	if (op == IBV_WR_SEND)
		reap_long(conn.far_cq, &got);
	reap_long(conn.near_cq, &wc);
	if (op == IBV_WR_RDMA_WRITE) {
		/*
		 * When a later Read is complete, the peer has placed the data of the Write. Read
		 * one byte: both regions are one byte longer than the message.
		 */
		struct ibv_sge one = part(local, LONGEST, 1);

		post_request(conn.near->qp, IBV_WR_RDMA_READ, &one, (uintptr_t)remote->file + LONGEST, remote->mr->rkey);
		reap_long(conn.near_cq, &wc);
	}
	report(wc.status == IBV_WC_SUCCESS && good(&got, LONGEST) && (op != IBV_WR_RDMA_READ || good(&wc, LONGEST)) &&
	       !memcmp(from->file, to->file, PERIOD), "%s of 2^32-1 octets", what);
}

static void open_pair(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr_ex near = qp_attr(pd, cq_make(pd->context, 8, NULL), 4);
	struct ibv_qp_init_attr_ex far = qp_attr(pd, cq_make(pd->context, 8, NULL), 4);

	near.sq_sig_all = 1;
	near.cap.max_send_sge = 2;
	far.cap.max_recv_sge = 2;
	conn_make(&conn, &near, &far);
	conn.near_cq = near.send_cq;
	conn.far_cq = far.send_cq;
}

/* A Send of two elements of 2^31 bytes is one byte too long: it must fail, and send no data. */
static void too_long(struct ibv_pd *pd, struct stretch *from)
{
	struct ibv_sge two[] = { part(from, 0, 0x80000000u), part(from, 0x80000000u, 0x80000000u) }, one = part(from, 0, 1);
	struct ibv_send_wr wr = { .sg_list = two, .num_sge = 2, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc;

	open_pair(pd);
	post_receive(&one, 1);
	errno = ibv_post_send(conn.near->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
	reap_long(conn.near_cq, &wc);
	report(wc.status == IBV_WC_LOC_LEN_ERR, "a Send of 2^32 octets fails: %s",
	       ibv_wc_status_str(wc.status));
	reap_long(conn.far_cq, &wc);
	report(wc.status == IBV_WC_WR_FLUSH_ERR, "no octet of this Send arrives: %s",
	       ibv_wc_status_str(wc.status));
	conn_drop(&conn);
}

int main(int argc, char **argv)
{
	struct ibv_context *verbs;
	struct ibv_port_attr port;
	struct stretch from, to;
	struct ibv_pd *pd;

	if (argc != 3 || strcmp(argv[1], "-a")) {
		errno = EINVAL;
		die("usage: iwt_longest -a ADDRESS");
	}
	random_begin(NULL);
	verbs = cm_open(argv[2], "7479");
	pd = ibv_alloc_pd(verbs);
	if (!pd || ibv_query_port(verbs, 1, &port))
		die("ibv_alloc_pd");
	report(port.max_msg_sz == LONGEST, "max_msg_sz");
	stretch_make(&from, pd);
	stretch_make(&to, pd);
	open_pair(pd);
	transfer("a Write", IBV_WR_RDMA_WRITE, &from, &to);
	transfer("a Read", IBV_WR_RDMA_READ, &from, &to);
	transfer("a Send", IBV_WR_SEND, &from, &to);
	conn_drop(&conn);
	too_long(pd, &from);
	stretch_drop(&from);
	stretch_drop(&to);
	if (ibv_dealloc_pd(pd))
		die("ibv_dealloc_pd");
	cm_close();
	return results_end();
}
