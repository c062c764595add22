// SPDX-License-Identifier: GPL-2.0
/* Mappings, processes, system calls and registrations of a hostile process. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "hostile.h"

void iwt_unmap(void)
{
	struct conn *c = iwt_dial(true);
	int i;

	for (i = 0; i < 20; i++)
		iwt_post(c, i, i % 2 ? IBV_WR_RDMA_READ : IBV_WR_SEND, 0, 64);
	munmap(c->sq.at, c->sq.len);
	munmap(c->rq.at, c->rq.len);
	munmap(c->scq.at, c->scq.len);
	for (i = 0; i < 200; i++)
		iwt_doorbell(c);
	/* meanwhile the kernel, which has its own mapping of the rings, executes the requests */
	usleep(100000);
}

static void in_flight(struct conn *c)
{
	int i;

	for (i = 0; i < WRS; i++)
		iwt_post(c, i, i % 3 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 0, BUF);
}

void iwt_forks(void)
{
	struct conn *c = iwt_dial(true);
	int i, j;

	for (i = 0; i < 8; i++) {
		pid_t pid = fork();

		if (!pid) {
			/* the child inherits the descriptor of the device */
			for (j = 0; j < 100; j++)
				iwt_doorbell(c);
			_exit(0);
		}
		in_flight(c);
		waitpid(pid, NULL, 0);
	}
}

/*
 * Runs in a child, which has all descriptors of its parent. The child tries to connect by the
 * parent's descriptor of rdma_cm, but rdma_cm accepts commands only from the process that opened
 * the descriptor. Then the child tries to connect the parent's queue pair by a new descriptor.
 * The kernel must refuse both attempts. Return: 0 if the kernel did so.
 */
static int connect_parents(struct conn *c)
{
	struct conn *other = calloc(1, sizeof(*other));
	struct rdma_conn_param param = { .qp_num = c->qp->qp_num };

	if (iwt_connect(c) != EACCES)
		return 1;
	iwt_resolve(other);
	return !rdma_connect(other->id, &param) || errno != EINVAL;
}

void iwt_children(void)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct ibv_wc wc;
	int status = -1;
	pid_t pid;

	iwt_resolve(c);
	iwt_make_objects(c, false);
	pid = fork();
	if (!pid)
		_exit(connect_parents(c));
	if (waitpid(pid, &status, 0) != pid || status)
		iwt_fail("connecting in a child: status %x", status);
	iwt_establish(c);
	if (iwt_post(c, 1, IBV_WR_RDMA_WRITE, 0, 8) || !iwt_wait_wc(c, &wc) ||
	    wc.status)
		iwt_fail("the parent's connection does not work");
}

void iwt_exits(void)
{
	in_flight(iwt_dial(true));
	_exit(0);
}

void iwt_killed(void)
{
	in_flight(iwt_dial(true));
	kill(getpid(), SIGKILL);
}

void iwt_legacy(void)
{
	static const struct { uint32_t n, sges, size; } k[] = {
		{ 1, 0, sizeof(struct ib_uverbs_send_wr) },
		{ 1, 1, sizeof(struct ib_uverbs_send_wr) },
		{ 2, 2, sizeof(struct ib_uverbs_send_wr) },
		{ 0xffffffff, 1, sizeof(struct ib_uverbs_send_wr) },
		{ 1, 0xffffffff, sizeof(struct ib_uverbs_send_wr) },
		{ 1, 1, 1 }, { 1, 1, 0xffffffff },
		{ 0, 0, sizeof(struct ib_uverbs_send_wr) },
	};
	struct conn *c = iwt_dial(true);
	unsigned int i;

	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
		if (iwt_post_command(c, k[i].n, k[i].sges, k[i].size) != EOPNOTSUPP)
			iwt_fail("work requests by system call %u: not refused", i);
	}
	if (iwt_post(c, 7, IBV_WR_RDMA_WRITE, 0, 64))
		iwt_fail("a Write after the refused calls");
}

void iwt_maps(void)
{
	struct conn *c = iwt_dial(true);
	int fd = c->id->verbs->cmd_fd, i;
	long page = sysconf(_SC_PAGESIZE);
	const struct ring *r = &c->sq;
	void *p;

	struct { size_t len; int prot, flags; off_t off; } k[] = {
		{ r->len + page, PROT_READ, MAP_SHARED, r->off },
		{ r->len * 100, PROT_READ, MAP_SHARED, r->off },
		{ r->len, PROT_READ | PROT_WRITE, MAP_PRIVATE, r->off },
		{ r->len, PROT_READ | PROT_EXEC, MAP_SHARED, r->off },
		{ r->len, PROT_READ, MAP_SHARED, r->off + page },
		{ page, PROT_READ, MAP_SHARED, r->off + r->len - page },
		{ page, PROT_READ | PROT_WRITE, MAP_SHARED, 1l << 40 },
		{ page, PROT_READ | PROT_WRITE, MAP_SHARED, 0x7fffffffffff000l },
	};
	for (i = 0; i < (int)(sizeof(k) / sizeof(k[0])); i++) {
		p = mmap(NULL, k[i].len, k[i].prot, k[i].flags, fd, k[i].off);
		if (p != MAP_FAILED && !(k[i].prot & PROT_EXEC))
			iwt_fail("mapping %d was granted", i);
	}
	/* a correct mapping may be repeated any number of times */
	for (i = 0; i < 100; i++) {
		p = mmap(NULL, r->len, PROT_READ, MAP_SHARED, fd, r->off);
		if (p == MAP_FAILED)
			iwt_fail("second mapping: %s", strerror(errno));
	}
	for (i = 0; i < 300; i++)
		mmap(NULL, (1 + iwt_rnd() % 8) * page, PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, (iwt_rnd() % 4096) * page);
}

