// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_verbs.h>

static inline void probe(struct ib_device *ibdev, struct net_device *ndev)
{
	if (ib_get_curr_port_state(ndev) == IB_PORT_DOWN)
		ib_dispatch_port_state_event(ibdev, ndev);
}
