// SPDX-License-Identifier: GPL-2.0
/* The ends of connections: making, changing and using their queue pairs. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "direct.h"

#define PATH_MTU	IBV_MTU_1024

/* timeout and retry_cnt: more than two minutes, because the machine may be busy */
const struct how usual = {
	.timeout = 22, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12, .rd_atomic = 4,
};

struct side a, b;

int net_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(path);
	return fd;
}

/* The calling thread enters the namespace of the side, and returns a descriptor of its own. */
static int enter(const struct side *s)
{
	int here;

	if (s->net < 0)
		return -1;
	here = net_open("/proc/thread-self/ns/net");
	if (setns(s->net, CLONE_NEWNET))
		die("setns");
	return here;
}

static void come_back(int here)
{
	if (here < 0)
		return;
	if (setns(here, CLONE_NEWNET))
		die("setns");
	close(here);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			verbs = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!verbs)
		die(name);
	return verbs;
}

void side_open(struct side *s, const char *name, int net, int gid_index)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	s->name = name;
	s->net = net;
	s->gid_index = gid_index;
	s->verbs = open_device(name);
	if (ibv_query_gid(s->verbs, 1, gid_index, &s->gid))
		die("ibv_query_gid");
	s->pd = ibv_alloc_pd(s->verbs);
	s->mem = calloc(2, BUFFER);
	if (!s->pd || !s->mem)
		die(name);
	s->mr = ibv_reg_mr(s->pd, s->mem, 2 * BUFFER, access);
	if (!s->mr)
		die("ibv_reg_mr");
}

void side_close(struct side *s)
{
	if (ibv_dereg_mr(s->mr) || ibv_dealloc_pd(s->pd) || ibv_close_device(s->verbs))
		die("an object of the device is left");
	free(s->mem);
}

struct ibv_srq *srq_make(struct side *s)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4 * DEPTH, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(s->pd, &attr);

	if (!srq)
		die("ibv_create_srq");
	return srq;
}

static void make(struct end *e, struct side *s, struct ibv_srq *srq, bool sig_all)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = sig_all,
		.srq = srq,
	};

	*e = (struct end) {
		.side = s,
		.srq = srq,
		.psn = below(1 << 24),
		.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC,
	};
	e->cq = cq_make(s->verbs, 4 * DEPTH, NULL);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	e->qp = ibv_create_qp(s->pd, &attr);
	if (!e->qp)
		die("ibv_create_qp");
}

void end_make(struct end *e, struct side *s)
{
	make(e, s, NULL, true);
}

void end_make_srq(struct end *e, struct side *s, struct ibv_srq *srq)
{
	make(e, s, srq, true);
}

void end_make_signaled(struct end *e, struct side *s, bool sig_all)
{
	make(e, s, NULL, sig_all);
}

void end_drop(struct end *e)
{
	errno = ibv_destroy_qp(e->qp);
	if (errno)
		die("ibv_destroy_qp");
	cq_drop(e->cq);
}

int to_init(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = e->access,
	};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

int to_rtr(struct end *e, const struct end *peer, const struct how *how)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = PATH_MTU,
		.dest_qp_num = peer->qp->qp_num + how->wrong_qpn,
		.rq_psn = (peer->psn + how->wrong_psn) & 0xffffff,
		.max_dest_rd_atomic = how->rd_atomic,
		.min_rnr_timer = how->min_rnr_timer,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = peer->side->gid, .sgid_index = e->side->gid_index,
				 .hop_limit = 64 },
		},
	};
	int here, err;

	if (how->wrong_gid)
		attr.ah_attr.grh.dgid.raw[15] ^= 0x40;
	here = enter(e->side);
	err = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER);
	come_back(here);
	return err;
}

int to_rts(struct end *e, const struct how *how)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = how->timeout,
		.retry_cnt = how->retry_cnt,
		.rnr_retry = how->rnr_retry,
		.sq_psn = e->psn,
		.max_rd_atomic = how->rd_atomic,
	};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int to_state(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
}

int connect_end(struct end *e, const struct end *peer, const struct how *how)
{
	return to_init(e) ?: to_rtr(e, peer, how) ?: to_rts(e, how);
}

enum ibv_qp_state state_of(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init))
		die("ibv_query_qp");
	return attr.qp_state;
}

static int post_recv_of(struct end *e, uint64_t wr_id, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->side->mem, .length = len, .lkey = e->side->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad);
}

int post_recv(struct end *e, uint64_t wr_id)
{
	return post_recv_of(e, wr_id, BUFFER);
}

int post_short_recv(struct end *e, uint64_t wr_id)
{
	return post_recv_of(e, wr_id, 100);
}

static int post_flags(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, const struct end *peer,
		      unsigned int flags)
{
	bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->side->mem + BUFFER, .length = atomic ? 8 : BUFFER,
		.lkey = e->side->mr->lkey,
	};
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = op, .sg_list = &sge, .num_sge = 1,
				  .send_flags = flags };
	struct ibv_send_wr *bad;
	uint64_t to = (uintptr_t)peer->side->mem;

	if (atomic) {
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.rkey = peer->side->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = to;
		wr.wr.rdma.rkey = peer->side->mr->rkey;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

int post_op(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, const struct end *peer)
{
	return post_flags(e, op, wr_id, peer, 0);
}

int post_signaled(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, const struct end *peer)
{
	return post_flags(e, op, wr_id, peer, IBV_SEND_SIGNALED);
}

int status_of(struct end *e, uint64_t wr_id, unsigned int seconds)
{
	struct patience p = {};
	struct ibv_wc wc;
	int got;

	do {
		got = ibv_poll_cq(e->cq, 1, &wc);
		if (got < 0)
			die("ibv_poll_cq");
		if (!got)
			usleep(500);
	} while (!got && patient(&p, seconds, 0));
	if (!got)
		return -1;
	if (wc.wr_id != wr_id) {
		printf("# completion of %llu (status %d) instead of %llu\n",
		       (unsigned long long)wc.wr_id, wc.status, (unsigned long long)wr_id);
		return -1;
	}
	return wc.status;
}

bool ends(struct end *e, uint64_t wr_id, int want)
{
	int status = status_of(e, wr_id, PATIENCE);

	if (status != want)
		printf("# %llu: status %d instead of %d\n", (unsigned long long)wr_id, status, want);
	return status == want;
}

bool quiet(struct end *e, unsigned int ms)
{
	struct ibv_wc wc;
	int got = 0;

	while (ms-- && !got) {
		usleep(1000);
		got = ibv_poll_cq(e->cq, 1, &wc);
	}
	if (got)
		printf("# completion of %llu, status %d\n", (unsigned long long)wc.wr_id, wc.status);
	return !got;
}

void fill_tx(struct end *e, uint8_t seed)
{
	memset(e->side->mem + BUFFER, seed, BUFFER);
}

bool arrived(struct end *e, uint8_t seed)
{
	int i;

	for (i = 0; i < BUFFER; i++)
		if (e->side->mem[i] != seed)
			return false;
	return true;
}

static bool say(struct end *x, struct end *y)
{
	uint8_t seed = 1 + below(255);

	memset(y->side->mem, 0, BUFFER);
	fill_tx(x, seed);
	if (post_recv(y, 1) || post_op(x, IBV_WR_SEND, 2, y))
		die("post");
	return ends(x, 2, IBV_WC_SUCCESS) &&
	       ends(y, 1, IBV_WC_SUCCESS) && arrived(y, seed);
}

bool talk(struct end *x, struct end *y)
{
	return say(x, y) && say(y, x);
}
