// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_queues: posts the operations of all_ops by the functions of ibv_wr_post(3): with all ways
 * to pass data, in lists, with an abort, and in a parent domain. The test checks the data at the
 * other end.
 */
#include <errno.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "queues.h"

#define DEPTH	64
#define OCTETS	65536
#define SGES	16
#define INLINE	256

struct stage {
	struct conn c;
	struct ibv_qp_ex *ex;
	struct ibv_cq *cq, *far_cq;
	struct ibv_mr *mr, *far_mr;
};

static uint8_t here[OCTETS] __attribute__((aligned(4096)));
static uint8_t there[OCTETS] __attribute__((aligned(4096)));

static const uint64_t all_ops =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
	IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV;

static void stage_make(struct link *l, struct stage *s, struct ibv_pd *pd, struct ibv_cq *cq)
{
	int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_qp_init_attr_ex near, far;

	s->cq = cq;
	s->far_cq = cq_make(l->verbs, 2 * DEPTH, NULL);
	near = qp_attr(l->pd, s->cq, DEPTH);
	far = qp_attr(l->pd, s->far_cq, DEPTH);
	near.pd = pd;
	near.cap.max_send_sge = SGES;
	near.cap.max_inline_data = INLINE;
	near.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	near.send_ops_flags = all_ops;
	far.cap.max_recv_sge = SGES;
	s->mr = ibv_reg_mr(pd, here, OCTETS, rights);
	s->far_mr = ibv_reg_mr(l->pd, there, OCTETS, rights);
	if (!s->mr || !s->far_mr)
		die("ibv_reg_mr");
	conn_make(&s->c, &near, &far);
	s->ex = ibv_qp_to_qp_ex(s->c.near->qp);
	if (!s->ex)
		die("ibv_qp_to_qp_ex");
}

static void stage_drop(struct link *l, struct stage *s)
{
	conn_drop(&s->c);
	ibv_dereg_mr(s->mr);
	ibv_dereg_mr(s->far_mr);
	cq_drop(s->far_cq);
}

static void fresh(uint8_t salt)
{
	int i;

	for (i = 0; i < OCTETS; i++)
		here[i] = i * 13 + (i >> 8) + salt;
	memset(there, 0, OCTETS);
}

static uint64_t far_at(uint32_t off)
{
	return (uintptr_t)there + off;
}

/*
 * Posts an empty Read, and waits for this Read and for the @n requests before it, whose wr_id are
 * 0 to @n - 1. When the Read is complete, the peer has placed the data of all Writes. Return:
 * true if all requests have succeeded, in order.
 */
static bool done(struct stage *s, int n)
{
	struct ibv_wc wc[DEPTH];
	int i;

	ibv_wr_start(s->ex);
	s->ex->wr_id = 99;
	s->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(s->ex, 0, 0);
	if (ibv_wr_complete(s->ex))
		return false;
	reap(s->cq, wc, n + 1);
	for (i = 0; i <= n; i++)
		if (wc[i].status || wc[i].wr_id != (i < n ? (uint64_t)i : 99)) {
			printf("# %s of request %llu\n", ibv_wc_status_str(wc[i].status),
			       (unsigned long long)wc[i].wr_id);
			return false;
		}
	return true;
}

static void next(struct stage *s, uint64_t wr_id)
{
	s->ex->wr_id = wr_id;
	s->ex->wr_flags = IBV_SEND_SIGNALED;
}

/* Posts one list of Writes. For each Write, another function passes the data. */
static void try_data(struct stage *s)
{
	struct ibv_data_buf bufs[3] = { { here + 20000, 100 }, { here + 30000, 0 }, { here + 40000, 156 } };
	struct ibv_sge sges[SGES];
	uint32_t i, off = 0, at;
	bool good;

	fresh(1);
	for (i = 0; i < SGES; i++) {
		sges[i] = (struct ibv_sge) { (uintptr_t)here + 1000 * i, 100 + i, s->mr->lkey };
		off += 100 + i;
	}
	ibv_wr_start(s->ex);
	next(s, 0);
	ibv_wr_rdma_write(s->ex, s->far_mr->rkey, far_at(0));
	ibv_wr_set_sge_list(s->ex, SGES, sges);
	next(s, 1);
	ibv_wr_rdma_write(s->ex, s->far_mr->rkey, far_at(10000));
	ibv_wr_set_inline_data(s->ex, here + 5000, INLINE);
	next(s, 2);
	ibv_wr_rdma_write(s->ex, s->far_mr->rkey, far_at(20000));
	ibv_wr_set_inline_data_list(s->ex, 3, bufs);
	next(s, 3);
	ibv_wr_rdma_write(s->ex, s->far_mr->rkey, far_at(30000));
	ibv_wr_set_sge(s->ex, s->mr->lkey, (uintptr_t)here + 7, 20001);
	good = !ibv_wr_complete(s->ex) && done(s, 4);
	for (i = at = 0; i < SGES; at += 100 + i, i++)
		good &= !memcmp(there + at, here + 1000 * i, 100 + i);
	report(good && !there[off], "wr: 16 elements");
	report(!memcmp(there + 10000, here + 5000, INLINE) && !there[10000 + INLINE], "wr: 256 octets inline");
	report(!memcmp(there + 20000, here + 20000, 100) && !memcmp(there + 20100, here + 40000, 156) &&
	       !there[20256], "wr: a list of inline data");
	report(!memcmp(there + 30000, here + 7, 20001) && !there[50001], "wr: one element");
}

