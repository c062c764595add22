// SPDX-License-Identifier: GPL-2.0
/* Parent domains and thread domains. */

#include <errno.h>
#include <pthread.h>

#include "fake.h"
#include "../../userspace-provider/iw_tcp.h"
#include "tap.h"
#include "tests.h"

static struct ibv_context *context;

static struct ibv_pd *parent_of(struct ibv_pd *pd, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };

	errno = 0;

	return fake.ops.alloc_parent_domain(context, &attr);
}

static void test_refused(struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
	};
	struct ibv_td_init_attr unknown = { .comp_mask = 1 };

	errno = 0;
	ok(!fake.ops.alloc_td(context, &unknown) && errno == EOPNOTSUPP,
	   "td: an unknown bit of comp_mask is refused");
	ok(!parent_of(NULL, NULL) && errno == EINVAL,
	   "parent: NULL as the protection domain is refused");
	errno = 0;
	ok(!fake.ops.alloc_parent_domain(context, &attr) && errno == EOPNOTSUPP,
	   "parent: allocators are refused");
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT << 1;
	errno = 0;
	ok(!fake.ops.alloc_parent_domain(context, &attr) && errno == EOPNOTSUPP,
	   "parent: an unknown bit of comp_mask is refused");
}

static struct ibv_cq_ex *make_cq(struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};

	errno = 0;

	return fake.ops.create_cq_ex(context, &attr);
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return fake.ops.create_qp(pd, &attr);
}

/*
 * Creates objects in @parent and uses them. If @parent has a thread domain (@single), the objects
 * must take no locks.
 */
static void test_objects(struct ibv_pd *parent, bool single)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .wr_id = 7 }, *bad;
	struct ibv_recv_wr rwr = { .wr_id = 8 }, *rbad;
	struct ibv_cq_ex *ex = make_cq(parent);
	struct ibv_cq *cq = ibv_cq_ex_to_cq(ex);
	struct ibv_qp *qp = make_qp(parent, cq);
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char data[8];

	ok(to_iwt_cq(cq)->single_threaded == single &&
	   to_iwt_qp(qp)->sq.single_threaded == single &&
	   to_iwt_qp(qp)->rq.single_threaded == single,
	   "parent: locks are %s", single ? "not taken" : "taken");
	if (single) {
		/* take all locks here, so that a provider that takes a lock waits for ever */
		pthread_spin_lock(&to_iwt_cq(cq)->lock);
		pthread_spin_lock(&to_iwt_qp(qp)->sq.lock);
		pthread_spin_lock(&to_iwt_qp(qp)->rq.lock);
	}
	is(fake.ops.post_send(qp, &wr, &bad), 0, "parent: a send is posted");
	is(fake.ops.post_recv(qp, &rwr, &rbad), 0, "parent: a receive is posted");
	is(fake.ops.poll_cq(cq, 1, &wc), 0, "parent: the completion queue can be polled");
	mr = fake.ops.reg_mr(parent, data, sizeof(data), (uintptr_t)data, 0);
	is(mr && !fake.ops.dereg_mr(verbs_get_mr(mr)), 1,
	   "parent: a region can be registered and deregistered");
	fake.ops.destroy_qp(qp);
	fake.ops.destroy_cq(cq);
}

void test_pd(void)
{
	struct ibv_td_init_attr attr = {};
	struct ibv_pd *pd, *with, *without, *nested;
	struct ibv_td *td;

	context = fake_open();
	pd = fake.ops.alloc_pd(context);
	pd->handle = 99;
	test_refused(pd);
	td = fake.ops.alloc_td(context, &attr);
	with = parent_of(pd, td);
	without = parent_of(pd, NULL);
	ok(with && without && with != without && with->handle == 99 &&
	   with->context == context, "parent: has the handle of its protection domain");
	nested = parent_of(without, td);
	ok(nested && nested->handle == 99, "parent: a parent of a parent has the same handle");
	ok(!make_cq(pd) && errno == EINVAL,
	   "parent: a completion queue refuses a protection domain that is no parent domain");
	test_objects(with, true);
	test_objects(without, false);
	test_objects(nested, true);
	is(fake.ops.dealloc_td(td), EBUSY, "td: a thread domain in use is not deallocated");
	is(fake.ops.dealloc_pd(without), 0, "parent: the first parent domain is deallocated");
	is(fake.ops.dealloc_pd(pd), EBUSY,
	   "parent: a protection domain in use is not deallocated");
	is(fake.ops.dealloc_pd(with), 0, "parent: the second parent domain is deallocated");
	is(fake.ops.dealloc_pd(nested), 0, "parent: the third parent domain is deallocated");
	is(fake.ops.dealloc_td(td), 0, "td: the thread domain is deallocated");
	is(fake.pds, 1, "parent: the kernel has only the protection domain");
	is(fake.ops.dealloc_pd(pd), 0, "parent: the protection domain is deallocated");
	is(fake.pds, 0, "parent: no domain is left in the kernel");
	fake_close(context);
}
