// SPDX-License-Identifier: GPL-2.0
/*
 * Older versions of rdma_cm find an iWARP device by its GID, newer versions by
 * its net device. Shortly after this change, the RDMA core began to export
 * ib_device_get_netdev(). So this snippet tests for that function.
 */
#include <rdma/ib_verbs.h>

static inline struct net_device *probe(struct ib_device *ibdev)
{
	return ib_device_get_netdev(ibdev, 1);
}
