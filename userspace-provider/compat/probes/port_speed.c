// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <infiniband/driver.h>

extern const struct verbs_context_ops probe;
const struct verbs_context_ops probe = {
	.query_port_speed = ibv_cmd_query_port_speed,
};
