# SPDX-License-Identifier: GPL-2.0
# Converts a file of the provider for rdma-core's own tree: removes the code for older versions of
# libibverbs (userspace-provider/compat). release/patches fails if a part of this code remains.
/^#include "compat\/compat\.h"$/d
s/^\tCOMPAT_QUERY_PORT_SPEED$/\t.query_port_speed = ibv_cmd_query_port_speed,/
