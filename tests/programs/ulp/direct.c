// SPDX-License-Identifier: GPL-2.0
/* iwt_ulp: commands for queue pairs that connect without rdma_cm. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ulp.h"

/* open device=: opens the device of this name; does nothing if the program has a device already */
static int cmd_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const char *name = ulp_str("device");
	int i;

	for (i = 0; list && name && list[i] && !ulp_ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ulp_ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ulp_ctx ? 0 : ulp_err(ENODEV, "open");
}

/* gid [index=]: gid= */
static int cmd_gid(void)
{
	union ibv_gid gid;

	if (!ulp_ctx || ibv_query_gid(ulp_ctx, 1, ulp_num("index", 1), &gid))
		return ulp_err(ENODEV, "ibv_query_gid");
	ulp_put_hex("gid", &gid, sizeof(gid));
	return 0;
}

/* direct id= [arguments of "qp"]: qpn=. Creates a queue pair without an rdma_cm_id. */
static int cmd_direct(void)
{
	struct ibv_qp_init_attr a;
	struct ulp_conn *c;
	struct ibv_pd *pd;
	uint64_t n = ulp_num("id", 0);

	if (n >= ULP_IDS || ulp_conn[n].id || ulp_conn[n].qp)
		return ulp_err(EEXIST, "id");
	c = &ulp_conn[n];
	pd = ulp_qp_attr(&a);
	if (!pd)
		return -1;
	c->qp = ibv_create_qp(pd, &a);
	if (!c->qp)
		return ulp_err(errno, "ibv_create_qp");
	ulp_put(" qpn=%u", c->qp->qp_num);
	return 0;
}

static struct ibv_qp *qp_arg(void)
{
	struct ulp_conn *c = ulp_conn_of(ulp_num("id", 0));

	if (!c || !c->qp) {
		ulp_err(ENOENT, "qp");
		return NULL;
	}
	return c->qp;
}

/* rtr id= gid= qpn= psn= [index=] [timer=] [rd=]: changes the queue pair from RESET to INIT and RTR */
static int cmd_rtr(void)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = ulp_num("qpn", 0),
		.rq_psn = ulp_num("psn", 0),
		.max_dest_rd_atomic = ulp_num("rd", 4),
		.min_rnr_timer = ulp_num("timer", 12),
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .sgid_index = ulp_num("index", 1), .hop_limit = 64 },
		},
	};
	struct ibv_qp *qp = qp_arg();
	uint8_t *gid;
	size_t len;
	int rc;

	if (!qp)
		return -1;
	gid = ulp_hex("gid", &len);
	if (gid && len == sizeof(a.ah_attr.grh.dgid))
		memcpy(&a.ah_attr.grh.dgid, gid, len);
	free(gid);
	rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (rc)
		return ulp_err(rc, "INIT");
	a.qp_state = IBV_QPS_RTR;
	rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	return rc ? ulp_err(rc, "RTR") : 0;
}

/* rts id= psn= [timeout=] [retry=] [rnr=] [rd=] */
static int cmd_rts(void)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = ulp_num("psn", 0),
		.timeout = ulp_num("timeout", 0),
		.retry_cnt = ulp_num("retry", 7),
		.rnr_retry = ulp_num("rnr", 7),
		.max_rd_atomic = ulp_num("rd", 4),
	};
	struct ibv_qp *qp = qp_arg();
	int rc;

	if (!qp)
		return -1;
	rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return rc ? ulp_err(rc, "RTS") : 0;
}

const struct ulp_command ulp_direct_commands[] = {
	{ "open", cmd_open },
	{ "gid", cmd_gid },
	{ "direct", cmd_direct },
	{ "rtr", cmd_rtr },
	{ "rts", cmd_rts },
	{ }
};
