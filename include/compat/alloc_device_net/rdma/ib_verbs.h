/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COMPAT_RDMA_ALLOC_DEVICE_NET_H
#define COMPAT_RDMA_ALLOC_DEVICE_NET_H

#include_next <rdma/ib_verbs.h>

/*
 * This kernel lacks ib_alloc_device_with_net(): _ib_alloc_device() allocates a
 * device in the initial namespace. Set the namespace of the device before the
 * device is registered. But if all namespaces share devices, the device must
 * stay in the initial namespace.
 */
static inline struct ib_device *compat_alloc_device_net(size_t size,
							struct net *net)
{
	struct ib_device *ibdev = _ib_alloc_device(size);

	if (ibdev && !rdma_dev_access_netns(ibdev, net))
		write_pnet(&ibdev->coredev.rdma_net, net);
	return ibdev;
}

#define ib_alloc_device_with_net(drv_struct, member, net)		\
	container_of(compat_alloc_device_net(sizeof(struct drv_struct) + \
			BUILD_BUG_ON_ZERO(offsetof(struct drv_struct,	\
						   member)), net),	\
		     struct drv_struct, member)

#endif