/* If a list is aborted or contains an error, none of its requests is posted. */
static void try_abort(struct stage *s)
{
	struct ibv_sge sges[SGES + 1] = {};
	struct ibv_wc wc;

	fresh(2);
	ibv_wr_start(s->ex);
	next(s, 50);
	ibv_wr_rdma_write(s->ex, s->far_mr->rkey, far_at(0));
	ibv_wr_set_inline_data(s->ex, here, 100);
	ibv_wr_abort(s->ex);
	ibv_wr_start(s->ex);
	next(s, 51);
	ibv_wr_rdma_write(s->ex, s->far_mr->rkey, far_at(0));
	ibv_wr_set_inline_data(s->ex, here, 100);
	next(s, 52);
	ibv_wr_rdma_write(s->ex, s->far_mr->rkey, far_at(0));
	ibv_wr_set_inline_data(s->ex, here, INLINE + 1);
	report(ibv_wr_complete(s->ex) == EINVAL, "wr: too much inline data");
	ibv_wr_start(s->ex);
	next(s, 53);
	ibv_wr_rdma_write(s->ex, s->far_mr->rkey, far_at(0));
	ibv_wr_set_sge_list(s->ex, SGES + 1, sges);
	report(ibv_wr_complete(s->ex) == EINVAL, "wr: too many elements");
	report(done(s, 0) && !ibv_poll_cq(s->cq, 1, &wc) && !there[0] && !there[1] && !there[99],
	       "wr: aborted lists post nothing");
}

static void try_sends(struct stage *s)
{
	struct ibv_sge in = { (uintptr_t)there, 1000, s->far_mr->lkey };
	struct ibv_wc wc[3];
	bool good = true;
	int i;

	fresh(3);
	for (i = 0; i < 3; i++) {
		in.addr = (uintptr_t)there + 1000 * i;
		if (post_recv(s->c.far->qp, i, &in))
			die("ibv_post_recv");
	}
	ibv_wr_start(s->ex);
	next(s, 0);
	ibv_wr_send(s->ex);
	ibv_wr_set_sge(s->ex, s->mr->lkey, (uintptr_t)here, 500);
	next(s, 1);
	ibv_wr_send_imm(s->ex, htobe32(0x11223344));
	next(s, 2);
	ibv_wr_rdma_write_imm(s->ex, s->far_mr->rkey, far_at(8000), htobe32(0x55667788));
	ibv_wr_set_sge(s->ex, s->mr->lkey, (uintptr_t)here + 8000, 300);
	good = !ibv_wr_complete(s->ex) && done(s, 3);
	reap(s->far_cq, wc, 3);
	report(good && wc[0].opcode == IBV_WC_RECV && wc[0].byte_len == 500 && !memcmp(there, here, 500), "wr: Send");
	report(wc[1].opcode == IBV_WC_RECV && wc[1].wc_flags == IBV_WC_WITH_IMM &&
	       wc[1].imm_data == htobe32(0x11223344) && !wc[1].byte_len, "wr: Send with immediate data");
	report(wc[2].opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc[2].imm_data == htobe32(0x55667788) &&
	       !memcmp(there + 8000, here + 8000, 300), "wr: Write with immediate data");
}

