/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OLDER_RDMA_IB_VERBS_H
#define OLDER_RDMA_IB_VERBS_H
#define ib_get_curr_port_state newer_ib_get_curr_port_state
#define ib_dispatch_port_state_event newer_ib_dispatch_port_state_event
#include_next <rdma/ib_verbs.h>
#undef ib_get_curr_port_state
#undef ib_dispatch_port_state_event
#endif
