// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Feature: verbs_context_ops has the function query_port_speed. */
#include <infiniband/driver.h>

extern const struct verbs_context_ops probe;
const struct verbs_context_ops probe = {
	.query_port_speed = ibv_cmd_query_port_speed,
};