static void try_fetches(struct stage *s)
{
	uint64_t *word = (uint64_t *)(there + 4096), *got = (uint64_t *)(here + 4096), wanted[2];
	bool good;

	fresh(4);
	memset(there + 10000, 0x5a, 3000);
	*word = 1000;
	ibv_wr_start(s->ex);
	next(s, 0);
	ibv_wr_rdma_read(s->ex, s->far_mr->rkey, far_at(10000));
	ibv_wr_set_sge(s->ex, s->mr->lkey, (uintptr_t)here + 10000, 3000);
	next(s, 1);
	ibv_wr_atomic_fetch_add(s->ex, s->far_mr->rkey, far_at(4096), 23);
	ibv_wr_set_sge(s->ex, s->mr->lkey, (uintptr_t)got, 8);
	next(s, 2);
	ibv_wr_atomic_cmp_swp(s->ex, s->far_mr->rkey, far_at(4096), 1023, 7);
	ibv_wr_set_sge(s->ex, s->mr->lkey, (uintptr_t)(got + 1), 8);
	good = !ibv_wr_complete(s->ex) && done(s, 3);
	wanted[0] = 1000;
	wanted[1] = 1023;
	report(good && !memcmp(here + 10000, there + 10000, 3000), "wr: Read");
	report(!memcmp(got, wanted, 16) && *word == 7, "wr: atomic operations");
}

/*
 * Tests a local invalidation if @local, else a Send with Invalidate. A region that a process has
 * registered cannot be invalidated: the request fails, locally or at the peer, and ends the
 * connection.
 */
static void try_invalidate(struct stage *s, bool local)
{
	struct ibv_sge in = { (uintptr_t)there, 1000, s->far_mr->lkey };
	struct ibv_wc wc[2];

	fresh(5);
	if (post_recv(s->c.far->qp, 7, &in))
		die("ibv_post_recv");
	ibv_wr_start(s->ex);
	next(s, 0);
	if (local) {
		ibv_wr_local_inv(s->ex, s->mr->rkey);
	} else {
		ibv_wr_send_inv(s->ex, s->far_mr->rkey);
		ibv_wr_set_inline_data(s->ex, here, 77);
	}
	next(s, 1);
	ibv_wr_rdma_read(s->ex, 0, 0);
	if (ibv_wr_complete(s->ex))
		die("ibv_wr_complete");
	reap(s->cq, wc, 2);
	report(wc[0].wr_id == 0 && wc[1].wr_id == 1 && !!wc[0].status == local && wc[1].status,
	       "wr: %s of a region of the process fails", local ? "local invalidation" : "Send with Invalidate");
	reap(s->far_cq, wc, 1);
	report(wc[0].wr_id == 7 && wc[0].status, "wr: the failed request ends the connection");
}

static void all(struct link *l, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct stage s;

	stage_make(l, &s, pd, cq);
	try_data(&s);
	try_abort(&s);
	try_sends(&s);
	try_fetches(&s);
	try_invalidate(&s, true);
	stage_drop(l, &s);
	stage_make(l, &s, pd, cq);
	try_invalidate(&s, false);
	stage_drop(l, &s);
}

void test_wr_api(struct link *l)
{
	struct ibv_cq *cq = cq_make(l->verbs, 2 * DEPTH, NULL);

	all(l, l->pd, cq);
	cq_drop(cq);
}

/*
 * Runs the same tests in a parent domain with a thread domain. The provider takes no locks for
 * queue pairs and completion queues of this domain.
 */
void test_domains(struct link *l)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_td *td = ibv_alloc_td(l->verbs, &td_attr);
	struct ibv_parent_domain_init_attr attr = { .pd = l->pd, .td = td };
	struct ibv_pd *parent = ibv_alloc_parent_domain(l->verbs, &attr);
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 2 * DEPTH, .parent_domain = parent,
					       .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_cq_ex *cq;

	if (!td || !parent)
		die("ibv_alloc_parent_domain");
	cq = ibv_create_cq_ex(l->verbs, &cq_attr);
	if (!cq)
		die("ibv_create_cq_ex");
	all(l, parent, ibv_cq_ex_to_cq(cq));
	cq_drop(ibv_cq_ex_to_cq(cq));
	report(ibv_dealloc_td(td) == EBUSY, "a thread domain in use is not deallocated");
	report(ibv_dealloc_pd(l->pd) == EBUSY,
	       "a protection domain with a parent domain is not deallocated");
	report(!ibv_dealloc_pd(parent) && !ibv_dealloc_td(td),
	       "parent and thread domain are deallocated");
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	attr.td = NULL;
	errno = 0;
	report(!ibv_alloc_parent_domain(l->verbs, &attr) && errno == EOPNOTSUPP,
	       "a parent domain with allocators of the program is refused");
}
