// SPDX-License-Identifier: GPL-2.0
/*
 * The RDMA connection manager finds iWARP devices by their net device since
 * shortly before drivers may ask for it, and by the GID before that.
 */
#include <rdma/ib_verbs.h>

static inline struct net_device *probe(struct ib_device *ibdev)
{
	return ib_device_get_netdev(ibdev, 1);
}
