// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Feature: ibv_cmd_get_context() has an argument for open files. */
#include <infiniband/driver.h>

int probe(struct verbs_context *context, struct ibv_get_context *cmd,
	  struct ib_uverbs_get_context_resp *resp);
int probe(struct verbs_context *context, struct ibv_get_context *cmd,
	  struct ib_uverbs_get_context_resp *resp)
{
	return ibv_cmd_get_context(context, cmd, 0, NULL, resp, 0);
}
