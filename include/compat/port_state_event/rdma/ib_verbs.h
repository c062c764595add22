/* SPDX-License-Identifier: GPL-2.0 */
/* This kernel lacks ib_get_curr_port_state() and ib_dispatch_port_state_event(). */
#ifndef COMPAT_RDMA_PORT_STATE_EVENT_H
#define COMPAT_RDMA_PORT_STATE_EVENT_H

#include <linux/netdevice.h>
#include_next <rdma/ib_verbs.h>

static inline enum ib_port_state
ib_get_curr_port_state(struct net_device *net_dev)
{
	return netif_running(net_dev) && netif_carrier_ok(net_dev) ?
		IB_PORT_ACTIVE : IB_PORT_DOWN;
}

/* The RDMA core of this kernel does not suppress repeated events: the caller must do so. */
static inline void ib_dispatch_port_state_event(struct ib_device *ibdev,
						struct net_device *ndev)
{
	struct ib_event event = { .device = ibdev, .element.port_num = 1 };

	event.event = ib_get_curr_port_state(ndev) == IB_PORT_ACTIVE ?
		IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
}

#endif
