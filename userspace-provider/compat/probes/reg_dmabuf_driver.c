// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Feature: ibv_cmd_reg_dmabuf_mr() has an argument for attributes of the provider. */
#include <infiniband/driver.h>

int probe(struct ibv_pd *pd, struct verbs_mr *vmr);
int probe(struct ibv_pd *pd, struct verbs_mr *vmr)
{
	return ibv_cmd_reg_dmabuf_mr(pd, 0, 0, 0, 0, 0, vmr, NULL);
}
