// SPDX-License-Identifier: GPL-2.0
/*
 * iwt_attrs: checks the limits that ibv_query_device() and ibv_query_port() report. An object of
 * the largest size can be created, and a larger object is refused. If the reported maximum of a
 * type of object is zero, no such object can be created. Prints TAP.
 *
 *	iwt_attrs DEVICE
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "results.h"

#define INLINE	256

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_device_attr dev;
static struct ibv_port_attr port;

/* Can a queue pair with @cap be created, and does it have at least the sizes in @cap? */
static bool has_qp(struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .cap = cap, .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(pd, &attr);
	if (!qp)
		return false;
	ibv_destroy_qp(qp);
	return attr.cap.max_send_wr >= cap.max_send_wr && attr.cap.max_recv_wr >= cap.max_recv_wr &&
	       attr.cap.max_send_sge >= cap.max_send_sge && attr.cap.max_recv_sge >= cap.max_recv_sge &&
	       attr.cap.max_inline_data >= cap.max_inline_data;
}

static void queue_pairs(void)
{
	struct ibv_qp_cap one = { .max_send_wr = 1, .max_recv_wr = 1,
				  .max_send_sge = 1, .max_recv_sge = 1 };
	uint32_t wr = dev.max_qp_wr, sge = dev.max_sge, octets = INLINE;
	struct {
		const char *name;
		uint32_t *field, limit;
	} t[] = {
		{ "max_qp_wr, send queue", &one.max_send_wr, wr },
		{ "max_qp_wr, receive queue", &one.max_recv_wr, wr },
		{ "max_sge, send queue", &one.max_send_sge, sge },
		{ "max_sge, receive queue", &one.max_recv_sge, sge },
		{ "inline data", &one.max_inline_data, octets },
	};
	struct ibv_qp_cap all = { wr, wr, sge, sge, octets };
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t was = *t[i].field;

		*t[i].field = t[i].limit;
		report(has_qp(one), "%s", t[i].name);
		*t[i].field = t[i].limit + 1;
		report(!has_qp(one) && errno == EINVAL, "one more than this limit is refused");
		*t[i].field = UINT32_MAX;
		report(!has_qp(one) && errno == EINVAL,
		       "UINT32_MAX for this attribute is refused");
		*t[i].field = was;
	}
	report(has_qp(all), "all limits of a queue pair at once");
}

static bool has_cq(int cqe, int vector)
{
	struct ibv_cq *it;

	errno = 0;
	it = ibv_create_cq(ctx, cqe, NULL, NULL, vector);
	if (it)
		ibv_destroy_cq(it);
	return it;
}

static void completion_queues(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { UINT16_MAX, UINT16_MAX } };

	report(has_cq(dev.max_cqe, 0), "max_cqe");
	report(!has_cq(dev.max_cqe + 1, 0) && errno == EINVAL,
	       "one more than max_cqe is refused");
	report(!has_cq(0, 0) && errno == EINVAL, "max_cqe: no queue without entries");
	report(has_cq(1, ctx->num_comp_vectors - 1), "num_comp_vectors");
	report(!has_cq(1, ctx->num_comp_vectors) && errno == EINVAL,
	       "a vector above the highest is refused");
	report(!ibv_modify_cq(cq, &attr), "the longest moderation is accepted");
}

static void port_and_tables(void)
{
	union ibv_gid gid;
	__be16 pkey;
	struct ibv_port_attr no;

	report(port.pkey_tbl_len == dev.max_pkeys,
	       "max_pkeys is equal to pkey_tbl_len of the port");
	report(!ibv_query_pkey(ctx, 1, port.pkey_tbl_len - 1, &pkey), "pkey_tbl_len");
	report(ibv_query_pkey(ctx, 1, port.pkey_tbl_len, &pkey),
	       "pkey_tbl_len: no further entry");
	report(!ibv_query_gid(ctx, 1, port.gid_tbl_len - 1, &gid), "gid_tbl_len");
	report(ibv_query_gid(ctx, 1, port.gid_tbl_len, &gid), "gid_tbl_len: no further entry");
	report(ibv_query_port(ctx, dev.phys_port_cnt + 1, &no), "phys_port_cnt: no further port");
}

/*
 * Shared receive queues and windows can be created if their reported maximum is not zero, and
 * only then. The device supports no other type of object that this function tests, and must
 * report zero as the maximum of each such type.
 */
static void absent(void)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_ah_attr ah = { .port_num = 1, .is_global = 1 };
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = 3, .fd = -1, .oflags = 0100 };
	struct ibv_srq *s = ibv_create_srq(pd, &srq);
	struct ibv_mw *mw;

	report(!s == !dev.max_srq, "max_srq: zero, or a shared receive queue can be created");
	if (s)
		ibv_destroy_srq(s);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	report(!mw == !dev.max_mw, "max_mw: zero, or a window can be created");
	if (mw)
		ibv_dealloc_mw(mw);
	report(!ibv_create_ah(pd, &ah) && !dev.max_ah,
	       "max_ah: zero, and no address handle can be created");
	report(!ibv_open_xrcd(ctx, &xrcd) && !dev.max_ee && !dev.max_rdd, "no XRC and no RD");
	report(!dev.max_mcast_grp && !dev.max_mcast_qp_attach && !dev.max_total_mcast_qp_attach,
	       "no multicast");
	report(!dev.max_raw_ipv6_qp && !dev.max_raw_ethy_qp, "no raw queue pairs");
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	setlinebuf(stdout);
	for (i = 0; argc == 2 && list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			ctx = ibv_open_device(list[i]);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	cq = ctx ? ibv_create_cq(ctx, 1, NULL, NULL, 0) : NULL;
	if (!pd || !cq || ibv_query_device(ctx, &dev) || ibv_query_port(ctx, 1, &port)) {
		fprintf(stderr, "usage: iwt_attrs DEVICE\n");
		return 2;
	}
	queue_pairs();
	completion_queues();
	port_and_tables();
	absent();
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return results_end();
}
