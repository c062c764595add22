/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
#define query_port_speed newer_query_port_speed
#include_next <rdma/ib_verbs.h>
#undef query_port_speed
#endif
