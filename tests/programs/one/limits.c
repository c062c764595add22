// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_limits: counts how many objects can be created on a device, and checks that one more can
 * be created after one is destroyed. Prints TAP.
 *
 *	iwt_limits DEVICE max KIND		as many as the device's attributes report, or
 *						one less, then ENOMEM
 *	iwt_limits DEVICE some KIND ERROR LEAST MOST [SIZE]
 *						LEAST to MOST objects, of SIZE entries each,
 *						then ERROR
 *
 * KIND is pd, cq, srq, qp, mr or mw; ERROR is the number of an errno value. The program sends
 * uverbs commands without the provider and maps no rings, so that only the memory and the limits
 * of the kernel count.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "results.h"

static struct ibv_context *ctx;
static uint32_t pd, cq, size;
static uint8_t page[4096] __attribute__((aligned(4096)));

struct command {
	struct ib_uverbs_cmd_hdr hdr;
	union {
		struct ib_uverbs_alloc_pd alloc_pd;
		struct ib_uverbs_dealloc_pd dealloc_pd;
		struct ib_uverbs_create_cq create_cq;
		struct ib_uverbs_destroy_cq destroy_cq;
		struct ib_uverbs_create_srq create_srq;
		struct ib_uverbs_destroy_srq destroy_srq;
		struct ib_uverbs_create_qp create_qp;
		struct ib_uverbs_destroy_qp destroy_qp;
		struct ib_uverbs_reg_mr reg_mr;
		struct ib_uverbs_dereg_mr dereg_mr;
		struct ib_uverbs_alloc_mw alloc_mw;
		struct ib_uverbs_dealloc_mw dealloc_mw;
	};
};

/* The answer to each command that creates an object begins with the handle of the object. */
union answer {
	uint32_t handle;
	struct ib_uverbs_alloc_mw_resp mw;
	struct ib_uverbs_alloc_pd_resp pd;
	struct ib_uverbs_create_cq_resp cq;
	struct ib_uverbs_destroy_cq_resp cq_gone;
	struct ib_uverbs_create_srq_resp srq;
	struct ib_uverbs_destroy_srq_resp srq_gone;
	struct ib_uverbs_create_qp_resp qp;
	struct ib_uverbs_destroy_qp_resp qp_gone;
	struct ib_uverbs_reg_mr_resp mr;
};

/* @number: of the uverbs command; @in, @out: bytes of request and answer. Return: 0 or errno */
static int run(struct command *c, uint32_t number, size_t in, size_t out)
{
	c->hdr.command = number;
	c->hdr.in_words = (sizeof(c->hdr) + in) / 4;
	c->hdr.out_words = out / 4;
	return write(ctx->cmd_fd, c, sizeof(c->hdr) + in) < 0 ? errno : 0;
}