static void *storm(void *arg)
{
	struct conn *c = arg;

	while (!c->stop)
		iwt_doorbell(c);
	return NULL;
}

void iwt_doorbells(void)
{
	struct ibv_qp_attr attr = {};
	struct conn *c = calloc(1, sizeof(*c));
	pthread_t t[2];
	int i, j;

	iwt_resolve(c);
	iwt_make_objects(c, false);
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, storm, c);
	for (i = 0; i < 300; i++) {
		static const int to[] = { IBV_QPS_ERR, IBV_QPS_RESET,
					  IBV_QPS_INIT, IBV_QPS_SQD };

		attr.qp_state = to[i % 4];
		ibv_modify_qp(c->qp, &attr, IBV_QP_STATE);
	}
	c->stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (j = 0; j < 6; j++) {
		c = iwt_dial(false);
		for (i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, storm, c);
		in_flight(c);
		if (j % 3 == 0)
			rdma_disconnect(c->id);
		attr.qp_state = IBV_QPS_ERR;
		if (j % 3 == 1)
			ibv_modify_qp(c->qp, &attr, IBV_QP_STATE);
		usleep(10000);
		/* the queue pair is destroyed while the other threads ring the doorbell */
		if (j % 2) {
			rdma_destroy_qp(c->id);
			usleep(1000);
		}
		c->stop = true;
		for (i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
	}
}

void iwt_registrations(void)
{
	struct conn *c = iwt_dial(true);
	long page = sysconf(_SC_PAGESIZE);
	static const struct { uint64_t at, len, iova; } k[] = {
		{ 0, 4096, 0 }, { 0, 0xfffffffffffff000ull, 0 },
		{ 0xffff888000000000ull, 4096, 0 },
		{ 0xfffffffffffff000ull, 0x2000, 0 },
		{ 0x1000, 0x7fffffffffffull, 0 },
	};
	unsigned int i;
	void *none;

	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++)
		if (ibv_reg_mr(c->pd, (void *)k[i].at, k[i].len,
			       IBV_ACCESS_LOCAL_WRITE))
			iwt_fail("registration %u was granted", i);
	if (ibv_reg_mr_iova(c->pd, c->buf, BUF, -8ull, IBV_ACCESS_LOCAL_WRITE))
		iwt_fail("a region across the end of the address space was granted");
	if (ibv_reg_mr(c->pd, c->buf, BUF, IBV_ACCESS_REMOTE_WRITE))
		iwt_fail("remote write without local write was granted");
	none = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ibv_reg_mr(c->pd, none, 2 * page, IBV_ACCESS_LOCAL_WRITE))
		iwt_fail("the right to write to read-only memory was granted");
	/* a region stays valid after the process has unmapped its memory */
	none = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		    MAP_ANONYMOUS, -1, 0);
	c->mr = ibv_reg_mr(c->pd, none, BUF, IBV_ACCESS_LOCAL_WRITE);
	c->buf = none;
	munmap(none, BUF);
	in_flight(c);
}

/* Transfers data over a correct connection, which must always work. */
void iwt_honest(void)
{
	struct conn *c = iwt_dial(false);
	struct ibv_wc wc;
	int i;

	for (i = 0; i < BUF / 2; i++)
		c->buf[i] = iwt_rnd();
	if (iwt_post(c, 1, IBV_WR_RDMA_WRITE, 0, BUF / 2) || !iwt_wait_wc(c, &wc) ||
	    wc.status)
		iwt_fail("WRITE");
	/* reads the peer's memory into the other half of the buffer */
	{
		struct ibv_sge sge = { (uintptr_t)c->buf + BUF / 2, BUF / 2,
				       c->mr->lkey };
		struct ibv_send_wr *bad, wr = {
			.wr_id = 2, .opcode = IBV_WR_RDMA_READ,
			.send_flags = IBV_SEND_SIGNALED, .sg_list = &sge,
			.num_sge = 1, .wr.rdma = { c->peer.addr, c->peer.rkey },
		};

		if (ibv_post_send(c->qp, &wr, &bad) || !iwt_wait_wc(c, &wc) ||
		    wc.status || wc.wr_id != 2)
			iwt_fail("READ");
	}
	if (memcmp(c->buf, c->buf + BUF / 2, BUF / 2))
		iwt_fail("wrong octets");
	rdma_disconnect(c->id);
}
