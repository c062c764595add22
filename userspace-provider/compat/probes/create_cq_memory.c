// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Feature: ibv_cmd_create_cq_ex() has an argument for memory of the entries. */
#include <infiniband/driver.h>

int probe(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
	  struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
	  struct ib_uverbs_ex_create_cq_resp *resp);
int probe(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
	  struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
	  struct ib_uverbs_ex_create_cq_resp *resp)
{
	return ibv_cmd_create_cq_ex(context, attr, NULL, cq, cmd, 0, resp, 0, 0);
}