#define RUN(c, NAME, body, out) \
	run(&(c), IB_USER_VERBS_CMD_##NAME, sizeof((c).body), out)

static int make_pd(uint32_t *handle)
{
	union answer a;
	struct command c = { .alloc_pd = { .response = (uintptr_t)&a } };
	int err = RUN(c, ALLOC_PD, alloc_pd, sizeof(a.pd));

	*handle = a.handle;
	return err;
}

static int drop_pd(uint32_t handle)
{
	struct command c = { .dealloc_pd = { .pd_handle = handle } };

	return RUN(c, DEALLOC_PD, dealloc_pd, 0);
}

static int make_cq(uint32_t *handle)
{
	union answer a;
	struct command c = { .create_cq = {
		.response = (uintptr_t)&a, .cqe = size, .comp_channel = -1 } };
	int err = RUN(c, CREATE_CQ, create_cq, sizeof(a.cq));

	*handle = a.handle;
	return err;
}

static int drop_cq(uint32_t handle)
{
	union answer a;
	struct command c = { .destroy_cq = { .response = (uintptr_t)&a, .cq_handle = handle } };

	return RUN(c, DESTROY_CQ, destroy_cq, sizeof(a.cq_gone));
}

static int make_srq(uint32_t *handle)
{
	union answer a;
	struct command c = { .create_srq = {
		.response = (uintptr_t)&a, .pd_handle = pd, .max_wr = size, .max_sge = 1 } };
	int err = RUN(c, CREATE_SRQ, create_srq, sizeof(a.srq));

	*handle = a.handle;
	return err;
}

static int drop_srq(uint32_t handle)
{
	union answer a;
	struct command c = { .destroy_srq = { .response = (uintptr_t)&a, .srq_handle = handle } };

	return RUN(c, DESTROY_SRQ, destroy_srq, sizeof(a.srq_gone));
}

static int make_qp(uint32_t *handle)
{
	union answer a;
	struct command c = { .create_qp = {
		.response = (uintptr_t)&a, .pd_handle = pd, .send_cq_handle = cq,
		.recv_cq_handle = cq, .max_send_wr = size, .max_send_sge = 1,
		.qp_type = IBV_QPT_RC } };
	int err = RUN(c, CREATE_QP, create_qp, sizeof(a.qp));

	*handle = a.handle;
	return err;
}

static int drop_qp(uint32_t handle)
{
	union answer a;
	struct command c = { .destroy_qp = { .response = (uintptr_t)&a, .qp_handle = handle } };

	return RUN(c, DESTROY_QP, destroy_qp, sizeof(a.qp_gone));
}

static int make_mr(uint32_t *handle)
{
	union answer a;
	struct command c = { .reg_mr = {
		.response = (uintptr_t)&a, .start = (uintptr_t)page, .length = sizeof(page),
		.hca_va = (uintptr_t)page, .pd_handle = pd, .access_flags = IBV_ACCESS_LOCAL_WRITE } };
	int err = RUN(c, REG_MR, reg_mr, sizeof(a.mr));

	*handle = a.handle;
	return err;
}

static int drop_mr(uint32_t handle)
{
	struct command c = { .dereg_mr = { .mr_handle = handle } };

	return RUN(c, DEREG_MR, dereg_mr, 0);
}

static int make_mw(uint32_t *handle)
{
	union answer a;
	struct command c = { .alloc_mw = {
		.response = (uintptr_t)&a, .pd_handle = pd, .mw_type = IBV_MW_TYPE_2 } };
	int err = RUN(c, ALLOC_MW, alloc_mw, sizeof(a.mw));

	*handle = a.handle;
	return err;
}

static int drop_mw(uint32_t handle)
{
	struct command c = { .dealloc_mw = { .mw_handle = handle } };

	return RUN(c, DEALLOC_MW, dealloc_mw, 0);
}

static const struct kind {
	const char *name;
	int (*make)(uint32_t *handle);
	int (*drop)(uint32_t handle);
} kinds[] = {
	{ "pd", make_pd, drop_pd },
	{ "cq", make_cq, drop_cq },
	{ "srq", make_srq, drop_srq },
	{ "qp", make_qp, drop_qp },
	{ "mr", make_mr, drop_mr },
	{ "mw", make_mw, drop_mw },
	{}
};

static uint32_t device_max(const struct kind *k)
{
	struct ibv_device_attr a;

	if (ibv_query_device(ctx, &a))
		die("ibv_query_device");
	switch (k->name[0]) {
	case 'p':
		return a.max_pd;
	case 'c':
		return a.max_cq;
	case 's':
		return a.max_srq;
	case 'q':
		return a.max_qp;
	default:
		return k->make == make_mw ? a.max_mw : a.max_mr;
	}
}

/*
 * Creates objects until an error. At least @least and at most @most objects must be created
 * before the error, which must be @want. After one object is destroyed, exactly one more can be
 * created.
 */
static void fill(const struct kind *k, uint32_t least, uint32_t most, int want)
{
	uint32_t last = 0, handle, n = 0;
	int err;

	while (!(err = k->make(&handle)) && n <= most) {
		last = handle;
		n++;
	}
	printf("# %u made: %s\n", n, strerror(err));
	report(n >= least && n <= most, "the expected number of objects can be created");
	report(err == want, "one more object is refused");
	if (err != want || !n)
		return;
	report(k->make(&handle) == want, "one more object is refused again");
	report(!k->drop(last), "an object is destroyed");
	report(!k->make(&handle), "one more object can then be created");
	report(k->make(&handle) == want, "a second one is refused");
}

static void open_device(const char *name, const struct kind *k)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	uint32_t want = size;
	int i, err = 0;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		die(name);
	/* create the objects that an object of this kind needs */
	size = 1;
	if (k->make == make_srq || k->make == make_qp || k->make == make_mr || k->make == make_mw)
		err = make_pd(&pd);
	if (!err && k->make == make_qp)
		err = make_cq(&cq);
	errno = err;
	if (err)
		die("what it needs");
	size = want;
}

int main(int argc, char **argv)
{
	const struct kind *k = kinds;
	bool some = argc >= 7 && !strcmp(argv[2], "some");

	while (k->name && strcmp(k->name, argc > 3 ? argv[3] : ""))
		k++;
	if (!k->name || (!some && strcmp(argv[2], "max"))) {
		fprintf(stderr, "usage: iwt_limits DEVICE max|some KIND [ERROR LEAST MOST [SIZE]]\n");
		return 2;
	}
	setlinebuf(stdout);
	size = argc > 7 ? strtoul(argv[7], NULL, 0) : 1;
	open_device(argv[1], k);
	if (some)
		fill(k, strtoul(argv[5], NULL, 0), strtoul(argv[6], NULL, 0), atoi(argv[4]));
	else
		fill(k, device_max(k) - 1, device_max(k), ENOMEM);
	return results_end();
}
